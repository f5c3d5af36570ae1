//! When workers look at tasks, and how they take up what is due.

use std::collections::BTreeSet;
use std::pin::Pin;

use ade_core::access::Class;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{APPLY_ABORT_GRACE, WORKER_AT_ONCE};
use ade_core::task::{
    Command, Decision, Escalation, Facts, Refusal, State, Task, Write, decide, expires_at, warns_at,
};
use ade_core::time::Timestamp;
use ade_store::due::{self, Due};
use futures_util::future::join_all;
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::execute::Executors;
use crate::work::Done;

/// Why a worker looks at a task, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    OpenReview,
    /// The end is near.
    WarnExpiry,
    Expire,
    /// The rules have changed since it was approved.
    CheckBasis,
    /// The next step of the escalation.
    Escalate,
    /// A reviewer who was asked is here no more.
    Reassign,
    /// An override that nobody has confirmed.
    LapseOverride,
    /// It can be claimed.
    Claim,
    /// The server can apply it itself.
    Run,
    /// Whoever applies it may have died.
    RescueApply,
    /// It has taken too long.
    TimeApply,
}

impl Deadline {
    pub const ALL: [Self; 11] = [
        Self::OpenReview,
        Self::WarnExpiry,
        Self::Expire,
        Self::CheckBasis,
        Self::Escalate,
        Self::Reassign,
        Self::LapseOverride,
        Self::Claim,
        Self::Run,
        Self::RescueApply,
        Self::TimeApply,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenReview => "open_review",
            Self::WarnExpiry => "warn_expiry",
            Self::Expire => "expire",
            Self::CheckBasis => "check_basis",
            Self::Escalate => "escalate",
            Self::Reassign => "reassign",
            Self::LapseOverride => "lapse_override",
            Self::Claim => "claim",
            Self::Run => "run",
            Self::RescueApply => "rescue_apply",
            Self::TimeApply => "time_apply",
        }
    }
}

/// What a decision makes due, and which kinds of due work it settles.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub dues: Vec<Due>,
    pub done: Vec<&'static str>,
}

/// Nothing if what workers wait for is as it was; everything is settled once a task is gone.
pub(super) fn schedule(
    executors: &Executors,
    before: &Task,
    after: Option<&Task>,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Schedule {
    let dues = match after {
        Some(task) => dues(executors, before, task, facts, now),
        None => Some(Vec::new()),
    };
    // The next step of an escalation does not replace a reviewer who is gone.
    let is_same_review = after
        .is_some_and(|task| task.state == State::Reviewing && task.revision == before.revision);
    let is_settled = |deadline: &Deadline| *deadline != Deadline::Reassign || !is_same_review;
    dues.map_or_else(Schedule::default, |dues| Schedule {
        dues,
        done: Deadline::ALL.into_iter().filter(is_settled).map(Deadline::as_str).collect(),
    })
}

/// When workers have to look at the task again; nothing if what they wait for is as it was.
fn dues(
    executors: &Executors,
    before: &Task,
    task: &Task,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Option<Vec<Due>> {
    let is_as_it_was = before.state == task.state
        && before.revision == task.revision
        && before.escalated_to == task.escalated_to
        && before.extended_to == task.extended_to
        && before.break_glass == task.break_glass;
    if is_as_it_was {
        return None;
    }
    let object = task.id.uuid();
    let mut dues = Vec::new();
    let mut add = |deadline: Deadline, at| {
        dues.push(Due { kind: deadline.as_str(), object, at });
    };
    if task.state == State::Submitted {
        add(Deadline::OpenReview, now);
    }
    if matches!(task.state, State::Submitted | State::Reviewing | State::Approved) {
        // One whose basis is gone is looked at now, by whoever reviews it again.
        let at = expires_at(task, facts, now).map_or(now, |at| at.max(now));
        add(Deadline::Expire, at);
    }
    if task.state == State::Approved {
        let is_run_here = executors.runs(&task.content.subject.task_type);
        add(if is_run_here { Deadline::Run } else { Deadline::Claim }, now);
    }
    if let Some(at) = warns_at(task, facts, now) {
        add(Deadline::WarnExpiry, at.max(now));
    }
    if task.state == State::Reviewing
        && let Some(at) = asked(task, &Command::Escalate(Escalation::Step), facts, now)
    {
        add(Deadline::Escalate, at);
    }
    if let Some(glass) = task.break_glass.as_ref().filter(|glass| glass.confirmed.is_none()) {
        add(Deadline::LapseOverride, glass.confirm_before);
    }
    Some(dues)
}

/// Whoever is told to stop has as long as this, whoever told it and whenever.
pub(super) fn grace(before: &Task, decision: &Decision, now: Timestamp) -> Option<Due> {
    let is_told = decision.writes.contains(&Write::RequestAbort);
    let has_begun = before.execution.as_ref().is_some_and(|live| live.begun_at.is_some());
    (is_told && has_begun).then(|| Due {
        kind: Deadline::TimeApply.as_str(),
        object: before.id.uuid(),
        at: now.plus(APPLY_ABORT_GRACE),
    })
}

/// When the core would let a worker do this; nothing if never.
fn asked(task: &Task, command: &Command, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    let actor = Actor::system("deadlines");
    let facts = Facts { actor: &actor, ..*facts };
    match decide(task, command, &facts, now) {
        Err(Refusal::NotDue { at }) => Some(at),
        Ok(_) => Some(now),
        Err(_) => None,
    }
}

/// A worker, as whoever decides sees it.
pub(crate) fn worker_caller(app: &App, worker: &str, tenant: TenantId) -> Caller {
    let service = app.service.clone();
    Caller {
        tenant,
        actor: Actor::system(worker),
        scopes: BTreeSet::from(Class::ALL),
        key_id: None,
        place: Where { address: None, user_agent: None, service },
    }
}

pub type Step<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Takes up what is due of all tenants. One that cannot be settled is told and left for the next
/// round; the others go on.
pub async fn for_each_due(
    app: &App,
    deadline: Deadline,
    limit: u32,
    step: for<'s> fn(&'s App, TenantId, TaskId) -> Step<'s>,
) -> Result<Done, Error> {
    let step = |tenant, object| async move {
        step(app, tenant, TaskId::from_uuid(object)).await.map(|()| true)
    };
    take_up(app, deadline.as_str(), limit, WORKER_AT_ONCE, step).await
}

/// The same of any kind, so many at once; a step says whether it has done anything.
pub(crate) async fn take_up<F>(
    app: &App,
    kind: &'static str,
    limit: u32,
    at_once: usize,
    step: impl Fn(TenantId, Uuid) -> F,
) -> Result<Done, Error>
where
    F: Future<Output = Result<bool, Error>>,
{
    let due = due::next(&app.pools.worker, kind, limit).await?;
    let has_more = due.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let mut done = Done { items: 0, has_more };
    for some in due.chunks(at_once.max(1)) {
        let outcomes = join_all(some.iter().map(|(tenant, due)| step(*tenant, due.object))).await;
        for ((tenant, due), outcome) in some.iter().zip(outcomes) {
            match outcome {
                Ok(is_done) => done.items += u64::from(is_done),
                Err(error) => {
                    done.has_more = false;
                    tracing::warn!(%tenant, object = %due.object, kind, %error, "not settled");
                }
            }
        }
    }
    Ok(done)
}
