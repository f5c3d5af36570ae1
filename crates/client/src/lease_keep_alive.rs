//! Keeps a lease alive and detects when it is lost. The lease time is measured from the moment a
//! heartbeat was *sent*, by a monotonic clock, and ends a margin early: work under the lease must
//! have ended before another holder can get its locks.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ade_api::cause::Cause;
use ade_api::executions::Alive;
use ade_core::limits::{RUN_HEARTBEATS_PER_TTL, RUN_MARGIN_MAX, RUN_MARGIN_PER_TTL};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepAliveStatus {
    /// Not confirmed since it was granted; no work may start under it yet.
    Uncertain,
    Held,
    /// Still held, but a stop was requested.
    AbortRequested,
    Lost(Error),
}

/// Keeps a lease alive until it is dropped.
#[derive(Debug)]
pub struct LeaseKeepAlive {
    status: watch::Receiver<KeepAliveStatus>,
    abort: Arc<OnceLock<Cause>>,
    beating: JoinHandle<()>,
}

/// Returns the part of a lease that is reserved for ending the work under it.
pub fn margin(ttl: Duration) -> Duration {
    (ttl / RUN_MARGIN_PER_TTL).min(RUN_MARGIN_MAX)
}

impl LeaseKeepAlive {
    /// Starts the heartbeats. `beat` sends one and returns or fails within the given time.
    pub fn start<F, B>(ttl: Duration, beat: F) -> Self
    where
        F: Fn(Duration) -> B + Send + 'static,
        B: Future<Output = Result<Alive, Error>> + Send,
    {
        let (sender, status) = watch::channel(KeepAliveStatus::Uncertain);
        let abort = Arc::new(OnceLock::new());
        let heard = Arc::clone(&abort);
        let beating = tokio::spawn(async move {
            let why = keep(ttl, beat, &sender, &heard).await;
            let _ = sender.send(KeepAliveStatus::Lost(why));
        });
        Self { status, abort, beating }
    }

    /// Returns the status as of the last heartbeat.
    pub fn status(&self) -> KeepAliveStatus {
        self.status.borrow().clone()
    }

    /// Returns who requested a stop and why, if someone did and the server knows it.
    pub fn abort(&self) -> Option<Cause> {
        self.abort.get().cloned()
    }

    /// Returns when the work must stop.
    pub async fn stopped(&mut self) -> KeepAliveStatus {
        let is_over = |status: &KeepAliveStatus| match status {
            KeepAliveStatus::Uncertain | KeepAliveStatus::Held => false,
            KeepAliveStatus::AbortRequested | KeepAliveStatus::Lost(_) => true,
        };
        self.reached(is_over).await
    }

    /// Returns when the lease is lost. A requested stop does not end it.
    pub async fn lost(&mut self) {
        self.reached(|status| matches!(status, KeepAliveStatus::Lost(_))).await;
    }

    /// Returns once a heartbeat was answered or the lease is lost.
    pub async fn settled(&mut self) -> KeepAliveStatus {
        self.reached(|status| *status != KeepAliveStatus::Uncertain).await
    }

    /// Runs work under the lease. The work starts once a heartbeat was answered, and is dropped
    /// when the lease is lost or a stop is requested.
    pub async fn guard<W: Future>(&mut self, work: W) -> Result<W::Output, KeepAliveStatus> {
        match self.settled().await {
            KeepAliveStatus::Held => {}
            status => return Err(status),
        }
        tokio::select! {
            biased;
            status = self.stopped() => Err(status),
            done = work => Ok(done),
        }
    }

    async fn reached(&mut self, is_it: impl FnMut(&KeepAliveStatus) -> bool) -> KeepAliveStatus {
        let Ok(status) = self.status.wait_for(is_it).await else {
            let why = "the heartbeat task has ended".to_owned();
            return KeepAliveStatus::Lost(Error::Unusable { why });
        };
        status.clone()
    }
}

impl Drop for LeaseKeepAlive {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

/// Sends heartbeats until the lease is lost, and returns the cause.
async fn keep<F, B>(
    granted: Duration,
    beat: F,
    sender: &watch::Sender<KeepAliveStatus>,
    abort: &OnceLock<Cause>,
) -> Error
where
    F: Fn(Duration) -> B,
    B: Future<Output = Result<Alive, Error>>,
{
    let mut ttl = granted;
    // Only a heartbeat shows how long the lease lasts: a claim may have waited for a minute.
    let mut heard = Instant::now();
    loop {
        let deadline = heard + ttl - margin(ttl);
        let sent = Instant::now();
        // This also covers a process that was suspended and resumes after the deadline.
        if sent >= deadline {
            return Error::LeaseSilent { silent: heard.elapsed() };
        }
        // A hanging connection must leave time for another attempt.
        let patience = (ttl / RUN_HEARTBEATS_PER_TTL).min(deadline - sent);
        let next = match timeout_at(sent + patience, beat(patience)).await {
            Ok(Ok(alive)) => {
                ttl = Duration::from_secs(alive.ttl_seconds);
                heard = sent;
                if let Some(cause) = alive.abort {
                    abort.get_or_init(|| cause);
                }
                note(sender, alive.abort_requested);
                sleep_until(sent + ttl / RUN_HEARTBEATS_PER_TTL).await;
                continue;
            }
            Ok(Err(error)) if !error.is_passing() => return error,
            Ok(Err(_)) => Instant::now() + ttl / (RUN_HEARTBEATS_PER_TTL * RUN_MARGIN_PER_TTL),
            Err(_) => Instant::now(),
        };
        sleep_until(next.min(deadline)).await;
    }
}

fn note(sender: &watch::Sender<KeepAliveStatus>, is_abort_requested: bool) {
    let status =
        if is_abort_requested { KeepAliveStatus::AbortRequested } else { KeepAliveStatus::Held };
    sender.send_if_modified(|known| {
        let is_news = *known != status;
        *known = status;
        is_news
    });
}

#[cfg(test)]
#[path = "lease_keep_alive_tests.rs"]
mod tests;
