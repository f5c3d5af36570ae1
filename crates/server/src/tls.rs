//! TLS with a certificate and key from files. They are reloaded when they change, so that a renewed
//! certificate needs no restart. Only TLS 1.3 and 1.2 with authenticated ciphers and HTTP/1.1 are
//! supported.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The protocol that is negotiated during the handshake.
const HTTP_1_1: &[u8] = b"http/1.1";

#[derive(Debug, Error)]
pub enum TlsError {
    #[error("{path} cannot be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is not a PEM file of the expected kind: {source}")]
    Unfit { path: PathBuf, source: pem::Error },
    #[error("{path} contains no certificate")]
    Empty { path: PathBuf },
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The modification times of both files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([SystemTime; 2]);

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    current: Arc<Current>,
    handshake: Duration,
}

#[derive(Debug)]
struct Current {
    files: Files,
    provider: Arc<CryptoProvider>,
    shown: RwLock<(Stamp, Arc<CertifiedKey>)>,
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&shown.1))
    }
}

impl Files {
    fn stamp(&self) -> Result<Stamp, TlsError> {
        let of = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
        let of = |path: &PathBuf| {
            of(path).map_err(|source| TlsError::Unreadable { path: path.clone(), source })
        };
        Ok(Stamp([of(&self.certificate)?, of(&self.key)?]))
    }

    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let (of, key) = (&self.certificate, &self.key);
        let unfit = |path: &Path, source| TlsError::Unfit { path: path.to_owned(), source };
        let chain = CertificateDer::pem_file_iter(of).and_then(Iterator::collect::<Result<_, _>>);
        let chain: Vec<CertificateDer<'static>> = chain.map_err(|source| unfit(of, source))?;
        if chain.is_empty() {
            return Err(TlsError::Empty { path: of.clone() });
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(|source| unfit(key, source))?;
        Ok(CertifiedKey::from_der(chain, key, provider)?)
    }
}

impl Tls {
    /// Loads the certificate and key. `handshake` is the timeout for the TLS handshake.
    pub fn open(certificate: &Path, key: &Path, handshake: Duration) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let files = Files { certificate: certificate.to_owned(), key: key.to_owned() };
        let shown = (files.stamp()?, Arc::new(files.read(&provider)?));
        let shown = RwLock::new(shown);
        let current = Arc::new(Current { files, provider: Arc::clone(&provider), shown });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), current, handshake })
    }

    /// Reloads the files and returns whether they have changed. While they do not match, such as
    /// between the writing of one and of the other, the old certificate stays in use.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let Current { files, provider, shown } = self.current.as_ref();
        let stamp = files.stamp()?;
        if shown.read().unwrap_or_else(PoisonError::into_inner).0 == stamp {
            return Ok(false);
        }
        let fresh = Arc::new(files.read(provider)?);
        *shown.write().unwrap_or_else(PoisonError::into_inner) = (stamp, fresh);
        Ok(true)
    }

    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let silent = |_| io::Error::new(io::ErrorKind::TimedOut, "TLS handshake timed out");
        timeout(self.handshake, self.acceptor.accept(stream)).await.map_err(silent)?
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("current", &self.current).finish_non_exhaustive()
    }
}
