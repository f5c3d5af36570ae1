//! One attempt that the server makes itself with an executor: with the same permit, holds and
//! reports as an agent's attempt. It ends when its lease ends, whatever its progress; an unknown
//! outcome is reported as UNKNOWN.

use std::sync::Arc;
use std::time::Duration;

use ade_api::claims::{Claimed, Permit};
use ade_api::executions::{Beginning, Finish, FinishOutcome, Left as ReportedLeft, Pulse};
use ade_api::locks::LeaseState;
use ade_api::tasks::RollbackStrategy;
use ade_core::actor::Actor;
use ade_core::change::{Digest, StrictValue};
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{
    APPLY_ABORT_GRACE, RUN_HEARTBEATS_PER_TTL, RUN_MARGIN_PER_TTL, RUNNER_DRAIN,
};
use ade_core::task::Refusal;
use ade_store::claimable::{self, Candidate};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::tenant_config::TenantConfig;
use ade_store::{TenantLock, Tx};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::matching::{environments, is_frozen, seat};
use super::permit::ClaimRequest;
use super::permit::{self, PermitOutcome as Permitted};
use super::{Taker, rescue, runner_log};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::schedule::worker_caller;
use crate::error::{Error, LostLease};
use crate::services::executors::{Applies, ExecutorOutcome, Leash, Left, PermittedAttempt, Stash};

/// Delay before a task that cannot be applied yet is tried again; its queue place is kept longer.
const RUNNER_RETRY: Duration = Duration::from_secs(2);
/// Delay before a failed heartbeat or report is sent again.
const RUNNER_PAUSE: Duration = Duration::from_secs(1);
/// Lines buffered for the log; beyond that, the program's output blocks.
const RUNNER_LINES: usize = 1_000;

/// A task that this process has taken, and the configuration of its tenant.
#[derive(Debug)]
pub(crate) struct Picked {
    candidate: Candidate,
    book: Arc<TenantConfig>,
}

/// Reserves a due task for this process for a short time. Returns `None` if another process was
/// faster, or if the task cannot be applied now.
pub(crate) async fn pick(
    app: &App,
    tenant: TenantId,
    due: &ScheduledJob,
) -> Result<Option<Picked>, Error> {
    let actor = Actor::system(Taker::SERVER);
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, TenantLock::None).await?;
    let again_at = tx.now().plus(RUNNER_RETRY);
    if !scheduled_jobs::postpone(&mut tx, due, again_at).await? {
        tx.roll_back().await;
        return Ok(None);
    }
    let mut types = claimable::types_now(&mut tx).await?;
    let book = app.books.current(&mut tx).await?;
    types.retain(|kind| app.executors.of(&book.tenant).runs(kind));
    let task = TaskId::from_uuid(due.object);
    let found = claimable::named(&mut tx, &types, &[task], 1).await?.pop();
    let named = found.iter().flat_map(|task| &task.resources).map(|(name, _)| name.clone());
    let known = environments(&mut tx, &book, named.collect()).await?;
    let now = tx.now();
    tx.commit().await?;
    let found = found.filter(|candidate| !is_frozen(&book, candidate, &known, now));
    Ok(found.map(|candidate| Picked { candidate, book }))
}

/// Runs a task, from its queue place to its report. `stopping` says that this process is shutting
/// down.
pub(crate) async fn run(
    app: &App,
    tenant: TenantId,
    Picked { candidate, book }: Picked,
    stopping: watch::Receiver<bool>,
) -> Result<(), Error> {
    let receipts = app.receipts.as_ref().ok_or(Error::ReceiptsOff)?;
    let executor = app.executors.of(&book.tenant).for_type(&candidate.task_type);
    let Some(applies) = executor.applies() else { return Ok(()) };
    let ttl = book.timeouts.lock.ttl();
    let taker = Taker::Server;
    let Some(offer) = seat(app, tenant, candidate, (taker, ttl)).await? else { return Ok(()) };
    let caller = worker_caller(app, Taker::SERVER, tenant);
    let audience = applies.audience().unwrap_or_else(|| receipts.issuer()).to_owned();
    let attempt = keyless("claim");
    let asked = ClaimRequest {
        app,
        caller: &caller,
        attempt: &attempt,
        taker,
        ttl,
        session: None,
        audience,
    };
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

/// A worker's request has no idempotency key: the worker checks the state instead.
fn keyless(step: &str) -> IdempotentRequest {
    IdempotentRequest { route: format!("run {step}"), key: None, body: Digest::of(b"") }
}

/// The outcome of an attempt, as its executor reports it.
#[derive(Debug)]
enum Verdict {
    Done(Option<serde_json::Value>),
    Failed {
        kind: FinishOutcome,
        error: String,
        left: Left,
        details: Option<serde_json::Value>,
    },
    /// The attempt was ended elsewhere and needs no report.
    Over,
}

struct Run<'a> {
    app: &'a App,
    caller: &'a Caller,
    permit: Permit,
    applies: &'a dyn Applies,
}

impl Run<'_> {
    /// Runs the attempt. When the lease is lost, the attempt stops immediately and reports nothing.
    async fn conduct(&self, heard: Instant, mut stopping: watch::Receiver<bool>) {
        let (abort, aborted) = watch::channel(false);
        let stop = async {
            if stopping.wait_for(|is_stopping| *is_stopping).await.is_ok() {
                sleep(RUNNER_DRAIN).await;
            }
            abort.send_replace(true);
            std::future::pending::<()>().await;
        };
        let (task, execution) = (self.permit.task.summary.id, self.permit.execution_id);
        tracing::info!(%task, %execution, "apply started");
        tokio::select! {
            () = self.steps(aborted) => {}
            why = self.keep(heard, &abort) => {
                tracing::warn!(%task, %execution, %why, "attempt ended because its lease was lost");
            }
            () = stop => {}
        }
    }

    /// Keeps the lease alive. Returns when it is lost, or so close to its end that the attempt must
    /// stop.
    async fn keep(&self, mut heard: Instant, abort: &watch::Sender<bool>) -> Error {
        let ttl = Duration::from_secs(self.permit.ttl_seconds);
        let (every, margin) = (ttl / RUN_HEARTBEATS_PER_TTL, ttl / RUN_MARGIN_PER_TTL);
        let mut next = heard + every;
        loop {
            let deadline = heard + ttl - margin;
            sleep_until(next.min(deadline)).await;
            let sent = Instant::now();
            if sent >= deadline {
                let (state, broken, attempt) = (LeaseState::Expired, None, None);
                return Error::LeaseLost(Box::new(LostLease { state, broken, attempt }));
            }
            let pulse = Pulse { lease_id: self.permit.lease_id };
            let beat = super::heartbeat(self.app, self.caller, self.permit.execution_id, pulse);
            next = match timeout(deadline - sent, beat).await {
                Ok(Ok(alive)) => {
                    if alive.abort_requested {
                        abort.send_replace(true);
                    }
                    heard = sent;
                    sent + every
                }
                Ok(Err(lost @ (Error::LeaseLost(_) | Error::NotFound { .. }))) => return lost,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "heartbeat failed");
                    Instant::now() + RUNNER_PAUSE
                }
                Err(_) => deadline,
            };
        }
    }

    async fn steps(&self, abort: watch::Receiver<bool>) {
        let (lines, spoken) = mpsc::channel(RUNNER_LINES);
        let (id, lease) = (self.permit.execution_id, self.permit.lease_id);
        let (verdict, output) = tokio::join!(
            async { self.verbs(abort, lines).await },
            runner_log::write(self.app, self.caller, (id, lease), spoken),
        );
        self.report(verdict, output).await;
    }

    async fn verbs(
        &self,
        abort: watch::Receiver<bool>,
        lines: mpsc::Sender<crate::services::executors::OutputLine>,
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
                    let error = format!("the rollback data could not be stored: {error}");
                    return Verdict::Failed { kind, error, left: Left::Nothing, details: None };
                }
            }
        }
        if let Err(verdict) = self.begin().await {
            return verdict;
        }
        let ends_at = Instant::now() + time;
        match self.applies.apply(&work, &leash(ends_at)).await {
            ExecutorOutcome::Success { details } => Verdict::Done(details),
            ExecutorOutcome::Failure { kind, error, left, details } => {
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
        let beginning = Beginning { lease_id: self.permit.lease_id, plan: None };
        let (id, attempt) = (self.permit.execution_id, keyless("begin"));
        let begun = super::begin(self.app, self.caller, &attempt, id, beginning);
        match Box::pin(begun).await {
            Ok(_) => Ok(()),
            // The task is back in review or waits for the end of a freeze, or the holds were taken
            // away.
            Err(
                Error::EffectDrifted { .. }
                | Error::LeaseLost(_)
                | Error::Refused(
                    Refusal::BasisLost(_) | Refusal::Frozen { .. } | Refusal::InstallationFrozen(_),
                ),
            ) => Err(Verdict::Over),
            Err(Error::AbortRequested { .. }) => {
                let (kind, error) =
                    (FinishOutcome::Cancelled, "the executor was asked to stop".to_owned());
                Err(Verdict::Failed { kind, error, left: Left::Nothing, details: None })
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Rolls the change back, within the grace period that the server grants after a cancellation.
    async fn take_back(
        &self,
        work: &PermittedAttempt,
        stash: &Stash,
        (error, left): (String, Left),
        ends_at: Instant,
        lines: mpsc::Sender<crate::services::executors::OutputLine>,
    ) -> (String, Left) {
        if matches!(left, Left::Nothing | Left::RolledBack) {
            return (error, left);
        }
        // A request to stop caused the rollback and must not interrupt it.
        let (_never, abort) = watch::channel(false);
        let deadline =
            (Instant::now() + APPLY_ABORT_GRACE / 2).min(ends_at + APPLY_ABORT_GRACE / 2);
        let leash = Leash { deadline, abort, lines };
        match self.applies.roll_back(work, stash, &leash).await {
            ExecutorOutcome::Success { .. } => (error, Left::RolledBack),
            ExecutorOutcome::Failure { error: why, .. } => {
                (format!("{error}; the rollback also failed: {why}"), left)
            }
        }
    }

    fn work(&self) -> Result<PermittedAttempt, Error> {
        let (permit, task) = (&self.permit, &self.permit.task);
        let parameters = StrictValue::from_json(&task.parameters);
        Ok(PermittedAttempt {
            task: task.summary.id,
            execution: permit.execution_id,
            revision: task.summary.revision,
            digest: task.summary.digest,
            task_type: task.summary.task_type.clone(),
            parameters: parameters.map_err(|error| Error::invalid("parameters", error))?,
            resources: permit.resources.clone(),
            receipt: permit.receipt.clone(),
        })
    }

    /// Reports the outcome, and retries until it is stored or the lease ends.
    async fn report(&self, verdict: Verdict, output: String) {
        let output = Some(output).filter(|output| !output.is_empty());
        let key = Some(Uuid::now_v7().to_string());
        let execution = self.permit.execution_id;
        loop {
            match self.tell(&verdict, output.clone(), key.clone()).await {
                // A replayed report is the stored response to an earlier try.
                Ok(()) | Err(Error::Replayed(_)) => return,
                Err(Error::Store(error)) if error.is_retriable() => {
                    tracing::warn!(%execution, %error, "failed to report attempt outcome");
                    sleep(RUNNER_PAUSE).await;
                }
                Err(error) => {
                    tracing::warn!(%execution, %error, "attempt outcome refused");
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
        let (id, lease) = (self.permit.execution_id, self.permit.lease_id);
        match verdict {
            Verdict::Over => Ok(()),
            Verdict::Done(details) => {
                let attempt = IdempotentRequest { key, ..keyless("finish") };
                let details = details.clone();
                let said = Finish { output, details, ..Finish::succeeded(lease) };
                Box::pin(super::finish(app, caller, &attempt, id, said)).await.map(drop)
            }
            Verdict::Failed { kind, error, left, details } => {
                let Some(left) = reported_left(*left) else {
                    let of = (caller.tenant, self.permit.task.summary.id, id);
                    return Box::pin(rescue::lose(app, of, Taker::SERVER, error)).await;
                };
                let attempt = IdempotentRequest { key, ..keyless("finish") };
                let (error, left) = (Some(error.clone()), Some(left));
                let (outcome, details) = (*kind, details.clone());
                let said =
                    Finish { lease_id: lease, outcome, error, left_behind: left, output, details };
                Box::pin(super::finish(app, caller, &attempt, id, said)).await.map(drop)
            }
        }
    }
}

/// A failure before anything was changed.
fn failed(error: &Error) -> Verdict {
    let (kind, error) = (FinishOutcome::Failed, error.to_string());
    Verdict::Failed { kind, error, left: Left::Nothing, details: None }
}

/// The reported state of the target; `None` if it is unknown, because then there is nothing to
/// report.
const fn reported_left(left: Left) -> Option<ReportedLeft> {
    match left {
        Left::Nothing => Some(ReportedLeft::Nothing),
        Left::RolledBack => Some(ReportedLeft::RolledBack),
        Left::Changed => Some(ReportedLeft::Changed),
        Left::Unknown => None,
    }
}
