//! The addresses of Redis, and the certificates of both sides.

use std::fmt;

use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::{ClientTlsConfig, ConnectionAddr, IntoConnectionInfo as _, TlsCertificates};

use crate::error::CoordError;

#[derive(Clone, Default)]
pub struct Nodes {
    urls: Vec<String>,
    certificates: Option<TlsCertificates>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct Own {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// Hides addresses, which contain passwords, and the key of the certificate.
impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes").field("count", &self.urls.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Own(..)")
    }
}

impl From<Vec<String>> for Nodes {
    fn from(urls: Vec<String>) -> Self {
        Self { urls, certificates: None }
    }
}

impl Nodes {
    /// Sets the certificates, in PEM. `authority` signed the certificates of the nodes; without it
    /// the authorities of the system are trusted. `own` is presented to nodes that ask for it.
    #[must_use]
    pub fn trusting(self, authority: Option<Vec<u8>>, own: Option<Own>) -> Self {
        let client_tls = own.map(|Own { certificate, key }| ClientTlsConfig {
            client_cert: certificate,
            client_key: key,
        });
        let is_any = authority.is_some() || client_tls.is_some();
        let certificates = is_any.then_some(TlsCertificates { client_tls, root_cert: authority });
        Self { certificates, ..self }
    }

    /// Returns whether no Redis is used.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    pub(crate) fn builder(&self) -> ClusterClientBuilder {
        let builder = ClusterClient::builder(self.urls.iter().map(String::as_str));
        match &self.certificates {
            Some(certificates) => builder.certs(certificates.clone()),
            None => builder,
        }
    }
}

/// Returns whether the path to this node is protected: the node is on this machine, or TLS verifies
/// its certificate and name.
pub fn is_guarded(url: &str) -> Result<bool, CoordError> {
    let node = url.into_connection_info().map_err(CoordError::Settings)?;
    Ok(match node.addr() {
        ConnectionAddr::Tcp(host, _) => ade_core::network::is_this_machine(host),
        ConnectionAddr::TcpTls { insecure, .. } => !insecure,
        ConnectionAddr::Unix(_) => true,
        _ => false,
    })
}

#[cfg(test)]
#[path = "nodes_tests.rs"]
mod tests;
