//! Heartbeats: one call for a session and everything it holds or waits for. What the record says
//! of a fenced lease counts; the queue follows it. While the queue is away, registered leases live
//! on and the others are told that nothing is known of them.

use std::collections::BTreeMap;

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
    Ok(beats.collect())
}

/// How the queue sees those that can still be held; nothing if it does not answer.
async fn in_queue(
    keeper: &Keeper,
    caller: &Caller,
    leases: &[LeaseId],
    registered: &BTreeMap<LeaseId, Kept>,
) -> Option<BTreeMap<LeaseId, Standing>> {
    let is_lost = |lease: &LeaseId| registered.get(lease).is_some_and(|kept| !kept.is_open);
    let (lost, open): (Vec<LeaseId>, Vec<LeaseId>) = leases.iter().partition(|one| is_lost(one));
    let ask = async {
        // Whoever was fenced must not stand in the way of the next either.
        for lease in lost {
            keeper.break_lease(caller.tenant, lease).await?;
        }
        let standings = keeper.renew(caller.tenant, &open).await?;
        let known: BTreeMap<LeaseId, Standing> = open.iter().copied().zip(standings).collect();
        let forgotten: Vec<LeaseId> = registered
            .values()
            .filter(|kept| kept.is_open)
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
    let nothing = |state| Beat { lease, state, token: None, expires_at: None, position: None };
    match (registered, queued) {
        (Some(kept), _) if kept.is_open => {
            let standing = Standing::Granted { token: kept.token, deadline: kept.deadline };
            show::beat(lease, standing)
        }
        (Some(_), _) => nothing(LeaseState::Expired),
        (None, Some(queued)) => {
            let standing = queued.get(&lease).copied();
            show::beat(lease, standing.unwrap_or(Standing::Unknown))
        }
        (None, None) => nothing(LeaseState::Unsure),
    }
}
