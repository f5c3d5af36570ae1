//! Reads models. The caller names the version it knows; an older model is not used, so no caller
//! goes back in time. Permissions come from the current rules, never from a model.

use ade_api::approvals::Approval;
use ade_api::tasks::Task;
use ade_coord::models::QueuePosition;
use ade_core::access::{Action, Object};
use ade_core::approval::ApprovalStatus;
use ade_core::ids::{AgentId, ApprovalId, TaskId, UserId};
use ade_core::limits::BACKLOG_OVERDUE;
use ade_core::time::Timestamp;
use ade_store::approvals::{Cursor, QueuePlace};

use super::count;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::standing;
use crate::command::permission::{look, permit};
use crate::command::present;
use crate::error::Error;
use crate::services::read_models::Missed;

/// Returns the task in this version or a newer one; `None` if PostgreSQL must be read.
pub(crate) async fn task(
    app: &App,
    caller: &Caller,
    id: TaskId,
    since: u64,
) -> Result<Option<Task>, Error> {
    let Some(models) = &app.live.models else { return Ok(None) };
    let tenant = caller.tenant;
    let Some(found) = models.at_once(models.kept.task(tenant, id)).await else {
        count("task", "away");
        return Ok(None);
    };
    let Some(found) = found else {
        count("task", "miss");
        models.miss(Missed::Task(tenant, id));
        return Ok(None);
    };
    if found.version < since {
        count("task", "behind");
        return Ok(None);
    }
    // Deleted and oversized tasks are read from PostgreSQL.
    let Some(body) = found.body else { return Ok(None) };
    let (Some(data), Ok(author)) = (body.data, body.author.parse::<UserId>()) else {
        return Ok(None);
    };
    let agent = body.agent.map(|agent| agent.parse::<AgentId>()).transpose();
    let (Ok(agent), Ok(mut task)) = (agent, serde_json::from_str::<Task>(&data)) else {
        count("task", "unreadable");
        return Ok(None);
    };
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let relation = standing(&book, &caller.actor, author, agent, &body.task_type);
    let object = Object::Task(relation);
    let asked = permit(app, &book, &caller.actor, Action::ReadTask, object);
    asked.map_err(|_| Error::NotFound { what: "task" })?;
    count("task", "hit");
    task.summary.url = present::url(app, id);
    present::warn(app, &book, &mut task);
    Ok(Some(task))
}

/// A page of a reviewer's queue.
#[derive(Debug)]
pub(crate) struct ReviewQueuePage {
    pub items: Vec<Approval>,
    pub next: Option<Cursor>,
    /// The number of the last event that the queue has seen.
    pub version: u64,
}

/// Reads a page of a reviewer's queue; `None` if PostgreSQL must be read.
pub(crate) async fn inbox(
    app: &App,
    caller: &Caller,
    reviewer: UserId,
    after: Option<Cursor>,
    limit: u32,
    since: u64,
) -> Result<Option<ReviewQueuePage>, Error> {
    let Some(models) = &app.live.models else { return Ok(None) };
    let tenant = caller.tenant;
    let Some(found) = models.at_once(models.kept.queue(tenant, reviewer, since)).await else {
        count("inbox", "away");
        return Ok(None);
    };
    let Some(queue) = found else {
        count("inbox", "miss");
        models.miss(Missed::Queue(tenant, reviewer));
        return Ok(None);
    };
    // The transaction provides the current time, which is PostgreSQL's.
    let tx = look(app, caller).await?;
    let now = tx.now();
    tx.roll_back().await;
    let (page, next) = page(queue.places, after, limit, now);
    let ids: Vec<ApprovalId> = page.iter().map(|place| place.id).collect();
    let Some(data) = models.at_once(models.kept.requests(tenant, &ids)).await else {
        count("inbox", "away");
        return Ok(None);
    };
    let mut items = Vec::with_capacity(data.len());
    for text in data {
        // A request that has ended or expired since: the whole page is read from PostgreSQL.
        let item = text.and_then(|text| serde_json::from_str::<Approval>(&text).ok());
        let Some(mut item) = item.filter(|item| item.reviewer_id == reviewer) else {
            count("inbox", "miss");
            models.miss(Missed::Queue(tenant, reviewer));
            return Ok(None);
        };
        item.overdue = item.status == ApprovalStatus::Pending && item.due_at <= now;
        items.push(item);
    }
    count("inbox", "hit");
    Ok(Some(ReviewQueuePage { items, next, version: queue.head }))
}

/// Returns a page in the order of PostgreSQL: overdue requests first, the longest overdue foremost,
/// then by score; by score alone if too many are overdue.
fn page(
    places: Vec<QueuePosition>,
    after: Option<Cursor>,
    limit: u32,
    now: Timestamp,
) -> (Vec<QueuePosition>, Option<Cursor>) {
    let due = |place: &QueuePosition| Timestamp::from_micros(place.due_at);
    let as_of = after.map_or_else(
        || {
            let overdue = places.iter().filter(|place| due(place) <= now).count();
            let is_backlog = u32::try_from(overdue).unwrap_or(u32::MAX) > BACKLOG_OVERDUE;
            if is_backlog { Timestamp::from_micros(0) } else { now }
        },
        |cursor| cursor.as_of,
    );
    let (mut overdue, mut ahead): (Vec<QueuePosition>, Vec<QueuePosition>) =
        places.into_iter().partition(|place| due(place) <= as_of);
    overdue.sort_by_key(|place| (place.due_at, place.id));
    ahead.sort_by_key(|place| (std::cmp::Reverse(place.score), place.id));
    match after.map(|cursor| cursor.place) {
        None => {}
        Some(QueuePlace::Overdue { due_at, id }) => {
            overdue.retain(|place| (due(place), place.id) > (due_at, id));
        }
        Some(QueuePlace::Ahead { score, id }) => {
            overdue.clear();
            ahead.retain(|place| place.score < score || (place.score == score && place.id > id));
        }
    }
    let mut page = overdue;
    page.extend(ahead);
    page.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let is_full = page.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next = page.last().filter(|_| is_full).map(|last| {
        let place = if due(last) <= as_of {
            QueuePlace::Overdue { due_at: due(last), id: last.id }
        } else {
            QueuePlace::Ahead { score: last.score, id: last.id }
        };
        Cursor { as_of, place }
    });
    (page, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(id: u128, due_at: i64, score: u32) -> QueuePosition {
        QueuePosition { due_at, score, id: ApprovalId::from_u128(id) }
    }

    fn walk(places: &[QueuePosition], limit: u32, now: i64) -> Vec<u128> {
        let (mut walked, mut after) = (Vec::new(), None);
        loop {
            let now = Timestamp::from_micros(now);
            let (page, next) = page(places.to_vec(), after, limit, now);
            walked.extend(page.iter().map(|place| place.id.uuid().as_u128()));
            match next {
                Some(next) => after = Some(next),
                None => return walked,
            }
        }
    }

    #[test]
    fn read_model_pages_of_any_size_return_each_item_once() {
        let places =
            [place(1, 50, 9), place(2, 20, 1), place(3, 60, 9), place(4, 10, 0), place(5, 70, 30)];
        for limit in 1..7 {
            assert_eq!(walk(&places, limit, 40), [4, 2, 5, 1, 3], "{limit}");
        }
    }

    #[test]
    fn read_model_with_many_overdue_lists_the_riskiest_first() {
        let count = u128::from(BACKLOG_OVERDUE) + 1;
        let many: Vec<QueuePosition> = (0..count)
            // No request is due at the start of the epoch.
            .map(|nth| place(nth, i64::try_from(nth).unwrap() + 1, u32::try_from(nth).unwrap()))
            .collect();
        let riskiest: Vec<u128> = (0..count).rev().collect();
        assert_eq!(walk(&many, 7, 1_000), riskiest);
        let fewer = many.get(1..).unwrap();
        let oldest: Vec<u128> = (1..count).collect();
        assert_eq!(walk(fewer, 7, 1_000), oldest);
    }
}
