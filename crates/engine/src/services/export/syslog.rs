//! Exports to syslog (RFC 5424, with octet counting as in RFC 6587) over TCP or a local socket.
//! Syslog has no acknowledgements: each batch uses its own connection, and counts once the server
//! has read it to the end and closed the connection.

use std::path::PathBuf;

use ade_core::limits::{EXPORT_CONNECT_TIMEOUT, EXPORT_TIMEOUT};
use ade_store::events::Numbered;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::Trouble;
use crate::services::event_hub::written;

/// Facility 13 (log audit), severity 5 (notice).
const PRIORITY: u8 = 13 * 8 + 5;
const MESSAGE_ID_MAX_CHARS: usize = 32;

#[derive(Debug)]
pub enum SyslogServer {
    Tcp(String),
    Unix(PathBuf),
}

pub async fn send(server: &SyslogServer, events: &[Numbered]) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    for event in events {
        let message = message(event);
        bytes.extend_from_slice(format!("{} {message}", message.len()).as_bytes());
    }
    let sent = match server {
        SyslogServer::Tcp(address) => {
            let stream = timeout(EXPORT_CONNECT_TIMEOUT, TcpStream::connect(address)).await;
            hand_over(connected(stream)?, &bytes).await
        }
        SyslogServer::Unix(path) => {
            let stream = timeout(EXPORT_CONNECT_TIMEOUT, UnixStream::connect(path)).await;
            hand_over(connected(stream)?, &bytes).await
        }
    };
    sent.map(|()| bytes)
}

fn connected<S>(
    outcome: Result<std::io::Result<S>, tokio::time::error::Elapsed>,
) -> Result<S, Trouble> {
    let stream = outcome.map_err(|_| Trouble::away("syslog did not respond"))?;
    stream.map_err(|error| Trouble::away(format!("syslog is unreachable: {error}")))
}

async fn hand_over(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    bytes: &[u8],
) -> Result<(), Trouble> {
    let whole = async {
        stream.write_all(bytes).await?;
        stream.shutdown().await?;
        // A server that closes before it has read everything causes a reset, which is an error
        // here.
        let mut rest = [0; 256];
        while stream.read(&mut rest).await? > 0 {}
        std::io::Result::Ok(())
    };
    let ended = timeout(EXPORT_TIMEOUT, whole).await;
    let ended = ended.map_err(|_| Trouble::away("syslog did not accept the batch in time"))?;
    ended.map_err(|error| Trouble::away(format!("the connection to syslog was lost: {error}")))
}

/// Formats one message. The body after the header is JSON, in which control characters are escaped.
fn message(event: &Numbered) -> String {
    let is_visible = |character: &char| character.is_ascii_graphic();
    let kind: String = event.kind.chars().filter(is_visible).take(MESSAGE_ID_MAX_CHARS).collect();
    let kind = if kind.is_empty() { "-" } else { &kind };
    format!("<{PRIORITY}>1 {} - ade - {kind} - {}", event.at, written(event))
}

#[cfg(test)]
mod tests {
    use ade_core::ids::{EventId, TenantId};
    use ade_core::time::Timestamp;

    use super::*;

    #[test]
    fn syslog_message_has_a_valid_header_and_one_line() {
        let event = Numbered {
            id: EventId::from_u128(1),
            tenant: TenantId::from_u128(2),
            seq: 7,
            kind: "task.created".to_owned(),
            object: "task_1\n<13>1 forged".to_owned(),
            version: None,
            actor: Some("usr_\u{7}".to_owned()),
            at: Timestamp::from_micros(0),
            data: "{}".to_owned(),
        };
        let message = message(&event);
        let head = "<109>1 1970-01-01T00:00:00.000000Z - ade - task.created - {";
        assert!(message.starts_with(head), "{message}");
        assert!(!message.chars().any(char::is_control), "{message}");
    }
}
