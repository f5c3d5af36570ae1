//! Updates models from events: an event says which task changed, and the row says what it is now.
//! The position of a tenant's models is stored with them in Redis and not in PostgreSQL: if Redis
//! loses models, it loses the position as well, and they are built again.

use std::collections::BTreeMap;

use ade_coord::models::{QueuePosition, RequestModel, TaskBody, TaskModel};
use ade_core::actor::Actor;
use ade_core::approval::ApprovalStatus;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{MODEL_QUEUE_MAX, MODEL_REBUILD_PAGE, MODEL_VALUE_MAX_BYTES};
use ade_core::time::Timestamp;
use ade_store::events::{self, Numbered};
use ade_store::{TenantLock, Tx, approvals, models, tasks};
use futures_util::future::try_join_all;
use uuid::Uuid;

use crate::app::App;
use crate::command::present;
use crate::error::Error;
use crate::services::read_models::Models;

/// Events of one tenant that one step applies to its read models.
const MODEL_EVENTS_BATCH: u32 = 200;
/// Concurrent writes of read models to Redis.
const MODEL_WRITES_AT_ONCE: usize = 16;

/// The consumer name. Its cursor only says which tenants have new events.
pub const CONSUMER: &str = "read-models";

/// The version of a task without any seen event.
const NO_EVENT_SEEN: u64 = 0;

/// Processes the next events of one tenant. Returns their number, and whether there are probably
/// more.
pub async fn project(app: &App, models: &Models, tenant: TenantId) -> Result<(u64, bool), Error> {
    let Some(head) = models.kept.head(tenant).await.map_err(away)? else {
        return Ok((rebuild(app, models, tenant, false).await?, false));
    };
    let mut tx = begin(app, tenant).await?;
    let news = events::read_after(&mut tx, head, MODEL_EVENTS_BATCH).await?;
    let newest = events::head(&mut tx).await?;
    let follows = news.first().map_or(newest <= head, |first| first.seq == head + 1);
    if newest < head || !follows {
        // The outbox begins after the models' position, or has lost what they know.
        tx.roll_back().await;
        return Ok((rebuild(app, models, tenant, newest < head).await?, false));
    }
    let mut moved = Vec::new();
    for (task, version) in touched(&news) {
        moved.push(load(app, &mut tx, task, version).await?);
    }
    tx.roll_back().await;
    write_all(models, tenant, &moved, false).await?;
    let last = news.last().map_or(head, |last| last.seq);
    models.kept.move_head(tenant, head, last).await.map_err(away)?;
    advance(app, tenant, last).await?;
    let count = u64::try_from(news.len()).unwrap_or(u64::MAX);
    metrics::counter!("ade_model_events_total").increment(count);
    Ok((count, count >= u64::from(MODEL_EVENTS_BATCH)))
}

/// Writes the models concurrently, since each write waits only for Redis; any order is right.
async fn write_all(
    models: &Models,
    tenant: TenantId,
    tasks: &[TaskModel],
    must: bool,
) -> Result<(), Error> {
    for part in tasks.chunks(MODEL_WRITES_AT_ONCE) {
        let writing: Vec<_> =
            part.iter().map(|task| models.kept.write(tenant, task, must)).collect();
        try_join_all(writing).await.map_err(away)?;
    }
    Ok(())
}

/// Rebuilds all open tasks of a tenant and returns their number; 0 if another process is
/// rebuilding, unless the caller `must`. `must` also replaces values newer than the database, for a
/// database that was restored from a backup: a late write then cannot be distinguished from a
/// correct one until the checker has run.
pub async fn rebuild(
    app: &App,
    models: &Models,
    tenant: TenantId,
    must: bool,
) -> Result<u64, Error> {
    let by = Uuid::now_v7().to_string();
    if !models.kept.begin_rebuild(tenant, &by, must).await.map_err(away)? {
        return Ok(0);
    }
    let written = write_everything(app, models, tenant, &by, must).await;
    // Otherwise no process could start again until the claim has expired.
    if written.is_err()
        && let Err(error) = models.kept.give_up_rebuild(tenant, &by).await
    {
        tracing::debug!(
            %error, %tenant,
            "failed to release the read model writer lease; it will expire"
        );
    }
    written
}

async fn write_everything(
    app: &App,
    models: &Models,
    tenant: TenantId,
    by: &str,
    must: bool,
) -> Result<u64, Error> {
    let mut tx = begin(app, tenant).await?;
    // The head is read first: later changes arrive as events.
    let head = events::head(&mut tx).await?;
    let people: Vec<UserId> =
        app.books.current(&mut tx).await?.directory.people().map(|person| person.id).collect();
    for person in &people {
        models.kept.forget_queue(tenant, *person).await.map_err(away)?;
    }
    let (mut count, mut after) = (0, None);
    loop {
        let page = models::open_tasks(&mut tx, after, MODEL_REBUILD_PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(*last);
        let mut found = Vec::new();
        for task in page {
            found.push(load(app, &mut tx, task, NO_EVENT_SEEN).await?);
            count += 1;
        }
        write_all(models, tenant, &found, must).await?;
        if !models.kept.go_on_rebuilding(tenant, by).await.map_err(away)? {
            return Ok(lost(tenant, count));
        }
    }
    tx.roll_back().await;
    for person in &people {
        models.kept.mark_whole(tenant, *person).await.map_err(away)?;
    }
    if !models.kept.end_rebuild(tenant, by, head, must).await.map_err(away)? {
        return Ok(lost(tenant, count));
    }
    advance(app, tenant, head).await?;
    metrics::counter!("ade_model_rebuilds_total").increment(1);
    tracing::info!(%tenant, tasks = count, head, "read models rebuilt");
    Ok(count)
}

/// Logs an interrupted rebuild: the next check finds no head and starts another one.
fn lost(tenant: TenantId, count: u64) -> u64 {
    tracing::warn!(
        %tenant,
        "read model rebuild interrupted: data lost or another process is rebuilding"
    );
    count
}

/// Writes all open requests of one person, and marks the queue as complete.
pub(super) async fn fill_queue(
    app: &App,
    models: &Models,
    tenant: TenantId,
    reviewer: UserId,
) -> Result<(), Error> {
    let most = u32::try_from(MODEL_QUEUE_MAX).unwrap_or(u32::MAX);
    // The queue is cleared before the requests are read: concurrent changes are added by their
    // events.
    models.kept.forget_queue(tenant, reviewer).await.map_err(away)?;
    let mut tx = begin(app, tenant).await?;
    let waiting = models::waiting(&mut tx, reviewer, most.saturating_add(1)).await?;
    if waiting.len() > MODEL_QUEUE_MAX {
        return Ok(());
    }
    let mut found = Vec::new();
    for one in waiting {
        found.push(load(app, &mut tx, one.task, NO_EVENT_SEEN).await?);
    }
    write_all(models, tenant, &found, false).await?;
    models.kept.mark_whole(tenant, reviewer).await.map_err(away)
}

pub(super) async fn fill_task(
    app: &App,
    models: &Models,
    tenant: TenantId,
    task: TaskId,
) -> Result<(), Error> {
    let mut tx = begin(app, tenant).await?;
    let found = load(app, &mut tx, task, NO_EVENT_SEEN).await?;
    tx.roll_back().await;
    // A missing task never had an event, or ended long ago.
    if found.body.is_some() {
        models.kept.write(tenant, &found, false).await.map_err(away)?;
    }
    Ok(())
}

/// Returns each task once, with the highest version that an event names.
fn touched(news: &[Numbered]) -> BTreeMap<TaskId, u64> {
    let mut touched = BTreeMap::new();
    for event in news {
        if let Ok(task) = event.object.parse::<TaskId>() {
            let version = event.version.and_then(|version| u64::try_from(version).ok());
            let known: &mut u64 = touched.entry(task).or_default();
            *known = version.unwrap_or_default().max(*known);
        }
    }
    touched
}

/// Loads the task as it is now; a deleted task has the version of its last event.
pub(super) async fn load(
    app: &App,
    tx: &mut Tx,
    id: TaskId,
    last_version: u64,
) -> Result<TaskModel, Error> {
    let view = tasks::view(tx, id).await?;
    let asked = approvals::of_task(tx, id).await?;
    let Some(view) = view else {
        return Ok(TaskModel { id, version: last_version, body: None, requests: Vec::new() });
    };
    let requests = asked.into_iter().map(|request| {
        let reviewer = request.approval.reviewer;
        let is_open = request.approval.status == ApprovalStatus::Pending;
        let due_at = request.approval.due_at.micros();
        let place = QueuePosition { due_at, score: request.score, id: request.id };
        // Whether it is overdue is computed by the reader.
        let shown = present::request(request, Timestamp::from_micros(i64::MIN))?;
        let data = is_open.then(|| text(&shown)).transpose()?;
        Ok(RequestModel { reviewer, place, data })
    });
    let mut shown = present::viewed(app, &view)?;
    // The address is a setting of the server that reads the model, not part of the record.
    shown.summary.url.clear();
    let data = text(&shown)?;
    let body = TaskBody {
        state: view.state.as_str().to_owned(),
        author: view.involvement.author.to_string(),
        agent: view.involvement.agent.map(|agent| agent.to_string()),
        task_type: view.revision.head.task_type.clone(),
        data: (data.len() <= MODEL_VALUE_MAX_BYTES).then_some(data),
    };
    let requests = requests.collect::<Result<_, Error>>()?;
    Ok(TaskModel { id, version: view.version, body: Some(body), requests })
}

fn text(of: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(of).map_err(|error| Error::invalid("model", error))
}

async fn advance(app: &App, tenant: TenantId, seq: u64) -> Result<(), Error> {
    let mut tx = begin(app, tenant).await?;
    events::advance(&mut tx, CONSUMER, seq).await?;
    Ok(tx.commit().await?)
}

pub(super) async fn begin(app: &App, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(&app.pools.worker, tenant, Actor::system(CONSUMER), TenantLock::None).await?)
}

pub(super) fn away(error: ade_coord::CoordError) -> Error {
    crate::services::locks::LockQueueError::from(error).into()
}
