//! Applies tasks for which the server has an executor. Every process takes due tasks up to its own
//! limit; a task is reserved for one process for a short time, and the permit decides in the end.

use std::collections::HashMap;
use std::sync::Arc;

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_core::limits::{CLAIM_POLL_PERIOD, LOCK_TENANTS_PAGE};
use ade_core::share::Shares;
use ade_store::scheduled_jobs::{self, JobBatch, ScheduledJob};
use ade_store::{TenantLock, Tx, claimable};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use uuid::Uuid;

use super::{Taker, pick, run};
use crate::app::App;
use crate::command::schedule::JobKind;
use crate::error::Error;

pub const NAME: &str = Taker::SERVER;

/// The attempts of this process.
struct Hands {
    running: JoinSet<()>,
    /// A tenant has at most its share of the attempts while others have some.
    slots: Shares,
    /// The task of each attempt.
    held: HashMap<Id, (TenantId, Uuid)>,
}

pub async fn run_due(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    if !app.executors.runs_any() {
        return;
    }
    if app.receipts.is_none() {
        tracing::warn!("executors configured without a receipt key; nothing will be applied");
        return;
    }
    if let Err(error) = take_over(&app).await {
        tracing::warn!(
            %error,
            "apply of tasks approved under other executor settings is waiting for a restart"
        );
    }
    let slots = Shares::new(app.executors.at_once());
    let mut hands = Hands { running: JoinSet::new(), slots, held: HashMap::new() };
    while !*stopped.borrow() {
        let free = app.executors.at_once().saturating_sub(hands.running.len());
        if free > 0 {
            // The first tasks of tenants that use their share may come before those of others.
            let most = |count| u32::try_from(count).unwrap_or(u32::MAX);
            let limit = most(free.saturating_add(app.executors.at_once()));
            let batch = JobBatch { limit, per_tenant: most(app.executors.at_once()) };
            match scheduled_jobs::next(&app.pools.worker, JobKind::Run.as_str(), batch).await {
                Ok(found) => hands.take_up(&app, found, &stopped),
                Err(error) => tracing::warn!(%error, "apply queue poll failed"),
            }
        }
        metrics::gauge!("ade_runner_tasks")
            .set(f64::from(u32::try_from(hands.running.len()).unwrap_or(u32::MAX)));
        tokio::select! {
            () = tokio::time::sleep(CLAIM_POLL_PERIOD) => {}
            () = app.wake.apply_runner.notified() => {}
            Some(ended) = hands.running.join_next_with_id() => hands.put_down(ended),
            _ = stopped.changed() => {}
        }
    }
    // Each attempt is asked to stop, rolls back and reports.
    while let Some(ended) = hands.running.join_next_with_id().await {
        hands.put_down(ended);
    }
}

impl Hands {
    fn take_up(
        &mut self,
        app: &Arc<App>,
        found: Vec<(TenantId, ScheduledJob)>,
        stopped: &watch::Receiver<bool>,
    ) {
        for (tenant, due) in found {
            let task = (tenant, due.object);
            if self.held.values().any(|held| *held == task) || !self.slots.take(tenant) {
                continue;
            }
            let (app, stopped) = (Arc::clone(app), stopped.clone());
            let one = self.running.spawn(async move {
                if let Err(error) = Box::pin(one(&app, tenant, &due, stopped)).await {
                    tracing::warn!(%tenant, task = %due.object, %error, "task apply failed");
                }
            });
            self.held.insert(one.id(), task);
        }
    }

    fn put_down(&mut self, ended: Result<(Id, ()), tokio::task::JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => error.id(),
        };
        if let Some((tenant, _)) = self.held.remove(&id) {
            self.slots.give_back(tenant);
        }
    }
}

async fn one(
    app: &App,
    tenant: TenantId,
    due: &ScheduledJob,
    stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    match pick(app, tenant, due).await? {
        Some(candidate) => Box::pin(run(app, tenant, candidate, stopped)).await,
        None => Ok(()),
    }
}

/// Takes over tasks that were approved while the settings assigned their type to agents.
async fn take_over(app: &App) -> Result<(), Error> {
    let mut after = None;
    loop {
        let kind = JobKind::Claim.as_str();
        let page =
            scheduled_jobs::tenants(&app.pools.worker, kind, after, LOCK_TENANTS_PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        for tenant in page {
            let actor = Actor::system(NAME);
            let mut tx = Tx::begin(&app.pools.worker, tenant, actor, TenantLock::None).await?;
            let mut types = claimable::types(&mut tx).await?;
            let book = app.books.current(&mut tx).await?;
            types.retain(|kind| app.executors.of(&book.tenant).runs(kind));
            if types.is_empty() {
                tx.roll_back().await;
                continue;
            }
            scheduled_jobs::set_for_types(&mut tx, JobKind::Run.as_str(), &types).await?;
            tx.commit().await?;
        }
    }
}
