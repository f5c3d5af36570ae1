//! Begins an execution, the boundary between "safe to retry" and "unknown". Before it, everything
//! is checked once more under the lock: the effect, the versions that the preview saw, and what the
//! permit depends on. If anything differs, the execution ends, its locks are released, and the task
//! returns to its reviewers or waits for the end of the freeze.

use std::time::Duration;

use ade_api::cause::Cause;
use ade_api::executions::Beginning;
use ade_core::audit::Why;
use ade_core::change::{Digest, Drift, content_digest};
use ade_core::ids::ExecutionId;
use ade_core::task::{Command, Hold, LoadedGates, Refusal};
use ade_store::executions::{self, ExecutionOutcome};
use ade_store::scheduled_jobs::ScheduledJob;
use ade_store::tasks;

use super::heartbeat::{self, hold_of, lost};
use super::matching::environments;
use super::queries::shown;
use super::settle::over;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::assess::{self, Previewed};
use crate::command::cause::cause_of_abort;
use crate::command::permission::look;
use crate::command::proposal::{proposal_of, rate_for_author};
use crate::command::schedule::JobKind;
use crate::command::task_command::TaskCommand;
use crate::error::Error;
use crate::services::executors::{Preview, Proposal};

pub async fn begin(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: ExecutionId,
    beginning: Beginning,
) -> Result<Reply, Error> {
    let seen = preview(app, caller, id, &beginning).await?;
    let mut work = TaskCommand::begin_applying(app, caller, attempt, id).await?;
    let hold = hold_of(&mut work, id, beginning.lease_id).await?;
    if let Some(seen) = seen.filter(|seen| seen.differs(work.task.content.digest)) {
        return Err(Box::pin(drift(work, id, hold, seen)).await);
    }
    let command = Command::BeginApply { hold, gates: gates_of(&mut work).await? };
    let abort = abort_of(&mut work).await?;
    let decision = match work.decide(&command) {
        Ok(decision) => decision,
        Err(refusal) if is_withdrawn(&refusal) => {
            return Err(Box::pin(withdraw(work, id, command, refusal)).await);
        }
        Err(refusal) => {
            return Err(match work.refuse(&command, refusal).await {
                Error::Refused(Refusal::AbortRequested) => Error::AbortRequested { abort },
                error => error,
            });
        }
    };
    if !executions::begin(&mut work.tx, hold).await? {
        return Err(lost(&mut work, id).await);
    }
    let timeout = Duration::from_secs(u64::from(work.label.heading.timeout_seconds));
    let (kind, object) = (JobKind::TimeApply.as_str(), work.task.id.uuid());
    let (now, at) = (work.now(), work.now().plus(timeout));
    work.dues.push(ScheduledJob { kind, object, at });
    let execution = executions::get(&mut work.tx, id).await?;
    let execution = execution.ok_or(Error::NotFound { what: "execution" })?;
    work.finish(&command, &decision, None, Why::default(), |_, _| {
        Ok((200, shown(executions::ExecutionRecord { begun_at: Some(now), ..execution })))
    })
    .await
}

/// The effect that the task would have now.
struct Seen {
    proposal: Proposal,
    preview: Preview,
    digest: Digest,
    /// The resources whose version differs from the one that was approved.
    moved: Vec<Drift>,
}

impl Seen {
    fn differs(&self, approved: Digest) -> bool {
        self.digest != approved || !self.moved.is_empty()
    }
}

/// Loads what the permit depends on, as the permit does.
async fn gates_of(work: &mut TaskCommand<'_>) -> Result<LoadedGates, Error> {
    let named = work.task.content.subject.resources.iter().cloned().collect();
    let known = environments(&mut work.tx, &work.knowledge.book, named).await?;
    work.load_gates(known.into_values().collect()).await
}

/// Checks whether the permit would not be granted any more.
const fn is_withdrawn(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::BasisLost(_) | Refusal::Frozen { .. } | Refusal::InstallationFrozen(_)
    )
}

/// Returns who cancelled the task, if someone did after the permit was granted.
async fn abort_of(work: &mut TaskCommand<'_>) -> Result<Option<Cause>, Error> {
    match work.task.execution.as_ref().filter(|live| live.abort_requested) {
        Some(live) => cause_of_abort(&mut work.tx, work.task.id, live.started_at).await,
        None => Ok(None),
    }
}

/// Previews the current effect where this is possible: by the server's executor, or by the holder's
/// own plan. It runs outside of any transaction, because a target may be slow.
async fn preview(
    app: &App,
    caller: &Caller,
    id: ExecutionId,
    beginning: &Beginning,
) -> Result<Option<Seen>, Error> {
    let mut tx = look(app, caller).await?;
    let found = heartbeat::live(&mut tx, caller, id, beginning.lease_id).await?;
    let view = tasks::view(&mut tx, found.task).await?;
    tx.roll_back().await;
    let view = view.ok_or(Error::NotFound { what: "task" })?;
    let mut proposal = proposal_of(app, caller.tenant, &view).await?;
    let is_observed = proposal.plan.is_none();
    match (&beginning.plan, is_observed) {
        (None, false) => return Ok(None),
        (Some(_), true) => {
            return Err(Error::invalid("plan", "the server previews this task type itself"));
        }
        (Some(plan), false) => proposal.plan = Some(plan.clone()),
        (None, true) => {}
    }
    let preview = assess::preview(app, caller, &proposal).await?;
    let modes = proposal.resources.iter().map(|(resource, mode)| (resource, mode.as_deref()));
    let digest = content_digest(&proposal.task_type, &proposal.parameters, modes, &preview.effect);
    let digest = digest.map_err(|error| Error::invalid("resources", error))?;
    let moved = view.revision.versions.drift(&preview.versions);
    Ok(Some(Seen { proposal, preview, digest, moved }))
}

/// Returns the task to its reviewers with the new effect, and releases the holder's locks.
async fn drift(mut work: Box<TaskCommand<'_>>, id: ExecutionId, hold: Hold, seen: Seen) -> Error {
    let (app, tenant) = (work.app(), work.caller().tenant);
    let (approved, found) = (work.task.content.digest, seen.digest);
    let Seen { proposal, preview, moved, .. } = seen;
    let drifted = Error::EffectDrifted { approved, found, moved: moved.clone() };
    let outcome = ended("drifted", &drifted);
    let ended = async {
        let tags = work.task.content.subject.tags.clone();
        let previewed = Previewed { proposal: &proposal, tags, preview };
        let rated = rate_for_author(&mut work, previewed).await?;
        let command = Command::DriftApply { hold, content: rated.content.clone(), moved };
        let (mut work, decision) = work.decide_or_refuse(&command).await?;
        if !executions::release(&mut work.tx, hold).await? {
            return Err(lost(&mut work, id).await);
        }
        executions::note(&mut work.tx, id, &outcome).await?;
        let why = Why { reason: outcome.error.clone(), ticket: None };
        let committed = work.write(&command, &decision, Some(&rated), why, None).await?;
        work.commit(&committed).await
    };
    match ended.await {
        Ok(()) => {
            over(app, tenant, hold.lease).await;
            drifted
        }
        Err(error) => error,
    }
}

/// Takes the permit back, releases the holder's locks, and reports why the attempt did not begin.
async fn withdraw(
    mut work: Box<TaskCommand<'_>>,
    id: ExecutionId,
    command: Command,
    refusal: Refusal,
) -> Error {
    let (app, tenant) = (work.app(), work.caller().tenant);
    let Command::BeginApply { hold, gates } = command else { return refusal.into() };
    metrics::counter!("ade_permits_withdrawn_total", "why" => why(&refusal)).increment(1);
    let refused = Error::from(refusal);
    let outcome = ended("lost", &refused);
    let ended = async {
        let command = Command::WithdrawPermit { hold, gates };
        let decision = work.decide(&command)?;
        if !executions::release(&mut work.tx, hold).await? {
            return Err(lost(&mut work, id).await);
        }
        executions::note(&mut work.tx, id, &outcome).await?;
        let why = Why { reason: outcome.error.clone(), ticket: None };
        let committed = work.write(&command, &decision, None, why, None).await?;
        work.commit(&committed).await
    };
    match ended.await {
        Ok(()) => {
            over(app, tenant, hold.lease).await;
            refused
        }
        Err(error) => error,
    }
}

const fn why(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::InstallationFrozen(_) => "installation_frozen",
        Refusal::Frozen { .. } => "frozen",
        _ => "basis_lost",
    }
}

/// Returns the outcome of an attempt that ended before it began.
fn ended(result: &'static str, error: &Error) -> ExecutionOutcome {
    let (left, error) = (Some("nothing"), Some(error.to_string()));
    ExecutionOutcome { result, left, error, ..ExecutionOutcome::default() }
}
