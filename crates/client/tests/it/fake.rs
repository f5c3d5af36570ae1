//! A scripted server for faults that the real one cannot produce on demand. It records the
//! requests.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub enum Step {
    /// Reads the request and closes the connection without a response.
    Hang,
    Answer(&'static str, &'static str, String),
}

pub struct Fake {
    pub url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    /// Starts the server with one step per connection; the last step repeats.
    pub async fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&seen);
        tokio::spawn(async move {
            let mut at = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                keeper.lock().unwrap().push(request);
                if let Step::Answer(status, headers, body) = &steps[at] {
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\
                         {headers}\r\n{body}"
                    );
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                at = (at + 1).min(steps.len() - 1);
            }
        });
        Self { url, seen }
    }

    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Reads one request, up to its content length.
async fn read(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    loop {
        stream.read_buf(&mut text).await.unwrap();
        let read = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = read.split_once("\r\n\r\n") else { continue };
        if body.len() >= header(head, "content-length").map_or(0, |value| value.parse().unwrap()) {
            return read;
        }
    }
}

pub fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = request.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
