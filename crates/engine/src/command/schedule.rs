//! Schedules the jobs of tasks, and runs due jobs.

use std::collections::BTreeSet;
use std::pin::{Pin, pin};

use ade_core::access::Scope;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{APPLY_ABORT_GRACE, WORKER_AT_ONCE};
use ade_core::share::Shares;
use ade_core::task::{
    Command, Decision, Escalation, Facts, Refusal, State, Task, Write, decide, expires_at, warns_at,
};
use ade_core::time::Timestamp;
use ade_store::scheduled_jobs::{self, JobBatch, ScheduledJob};
use futures_util::Stream;
use futures_util::stream::{FuturesUnordered, StreamExt as _, unfold};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::services::executors::TenantExecutors;
use crate::worker::Done;

/// The kind of a task's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    OpenReview,
    /// The task expires soon.
    WarnExpiry,
    Expire,
    /// The rules have changed since the approval.
    CheckBasis,
    /// The next step of the escalation is due.
    Escalate,
    /// A requested reviewer is no longer available.
    Reassign,
    /// An override was not confirmed in time.
    LapseOverride,
    /// The task can be claimed.
    Claim,
    /// The server can apply the task itself.
    Run,
    /// The executor may have died.
    RescueApply,
    /// The execution has taken too long.
    TimeApply,
}

impl JobKind {
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

/// The jobs that a decision schedules, and the kinds of jobs that it ends.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub dues: Vec<ScheduledJob>,
    pub done: Vec<&'static str>,
}

/// Returns the schedule after a decision. It is empty if nothing relevant has changed; a deleted
/// task ends all its jobs.
pub(crate) fn schedule(
    executors: TenantExecutors<'_, '_>,
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
    let is_settled = |deadline: &JobKind| *deadline != JobKind::Reassign || !is_same_review;
    dues.map_or_else(Schedule::default, |dues| Schedule {
        dues,
        done: JobKind::ALL.into_iter().filter(is_settled).map(JobKind::as_str).collect(),
    })
}

/// Returns the jobs of a task; `None` if nothing relevant has changed.
fn dues(
    executors: TenantExecutors<'_, '_>,
    before: &Task,
    task: &Task,
    facts: &Facts<'_>,
    now: Timestamp,
) -> Option<Vec<ScheduledJob>> {
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
    let mut add = |deadline: JobKind, at| {
        dues.push(ScheduledJob { kind: deadline.as_str(), object, at });
    };
    if task.state == State::Submitted {
        add(JobKind::OpenReview, now);
    }
    if matches!(task.state, State::Submitted | State::Reviewing | State::Approved) {
        // A task whose basis is lost is checked now, by the worker that reopens reviews.
        let at = expires_at(task, facts, now).map_or(now, |at| at.max(now));
        add(JobKind::Expire, at);
    }
    if task.state == State::Approved {
        let is_run_here = executors.runs(&task.content.subject.task_type);
        add(if is_run_here { JobKind::Run } else { JobKind::Claim }, now);
    }
    if let Some(at) = warns_at(task, facts, now) {
        add(JobKind::WarnExpiry, at.max(now));
    }
    if task.state == State::Reviewing
        && let Some(at) = asked(task, &Command::Escalate(Escalation::Step), facts, now)
    {
        add(JobKind::Escalate, at);
    }
    if let Some(glass) = task.break_glass.as_ref().filter(|glass| glass.confirmed.is_none()) {
        add(JobKind::LapseOverride, glass.confirm_before);
    }
    Some(dues)
}

/// Returns the job for the end of the grace period after a cancellation.
pub(crate) fn grace(before: &Task, decision: &Decision, now: Timestamp) -> Option<ScheduledJob> {
    let is_abort_requested = decision.writes.contains(&Write::RequestAbort);
    let has_begun = before.execution.as_ref().is_some_and(|live| live.begun_at.is_some());
    (is_abort_requested && has_begun).then(|| ScheduledJob {
        kind: JobKind::TimeApply.as_str(),
        object: before.id.uuid(),
        at: now.plus(APPLY_ABORT_GRACE),
    })
}

/// Returns the time from which the core permits the command to a worker; `None` if never.
fn asked(task: &Task, command: &Command, facts: &Facts<'_>, now: Timestamp) -> Option<Timestamp> {
    let actor = Actor::system("deadlines");
    let facts = Facts { actor: &actor, ..*facts };
    match decide(task, command, &facts, now) {
        Err(Refusal::NotDue { at }) => Some(at),
        Ok(_) => Some(now),
        Err(_) => None,
    }
}

/// Returns the caller for the actions of a worker.
pub(crate) fn worker_caller(app: &App, worker: &str, tenant: TenantId) -> Caller {
    let service = app.service.clone();
    Caller {
        tenant,
        actor: Actor::system(worker),
        scopes: BTreeSet::from(Scope::ALL),
        place: Where::service(service),
    }
}

pub type Step<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Processes what is due in all tenants. An item that fails is logged and left for the next round;
/// the others continue.
pub async fn for_each_due(
    app: &App,
    deadline: JobKind,
    limit: u32,
    step: for<'s> fn(&'s App, TenantId, TaskId) -> Step<'s>,
) -> Result<Done, Error> {
    let step = |tenant, object| async move {
        step(app, tenant, TaskId::from_uuid(object)).await.map(|()| true)
    };
    take_up(app, deadline.as_str(), limit, WORKER_AT_ONCE, step).await
}

/// Runs due jobs of one kind, `at_once` concurrently, of which a tenant gets its share. A step
/// returns whether it has done anything.
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
    let batch = JobBatch::shared(limit);
    let due = scheduled_jobs::next(&app.pools.worker, kind, batch).await?;
    let mut done = Done { items: 0, has_more: batch.is_used_up(&due) };
    let waiting = due.into_iter().map(|(tenant, due)| (tenant, due.object)).collect();
    let mut outcomes = pin!(in_shares(waiting, at_once, step));
    while let Some((tenant, object, outcome)) = outcomes.next().await {
        match outcome {
            Ok(is_done) => done.items += u64::from(is_done),
            Err(error) => {
                done.has_more = false;
                tracing::warn!(
                    %tenant, %object, kind, %error,
                    "scheduled job failed; will retry"
                );
            }
        }
    }
    Ok(done)
}

/// Runs a step for each object, `at_once` concurrently, and yields the results. A tenant has at
/// most its share of the concurrent steps while others have some, so that slow steps of one tenant
/// do not delay those of others.
fn in_shares<F>(
    waiting: Vec<(TenantId, Uuid)>,
    at_once: usize,
    step: impl Fn(TenantId, Uuid) -> F,
) -> impl Stream<Item = (TenantId, Uuid, F::Output)>
where
    F: Future,
{
    let slots = Shares::new(at_once.max(1));
    let running = FuturesUnordered::new();
    let begin = (waiting, slots, running, step);
    unfold(begin, |(mut waiting, mut slots, mut running, step)| async move {
        waiting.retain(|&(tenant, object)| {
            let starts = slots.take(tenant);
            if starts {
                let outcome = step(tenant, object);
                running.push(async move { (tenant, object, outcome.await) });
            }
            !starts
        });
        let ended = running.next().await?;
        slots.give_back(ended.0);
        Some((ended, (waiting, slots, running, step)))
    })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::future::poll_fn;
    use std::task::Poll;

    use futures_util::FutureExt as _;

    use super::*;

    fn batch(of: &[(u128, usize)]) -> Vec<(TenantId, Uuid)> {
        let one = |tenant| (TenantId::from_u128(tenant), Uuid::nil());
        of.iter().flat_map(|(tenant, count)| vec![one(*tenant); *count]).collect()
    }

    /// Runs a batch in which the steps of tenant 1 never end, and returns how many steps of each
    /// tenant began.
    fn begun(waiting: Vec<(TenantId, Uuid)>, at_once: usize) -> BTreeMap<TenantId, usize> {
        let begun: RefCell<BTreeMap<TenantId, usize>> = RefCell::default();
        let slow = TenantId::from_u128(1);
        let step = |tenant, _| {
            *begun.borrow_mut().entry(tenant).or_default() += 1;
            poll_fn(move |_| if tenant == slow { Poll::Pending } else { Poll::Ready(()) })
        };
        {
            let mut outcomes = pin!(in_shares(waiting, at_once, step));
            while let Some(Some(_)) = outcomes.next().now_or_never() {}
        }
        begun.into_inner()
    }

    #[test]
    fn slow_steps_of_one_tenant_do_not_stop_those_of_others() {
        let [one, two, three] = [1, 2, 3].map(TenantId::from_u128);
        let found = begun(batch(&[(1, 50), (2, 20), (3, 20)]), 8);
        assert_eq!(found, BTreeMap::from([(one, 6), (two, 20), (three, 20)]));
        let found = begun(batch(&[(2, 1), (1, 50), (2, 20)]), 8);
        assert_eq!(found[&two], 21);
        assert_eq!(begun(batch(&[(1, 50)]), 8)[&one], 6, "a share is left");
        assert_eq!(begun(batch(&[(1, 1), (2, 1)]), 1), BTreeMap::from([(one, 1)]));
    }
}
