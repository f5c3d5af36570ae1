//! Keeps a lease alive and knows when it is over. Time is counted from the moment a heartbeat was
//! *sent*, by a clock that no one sets, and ends a margin early: what is done under the lease must
//! have ended before somebody else may have its locks.

use std::future::Future;
use std::time::Duration;

use ade_api::executions::Alive;
use ade_core::limits::{RUN_HEARTBEATS_PER_TTL, RUN_MARGIN_MAX, RUN_MARGIN_PER_TTL};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Not confirmed since it was granted: nothing may be done under it yet.
    Unsure,
    Held,
    /// Still held, and somebody wants it to stop.
    AbortAsked,
    Lost(String),
}

/// Ends with its handle.
#[derive(Debug)]
pub struct Keeper {
    standing: watch::Receiver<Standing>,
    beating: JoinHandle<()>,
}

/// The end of a lease that is kept for ending what is done under it.
pub fn margin(ttl: Duration) -> Duration {
    (ttl / RUN_MARGIN_PER_TTL).min(RUN_MARGIN_MAX)
}

impl Keeper {
    /// `beat` sends one heartbeat and answers within the time it is given, or fails.
    pub fn start<F, B>(ttl: Duration, beat: F) -> Self
    where
        F: Fn(Duration) -> B + Send + 'static,
        B: Future<Output = Result<Alive, Error>> + Send,
    {
        let (tell, standing) = watch::channel(Standing::Unsure);
        let beating = tokio::spawn(async move {
            let why = keep(ttl, beat, &tell).await;
            let _ = tell.send(Standing::Lost(why));
        });
        Self { standing, beating }
    }

    /// Returns when the work may not go on as it does.
    pub async fn stopped(&mut self) -> Standing {
        let is_over = |standing: &Standing| match standing {
            Standing::Unsure | Standing::Held => false,
            Standing::AbortAsked | Standing::Lost(_) => true,
        };
        self.reached(is_over).await
    }

    /// Returns once a heartbeat was answered, or never will be.
    pub async fn settled(&mut self) -> Standing {
        self.reached(|standing| *standing != Standing::Unsure).await
    }

    /// Does the work under the lease: it begins once a heartbeat was answered, and is dropped where
    /// it stands when the lease is lost or somebody asks it to stop.
    pub async fn guard<W: Future>(&mut self, work: W) -> Result<W::Output, Standing> {
        match self.settled().await {
            Standing::Held => {}
            standing => return Err(standing),
        }
        tokio::select! {
            biased;
            standing = self.stopped() => Err(standing),
            done = work => Ok(done),
        }
    }

    async fn reached(&mut self, is_it: impl FnMut(&Standing) -> bool) -> Standing {
        match self.standing.wait_for(is_it).await {
            Ok(standing) => standing.clone(),
            Err(_) => Standing::Lost("its keeper has ended".to_owned()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

/// Until it is lost; says why.
async fn keep<F, B>(granted: Duration, beat: F, tell: &watch::Sender<Standing>) -> String
where
    F: Fn(Duration) -> B,
    B: Future<Output = Result<Alive, Error>>,
{
    let mut ttl = granted;
    // Only a heartbeat of our own tells how long it lasts: a claim may have waited for a minute.
    let mut heard = Instant::now();
    loop {
        let deadline = heard + ttl - margin(ttl);
        let sent = Instant::now();
        // Also if this process was stopped and goes on late: it must not ask as if it were in time.
        if sent >= deadline {
            let silent = heard.elapsed().as_secs_f64();
            return format!("the server has answered no heartbeat for {silent:.1} s");
        }
        // A connection that swallows everything must leave time for another one.
        let patience = (ttl / RUN_HEARTBEATS_PER_TTL).min(deadline - sent);
        let next = match timeout_at(sent + patience, beat(patience)).await {
            Ok(Ok(alive)) => {
                ttl = Duration::from_millis(alive.ttl_ms);
                heard = sent;
                note(tell, alive.abort_requested);
                sleep_until(sent + ttl / RUN_HEARTBEATS_PER_TTL).await;
                continue;
            }
            Ok(Err(error)) if !error.is_passing() => return error.to_string(),
            Ok(Err(_)) => Instant::now() + ttl / (RUN_HEARTBEATS_PER_TTL * RUN_MARGIN_PER_TTL),
            Err(_) => Instant::now(),
        };
        sleep_until(next.min(deadline)).await;
    }
}

fn note(tell: &watch::Sender<Standing>, is_abort_asked: bool) {
    let told = if is_abort_asked { Standing::AbortAsked } else { Standing::Held };
    tell.send_if_modified(|known| {
        let is_news = *known != told;
        *known = told;
        is_news
    });
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
