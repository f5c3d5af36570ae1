//! One attempt that the server makes itself, by an executor: the same permit, the same holds and
//! the same reports as an agent's. It ends when its lease does, whatever it was at; what it cannot
//! say is UNKNOWN.

use std::time::Duration;

use ade_api::executions::{
    Beginning, Claimed, Fail, FailureKind, Finish, Left as Told, Permit, Pulse,
};
use ade_api::tasks::RollbackStrategy;
use ade_core::actor::Actor;
use ade_core::change::{Digest, StrictValue};
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{
    APPLY_ABORT_GRACE, RUN_HEARTBEATS_PER_TTL, RUN_MARGIN_PER_TTL, RUNNER_DRAIN, RUNNER_LINES,
    RUNNER_PAUSE, RUNNER_RETRY,
};
use ade_core::task::Refusal;
use ade_store::claimable::{self, Candidate};
use ade_store::due::{self, Due};
use ade_store::{Gate, Tx};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::claim::Asked;
use super::matching::{environments, is_frozen, seat};
use super::permit::{self, Outcome as Permitted};
use super::{Taker, rescue, runner_log};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::execute::{Applies, Leash, Left, Outcome, Stash, Work};
use crate::ops::deadline::worker_caller;

/// A task that this process has taken, and how long its lease is to be.
#[derive(Debug)]
pub(crate) struct Picked {
    candidate: Candidate,
    ttl: Duration,
}

/// Takes a task that is due away from the other processes for a moment. Nothing if another was
/// faster, or if it cannot be applied now.
pub(crate) async fn pick(app: &App, tenant: TenantId, due: &Due) -> Result<Option<Picked>, Error> {
    let actor = Actor::system(Taker::SERVER);
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, Gate::Unasked).await?;
    let again_at = tx.now().plus(RUNNER_RETRY);
    if !due::postpone(&mut tx, due, again_at).await? {
        tx.roll_back().await;
        return Ok(None);
    }
    let mut types = claimable::types_now(&mut tx).await?;
    types.retain(|kind| app.executors.runs(kind));
    let task = TaskId::from_uuid(due.object);
    let found = claimable::named(&mut tx, &types, &[task], 1).await?.pop();
    let book = app.books.current(&mut tx).await?;
    let named = found.iter().flat_map(|task| &task.resources).map(|(name, _)| name.clone());
    let known = environments(&mut tx, &book, named.collect()).await?;
    let now = tx.now();
    tx.commit().await?;
    let found = found.filter(|candidate| !is_frozen(&book, candidate, &known, now));
    Ok(found.map(|candidate| Picked { candidate, ttl: book.times.lock.ttl() }))
}

/// From its place in line to its report. `stopping` says that this process is to end.
pub(crate) async fn run(
    app: &App,
    tenant: TenantId,
    Picked { candidate, ttl }: Picked,
    stopping: watch::Receiver<bool>,
) -> Result<(), Error> {
    let receipts = app.receipts.as_ref().ok_or(Error::ReceiptsOff)?;
    let Some(applies) = app.executors.for_type(&candidate.task_type).applies() else {
        return Ok(());
    };
    let taker = Taker::Server;
    let Some(offer) = seat(app, tenant, candidate, (taker, ttl)).await? else { return Ok(()) };
    let caller = worker_caller(app, Taker::SERVER, tenant);
    let audience = applies.audience().unwrap_or_else(|| receipts.issuer()).to_owned();
    let attempt = keyless("claim");
    let asked =
        Asked { app, caller: &caller, attempt: &attempt, taker, ttl, session: None, audience };
    let heard = Instant::now();
    let Permitted::Permitted(reply) = Box::pin(permit::permit(&asked, offer)).await? else {
        return Ok(());
    };
    let claimed: Claimed =
        serde_json::from_str(&reply.body).map_err(|error| Error::invalid("permit", error))?;
    let Some(permit) = claimed.permit else { return Ok(()) };
    Box::pin(Run { app, caller: &caller, permit, applies }.conduct(heard, stopping)).await;
    Ok(())
}

/// Of a worker: it asks again by looking, not by a key.
fn keyless(step: &str) -> Attempt {
    Attempt { route: format!("run {step}"), key: None, body: Digest::of(b"") }
}

/// How an attempt ended, as its executor says.
#[derive(Debug)]
enum Verdict {
    Done(Option<serde_json::Value>),
    Failed {
        kind: FailureKind,
        error: String,
        left: Left,
        details: Option<serde_json::Value>,
    },
    /// There is nothing left to say: it was ended by somebody else.
    Over,
}

struct Run<'a> {
    app: &'a App,
    caller: &'a Caller,
    permit: Permit,
    applies: &'a dyn Applies,
}

impl Run<'_> {
    /// Whoever loses the lease stops at once and says nothing: the holds tell the rest.
    async fn conduct(&self, heard: Instant, mut stopping: watch::Receiver<bool>) {
        let (abort, aborted) = watch::channel(false);
        let stop = async {
            if stopping.wait_for(|is_stopping| *is_stopping).await.is_ok() {
                sleep(RUNNER_DRAIN).await;
            }
            abort.send_replace(true);
            std::future::pending::<()>().await;
        };
        let (task, execution) = (self.permit.task.summary.id, self.permit.execution);
        tracing::info!(%task, %execution, "applying");
        tokio::select! {
            () = self.steps(aborted) => {}
            why = self.keep(heard, &abort) => {
                tracing::warn!(%task, %execution, %why, "the attempt was ended with its lease");
            }
            () = stop => {}
        }
    }

    /// Until the lease is lost, or so near its end that everything must be over now.
    async fn keep(&self, mut heard: Instant, abort: &watch::Sender<bool>) -> Error {
        let ttl = Duration::from_millis(self.permit.ttl_ms);
        let (every, margin) = (ttl / RUN_HEARTBEATS_PER_TTL, ttl / RUN_MARGIN_PER_TTL);
        let mut next = heard + every;
        loop {
            let deadline = heard + ttl - margin;
            sleep_until(next.min(deadline)).await;
            let sent = Instant::now();
            if sent >= deadline {
                return super::begin::lost();
            }
            let pulse = Pulse { lease: self.permit.lease };
            let beat = super::heartbeat(self.app, self.caller, self.permit.execution, pulse);
            next = match timeout(deadline - sent, beat).await {
                Ok(Ok(alive)) => {
                    if alive.abort_requested {
                        abort.send_replace(true);
                    }
                    heard = sent;
                    sent + every
                }
                Ok(Err(lost @ (Error::LeaseLost { .. } | Error::NotFound { .. }))) => return lost,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "a heartbeat was not heard");
                    Instant::now() + RUNNER_PAUSE
                }
                Err(_) => deadline,
            };
        }
    }

    async fn steps(&self, abort: watch::Receiver<bool>) {
        let (lines, spoken) = mpsc::channel(RUNNER_LINES);
        let (id, lease) = (self.permit.execution, self.permit.lease);
        let (verdict, output) = tokio::join!(
            async { self.verbs(abort, lines).await },
            runner_log::write(self.app, self.caller, (id, lease), spoken),
        );
        self.report(verdict, output).await;
    }

    async fn verbs(
        &self,
        abort: watch::Receiver<bool>,
        lines: mpsc::Sender<crate::execute::Line>,
    ) -> Verdict {
        let work = match self.work() {
            Ok(work) => work,
            Err(error) => return failed(&error),
        };
        let time = Duration::from_secs(u64::from(self.permit.timeout_seconds));
        let leash = |deadline| Leash { deadline, abort: abort.clone(), lines: lines.clone() };
        let mut stash = None;
        if self.permit.task.rollback.strategy == RollbackStrategy::Automatic {
            match self.applies.stash(&work, &leash(Instant::now() + time)).await {
                Ok(stashed) => stash = Some(stashed),
                Err(unstashed) => {
                    let (kind, error) = (unstashed.kind, unstashed.error);
                    let error = format!("nothing was stashed for a rollback: {error}");
                    return Verdict::Failed { kind, error, left: Left::Nothing, details: None };
                }
            }
        }
        if let Err(verdict) = self.begin().await {
            return verdict;
        }
        let ends_at = Instant::now() + time;
        match self.applies.apply(&work, &leash(ends_at)).await {
            Outcome::Success { details } => Verdict::Done(details),
            Outcome::Failure { kind, error, left, details } => {
                let (error, left) = match &stash {
                    Some(stash) => {
                        self.take_back(&work, stash, (error, left), ends_at, lines.clone()).await
                    }
                    None => (error, left),
                };
                Verdict::Failed { kind, error, left, details }
            }
        }
    }

    async fn begin(&self) -> Result<(), Verdict> {
        let beginning = Beginning { lease: self.permit.lease, plan: None };
        let (id, attempt) = (self.permit.execution, keyless("begin"));
        let begun = super::begin(self.app, self.caller, &attempt, id, beginning);
        match Box::pin(begun).await {
            Ok(_) => Ok(()),
            // The task is with its reviewers again, or somebody has taken the holds.
            Err(Error::EffectDrifted { .. } | Error::LeaseLost { .. }) => Err(Verdict::Over),
            Err(Error::Refused(Refusal::AbortAsked)) => {
                let (kind, error) = (FailureKind::Cancelled, "it was told to stop".to_owned());
                Err(Verdict::Failed { kind, error, left: Left::Nothing, details: None })
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// It is given as long as the server waits for whoever was told to stop.
    async fn take_back(
        &self,
        work: &Work,
        stash: &Stash,
        (error, left): (String, Left),
        ends_at: Instant,
        lines: mpsc::Sender<crate::execute::Line>,
    ) -> (String, Left) {
        if matches!(left, Left::Nothing | Left::RolledBack) {
            return (error, left);
        }
        // A stop is why it rolls back, and no reason to end that half way.
        let (_never, abort) = watch::channel(false);
        let deadline =
            (Instant::now() + APPLY_ABORT_GRACE / 2).min(ends_at + APPLY_ABORT_GRACE / 2);
        let leash = Leash { deadline, abort, lines };
        match self.applies.roll_back(work, stash, &leash).await {
            Outcome::Success { .. } => (error, Left::RolledBack),
            Outcome::Failure { error: why, .. } => {
                (format!("{error}; and it could not be rolled back: {why}"), left)
            }
        }
    }

    fn work(&self) -> Result<Work, Error> {
        let (permit, task) = (&self.permit, &self.permit.task);
        let parameters = StrictValue::from_json(&task.parameters);
        Ok(Work {
            task: task.summary.id,
            execution: permit.execution,
            revision: task.summary.revision,
            digest: task.summary.digest,
            task_type: task.summary.task_type.clone(),
            parameters: parameters.map_err(|error| Error::invalid("parameters", error))?,
            resources: permit.resources.clone(),
            receipt: permit.receipt.clone(),
        })
    }

    /// Again until it is heard; the lease ends it otherwise.
    async fn report(&self, verdict: Verdict, output: String) {
        let output = Some(output).filter(|output| !output.is_empty());
        let key = Some(Uuid::now_v7().to_string());
        let execution = self.permit.execution;
        loop {
            match self.tell(&verdict, output.clone(), key.clone()).await {
                Ok(()) => return,
                Err(Error::Store(error)) if error.is_retriable() => {
                    tracing::warn!(%execution, %error, "a report was not heard");
                    sleep(RUNNER_PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(%execution, %error, "a report was refused");
                    return;
                }
            }
        }
    }

    async fn tell(
        &self,
        verdict: &Verdict,
        output: Option<String>,
        key: Option<String>,
    ) -> Result<(), Error> {
        let (app, caller) = (self.app, self.caller);
        let (id, lease) = (self.permit.execution, self.permit.lease);
        match verdict {
            Verdict::Over => Ok(()),
            Verdict::Done(details) => {
                let attempt = Attempt { key, ..keyless("finish") };
                let said = Finish { lease, output, details: details.clone() };
                Box::pin(super::finish(app, caller, &attempt, id, said)).await.map(drop)
            }
            Verdict::Failed { kind, error, left, details } => {
                let Some(left) = told(*left) else {
                    let of = (caller.tenant, self.permit.task.summary.id, id);
                    return Box::pin(rescue::lose(app, of, Taker::SERVER, error)).await;
                };
                let attempt = Attempt { key, ..keyless("fail") };
                let (error, details) = (error.clone(), details.clone());
                let said = Fail { lease, result: *kind, error, left, output, details };
                Box::pin(super::fail(app, caller, &attempt, id, said)).await.map(drop)
            }
        }
    }
}

/// Nothing has begun.
fn failed(error: &Error) -> Verdict {
    let (kind, error) = (FailureKind::Failure, error.to_string());
    Verdict::Failed { kind, error, left: Left::Nothing, details: None }
}

/// Nothing if nobody can say: that is no report.
const fn told(left: Left) -> Option<Told> {
    match left {
        Left::Nothing => Some(Told::Nothing),
        Left::RolledBack => Some(Told::RolledBack),
        Left::Changed => Some(Told::Changed),
        Left::Unknown => None,
    }
}
