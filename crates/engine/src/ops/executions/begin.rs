//! The line between "safe to take back" and "nobody knows". Before it the effect is looked at once
//! more under the lock; another one than people agreed to ends the attempt and asks them again.

use std::time::Duration;

use ade_api::executions::Beginning;
use ade_api::locks::LeaseState;
use ade_core::audit::Why;
use ade_core::change::{Digest, content_digest};
use ade_core::ids::ExecutionId;
use ade_core::task::{Command, Hold};
use ade_store::due::Due;
use ade_store::executions::{self, Outcome};
use ade_store::tasks;

use super::look::shown;
use super::settle::over;
use super::speak::{self, hold_of};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::content::{self, Previewed};
use crate::error::Error;
use crate::execute::{Preview, Proposal};
use crate::ops::Reply;
use crate::ops::act::look;
use crate::ops::deadline::Deadline;
use crate::ops::decision::{Begun, Work};
use crate::ops::tasks::{proposal_of, rate};

pub async fn begin(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: ExecutionId,
    beginning: Beginning,
) -> Result<Reply, Error> {
    let seen = preview(app, caller, id, &beginning).await?;
    let work = match Work::begin_applying(app, caller, attempt, id).await? {
        Begun::Work(work) => work,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let hold = hold_of(&work, id, beginning.lease)?;
    if let Some(seen) = seen.filter(|seen| seen.digest != work.task.content.digest) {
        return Err(Box::pin(drift(work, id, hold, seen)).await);
    }
    let command = Command::BeginApply { hold };
    let (mut work, decision) = work.decide_or_refuse(&command).await?;
    if !executions::begin(&mut work.tx, hold).await? {
        return Err(lost());
    }
    let timeout = Duration::from_secs(u64::from(work.label.heading.timeout_seconds));
    let (kind, object) = (Deadline::TimeApply.as_str(), work.task.id.uuid());
    let (now, at) = (work.now(), work.now().plus(timeout));
    work.dues.push(Due { kind, object, at });
    let execution = executions::get(&mut work.tx, id).await?;
    let execution = execution.ok_or(Error::NotFound { what: "execution" })?;
    work.finish(&command, &decision, None, Why::default(), |_, _| {
        Ok((200, shown(executions::Execution { begun_at: Some(now), ..execution })))
    })
    .await
}

/// What would change now.
struct Seen {
    proposal: Proposal,
    preview: Preview,
    digest: Digest,
}

pub(super) fn lost() -> Error {
    Error::LeaseLost { state: LeaseState::Expired }
}

/// What would change now, where somebody can look: the server by its executor, or the holder by a
/// plan of its own. Outside of any transaction: a target may take its time.
async fn preview(
    app: &App,
    caller: &Caller,
    id: ExecutionId,
    beginning: &Beginning,
) -> Result<Option<Seen>, Error> {
    let mut tx = look(app, caller).await?;
    let found = speak::live(&mut tx, caller, id, beginning.lease).await?;
    let view = tasks::view(&mut tx, found.task).await?;
    tx.roll_back().await;
    let view = view.ok_or(Error::NotFound { what: "task" })?;
    let mut proposal = proposal_of(&view)?;
    let is_observed = proposal.plan.is_none();
    match (&beginning.plan, is_observed) {
        (None, false) => return Ok(None),
        (Some(_), true) => {
            return Err(Error::invalid("plan", "the server previews this type itself"));
        }
        (Some(plan), false) => proposal.plan = Some(plan.clone()),
        (None, true) => {}
    }
    let preview = content::preview(app, &proposal).await?;
    let modes = proposal.resources.iter().map(|(resource, mode)| (resource, mode.as_deref()));
    let digest = content_digest(&proposal.task_type, &proposal.parameters, modes, &preview.effect);
    let digest = digest.map_err(|error| Error::invalid("resources", error))?;
    Ok(Some(Seen { proposal, preview, digest }))
}

/// The task goes back to its reviewers with what was found; the holder gives everything back.
async fn drift(mut work: Box<Work<'_>>, id: ExecutionId, hold: Hold, seen: Seen) -> Error {
    let (app, tenant) = (work.app(), work.caller().tenant);
    let (approved, found) = (work.task.content.digest, seen.digest);
    let outcome = Outcome {
        result: "drifted",
        left: Some("nothing"),
        error: Some(format!("the effect is {found} now, and {approved} was approved")),
        ..Outcome::default()
    };
    let ended = async {
        let tags = work.task.content.subject.tags.clone();
        let Seen { proposal, preview, .. } = seen;
        let previewed = Previewed { proposal: &proposal, tags, preview };
        let rated = rate(&mut work, previewed).await?;
        let command = Command::DriftApply { hold, content: rated.content.clone() };
        let (mut work, decision) = work.decide_or_refuse(&command).await?;
        if !executions::release(&mut work.tx, hold).await? {
            return Err(lost());
        }
        executions::note(&mut work.tx, id, &outcome).await?;
        let why = Why { reason: outcome.error.clone(), ticket: None };
        let committed = work.write(&command, &decision, Some(&rated), why, None).await?;
        work.commit(&committed).await
    };
    match ended.await {
        Ok(()) => {
            over(app, tenant, hold.lease).await;
            Error::EffectDrifted { approved, found }
        }
        Err(error) => error,
    }
}
