//! Heartbeats: one call for a session and everything it holds or waits for. What the record says
//! of a fenced lease counts; the queue follows it. While the queue is away, registered leases live
//! on and the others are told that nothing is known of them.

use std::collections::BTreeMap;

use ade_api::code::Code;
use ade_api::locks::{Beat, Beats, Heartbeat, LeaseState};
use ade_core::ids::LeaseId;
use ade_core::limits::LEASES_PER_HEARTBEAT_MAX;
use ade_core::lock::Standing;
use ade_store::Tx;
use ade_store::locks::many::{self, Kept};

use super::{admit, keeper, show};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::Keeper;

pub async fn heartbeat(app: &App, caller: &Caller, beat: Heartbeat) -> Result<Beats, Error> {
    keeper(app)?;
    let Heartbeat { session, leases } = beat;
    check_leases(&leases)?;
    let (mut tx, _) = admit::enter(app, caller).await?;
    let life = match session {
        Some(session) => Some(admit::live(&mut tx, caller, session, &app.service).await?),
        None => None,
    };
    let registered = extend(&mut tx, &leases).await?;
    tx.commit().await?;
    let leases = stand(app, caller, leases, &registered).await?;
    Ok(Beats { session_until: life.map(|life| life.until), leases })
}

pub fn check_leases(leases: &[LeaseId]) -> Result<(), Error> {
    if leases.len() > LEASES_PER_HEARTBEAT_MAX {
        let most = format!("at most {LEASES_PER_HEARTBEAT_MAX} in one call");
        return Err(Error::invalid("leases", most));
    }
    Ok(())
}

/// Keeps those alive that the record knows.
pub async fn extend(tx: &mut Tx, leases: &[LeaseId]) -> Result<BTreeMap<LeaseId, Kept>, Error> {
    if leases.is_empty() {
        return Ok(BTreeMap::new());
    }
    let registered = many::extend(tx, leases).await?;
    Ok(registered.into_iter().map(|kept| (kept.lease, kept)).collect())
}

/// Keeps the rest alive in the queue, once the record has had its say. Without leases there is
/// nothing to ask the queue for.
pub async fn stand(
    app: &App,
    caller: &Caller,
    leases: Vec<LeaseId>,
    registered: &BTreeMap<LeaseId, Kept>,
) -> Result<Vec<Beat>, Error> {
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    let queued = in_queue(keeper(app)?, caller, &leases, registered).await;
    let beats = leases.into_iter().map(|lease| {
        let registered = registered.get(&lease);
        beat_of(lease, registered, queued.as_ref())
    });
    let beats: Vec<Beat> = beats.collect();
    let refused = beats.iter().filter(|beat| beat.refused.is_some()).count();
    if refused > 0 {
        let refused = u64::try_from(refused).unwrap_or(u64::MAX);
        metrics::counter!("ade_lease_kept_too_long_total").increment(refused);
    }
    Ok(beats)
}

/// How the queue sees those that can still be held; nothing if it does not answer. One that was
/// kept for as long as it may be runs out there as it does in the record.
async fn in_queue(
    keeper: &Keeper,
    caller: &Caller,
    leases: &[LeaseId],
    registered: &BTreeMap<LeaseId, Kept>,
) -> Option<BTreeMap<LeaseId, Standing>> {
    let is_lost = |lease: &LeaseId| registered.get(lease).is_some_and(|kept| !kept.is_open);
    let is_spent = |lease: &LeaseId| registered.get(lease).is_some_and(|kept| kept.is_spent);
    let kept = leases.iter().filter(|one| !is_spent(one));
    let (lost, open): (Vec<LeaseId>, Vec<LeaseId>) = kept.partition(|one| is_lost(one));
    let ask = async {
        // Whoever was fenced must not stand in the way of the next either.
        for lease in lost {
            keeper.break_lease(caller.tenant, lease).await?;
        }
        let standings = keeper.renew(caller.tenant, &open).await?;
        let known: BTreeMap<LeaseId, Standing> = open.iter().copied().zip(standings).collect();
        let forgotten: Vec<LeaseId> = registered
            .values()
            .filter(|kept| kept.is_open && !kept.is_spent)
            .filter(|kept| !matches!(known.get(&kept.lease), Some(Standing::Granted { .. })))
            .map(|kept| kept.lease)
            .collect();
        if !forgotten.is_empty() {
            keeper.adopt(caller.tenant, &forgotten).await?;
        }
        Ok::<_, crate::locks::Error>(known)
    };
    match ask.await {
        Ok(known) => Some(known),
        Err(error) => {
            tracing::warn!(%error, "the queue heard no heartbeat");
            None
        }
    }
}

/// `queued` is nothing if the queue did not answer.
fn beat_of(
    lease: LeaseId,
    registered: Option<&Kept>,
    queued: Option<&BTreeMap<LeaseId, Standing>>,
) -> Beat {
    match (registered, queued) {
        (Some(kept), _) if kept.is_open => {
            let Kept { token, deadline, .. } = *kept;
            let standing = if kept.is_spent {
                Standing::Spent { token, deadline }
            } else {
                Standing::Granted { token, deadline }
            };
            show::beat(lease, standing)
        }
        (Some(kept), _) => Beat {
            refused: kept.is_spent.then_some(Code::LeaseHeldTooLong),
            ..show::nothing(lease, LeaseState::Expired)
        },
        (None, Some(queued)) => {
            let standing = queued.get(&lease).copied();
            show::beat(lease, standing.unwrap_or(Standing::Unknown))
        }
        (None, None) => show::nothing(lease, LeaseState::Unsure),
    }
}

#[cfg(test)]
mod tests {
    use ade_core::lock::Token;
    use ade_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_lease_that_was_kept_too_long_is_told_so_by_whoever_judges_it() {
        let (lease, token) = (LeaseId::from_u128(1), Token::from_number((1 << 33) + 1).unwrap());
        let deadline = Timestamp::from_micros(9);
        let kept = Kept { lease, is_open: true, is_spent: true, token, deadline };
        let spent = BTreeMap::from([(lease, Standing::Spent { token, deadline })]);
        let by_record = beat_of(lease, Some(&kept), None);
        let by_queue = beat_of(lease, None, Some(&spent));
        assert_eq!(by_record, by_queue);
        assert_eq!(by_record.state, LeaseState::Granted, "until it runs out");
        assert_eq!(by_record.expires_at, Some(deadline));
        assert_eq!(by_record.refused, Some(Code::LeaseHeldTooLong));

        let over = beat_of(lease, Some(&Kept { is_open: false, ..kept }), None);
        assert_eq!(over.state, LeaseState::Expired);
        assert_eq!(over.refused, Some(Code::LeaseHeldTooLong));
        let fenced = Kept { is_open: false, is_spent: false, ..kept };
        assert_eq!(beat_of(lease, Some(&fenced), None).refused, None);
    }
}
