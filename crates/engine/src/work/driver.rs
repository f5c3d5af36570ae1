//! Runs workers: each under its lease, on its period and on its signal, one activation at a time,
//! until told to stop. What the last activation did is on the board (the lease's row), where
//! every process can read it.

use std::sync::Arc;
use std::time::Duration;

use ade_core::limits::{EVENT_SHARDS, WORKER_BACKOFF, WORKER_TOLD_EVERY};
use ade_store::lease::{self, Lease};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Done, WORKERS, Worker, apply_runner, claim_matcher, lock_watcher, relay};
use crate::app::App;
use crate::error::Error;
use crate::ops::status;
use crate::{live, models};

/// Which workers run here, and how often.
#[derive(Debug, Clone)]
pub struct Plan {
    /// By name; `all` for every one.
    pub run: Vec<String>,
    /// Between two rounds of a worker that has no period of its own.
    pub period: Duration,
    pub lease: Duration,
}

impl Plan {
    fn runs(&self, worker: &str) -> bool {
        self.run.iter().any(|name| name == "all" || name == worker)
    }
}

/// All workers of one process.
#[derive(Debug)]
pub struct Driver {
    app: Arc<App>,
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Driver {
    pub fn start(app: &Arc<App>, plan: &Plan) -> Self {
        let (stop, stopped) = watch::channel(false);
        let holder = Uuid::now_v7();
        let mut running = JoinSet::new();
        for worker in WORKERS.iter().filter(|worker| plan.runs(worker.name)) {
            // By shard and without a period, it has a way of its own.
            if worker.name == relay::WORKER.name {
                running.spawn(relay::drive(Arc::clone(app), holder, stopped.clone()));
                continue;
            }
            let turns = Turns {
                worker: *worker,
                period: worker.period.unwrap_or(plan.period),
                lease: plan.lease,
                holder,
            };
            running.spawn(drive(Arc::clone(app), turns, stopped.clone()));
        }
        if plan.runs(apply_runner::NAME) {
            running.spawn(apply_runner::run_due(Arc::clone(app), stopped.clone()));
        }
        running.spawn(claim_matcher::announce(Arc::clone(app), stopped));
        Self { app: Arc::clone(app), stop, running }
    }

    /// For the callers who wait in this process.
    pub fn watch(app: &Arc<App>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        running.spawn(lock_watcher::hear(Arc::clone(app), stopped.clone()));
        running.spawn(lock_watcher::poll(Arc::clone(app), stopped.clone()));
        running.spawn(lock_watcher::follow(Arc::clone(app), stopped.clone()));
        running.spawn(claim_matcher::matching(Arc::clone(app), stopped.clone()));
        running.spawn(claim_matcher::announce(Arc::clone(app), stopped.clone()));
        running.spawn(claim_matcher::poll(Arc::clone(app), stopped.clone()));
        running.spawn(super::task_watcher::watch(Arc::clone(app), stopped.clone()));
        for shard in 0..EVENT_SHARDS {
            running.spawn(live::read_shard(Arc::clone(app), shard, stopped.clone()));
        }
        running.spawn(live::follow(Arc::clone(app), stopped.clone()));
        running.spawn(live::sweep(Arc::clone(app), stopped.clone()));
        running.spawn(live::check(Arc::clone(app), stopped.clone()));
        running.spawn(models::refill(Arc::clone(app), stopped.clone()));
        running.spawn(status::measure(Arc::clone(app), stopped));
        Self { app: Arc::clone(app), stop, running }
    }

    /// Each finishes its activation and gives its lease back; what is on its way arrives.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.running.join_next().await.is_some() {}
        self.app.webhooks.quiet().await;
    }
}

#[derive(Debug, Clone, Copy)]
struct Turns {
    worker: Worker,
    period: Duration,
    lease: Duration,
    holder: Uuid,
}

async fn drive(app: Arc<App>, turns: Turns, mut stopped: watch::Receiver<bool>) {
    let worker = turns.worker;
    let mut hand = Hand::default();
    while !*stopped.borrow() {
        let wait = match hand.turn(&app, turns).await {
            Ok(Some(done)) if done.has_more => Duration::ZERO,
            Ok(_) => turns.period,
            Err(error) => {
                tracing::warn!(worker = worker.name, %error, "activation failed");
                WORKER_BACKOFF
            }
        };
        let mut rest = std::pin::pin!(tokio::time::sleep(wait));
        loop {
            let signal = async {
                match worker.signal {
                    Some(signal) => signal(&app).notified().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = &mut rest => break,
                () = signal => break,
                _ = stopped.changed() => break,
                () = hand.tells() => hand.tell_or_warn(&app).await,
            }
        }
    }
    hand.tell_or_warn(&app).await;
    if let Some(held) = hand.held {
        let released = lease::release(&app.pools.worker, &held.lease).await;
        if let Err(error) = released {
            tracing::warn!(worker = worker.name, %error, "its lease runs out by itself");
        }
    }
}

/// What it says may name tables, hosts and rows of one tenant.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Store(_) => "the record refused it or did not answer; the log has more",
        Error::Locks(_) => "the queue of locks refused it or did not answer; the log has more",
        Error::Blobs(_) => "the blob store refused it or did not answer; the log has more",
        _ => "it could not be done; the log has more",
    }
}

/// What a worker has in hand from one activation to the next. Lease and board are written seldom,
/// since a worker may be woken hundreds of times a second. Losing the lease in between harms
/// nothing: what workers do is guarded by the rows themselves; the lease only saves double work.
#[derive(Debug, Default)]
struct Hand {
    held: Option<Held>,
    /// Activations and items that the board does not know of.
    untold: (u64, u64),
    told_at: Option<Instant>,
    has_failed: bool,
}

#[derive(Debug)]
struct Held {
    lease: Lease,
    /// When it was asked for, so before it began.
    since: Instant,
}

impl Hand {
    /// One activation, if the lease is ours.
    async fn turn(&mut self, app: &App, turns: Turns) -> Result<Option<Done>, Error> {
        if !self.hold(app, turns).await? {
            return Ok(None);
        }
        let outcome = (turns.worker.run)(app).await;
        let (items, failure) = match &outcome {
            Ok(done) => (done.items, None),
            // Everybody reads the board; the log has the rest.
            Err(error) => (0, Some(class_of(error))),
        };
        self.untold = (self.untold.0 + 1, self.untold.1 + items);
        let is_news = failure.is_some() != self.has_failed;
        self.has_failed = failure.is_some();
        if is_news || self.has_failed || self.is_due() {
            self.tell(app, failure).await?;
        }
        outcome.map(Some)
    }

    /// Whether the lease is ours. It is renewed at half its time.
    async fn hold(&mut self, app: &App, turns: Turns) -> Result<bool, Error> {
        let Turns { worker, lease: ttl, holder, .. } = turns;
        let (pool, since) = (&app.pools.worker, Instant::now());
        let lease = match self.held.take() {
            Some(held) if held.since.elapsed() < ttl / 2 => {
                self.held = Some(held);
                return Ok(true);
            }
            Some(held) => lease::renew(pool, &held.lease, ttl).await?,
            None => None,
        };
        let lease = match lease {
            Some(lease) => Some(lease),
            None => lease::acquire(pool, worker.name, 0, holder, ttl).await?,
        };
        self.held = lease.map(|lease| Held { lease, since });
        Ok(self.held.is_some())
    }

    fn is_due(&self) -> bool {
        self.told_at.is_none_or(|at| at.elapsed() >= WORKER_TOLD_EVERY)
    }

    /// Until there is something to tell and it is time to.
    async fn tells(&self) {
        match self.told_at {
            Some(at) if self.untold.0 > 0 => tokio::time::sleep_until(at + WORKER_TOLD_EVERY).await,
            _ => std::future::pending().await,
        }
    }

    async fn tell(&mut self, app: &App, failure: Option<&str>) -> Result<(), Error> {
        self.told_at = Some(Instant::now());
        if let Some(held) = &self.held {
            lease::report(&app.pools.worker, &held.lease, self.untold, failure).await?;
        }
        // Only now: what could not be told is told with what comes next.
        self.untold = (0, 0);
        Ok(())
    }

    /// Between activations: nothing is lost if it fails but what people see.
    async fn tell_or_warn(&mut self, app: &App) {
        if self.untold.0 > 0
            && let Err(error) = self.tell(app, None).await
        {
            tracing::warn!(%error, "the board does not know what a worker did");
        }
    }
}

/// One activation by name, whoever holds the lease: for tests and for a person at a terminal.
pub async fn run_once(app: &App, name: &str) -> Option<Result<Done, Error>> {
    let worker = WORKERS.iter().find(|worker| worker.name == name)?;
    Some((worker.run)(app).await)
}
