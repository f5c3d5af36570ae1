//! The listen address and the limits of the HTTP server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_core::limits::TLS_HANDSHAKE_TIMEOUT;
use ipnet::IpNet;
use serde::Deserialize;

use super::ConfigError;
use crate::tls::Tls;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    pub allow_plain_http: bool,
    certificate_file: PathBuf,
    key_file: PathBuf,
    pub connections_max: usize,
    pub requests_max: usize,
    pub waits_max: usize,
    pub listeners_max: usize,
    pub hosts: Vec<String>,
    pub origins: Vec<String>,
    pub proxies: Vec<IpNet>,
    pub(super) head_timeout_s: u64,
    pub(super) body_timeout_s: u64,
    pub(super) answer_timeout_s: u64,
    drain_s: u64,
}

impl ServerConfig {
    pub fn head_timeout(&self) -> Duration {
        Duration::from_secs(self.head_timeout_s)
    }

    pub fn body_timeout(&self) -> Duration {
        Duration::from_secs(self.body_timeout_s)
    }

    pub fn answer_timeout(&self) -> Duration {
        Duration::from_secs(self.answer_timeout_s)
    }

    pub fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_s)
    }

    /// Returns the TLS settings; `None` if this server does not use TLS.
    pub fn tls(&self) -> Result<Option<Tls>, ConfigError> {
        let files = self.files();
        if files.is_none() && self.certificate_file != self.key_file {
            let what = "a certificate and its key must be set together";
            return Err(ConfigError::Missing { setting: "server.certificate_file", what });
        }
        let open = |(certificate, key)| Tls::open(certificate, key, TLS_HANDSHAKE_TIMEOUT);
        Ok(files.map(open).transpose()?)
    }

    /// Returns the URL of this server as programs on the same machine reach it.
    pub fn url(&self) -> String {
        let mut address = self.listen;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        let scheme = if self.files().is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    pub(super) fn files(&self) -> Option<(&Path, &Path)> {
        let files = [self.certificate_file.as_path(), self.key_file.as_path()];
        let are_set = files.iter().all(|path| !path.as_os_str().is_empty());
        are_set.then_some((files[0], files[1]))
    }
}
