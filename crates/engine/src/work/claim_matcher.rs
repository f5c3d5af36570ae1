//! Runs the rounds in which work is handed out to those who wait in this process, and keeps the
//! places of tasks that stand in line for them. Every process does so for its own claimers; there
//! is nothing to share and so no lease.

use std::collections::HashMap;
use std::sync::Arc;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::{CLAIM_POLL_PERIOD, LOCK_PLACE_KEPT};
use ade_core::lock::Standing;
use ade_store::due;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

use crate::app::App;
use crate::locks::Queue;
use crate::ops::deadline::Deadline;
use crate::ops::executions::round;

type Stopped = watch::Receiver<bool>;

/// One round per tenant at a time, tenants beside each other.
pub async fn matching(app: Arc<App>, mut stopped: Stopped) {
    let mut rounds: JoinSet<()> = JoinSet::new();
    let mut lines: JoinSet<()> = JoinSet::new();
    let mut busy: HashMap<Id, TenantId> = HashMap::new();
    while !*stopped.borrow() {
        let tenants = busy.values().copied().collect();
        for tenant in app.claims.stirred(&tenants) {
            let app = Arc::clone(&app);
            let round = rounds.spawn(async move {
                if let Err(error) = Box::pin(round(&app, tenant)).await {
                    tracing::warn!(%tenant, %error, "no work is handed out in this round");
                }
            });
            busy.insert(round.id(), tenant);
        }
        for (tenant, lease) in app.claims.new_places() {
            lines.spawn(stand_in_line(Arc::clone(&app), tenant, lease));
        }
        tokio::select! {
            () = app.claims.woken.notified() => {}
            Some(_) = lines.join_next() => {}
            Some(ended) = rounds.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => error.id(),
                };
                busy.remove(&id);
            }
            _ = stopped.changed() => {}
        }
    }
}

/// Tells the other processes of work, once however much there is. Those who miss it find it by
/// their next poll.
pub async fn announce(app: Arc<App>, mut stopped: Stopped) {
    let redis = app.locks.as_ref().and_then(|keeper| match &keeper.queue {
        Queue::Redis(redis) => Some(redis),
        Queue::Postgres(_) => None,
    });
    while !*stopped.borrow() {
        tokio::select! {
            () = app.claims.announcing.notified() => {}
            _ = stopped.changed() => {}
        }
        for tenant in app.claims.announced() {
            let Some(redis) = redis else { continue };
            if let Err(error) = redis.hints.tell_work(tenant).await {
                tracing::debug!(%error, "other processes find the work by themselves");
            }
        }
    }
}

/// What was approved elsewhere, and what waited for its time: one look for all tenants.
pub async fn poll(app: Arc<App>, mut stopped: Stopped) {
    while !*stopped.borrow() {
        let waited_in = app.claims.tenants();
        if !waited_in.is_empty() {
            let kind = Deadline::Claim.as_str();
            // Not what is due first: that may be of tenants where nobody ever claims.
            match due::tenants_among(&app.pools.worker, kind, &waited_in).await {
                Ok(tenants) => tenants.into_iter().for_each(|tenant| app.claims.stir(tenant)),
                Err(error) => tracing::warn!(%error, "cannot look for work"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(CLAIM_POLL_PERIOD) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Keeps the task's place for as long as somebody waits for work here.
async fn stand_in_line(app: Arc<App>, tenant: TenantId, lease: LeaseId) {
    let Some(keeper) = &app.locks else { return };
    let mut news = keeper.waiters.follow(tenant, lease);
    while app.claims.is_waited_in(tenant) {
        let told = tokio::time::timeout(LOCK_PLACE_KEPT, news.changed()).await;
        let is_waiting = matches!(*news.borrow_and_update(), Some(Standing::Waiting { .. }));
        if matches!(told, Ok(Err(_))) || !is_waiting {
            break;
        }
    }
    app.claims.leave_place(tenant, lease);
    app.claims.renew(tenant);
}
