//! Compares read models with PostgreSQL. A model may be missing, or behind as long as it does not
//! claim to have seen everything; neither counts as a difference. Any other mismatch is a
//! difference and is repaired.

use std::sync::PoisonError;

use ade_coord::models::{RequestModel, TaskModel};
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{MODEL_QUEUE_MAX, MODEL_REBUILD_PAGE};
use ade_store::models::{self, WaitingRequest};

use super::project::{away, begin, fill_queue, load};
use crate::app::App;
use crate::error::Error;
use crate::services::read_models::Models;

/// Tasks and queues of a tenant that one round of the checker compares.
const MODEL_SAMPLE: u32 = 20;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    pub tasks: u64,
    pub queues: u64,
    /// Models that are not stored now; reads go to PostgreSQL.
    pub missing: u64,
    /// Models that have not yet seen the latest changes.
    pub behind: u64,
    /// The differences, each as a sentence.
    pub differences: Vec<String>,
}

impl Checked {
    pub fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.queues += other.queues;
        self.missing += other.missing;
        self.behind += other.behind;
        self.differences.extend(other.differences);
    }
}

/// The state of one model.
enum Verdict {
    Right,
    Missing,
    Behind,
    /// The difference, and whether the model is ahead of PostgreSQL.
    Wrong(String, bool),
}

/// Checks all models of one tenant.
pub async fn check(app: &App, models: &Models, tenant: TenantId) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    let mut before = None;
    loop {
        let mut tx = begin(app, tenant).await?;
        let page = models::newest_tasks(&mut tx, before, MODEL_REBUILD_PAGE).await?;
        tx.roll_back().await;
        let Some(last) = page.last() else { break };
        before = Some(*last);
        for task in page {
            check_task(app, models, tenant, task, &mut checked).await?;
        }
    }
    for person in people(app, tenant).await? {
        check_queue(app, models, tenant, person, &mut checked).await?;
    }
    Ok(checked)
}

/// Checks the next few tasks of a walk from the newest to the oldest, and the queues of a few
/// people.
pub async fn check_some(app: &App, models: &Models, tenant: TenantId) -> Result<Checked, Error> {
    let mut checked = Checked::default();
    let walks = || models.walks.lock().unwrap_or_else(PoisonError::into_inner);
    let before = walks().get(&tenant).copied();
    let mut tx = begin(app, tenant).await?;
    let page = models::newest_tasks(&mut tx, before, MODEL_SAMPLE).await?;
    tx.roll_back().await;
    match page.last() {
        Some(last) => walks().insert(tenant, *last),
        None => walks().remove(&tenant),
    };
    for task in page {
        check_task(app, models, tenant, task, &mut checked).await?;
    }
    let people = people(app, tenant).await?;
    let most = usize::try_from(MODEL_SAMPLE).unwrap_or(usize::MAX);
    // Each time another part of the people is checked, depending on the walk over tasks.
    let part = before.map_or(0, |task| task.uuid().as_u128() % people.len().max(1) as u128);
    let part = usize::try_from(part).unwrap_or_default();
    for person in people.iter().cycle().skip(part).take(most.min(people.len())) {
        check_queue(app, models, tenant, *person, &mut checked).await?;
    }
    Ok(checked)
}

async fn people(app: &App, tenant: TenantId) -> Result<Vec<UserId>, Error> {
    let mut tx = begin(app, tenant).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    Ok(book.directory.people().map(|person| person.id).collect())
}

async fn check_task(
    app: &App,
    models: &Models,
    tenant: TenantId,
    id: TaskId,
    checked: &mut Checked,
) -> Result<(), Error> {
    checked.tasks += 1;
    let verdict = judge_task(app, models, tenant, id).await?;
    let Some((why, is_ahead)) = checked.note(verdict) else { return Ok(()) };
    models.found(tenant, checked, format!("task {id} {why}")).await?;
    let mut tx = begin(app, tenant).await?;
    let found = load(app, &mut tx, id, 0).await?;
    tx.roll_back().await;
    models.kept.write(tenant, &found, is_ahead).await.map_err(away)?;
    Ok(())
}

async fn judge_task(
    app: &App,
    models: &Models,
    tenant: TenantId,
    id: TaskId,
) -> Result<Verdict, Error> {
    // The model is read first, so that its position refers to the past of PostgreSQL.
    let Some(kept) = models.kept.task(tenant, id).await.map_err(away)? else {
        return Ok(Verdict::Missing);
    };
    let mut tx = begin(app, tenant).await?;
    let real = load(app, &mut tx, id, kept.version).await?;
    let settled = models::settled(&mut tx).await?;
    tx.roll_back().await;
    if kept.version > real.version {
        let why = format!("is at version {}, the database at {}", kept.version, real.version);
        return Ok(Verdict::Wrong(why, true));
    }
    if kept.version < real.version || kept.body.is_some() != real.body.is_some() {
        let has_seen_all = settled.is_some_and(|seq| kept.head.is_some_and(|head| head >= seq));
        let why = format!("is at version {}, the database at {}", kept.version, real.version);
        return Ok(if has_seen_all { Verdict::Wrong(why, false) } else { Verdict::Behind });
    }
    if let (Some(kept), Some(real)) = (&kept.body, &real.body) {
        let is_same = (&kept.author, &kept.agent, &kept.task_type, &kept.data)
            == (&real.author, &real.agent, &real.task_type, &real.data);
        if !is_same {
            let why = "differs from the database".to_owned();
            return Ok(Verdict::Wrong(why, false));
        }
    }
    judge_requests(models, tenant, &real).await
}

/// Checks the requests of a task whose model is right. They belong to its version, provided that
/// the version is still the same afterwards.
async fn judge_requests(
    models: &Models,
    tenant: TenantId,
    real: &TaskModel,
) -> Result<Verdict, Error> {
    let open: Vec<_> = real.requests.iter().filter(|request| request.data.is_some()).collect();
    let ids: Vec<_> = open.iter().map(|request| request.place.id).collect();
    let kept = models.kept.requests(tenant, &ids).await.map_err(away)?;
    let again = models.kept.task(tenant, real.id).await.map_err(away)?;
    if again.is_none_or(|again| again.version != real.version) {
        return Ok(Verdict::Behind);
    }
    let is_other =
        |(real, kept): (&&RequestModel, &Option<String>)| kept.is_some() && *kept != real.data;
    Ok(if open.iter().zip(&kept).any(is_other) {
        Verdict::Wrong("has requests that differ".to_owned(), false)
    } else {
        Verdict::Right
    })
}

async fn check_queue(
    app: &App,
    models: &Models,
    tenant: TenantId,
    reviewer: UserId,
    checked: &mut Checked,
) -> Result<(), Error> {
    checked.queues += 1;
    let verdict = judge_queue(app, models, tenant, reviewer).await?;
    let Some((why, _)) = checked.note(verdict) else { return Ok(()) };
    models.found(tenant, checked, format!("the queue of {reviewer} {why}")).await?;
    fill_queue(app, models, tenant, reviewer).await
}

async fn judge_queue(
    app: &App,
    models: &Models,
    tenant: TenantId,
    reviewer: UserId,
) -> Result<Verdict, Error> {
    let Some(kept) = models.kept.queue(tenant, reviewer, 0).await.map_err(away)? else {
        return Ok(Verdict::Missing);
    };
    let most = u32::try_from(MODEL_QUEUE_MAX).unwrap_or(u32::MAX).saturating_add(1);
    let mut tx = begin(app, tenant).await?;
    let mut real = models::waiting(&mut tx, reviewer, most).await?;
    let settled = models::settled(&mut tx).await?;
    tx.roll_back().await;
    if settled.is_none_or(|seq| kept.head < seq) {
        return Ok(Verdict::Behind);
    }
    let key = |one: &WaitingRequest| (one.id, one.due_at.micros(), one.score);
    real.sort_by_key(key);
    let mut places = kept.places;
    places.sort_by_key(|place| place.id);
    let kept: Vec<_> = places.iter().map(|one| (one.id, one.due_at, one.score)).collect();
    let real: Vec<_> = real.iter().map(key).collect();
    Ok(if kept == real {
        Verdict::Right
    } else {
        let why = format!("has {} requests, {} in the database", kept.len(), real.len());
        Verdict::Wrong(why, false)
    })
}

impl Checked {
    fn note(&mut self, verdict: Verdict) -> Option<(String, bool)> {
        match verdict {
            Verdict::Right => {}
            Verdict::Missing => self.missing += 1,
            Verdict::Behind => self.behind += 1,
            Verdict::Wrong(why, is_ahead) => return Some((why, is_ahead)),
        }
        None
    }
}

impl Models {
    async fn found(
        &self,
        tenant: TenantId,
        checked: &mut Checked,
        difference: String,
    ) -> Result<(), Error> {
        metrics::counter!("ade_model_differences_total").increment(1);
        tracing::warn!(difference, "read model difference repaired");
        checked.differences.push(difference);
        self.kept.differences(tenant, 1).await.map_err(away)?;
        Ok(())
    }
}
