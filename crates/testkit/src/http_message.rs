//! Minimal HTTP for test servers: reads one request from a connection.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

#[derive(Debug)]
pub struct Message {
    head: String,
    pub path: String,
    pub body: Vec<u8>,
}

impl Message {
    /// Returns the value of a header, or an empty text if it is missing.
    pub fn header(&self, name: &str) -> String {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned()).unwrap_or_default()
    }
}

/// Reads one request. Returns `None` if the caller closed the connection before the end of it.
pub async fn read_message(stream: &mut TcpStream) -> std::io::Result<Option<Message>> {
    let mut bytes = Vec::new();
    let (head, mut body) = loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = bytes.split_off(at.saturating_add(4));
            break (String::from_utf8_lossy(&bytes).into_owned(), body);
        }
    };
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let message = Message { head, path, body: Vec::new() };
    let length: usize = message.header("content-length").parse().unwrap_or_default();
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Message { body, ..message }))
}
