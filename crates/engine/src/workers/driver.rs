//! Runs workers: each under its lease, on its period and on its signal, one activation at a time,
//! until stopped. The result of the last activation is stored in the lease's row, where every
//! process can read it.

use std::sync::Arc;
use std::time::Duration;

use ade_store::lease::{self, WorkerLease};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use super::registry::{all, loops};
use crate::app::App;
use crate::error::Error;
use crate::worker::{Done, Loop, Runs, Start, Worker};

const WORKER_BACKOFF: Duration = Duration::from_secs(2);
/// Minimum time between two updates of a worker's status, except after a failure.
const WORKER_STATUS_PERIOD: Duration = Duration::from_secs(1);

/// The workers that run in this process, and their periods.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    /// The names of workers; `all` for every worker.
    pub run: Vec<String>,
    /// The time between two rounds of a worker without its own period.
    pub period: Duration,
    pub lease: Duration,
}

impl WorkerPlan {
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
    pub fn start(app: &Arc<App>, plan: &WorkerPlan) -> Self {
        let (stop, stopped) = watch::channel(false);
        let holder = Uuid::now_v7();
        let mut running = JoinSet::new();
        for worker in all().filter(|worker| plan.runs(worker.name)) {
            if loops().any(|one| one.name == worker.name) {
                continue;
            }
            let turns = WorkerLoop {
                worker: *worker,
                period: worker.period.unwrap_or(plan.period),
                lease: plan.lease,
                holder,
            };
            running.spawn(drive(Arc::clone(app), turns, stopped.clone()));
        }
        let is_run = |one: &Loop| match one.runs {
            Runs::Planned => plan.runs(one.name),
            Runs::Everywhere => true,
            Runs::ForCallers => false,
        };
        spawn_loops(&mut running, app, holder, &stopped, is_run);
        Self { app: Arc::clone(app), stop, running }
    }

    /// Serves the callers that wait in this process.
    pub fn watch(app: &Arc<App>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        let is_run = |one: &Loop| match one.runs {
            Runs::ForCallers | Runs::Everywhere => true,
            Runs::Planned => false,
        };
        spawn_loops(&mut running, app, Uuid::now_v7(), &stopped, is_run);
        Self { app: Arc::clone(app), stop, running }
    }

    /// Stops the workers: each finishes its activation and releases its lease, and deliveries in
    /// progress complete.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.running.join_next().await.is_some() {}
        self.app.webhooks.quiet().await;
    }
}

fn spawn_loops(
    running: &mut JoinSet<()>,
    app: &Arc<App>,
    holder: Uuid,
    stopped: &watch::Receiver<bool>,
    is_run: impl Fn(&Loop) -> bool,
) {
    for one in loops().filter(|one| is_run(one)) {
        for number in 0..one.count {
            let (app, stopped) = (Arc::clone(app), stopped.clone());
            running.spawn((one.run)(Start { app, holder, number, stopped }));
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct WorkerLoop {
    worker: Worker,
    period: Duration,
    lease: Duration,
    holder: Uuid,
}

async fn drive(app: Arc<App>, turns: WorkerLoop, mut stopped: watch::Receiver<bool>) {
    let worker = turns.worker;
    let mut hand = WorkerState::default();
    while !*stopped.borrow() {
        let wait = match hand.turn(&app, turns).await {
            Ok(Some(done)) if done.has_more => Duration::ZERO,
            Ok(_) => turns.period,
            Err(error) => {
                tracing::warn!(worker = worker.name, %error, "worker activation failed");
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
                () = hand.until_report_is_due() => hand.report_or_warn(&app).await,
            }
        }
    }
    hand.report_or_warn(&app).await;
    if let Some(held) = hand.held {
        let released = lease::release(&app.pools.worker, &held.lease).await;
        if let Err(error) = released {
            tracing::warn!(
                worker = worker.name, %error,
                "failed to release worker lease; it will expire"
            );
        }
    }
}

/// Returns the class of an error for display: the error itself may name tables, hosts and rows of
/// one tenant.
fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Store(_) => "the database refused the operation or did not respond; see the log",
        Error::Locks(_) => "the lock queue refused the operation or did not respond; see the log",
        Error::Blobs(_) => "the blob store refused the operation or did not respond; see the log",
        _ => "the operation failed; see the log",
    }
}

/// The state of a worker between activations. The lease and the worker status are written rarely,
/// since a worker may be woken hundreds of times a second. Losing the lease in between is harmless:
/// the rows themselves guard the work; the lease only avoids duplicate work.
#[derive(Debug, Default)]
struct WorkerState {
    held: Option<HeldLease>,
    /// Activations and items that are not stored in the worker status yet.
    pending_stats: (u64, u64),
    reported_at: Option<Instant>,
    has_failed: bool,
}

#[derive(Debug)]
struct HeldLease {
    lease: WorkerLease,
    /// When the lease was requested, which is before it began.
    since: Instant,
}

impl WorkerState {
    /// Runs one activation, if this process holds the lease.
    async fn turn(&mut self, app: &App, turns: WorkerLoop) -> Result<Option<Done>, Error> {
        if !self.hold(app, turns).await? {
            return Ok(None);
        }
        let outcome = (turns.worker.run)(app).await;
        let (items, failure) = match &outcome {
            Ok(done) => (done.items, None),
            // The worker status is public; the log has the details.
            Err(error) => (0, Some(class_of(error))),
        };
        self.pending_stats = (self.pending_stats.0 + 1, self.pending_stats.1 + items);
        let is_news = failure.is_some() != self.has_failed;
        self.has_failed = failure.is_some();
        if is_news || self.has_failed || self.is_due() {
            self.report(app, failure).await?;
        }
        outcome.map(Some)
    }

    /// Returns whether this process holds the lease, which is renewed at half its time.
    async fn hold(&mut self, app: &App, turns: WorkerLoop) -> Result<bool, Error> {
        let WorkerLoop { worker, lease: ttl, holder, .. } = turns;
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
        self.held = lease.map(|lease| HeldLease { lease, since });
        Ok(self.held.is_some())
    }

    fn is_due(&self) -> bool {
        self.reported_at.is_none_or(|at| at.elapsed() >= WORKER_STATUS_PERIOD)
    }

    /// Resolves when there are statistics to report and a report is due.
    async fn until_report_is_due(&self) {
        match self.reported_at {
            Some(at) if self.pending_stats.0 > 0 => {
                tokio::time::sleep_until(at + WORKER_STATUS_PERIOD).await;
            }
            _ => std::future::pending().await,
        }
    }

    async fn report(&mut self, app: &App, failure: Option<&str>) -> Result<(), Error> {
        self.reported_at = Some(Instant::now());
        if let Some(held) = &self.held {
            lease::report(&app.pools.worker, &held.lease, self.pending_stats, failure).await?;
        }
        // The statistics are reset only now: if they could not be stored, they are stored with the
        // next result.
        self.pending_stats = (0, 0);
        Ok(())
    }

    /// Reports between activations. A failure only affects the displayed status.
    async fn report_or_warn(&mut self, app: &App) {
        if self.pending_stats.0 > 0
            && let Err(error) = self.report(app, None).await
        {
            tracing::warn!(%error, "failed to update worker status");
        }
    }
}

/// Runs one activation by name, regardless of the lease: for tests and for operators.
pub async fn run_once(app: &App, name: &str) -> Option<Result<Done, Error>> {
    let worker = all().find(|worker| worker.name == name)?;
    Some((worker.run)(app).await)
}
