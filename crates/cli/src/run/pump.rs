//! Copies the output of the command unchanged to the output of `ade` and as lines to the log, and
//! the declared input to the command.

use ade_api::executions::Stream;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::ChildStdin;

use super::lines::Lines;
use super::log::Sink;

const CHUNK_BYTES: usize = 16 * 1024;

/// Copies until the stream ends. A closed output of `ade` does not stop the command.
pub async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    stream: Stream,
    sink: Sink,
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut lines = Lines::default();
    let mut is_read = true;
    loop {
        let count = from.read(&mut chunk).await.unwrap_or_default();
        let bytes = chunk.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        if is_read {
            is_read = to.write_all(bytes).await.is_ok() && to.flush().await.is_ok();
        }
        for line in lines.push(bytes) {
            sink.push(stream, line);
        }
    }
    for line in lines.rest() {
        sink.push(stream, line);
    }
}

/// Writes the input; the command may end without reading all of it.
pub async fn feed(mut stdin: ChildStdin, input: Vec<u8>) {
    let _ = stdin.write_all(&input).await;
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ade_api::executions::Logged;

    use super::super::log::Log;
    use super::*;

    /// A writer that fails like a closed pipe.
    struct Closed;

    impl AsyncWrite for Closed {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::task::Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn poll_shutdown(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }

    async fn logged(from: &[u8], to: impl AsyncWrite + Unpin) -> Vec<String> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let log = Log::start(move |first, lines| {
            let count = u64::try_from(lines.len()).unwrap();
            kept.lock().unwrap().extend(lines.into_iter().map(|line| line.text));
            async move { Ok(Logged { next: first + count, is_full: false }) }
        });
        pump(from, to, Stream::Stdout, log.sink()).await;
        log.close().await;
        seen.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn pump_passes_bytes_unchanged_and_logs_lines() {
        let mut passed = Vec::new();
        let bytes = b"one\r\n\xff\x00two";
        assert_eq!(logged(bytes, &mut passed).await, ["one", "\u{fffd}\u{2400}two"]);
        assert_eq!(passed, bytes);
    }

    #[tokio::test]
    async fn pump_outlives_a_reader_that_went_away() {
        assert_eq!(logged(b"one\ntwo\n", Closed).await, ["one", "two"]);
    }
}
