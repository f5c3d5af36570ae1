//! One connection that speaks as little HTTP as a load needs: it must cost far less than what it
//! measures. Answers are read whole, by their length; anything else is an error.

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
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Client {
    pub async fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address: address.to_owned(), buffer: Vec::with_capacity(BUFFER_BYTES) })
    }

    pub async fn send(&mut self, request: &[u8]) -> Result<Answer> {
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

    /// For the little that is asked while nothing is measured.
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
            // Whoever was silent while something else was measured has been let go.
            self.stream = Self::connect(&self.address).await?.stream;
            self.send(&request).await?
        };
        if answer.status >= 300 {
            let told = String::from_utf8_lossy(&answer.body);
            bail!("{method} {path}: {} {told}", answer.status);
        }
        answer.json()
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
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         {kind}{headers}content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The answer, once all of it has come.
fn whole(buffer: &[u8]) -> Result<Option<Answer>> {
    let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let (head, body) = buffer.split_at(end + 4);
    let head = std::str::from_utf8(head).context("a head that is no text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.context("no status")?;
    let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let length = length.context("an answer without a length")?;
    Ok((body.len() >= length).then(|| Answer { status, body: body.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_length_has_come() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
        assert!(whole(b"HTTP/1.1 200").unwrap().is_none());
        assert!(whole(text).unwrap().is_none());
        let answer = whole(&[text.as_slice(), b"true"].concat()).unwrap().unwrap();
        assert_eq!((answer.status, answer.json().unwrap()), (200, Value::Bool(true)));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
