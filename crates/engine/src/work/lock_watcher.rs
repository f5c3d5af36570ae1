//! Serves those of this process who stand in line: looks at once where a hint points, at all of
//! them every round, and keeps the subscriptions of their tenants. Every process does so for its
//! own; there is nothing to share and so no lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::LOCK_HINT_HEARTBEAT;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::App;
use crate::locks::{Keeper, Queue};

type Stopped = watch::Receiver<bool>;

/// Where hints point.
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

/// Everybody, so that a lost hint costs no more than one round.
pub async fn poll(app: Arc<App>, mut stopped: Stopped) {
    let Some(keeper) = &app.locks else { return };
    while !*stopped.borrow() {
        look(&app, keeper.waiters.wanted()).await;
        tokio::select! {
            () = tokio::time::sleep(keeper.poll_period()) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Tenants beside each other: one whose master is away must not keep the others waiting.
async fn look(app: &Arc<App>, wanted: BTreeMap<TenantId, Vec<LeaseId>>) {
    let mut looking = JoinSet::new();
    for (tenant, leases) in wanted {
        looking.spawn(renew(Arc::clone(app), tenant, leases));
    }
    while looking.join_next().await.is_some() {}
}

async fn renew(app: Arc<App>, tenant: TenantId, leases: Vec<LeaseId>) {
    let Some(keeper) = &app.locks else { return };
    match keeper.poll(tenant, &leases).await {
        Ok(standings) => {
            for (lease, standing) in leases.into_iter().zip(standings) {
                keeper.waiters.tell(tenant, lease, standing);
            }
        }
        Err(error) => tracing::warn!(%tenant, %error, "cannot look for those who stand in line"),
    }
}

/// Subscribes anew all the time: where it stands already, that is its heartbeat.
pub async fn follow(app: Arc<App>, mut stopped: Stopped) {
    let Some(keeper) = &app.locks else { return };
    let Queue::Redis(redis) = &keeper.queue else { return };
    let mut followed: BTreeSet<TenantId> = BTreeSet::new();
    while !*stopped.borrow() {
        let mut wanted = app.claims.tenants();
        wanted.extend(keeper.waiters.wanted().into_keys());
        let mut joining = JoinSet::new();
        for tenant in &wanted {
            let (hints, tenant) = (redis.hints.clone(), *tenant);
            joining.spawn(async move { hints.follow(tenant).await });
        }
        for left in followed.difference(&wanted) {
            let (hints, tenant) = (redis.hints.clone(), *left);
            joining.spawn(async move { hints.leave(tenant).await });
        }
        while let Some(joined) = joining.join_next().await {
            if let Ok(Err(error)) = joined {
                tracing::debug!(%error, "no subscription now: polls go on");
            }
        }
        followed = wanted;
        rest(&app, keeper, followed.is_empty(), &mut stopped).await;
    }
}

/// Without waiters there is nothing to keep alive.
async fn rest(app: &App, keeper: &Keeper, is_idle: bool, stopped: &mut Stopped) {
    let pause = if is_idle { Duration::MAX } else { LOCK_HINT_HEARTBEAT };
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = keeper.waiters.unfollowed.notified() => {}
        () = app.claims.first.notified() => {}
        _ = stopped.changed() => {}
    }
}
