//! From events to models: an event says which task moved, and the row says what it is now. How far
//! the models of a tenant have come is kept with them in Redis and not in PostgreSQL: what Redis
//! forgets, it forgets together with that number, and is brought again.

use std::collections::BTreeMap;

use ade_coord::models::{Place, RequestModel, TaskBody, TaskModel};
use ade_core::actor::Actor;
use ade_core::approval::Status;
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{
    MODEL_EVENTS_BATCH, MODEL_QUEUE_MAX, MODEL_REBUILD_PAGE, MODEL_VALUE_MAX_BYTES,
    MODEL_WRITES_AT_ONCE,
};
use ade_core::time::Timestamp;
use ade_store::events::{self, Numbered};
use ade_store::{Gate, Tx, approvals, models, tasks};
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::Models;
use crate::app::App;
use crate::error::Error;
use crate::present;

/// Its name among those who read events. Its cursor only says which tenants have news.
pub const CONSUMER: &str = "read-models";

/// Of a task that nobody has seen an event of.
const UNTOLD: u64 = 0;

/// The next events of one tenant. Says how many they were, and whether there are probably more.
pub async fn project(app: &App, models: &Models, tenant: TenantId) -> Result<(u64, bool), Error> {
    let Some(head) = models.kept.head(tenant).await.map_err(away)? else {
        return Ok((rebuild(app, models, tenant, false).await?, false));
    };
    let mut tx = begin(app, tenant).await?;
    let news = events::read_after(&mut tx, head, MODEL_EVENTS_BATCH).await?;
    let newest = events::head(&mut tx).await?;
    let follows = news.first().map_or(newest <= head, |first| first.seq == head + 1);
    if newest < head || !follows {
        // The record begins later than the models end, or has lost what they know.
        tx.roll_back().await;
        return Ok((rebuild(app, models, tenant, newest < head).await?, false));
    }
    let mut moved = Vec::new();
    for (task, version) in touched(&news) {
        moved.push(load(&mut tx, task, version).await?);
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

/// Together, since each waits for Redis alone; any order is right.
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

/// Everything of a tenant that is not over. Says how many tasks; none if somebody else is at it,
/// whose turn is taken by one who `must`. `must` also replaces what is newer than the record: for
/// whoever knows that the record was brought back from the past, since a write that comes late is
/// then no longer told from one that is right, until the checker has looked.
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
    // Else nobody could begin again until the turn has run out.
    if written.is_err()
        && let Err(error) = models.kept.give_up_rebuild(tenant, &by).await
    {
        tracing::debug!(%error, %tenant, "the turn to write read models runs out by itself");
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
    // Before anything is read: what happens from now on comes again as events.
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
            found.push(load(&mut tx, task, UNTOLD).await?);
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
    tracing::info!(%tenant, tasks = count, head, "read models were written anew");
    Ok(count)
}

/// Whoever looks next finds no head, and begins again.
fn lost(tenant: TenantId, count: u64) -> u64 {
    tracing::warn!(%tenant, "read models were lost while they were written, or another is at it");
    count
}

/// All that waits for one person, and that it is all.
pub(super) async fn fill_queue(
    app: &App,
    models: &Models,
    tenant: TenantId,
    reviewer: UserId,
) -> Result<(), Error> {
    let most = u32::try_from(MODEL_QUEUE_MAX).unwrap_or(u32::MAX);
    // Before what waits is read: what comes meanwhile is added by its event, whole or not.
    models.kept.forget_queue(tenant, reviewer).await.map_err(away)?;
    let mut tx = begin(app, tenant).await?;
    let waiting = models::waiting(&mut tx, reviewer, most.saturating_add(1)).await?;
    if waiting.len() > MODEL_QUEUE_MAX {
        return Ok(());
    }
    let mut found = Vec::new();
    for one in waiting {
        found.push(load(&mut tx, one.task, UNTOLD).await?);
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
    let found = load(&mut tx, task, UNTOLD).await?;
    tx.roll_back().await;
    // What is not there was never told of, or is over for long.
    if found.body.is_some() {
        models.kept.write(tenant, &found, false).await.map_err(away)?;
    }
    Ok(())
}

/// Each task once, with the highest version that an event names.
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

/// The task as it is now; one that is gone has the version of its last event.
pub(super) async fn load(tx: &mut Tx, id: TaskId, told: u64) -> Result<TaskModel, Error> {
    let view = tasks::view(tx, id).await?;
    let asked = approvals::of_task(tx, id).await?;
    let Some(view) = view else {
        return Ok(TaskModel { id, version: told, body: None, requests: Vec::new() });
    };
    let requests = asked.into_iter().map(|request| {
        let reviewer = request.approval.reviewer;
        let is_open = request.approval.status == Status::Pending;
        let due_at = request.approval.due_at.micros();
        let place = Place { due_at, score: request.score, id: request.id };
        // Whether it is overdue is for whoever reads it to say.
        let shown = present::request(request, Timestamp::from_micros(i64::MIN))?;
        let data = is_open.then(|| text(&shown)).transpose()?;
        Ok(RequestModel { reviewer, place, data })
    });
    let data = text(&present::viewed(&view)?)?;
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
    Ok(Tx::begin(&app.pools.worker, tenant, Actor::system(CONSUMER), Gate::Unasked).await?)
}

pub(super) fn away(error: ade_coord::Error) -> Error {
    crate::locks::Error::from(error).into()
}
