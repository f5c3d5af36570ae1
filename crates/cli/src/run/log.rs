//! Sends the output of the command to the server in batches. A slow server never blocks the
//! command: lines wait in a bounded queue, and lines that do not fit are counted and dropped.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ade_api::executions::{Logged, NewLine, Stream};
use ade_client::Error;
use ade_core::limits::{
    EXECUTION_LINE_MAX_BYTES, EXECUTION_OUTPUT_MAX_BYTES, RUN_LOG_BATCH_BYTES, RUN_LOG_BATCH_LINES,
    RUN_LOG_FLUSH, RUN_LOG_PERIOD, RUN_LOG_QUEUE_LINES,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::text::within;

/// The number of the first line.
const FIRST_LINE: u64 = 0;

/// Receives the lines of the command's output.
#[derive(Debug, Clone)]
pub struct Sink {
    queue: mpsc::Sender<NewLine>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The number of lines dropped since the last note about it.
    dropped: AtomicU64,
    /// The beginning of the output, which is stored with the execution.
    head: Mutex<String>,
}

#[derive(Debug)]
pub struct Log {
    sink: Sink,
    sending: JoinHandle<()>,
}

impl Sink {
    pub fn push(&self, stream: Stream, text: String) {
        if stream != Stream::Note {
            self.shared.keep(&text);
        }
        if self.queue.try_send(NewLine { stream, text }).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds a message of the runner itself.
    pub fn note(&self, text: &str) {
        self.push(Stream::Note, within(text, EXECUTION_LINE_MAX_BYTES).to_owned());
    }
}

impl Shared {
    fn keep(&self, line: &str) {
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let left = EXECUTION_OUTPUT_MAX_BYTES.saturating_sub(head.len());
        if left > 0 {
            head.push_str(within(line, left));
            if head.len() < EXECUTION_OUTPUT_MAX_BYTES {
                head.push('\n');
            }
        }
    }
}

impl Log {
    /// Starts forwarding; `send` takes the number of the first line and the lines.
    pub fn start<F, S>(send: F) -> Self
    where
        F: Fn(u64, Vec<NewLine>) -> S + Send + Sync + 'static,
        S: Future<Output = Result<Logged, Error>> + Send + 'static,
    {
        let (queue, lines) = mpsc::channel(RUN_LOG_QUEUE_LINES);
        let shared = Arc::new(Shared::default());
        let sink = Sink { queue, shared: Arc::clone(&shared) };
        let sending = tokio::spawn(forward(lines, shared, send));
        Self { sink, sending }
    }

    pub fn sink(&self) -> Sink {
        self.sink.clone()
    }

    /// Sends the remaining lines within a timeout and returns the beginning of the output.
    pub async fn close(self) -> Option<String> {
        self.close_within(RUN_LOG_FLUSH).await
    }

    /// Drops the remaining lines and returns the beginning of the output.
    pub async fn abandon(self) -> Option<String> {
        self.close_within(Duration::ZERO).await
    }

    async fn close_within(self, patience: Duration) -> Option<String> {
        let Self { sink: Sink { queue, shared }, sending } = self;
        drop(queue);
        let abort = sending.abort_handle();
        if timeout(patience, sending).await.is_err() {
            abort.abort();
        }
        let head = shared.head.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(head).filter(|head| !head.is_empty())
    }
}

/// Forwards lines until every sink is closed and all lines are sent, or the server refuses more.
async fn forward<F, S>(mut lines: mpsc::Receiver<NewLine>, shared: Arc<Shared>, send: F)
where
    F: Fn(u64, Vec<NewLine>) -> S,
    S: Future<Output = Result<Logged, Error>>,
{
    let mut first = FIRST_LINE;
    let mut held = None;
    loop {
        let mut batch = gather(&mut lines, &mut held).await;
        let dropped = shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let text = format!("{dropped} line(s) were not sent: the server was too slow");
            batch.push(NewLine { stream: Stream::Note, text });
        }
        if batch.is_empty() {
            return;
        }
        let Some(next) = deliver(first, batch, &send).await else {
            // The command goes on, so its lines must still be read.
            while lines.recv().await.is_some() {}
            return;
        };
        first = next;
    }
}

/// Sends a batch. Returns the number of the next line, or `None` if the server refuses more.
async fn deliver<F, S>(first: u64, batch: Vec<NewLine>, send: &F) -> Option<u64>
where
    F: Fn(u64, Vec<NewLine>) -> S,
    S: Future<Output = Result<Logged, Error>>,
{
    loop {
        match send(first, batch.clone()).await {
            Ok(Logged { is_full: true, .. }) => return None,
            Ok(Logged { next, .. }) => return Some(next),
            Err(error) if error.is_passing() => tokio::time::sleep(RUN_LOG_PERIOD).await,
            Err(_) => return None,
        }
    }
}

/// Collects the lines of one period, up to the size of one request. Returns no lines once the
/// queue is closed.
async fn gather(lines: &mut mpsc::Receiver<NewLine>, held: &mut Option<NewLine>) -> Vec<NewLine> {
    let first = match held.take() {
        Some(line) => line,
        None => match lines.recv().await {
            Some(line) => line,
            None => return Vec::new(),
        },
    };
    let end = Instant::now() + RUN_LOG_PERIOD;
    let mut bytes = first.text.len();
    let mut batch = vec![first];
    while batch.len() < RUN_LOG_BATCH_LINES {
        let Ok(Some(line)) = timeout_at(end, lines.recv()).await else { break };
        bytes += line.text.len();
        if bytes > RUN_LOG_BATCH_BYTES {
            *held = Some(line);
            break;
        }
        batch.push(line);
    }
    batch
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
