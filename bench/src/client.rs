//! A connection with just enough HTTP for a load test, because it must cost far less than what it
//! measures. Responses are read completely, by their length; anything else is an error.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const BUFFER_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    address: String,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    /// The first cookie that the response sets, as `name=value`.
    pub cookie: Option<String>,
    pub body: Vec<u8>,
}

impl HttpAnswer {
    pub fn json(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// Fails with the body of a response whose status is not a success.
    pub fn succeeded(self, method: &str, path: &str) -> Result<Self> {
        if self.status >= 300 {
            let body = String::from_utf8_lossy(&self.body);
            bail!("{method} {path}: {} {body}", self.status);
        }
        Ok(self)
    }
}

impl Client {
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address: address.to_owned(), buffer: Vec::with_capacity(BUFFER_BYTES) })
    }

    pub async fn send(&mut self, request: &[u8]) -> Result<HttpAnswer> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if let Some(answer) = whole(&self.buffer)? {
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                bail!("the server closed the connection");
            }
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends one of the few requests that are not part of a measurement.
    pub async fn ask(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
        headers: &str,
    ) -> Result<Value> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = request(&self.address, method, path, token, &text, headers);
        let answer = if let Ok(answer) = self.send(&request).await {
            answer
        } else {
            // The server closes connections that were idle while something else was measured.
            self.stream = Self::connect(&self.address).await?.stream;
            self.send(&request).await?
        };
        answer.succeeded(method, path)?.json()
    }
}

pub fn request(
    address: &str,
    method: &str,
    path: &str,
    token: &str,
    body: &str,
    headers: &str,
) -> Vec<u8> {
    let length = body.len();
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    // A session is sent as a cookie, without this header.
    let token = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{token}\
         {kind}{headers}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Parses the response once all of it has arrived.
fn whole(buffer: &[u8]) -> Result<Option<HttpAnswer>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let (head, body) = buffer.split_at(end + 4);
    let head = std::str::from_utf8(head).context("a head that is no text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.context("no status")?;
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    };
    // A response without content has no length either.
    let length = if status == 204 {
        Some(0)
    } else {
        header("content-length").and_then(|text| text.parse().ok())
    };
    let length: usize = length.context("an answer without a length")?;
    let cookie = header("set-cookie").and_then(|text| text.split(';').next()).map(str::to_owned);
    Ok((body.len() >= length).then(|| HttpAnswer { status, cookie, body: body.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_complete_once_content_length_is_read() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        assert!(whole(b"HTTP/1.1 200").unwrap().is_none());
        assert!(whole(text).unwrap().is_none());
        let answer = whole(&[text.as_slice(), b"true"].concat()).unwrap().unwrap();
        assert_eq!((answer.status, answer.json().unwrap()), (200, Value::Bool(true)));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
