//! Applies what the server has an executor for. Every process takes up what is due, as much as it
//! may do at once; a row is one process's for a moment, and the permit decides in the end.

use std::collections::HashMap;
use std::sync::Arc;

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_core::limits::{CLAIM_POLL_PERIOD, LOCK_TENANTS_PAGE};
use ade_store::due::{self, Due};
use ade_store::{Gate, Tx, claimable};
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::Deadline;
use crate::ops::executions::{Taker, pick, run};

pub const NAME: &str = Taker::SERVER;

/// What this process is at.
#[derive(Default)]
struct Hands {
    running: JoinSet<()>,
    /// Which task each is at.
    held: HashMap<Id, (TenantId, Uuid)>,
}

pub async fn run_due(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    if !app.executors.runs_any() {
        return;
    }
    if app.receipts.is_none() {
        tracing::warn!("executors are set, and no key to sign permits with: nothing is applied");
        return;
    }
    if let Err(error) = take_over(&app).await {
        tracing::warn!(%error, "tasks approved under other settings wait for a restart");
    }
    let mut hands = Hands::default();
    while !*stopped.borrow() {
        let free = app.executors.at_once().saturating_sub(hands.running.len());
        if free > 0 {
            let limit = u32::try_from(free).unwrap_or(u32::MAX);
            match due::next(&app.pools.worker, Deadline::Run.as_str(), limit).await {
                Ok(found) => hands.take_up(&app, found, &stopped),
                Err(error) => tracing::warn!(%error, "cannot look for work"),
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
    // Each is told to stop, takes back what it began and reports.
    while let Some(ended) = hands.running.join_next_with_id().await {
        hands.put_down(ended);
    }
}

impl Hands {
    fn take_up(
        &mut self,
        app: &Arc<App>,
        found: Vec<(TenantId, Due)>,
        stopped: &watch::Receiver<bool>,
    ) {
        for (tenant, due) in found {
            let task = (tenant, due.object);
            if self.held.values().any(|held| *held == task) {
                continue;
            }
            let (app, stopped) = (Arc::clone(app), stopped.clone());
            let one = self.running.spawn(async move {
                if let Err(error) = Box::pin(one(&app, tenant, &due, stopped)).await {
                    tracing::warn!(%tenant, task = %due.object, %error, "not applied");
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
        self.held.remove(&id);
    }
}

async fn one(
    app: &App,
    tenant: TenantId,
    due: &Due,
    stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    match pick(app, tenant, due).await? {
        Some(candidate) => Box::pin(run(app, tenant, candidate, stopped)).await,
        None => Ok(()),
    }
}

/// What was approved while the settings gave its type to agents.
async fn take_over(app: &App) -> Result<(), Error> {
    let mut after = None;
    loop {
        let kind = Deadline::Claim.as_str();
        let page = due::tenants(&app.pools.worker, kind, after, LOCK_TENANTS_PAGE).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        for tenant in page {
            let actor = Actor::system(NAME);
            let mut tx = Tx::begin(&app.pools.worker, tenant, actor, Gate::Unasked).await?;
            let mut types = claimable::types(&mut tx).await?;
            types.retain(|kind| app.executors.runs(kind));
            if types.is_empty() {
                tx.roll_back().await;
                continue;
            }
            due::set_for_types(&mut tx, Deadline::Run.as_str(), &types).await?;
            tx.commit().await?;
        }
    }
}
