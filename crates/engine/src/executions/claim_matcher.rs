//! Runs the rounds that offer work to the claimers of this process, and keeps the queue places of
//! their tasks alive. Every process serves its own claimers and shares nothing, so no lease is
//! needed.

use std::collections::HashMap;
use std::sync::Arc;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::{CLAIM_POLL_PERIOD, LOCK_PLACE_KEPT};
use ade_core::lock::LeaseStatus;
use ade_store::scheduled_jobs;
use tokio::sync::watch;
use tokio::task::{Id, JoinSet};

use super::round;
use crate::app::App;
use crate::command::schedule::JobKind;

type Stopped = watch::Receiver<bool>;

/// Runs one round per tenant at a time, and different tenants concurrently.
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
                    tracing::warn!(%tenant, %error, "claim matching failed; will retry");
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

/// Announces work to the other processes, once however much there is. A process that misses it
/// finds the work by its next poll.
pub async fn announce(app: Arc<App>, mut stopped: Stopped) {
    let hints = app.locks.as_ref().and_then(|keeper| keeper.queue.hints());
    while !*stopped.borrow() {
        tokio::select! {
            () = app.claims.announcing.notified() => {}
            _ = stopped.changed() => {}
        }
        for tenant in app.claims.announced() {
            let Some(hints) = hints else { continue };
            if let Err(error) = hints.tell_work(tenant).await {
                tracing::debug!(
                    %error,
                    "failed to notify other processes of claimable work; they will poll"
                );
            }
        }
    }
}

/// Polls, in one query for all tenants, for tasks that were approved elsewhere or have become due.
pub async fn poll(app: Arc<App>, mut stopped: Stopped) {
    while !*stopped.borrow() {
        let waited_in = app.claims.tenants();
        if !waited_in.is_empty() {
            let kind = JobKind::Claim.as_str();
            // The tasks that are due first may be in tenants without claimers.
            match scheduled_jobs::tenants_among(&app.pools.worker, kind, &waited_in).await {
                Ok(tenants) => tenants.into_iter().for_each(|tenant| app.claims.stir(tenant)),
                Err(error) => tracing::warn!(%error, "claim poll failed"),
            }
        }
        tokio::select! {
            () = tokio::time::sleep(CLAIM_POLL_PERIOD) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Keeps the task's queue place alive as long as a claimer waits here.
async fn stand_in_line(app: Arc<App>, tenant: TenantId, lease: LeaseId) {
    let Some(keeper) = &app.locks else { return };
    let mut news = keeper.waiters.follow(tenant, lease);
    while app.claims.is_waited_in(tenant) {
        let changed = tokio::time::timeout(LOCK_PLACE_KEPT, news.changed()).await;
        let is_waiting = matches!(*news.borrow_and_update(), Some(LeaseStatus::Waiting { .. }));
        if matches!(changed, Ok(Err(_))) || !is_waiting {
            break;
        }
    }
    app.claims.leave_place(tenant, lease);
    app.claims.renew(tenant);
}
