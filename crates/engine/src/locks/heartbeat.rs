//! Heartbeats: one call for a session and everything it holds or waits for. PostgreSQL decides
//! about fenced leases; the queue follows. While the queue is unavailable, registered leases stay
//! alive and the others are reported as uncertain.

use std::collections::BTreeMap;

use ade_api::code::Code;
use ade_api::locks::{Beat, Beats, Heartbeat, LeaseState};
use ade_core::ids::LeaseId;
use ade_core::limits::LEASES_PER_HEARTBEAT_MAX;
use ade_core::lock::LeaseStatus;
use ade_store::Tx;
use ade_store::locks::many::{self, RenewedLease};

use super::lost::name_breakers;
use super::{keeper, sessions, views};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::services::locks::LockService;

pub async fn heartbeat(app: &App, caller: &Caller, beat: Heartbeat) -> Result<Beats, Error> {
    keeper(app)?;
    let Heartbeat { process_id, lease_ids: leases } = beat;
    check_leases(&leases)?;
    let (mut tx, _) = sessions::enter(app, caller).await?;
    let life = match process_id {
        Some(process) => Some(sessions::live(&mut tx, caller, process, &app.service).await?),
        None => None,
    };
    let registered = extend(&mut tx, &leases).await?;
    tx.commit().await?;
    let leases = stand(app, caller, leases, &registered).await?;
    Ok(Beats { process_expires_at: life.map(|life| life.until), leases })
}

pub fn check_leases(leases: &[LeaseId]) -> Result<(), Error> {
    if leases.len() > LEASES_PER_HEARTBEAT_MAX {
        let most = format!("must be at most {LEASES_PER_HEARTBEAT_MAX} leases in one call");
        return Err(Error::invalid("lease_ids", most));
    }
    Ok(())
}

/// Extends the leases that PostgreSQL knows.
pub async fn extend(
    tx: &mut Tx,
    leases: &[LeaseId],
) -> Result<BTreeMap<LeaseId, RenewedLease>, Error> {
    if leases.is_empty() {
        return Ok(BTreeMap::new());
    }
    let registered = many::extend(tx, leases).await?;
    Ok(registered.into_iter().map(|kept| (kept.lease, kept)).collect())
}

/// Extends the leases in the queue, after PostgreSQL. Without leases the queue is not used.
pub async fn stand(
    app: &App,
    caller: &Caller,
    leases: Vec<LeaseId>,
    registered: &BTreeMap<LeaseId, RenewedLease>,
) -> Result<Vec<Beat>, Error> {
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    let queued = in_queue(keeper(app)?, caller, &leases, registered).await;
    let beats = leases.into_iter().map(|lease| {
        let registered = registered.get(&lease);
        beat_of(lease, registered, queued.as_ref())
    });
    let mut beats: Vec<Beat> = beats.collect();
    name_breakers(app, caller, &mut beats).await?;
    let refused = beats.iter().filter(|beat| beat.refused.is_some()).count();
    if refused > 0 {
        let refused = u64::try_from(refused).unwrap_or(u64::MAX);
        metrics::counter!("ade_lease_kept_too_long_total").increment(refused);
    }
    Ok(beats)
}

/// Renews live leases in the queue and returns their state; `None` if it does not respond. A lease
/// at its maximum age expires there as in PostgreSQL.
async fn in_queue(
    keeper: &LockService,
    caller: &Caller,
    leases: &[LeaseId],
    registered: &BTreeMap<LeaseId, RenewedLease>,
) -> Option<BTreeMap<LeaseId, LeaseStatus>> {
    let is_lost = |lease: &LeaseId| registered.get(lease).is_some_and(|kept| !kept.is_open);
    let is_spent = |lease: &LeaseId| registered.get(lease).is_some_and(|kept| kept.is_spent);
    let kept = leases.iter().filter(|one| !is_spent(one));
    let (lost, open): (Vec<LeaseId>, Vec<LeaseId>) = kept.partition(|one| is_lost(one));
    let ask = async {
        // A lease that has ended in PostgreSQL must not block the next waiter.
        for lease in lost {
            keeper.queue.break_lease(caller.tenant, lease).await?;
        }
        let statuses = keeper.queue.renew(caller.tenant, &open).await?;
        let known: BTreeMap<LeaseId, LeaseStatus> = open.iter().copied().zip(statuses).collect();
        let forgotten: Vec<LeaseId> = registered
            .values()
            .filter(|kept| kept.is_open && !kept.is_spent)
            .filter(|kept| !matches!(known.get(&kept.lease), Some(LeaseStatus::Granted { .. })))
            .map(|kept| kept.lease)
            .collect();
        if !forgotten.is_empty() {
            keeper.queue.adopt(caller.tenant, &forgotten).await?;
        }
        Ok::<_, crate::services::locks::LockQueueError>(known)
    };
    match ask.await {
        Ok(known) => Some(known),
        Err(error) => {
            tracing::warn!(%error, "failed to record heartbeat in the lock queue");
            None
        }
    }
}

/// Returns the result for one lease. `queued` is `None` if the queue did not respond.
fn beat_of(
    lease: LeaseId,
    registered: Option<&RenewedLease>,
    queued: Option<&BTreeMap<LeaseId, LeaseStatus>>,
) -> Beat {
    match (registered, queued) {
        (Some(kept), _) if kept.is_open => {
            let RenewedLease { token, deadline, .. } = *kept;
            let status = if kept.is_spent {
                LeaseStatus::Spent { token, deadline }
            } else {
                LeaseStatus::Granted { token, deadline }
            };
            views::beat(lease, status)
        }
        (Some(kept), _) => Beat {
            refused: kept.is_spent.then_some(Code::LeaseHeldTooLong),
            ..views::nothing(lease, LeaseState::Expired)
        },
        (None, Some(queued)) => {
            let status = queued.get(&lease).copied();
            views::beat(lease, status.unwrap_or(LeaseStatus::Unknown))
        }
        (None, None) => views::nothing(lease, LeaseState::Uncertain),
    }
}

#[cfg(test)]
mod tests {
    use ade_core::lock::FencingToken;
    use ade_core::time::Timestamp;

    use super::*;

    #[test]
    fn heartbeat_of_lease_held_too_long_is_refused_by_both_sources() {
        let (lease, token) =
            (LeaseId::from_u128(1), FencingToken::from_number((1 << 33) + 1).unwrap());
        let deadline = Timestamp::from_micros(9);
        let kept = RenewedLease { lease, is_open: true, is_spent: true, token, deadline };
        let spent = BTreeMap::from([(lease, LeaseStatus::Spent { token, deadline })]);
        let by_record = beat_of(lease, Some(&kept), None);
        let by_queue = beat_of(lease, None, Some(&spent));
        assert_eq!(by_record, by_queue);
        assert_eq!(by_record.state, LeaseState::Granted, "until it expires");
        assert_eq!(by_record.expires_at, Some(deadline));
        assert_eq!(by_record.refused, Some(Code::LeaseHeldTooLong));

        let over = beat_of(lease, Some(&RenewedLease { is_open: false, ..kept }), None);
        assert_eq!(over.state, LeaseState::Expired);
        assert_eq!(over.refused, Some(Code::LeaseHeldTooLong));
        let fenced = RenewedLease { is_open: false, is_spent: false, ..kept };
        assert_eq!(beat_of(lease, Some(&fenced), None).refused, None);
    }
}
