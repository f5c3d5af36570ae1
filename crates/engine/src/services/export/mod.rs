//! Export sinks: a file, syslog or an OTLP collector. The cursor advances by whole batches, so a
//! reader may see an event twice, with the same id, and misses none.

mod file;
mod otlp;
mod syslog;
mod trouble;

use std::fmt;
use std::path::PathBuf;

use ade_store::events::Numbered;
use ade_store::tenants::TenantIdentity;
use reqwest::Url;
use thiserror::Error;

use otlp::Collector;
use syslog::SyslogServer;
pub use trouble::Trouble;

use crate::services::tenant_binding::TenantBinding;

#[derive(Debug, Error)]
pub enum SinkError {
    #[error(
        "`{sink}` is not a valid sink: use `file:///a/file`, `syslog+tcp://host:port`, \
         `syslog+unix:///a/socket`, `otlp+http://…` or `otlp+https://…`"
    )]
    Address { sink: String },
    #[error("the HTTP client could not be created: {0}")]
    Client(#[from] reqwest::Error),
}

/// An export sink, configured by the operator of the installation, with the tenants that it serves.
#[derive(Debug)]
pub struct Sink {
    kind: Kind,
    /// The name in the export ledger, without secrets.
    name: String,
    /// The tenants whose events are exported.
    tenants: TenantBinding,
}

#[derive(Debug)]
enum Kind {
    File(PathBuf),
    Syslog(SyslogServer),
    Otlp(Collector),
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Sink {
    pub fn open(sink: &str, tenants: TenantBinding) -> Result<Self, SinkError> {
        let wrong = || SinkError::Address { sink: sink.to_owned() };
        let url = Url::parse(sink).map_err(|_| wrong())?;
        let path = || PathBuf::from(url.path());
        let is_absolute = url.path().len() > 1;
        let kind = match url.scheme() {
            "file" if is_absolute => Kind::File(path()),
            "syslog+unix" if is_absolute => Kind::Syslog(SyslogServer::Unix(path())),
            "syslog+tcp" => {
                let (host, port) = (url.host_str(), url.port());
                let (host, port) = host.zip(port).ok_or_else(wrong)?;
                Kind::Syslog(SyslogServer::Tcp(format!("{host}:{port}")))
            }
            "otlp+http" | "otlp+https" => {
                let address = sink.strip_prefix("otlp+").unwrap_or_default();
                Kind::Otlp(Collector::new(Url::parse(address).map_err(|_| wrong())?)?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self { kind, name: named(&url), tenants })
    }

    pub(crate) fn serves(&self, tenant: &TenantIdentity) -> bool {
        self.tenants.serves(tenant)
    }

    pub(crate) async fn take(&self, events: &[Numbered]) -> Result<Vec<u8>, Trouble> {
        match &self.kind {
            Kind::File(path) => file::append(path.clone(), events).await,
            Kind::Syslog(server) => syslog::send(server, events).await,
            Kind::Otlp(collector) => collector.send(events).await,
        }
    }
}

/// Returns the scheme, host, port and path only: user names and queries may be secret.
fn named(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_sink_label_omits_secrets() {
        for (given, named) in [
            ("file:///var/log/ade/events.jsonl", "file:///var/log/ade/events.jsonl"),
            ("syslog+tcp://logs.example.org:6514", "syslog+tcp://logs.example.org:6514"),
            ("syslog+unix:///dev/log", "syslog+unix:///dev/log"),
            (
                "otlp+https://u:p@otel.example.org/v1/logs?k=1",
                "otlp+https://otel.example.org/v1/logs",
            ),
        ] {
            assert_eq!(Sink::open(given, TenantBinding::Sole).unwrap().to_string(), named);
        }
        for wrong in
            ["", "events.jsonl", "file://", "syslog+tcp://host", "ftp://host/", "syslog://h:1"]
        {
            assert!(Sink::open(wrong, TenantBinding::Sole).is_err(), "{wrong}");
        }
    }
}
