//! Serves the lock waiters of this process: checks the named leases immediately after a hint,
//! checks all of them every round, and keeps the subscriptions of their tenants. Every process
//! serves its own waiters and shares nothing, so no lease is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::{LeaseId, TenantId};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::services::locks::LockService;

/// Interval for renewing the subscription, because a failover ends it silently.
const LOCK_HINT_HEARTBEAT: Duration = Duration::from_millis(250);

type Stopped = watch::Receiver<bool>;

/// Checks the leases that hints name.
pub async fn hear(app: Arc<App>, mut stopped: Stopped) {
    let Some(keeper) = &app.locks else { return };
    while !*stopped.borrow() {
        tokio::select! {
            () = keeper.waiters.woken.notified() => {}
            _ = stopped.changed() => {}
        }
        for tenant in keeper.waiters.work() {
            app.claims.renew(tenant);
        }
        look(&app, keeper.waiters.hinted()).await;
    }
}

/// Checks all waiting leases, so that a lost hint costs at most one round.
pub async fn poll(app: Arc<App>, mut stopped: Stopped) {
    let Some(keeper) = &app.locks else { return };
    while !*stopped.borrow() {
        look(&app, keeper.waiters.wanted()).await;
        tokio::select! {
            () = tokio::time::sleep(keeper.queue.poll_period()) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Checks leases of different tenants concurrently: a tenant whose master is unavailable must not
/// delay the others.
async fn look(app: &Arc<App>, wanted: BTreeMap<TenantId, Vec<LeaseId>>) {
    let mut looking = JoinSet::new();
    for (tenant, leases) in wanted {
        looking.spawn(renew(Arc::clone(app), tenant, leases));
    }
    while looking.join_next().await.is_some() {}
}

async fn renew(app: Arc<App>, tenant: TenantId, leases: Vec<LeaseId>) {
    let Some(keeper) = &app.locks else { return };
    match keeper.queue.poll(tenant, &leases).await {
        Ok(statuses) => {
            for (lease, status) in leases.into_iter().zip(statuses) {
                keeper.waiters.tell(tenant, lease, status);
            }
        }
        Err(error) => tracing::warn!(%tenant, %error, "lock waiter poll failed"),
    }
}

/// Renews the subscriptions continuously; a renewal also serves as a heartbeat.
pub async fn follow(app: Arc<App>, mut stopped: Stopped) {
    let Some(keeper) = &app.locks else { return };
    let Some(hints) = keeper.queue.hints() else { return };
    let mut followed: BTreeSet<TenantId> = BTreeSet::new();
    while !*stopped.borrow() {
        let mut wanted = app.claims.tenants();
        wanted.extend(keeper.waiters.wanted().into_keys());
        let mut joining = JoinSet::new();
        for tenant in &wanted {
            let (hints, tenant) = (hints.clone(), *tenant);
            joining.spawn(async move { hints.follow(tenant).await });
        }
        for left in followed.difference(&wanted) {
            let (hints, tenant) = (hints.clone(), *left);
            joining.spawn(async move { hints.leave(tenant).await });
        }
        while let Some(joined) = joining.join_next().await {
            if let Ok(Err(error)) = joined {
                tracing::debug!(%error, "event subscription failed; polling continues");
            }
        }
        followed = wanted;
        rest(&app, keeper, followed.is_empty(), &mut stopped).await;
    }
}

/// Waits for the next round; without waiters there is nothing to keep alive.
async fn rest(app: &App, keeper: &LockService, is_idle: bool, stopped: &mut Stopped) {
    let pause = if is_idle { Duration::MAX } else { LOCK_HINT_HEARTBEAT };
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = keeper.waiters.unfollowed.notified() => {}
        () = app.claims.first.notified() => {}
        _ = stopped.changed() => {}
    }
}
