//! Statistics. A reviewer's are for themselves and for admins; those of a task for everyone who may
//! read it; the overview contains counts only and is for everyone in the tenant. Author and
//! approver pairs are for readers of the audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_api::stats::{
    Count, DayStats, Overview, Pair, Pairs, ReviewerStats, StateCount, TaskStats,
};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::approval::pairs;
use ade_core::ids::{TaskId, UserId};
use ade_core::limits::{PAIRS_APPROVALS_MAX, PAIRS_DAYS, STATS_COUNT_MAX, STATS_DAYS_MAX};
use ade_core::task::{Agreement, State, TaskRules};
use ade_core::time::Timestamp;
use ade_store::stats::{self, DayCount};
use ade_store::{rates, tasks};

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::visible_in;
use crate::command::permission::{look, permit, person};
use crate::error::Error;
use crate::services::rulebook_cache;

const DAY: Duration = Duration::from_hours(24);
/// The open states, in the order of a task's life.
const OPEN: [State; 7] = [
    State::Draft,
    State::Submitted,
    State::Reviewing,
    State::Approved,
    State::Applying,
    State::Failed,
    State::Unknown,
];

/// Returns the statistics of a reviewer; by default those of the caller.
pub async fn reviewer(
    app: &App,
    caller: &Caller,
    user: Option<UserId>,
) -> Result<ReviewerStats, Error> {
    let user = match user {
        Some(user) => user,
        None => person(caller)?,
    };
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    if !matches!(caller.actor, Actor::User { id, .. } if id == user) {
        permit(app, &book, &caller.actor, Action::AdministerUser, Object::Tenant)?;
    }
    if book.directory.person(user).is_none() {
        return Err(Error::NotFound { what: "user" });
    }
    let found = stats::reviewer(&mut tx, user).await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    Ok(ReviewerStats {
        user_id: user,
        day: date(tx.now()),
        pending_count: count(found.pending),
        overdue_count: count(found.overdue),
        approved_today: count(found.approved_today),
        rejected_today: count(found.rejected_today),
        avg_response_seconds: found.average_response_s,
        last_action_at: found.last_action_at,
    })
}

/// Returns the statistics of a task, computed by the functions that decide.
pub async fn task(app: &App, caller: &Caller, id: TaskId) -> Result<TaskStats, Error> {
    let mut tx = look(app, caller).await?;
    visible_in(app, caller, &mut tx, id).await?;
    let missing = Error::NotFound { what: "task" };
    let Some(task) = tasks::peek(&mut tx, id).await? else { return Err(missing) };
    let book = app.books.current(&mut tx).await?;
    let pinned = app.books.pinned(&mut tx, &book, &task.pins).await?;
    let now = tx.now();
    tx.roll_back().await;
    let inputs = rulebook_cache::of_task(book, pinned, &caller.actor, &task);
    let facts = inputs.facts(&app.access, &caller.actor);
    let rules = TaskRules::of(&task, &facts, now);
    let agreement = Agreement::of(&task, &facts.seating(&task, &rules, now), now);
    let waits = task.open_requests();
    Ok(TaskStats {
        task_id: id,
        state: task.state,
        required_count: agreement.needed(),
        approved_count: agreement.approvals,
        rejected_count: agreement.rejections,
        pending_count: u32::try_from(waits.count()).unwrap_or(u32::MAX),
        quorum_reached: agreement.is_met(),
    })
}

/// Returns the counts of the last `days` days including today, at least those of today.
pub async fn overview(app: &App, caller: &Caller, days: u32) -> Result<Overview, Error> {
    let days = days.clamp(1, STATS_DAYS_MAX);
    let mut tx = look(app, caller).await?;
    let states: Vec<String> = OPEN.iter().map(|state| state.as_str().to_owned()).collect();
    let open = stats::open(&mut tx, &states).await?;
    let first = tx.now().minus(DAY * (days - 1)).day();
    let counted = stats::days(&mut tx, first).await?;
    let since = tx.now().minus(DAY);
    let rates = rates::since(&mut tx, since).await?;
    let counts: BTreeMap<String, i64> = open.tasks.into_iter().collect();
    let of_state = |state: State| StateCount {
        state,
        count: bounded(counts.get(state.as_str()).copied().unwrap_or_default()),
    };
    Ok(Overview {
        as_of: tx.now(),
        open_tasks: OPEN.into_iter().map(of_state).collect(),
        pending_approvals: bounded(open.pending_approvals),
        overdue_approvals: bounded(open.overdue_approvals),
        after_reviews_owed: bounded(open.after_reviews_owed),
        days: (0..days).map(|number| day(first.plus(DAY * number), &counted)).collect(),
        rates: rates.into_iter().map(|(kind, count)| (kind, count.unsigned_abs())).collect(),
    })
}

pub async fn pairs(app: &App, caller: &Caller) -> Result<Pairs, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    permit(app, &book, &caller.actor, Action::ReadAudit, Object::Tenant)?;
    let as_of = tx.now();
    let one_more = i64::try_from(PAIRS_APPROVALS_MAX).unwrap_or(i64::MAX).saturating_add(1);
    let mut agreed = stats::agreed(&mut tx, as_of.minus(DAY * PAIRS_DAYS), one_more).await?;
    tx.roll_back().await;
    let is_more = agreed.len() > PAIRS_APPROVALS_MAX;
    agreed.truncate(PAIRS_APPROVALS_MAX);
    let pairs = pairs::pairs(&agreed, &book.directory).into_iter().map(pair).collect();
    Ok(Pairs { as_of, days: PAIRS_DAYS, pairs, is_more })
}

fn pair(pair: pairs::Pair) -> Pair {
    let pairs::Pair { author, reviewer, stands_out, .. } = pair;
    let [approvals, of] =
        [pair.approvals, pair.of].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    Pair { author_id: author, reviewer_id: reviewer, approvals, of, stands_out }
}

fn bounded(count: i64) -> Count {
    let is_more = count >= STATS_COUNT_MAX;
    Count { count: u64::try_from(count).unwrap_or_default(), is_more }
}

fn date(at: Timestamp) -> String {
    at.to_string().chars().take("2026-03-18".len()).collect()
}

fn day(at: Timestamp, counted: &[DayCount]) -> DayStats {
    let day = date(at);
    let (mut entered, mut actions) = (BTreeMap::new(), BTreeMap::new());
    for one in counted.iter().filter(|one| one.day == day) {
        // The names of actions contain a dot; states are in capitals.
        let of = if one.name.contains('.') { &mut actions } else { &mut entered };
        of.insert(one.name.clone(), u64::try_from(one.count).unwrap_or_default());
    }
    DayStats { day, entered, actions }
}
