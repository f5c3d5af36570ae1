//! Checks, for the callers that wait in this process, whether their tasks have changed without an
//! event: a slow safety net below the event hub. Every process serves its own callers and shares
//! nothing, so no lease is needed.

use std::sync::Arc;
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::ids::{TaskId, TenantId};
use ade_store::{TenantLock, Tx, tasks};
use tokio::sync::watch;

use crate::app::App;
use crate::error::Error;

/// Poll interval of a wait without events, in case the relay is stalled.
const WATCH_NET_PERIOD: Duration = Duration::from_secs(2);

pub async fn watch(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    while !*stopped.borrow() {
        for (tenant, wanted) in app.watch.wanted() {
            if let Err(error) = look(&app, tenant, &wanted).await {
                tracing::warn!(%tenant, %error, "task waiter poll failed");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(WATCH_NET_PERIOD) => {}
            _ = stopped.changed() => {}
        }
    }
}

async fn look(app: &App, tenant: TenantId, wanted: &[TaskId]) -> Result<(), Error> {
    let actor = Actor::system("task_watcher");
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, TenantLock::None).await?;
    for (task, version, _) in tasks::versions(&mut tx, wanted).await? {
        app.watch.tell(tenant, task, version);
    }
    tx.roll_back().await;
    Ok(())
}
