//! Where events go when they leave the installation: a file, syslog or a collector that speaks
//! OTLP. A batch is taken whole or not at all as far as the cursor is concerned, so whoever reads
//! there may see an event twice, under one id, and misses none.

mod file;
mod otlp;
mod syslog;

use std::fmt;
use std::path::PathBuf;

use ade_store::events::Numbered;
use ade_store::groups::Exported;
use reqwest::Url;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::app::App;
use crate::groups::Trouble;
use otlp::Collector;
use syslog::Server;

#[derive(Debug, Error)]
pub enum SinkError {
    #[error(
        "`{sink}` is no sink: name `file:///a/file`, `syslog+tcp://host:port`, \
         `syslog+unix:///a/socket`, `otlp+http://…` or `otlp+https://…`"
    )]
    Address { sink: String },
    #[error("no client can be made for it: {0}")]
    Client(#[from] reqwest::Error),
}

/// Named by whoever runs the installation, not by a tenant.
#[derive(Debug)]
pub struct Sink {
    kind: Kind,
    /// As the ledger names it: without what may be secret in it.
    name: String,
}

#[derive(Debug)]
enum Kind {
    File(PathBuf),
    Syslog(Server),
    Otlp(Collector),
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Sink {
    pub fn open(sink: &str) -> Result<Self, SinkError> {
        let wrong = || SinkError::Address { sink: sink.to_owned() };
        let url = Url::parse(sink).map_err(|_| wrong())?;
        let path = || PathBuf::from(url.path());
        let is_absolute = url.path().len() > 1;
        let kind = match url.scheme() {
            "file" if is_absolute => Kind::File(path()),
            "syslog+unix" if is_absolute => Kind::Syslog(Server::Unix(path())),
            "syslog+tcp" => {
                let (host, port) = (url.host_str(), url.port());
                let (host, port) = host.zip(port).ok_or_else(wrong)?;
                Kind::Syslog(Server::Tcp(format!("{host}:{port}")))
            }
            "otlp+http" | "otlp+https" => {
                let address = sink.strip_prefix("otlp+").unwrap_or_default();
                Kind::Otlp(Collector::new(Url::parse(address).map_err(|_| wrong())?)?)
            }
            _ => return Err(wrong()),
        };
        Ok(Self { kind, name: named(&url) })
    }

    async fn take(&self, events: &[Numbered]) -> Result<Vec<u8>, Trouble> {
        match &self.kind {
            Kind::File(path) => file::append(path.clone(), events).await,
            Kind::Syslog(server) => syslog::send(server, events).await,
            Kind::Otlp(collector) => collector.send(events).await,
        }
    }
}

/// Scheme, host and path alone: what stands for a user or in a query is nobody's business.
fn named(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

pub(crate) async fn send(app: &App, events: &[Numbered]) -> Result<Exported, Trouble> {
    let Some(sink) = &app.sink else {
        return Err(Trouble::away("no sink is configured: set `export.sink`"));
    };
    let bytes = sink.take(events).await?;
    Ok(Exported { sink: sink.to_string(), sha256: Sha256::digest(&bytes).into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_named_without_what_may_be_secret() {
        for (given, named) in [
            ("file:///var/log/ade/events.jsonl", "file:///var/log/ade/events.jsonl"),
            ("syslog+tcp://logs.example.org:6514", "syslog+tcp://logs.example.org:6514"),
            ("syslog+unix:///dev/log", "syslog+unix:///dev/log"),
            (
                "otlp+https://u:p@otel.example.org/v1/logs?k=1",
                "otlp+https://otel.example.org/v1/logs",
            ),
        ] {
            assert_eq!(Sink::open(given).unwrap().to_string(), named);
        }
        for wrong in
            ["", "events.jsonl", "file://", "syslog+tcp://host", "ftp://host/", "syslog://h:1"]
        {
            assert!(Sink::open(wrong).is_err(), "{wrong}");
        }
    }
}
