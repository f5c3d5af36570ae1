//! Looks, for the callers who wait in this process, whether their tasks have moved elsewhere and no
//! event told of it: a net below the hub, so it is slow. Every process does so for its own; there
//! is nothing to share and so no lease.

use std::sync::Arc;

use ade_core::actor::Actor;
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::WATCH_NET_PERIOD;
use ade_store::{Gate, Tx, tasks};
use tokio::sync::watch;

use crate::app::App;
use crate::error::Error;

pub async fn watch(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    while !*stopped.borrow() {
        for (tenant, wanted) in app.watch.wanted() {
            if let Err(error) = look(&app, tenant, &wanted).await {
                tracing::warn!(%tenant, %error, "cannot look for those who wait");
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
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, Gate::Unasked).await?;
    for (task, version, _) in tasks::versions(&mut tx, wanted).await? {
        app.watch.tell(tenant, task, version);
    }
    tx.roll_back().await;
    Ok(())
}
