//! How the server listens, and how much it takes at once.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_core::limits::TLS_HANDSHAKE_TIMEOUT;
use ipnet::IpNet;
use serde::Deserialize;

use super::ConfigError;
use crate::tls::Tls;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
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

impl Server {
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

    /// None if this server speaks without TLS.
    pub fn tls(&self) -> Result<Option<Tls>, ConfigError> {
        let files = self.files();
        if files.is_none() && self.certificate_file != self.key_file {
            let what = "the other half: a certificate goes with its key";
            return Err(ConfigError::Missing { setting: "server.certificate_file", what });
        }
        let open = |(certificate, key)| Tls::open(certificate, key, TLS_HANDSHAKE_TIMEOUT);
        Ok(files.map(open).transpose()?)
    }

    pub(super) fn files(&self) -> Option<(&Path, &Path)> {
        let files = [self.certificate_file.as_path(), self.key_file.as_path()];
        let are_set = files.iter().all(|path| !path.as_os_str().is_empty());
        are_set.then_some((files[0], files[1]))
    }
}
