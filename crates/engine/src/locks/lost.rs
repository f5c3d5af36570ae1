//! How a lease was lost. If an operator broke it, the audit log contains the person and the reason,
//! under the hash of the lease, whether or not PostgreSQL had registered it.

use std::collections::BTreeMap;

use ade_api::cause::Cause;
use ade_api::locks::{Beat, LeaseState};
use ade_core::audit::{EntryKind, What, Why};
use ade_core::ids::LeaseId;
use ade_store::{Tx, audit};

use super::views;
use crate::app::App;
use crate::caller::Caller;
use crate::command::cause::causes;
use crate::command::permission::{audit_entry, look};
use crate::error::{Error, LostLease};

/// The action of an operator who breaks a lock.
pub(super) const BREAK: &str = "lock.break";

/// Records who broke these leases and why.
pub(super) async fn record_breaks(
    tx: &mut Tx,
    caller: &Caller,
    leases: &[LeaseId],
    reason: &str,
) -> Result<(), Error> {
    let entries = leases.iter().map(|lease| {
        let why = Why { reason: Some(reason.to_owned()), ticket: None };
        let what = What::new(views::hash(lease).to_string(), BREAK);
        audit_entry(tx, caller, EntryKind::Change, what, why)
    });
    let entries: Vec<_> = entries.collect();
    audit::append(tx, &entries).await?;
    Ok(())
}

async fn breaks(tx: &mut Tx, leases: &[LeaseId]) -> Result<BTreeMap<LeaseId, Cause>, Error> {
    let leases: BTreeMap<String, LeaseId> =
        leases.iter().map(|lease| (views::hash(lease).to_string(), *lease)).collect();
    let hashes: Vec<String> = leases.keys().cloned().collect();
    let found = causes(tx, &hashes, BREAK, None).await?;
    Ok(found.into_iter().filter_map(|(hash, cause)| Some((*leases.get(&hash)?, cause))).collect())
}

/// Returns how a lease was lost: broken if an operator broke it, otherwise as given.
pub(crate) async fn loss(
    tx: &mut Tx,
    lease: LeaseId,
    otherwise: LeaseState,
) -> Result<LostLease, Error> {
    let broken = breaks(tx, &[lease]).await?.remove(&lease);
    let state = if broken.is_some() { LeaseState::Broken } else { otherwise };
    Ok(LostLease { state, broken, attempt: None })
}

/// Returns the refusal of a call under a lease that is lost.
pub(super) async fn refusal(
    app: &App,
    caller: &Caller,
    lease: LeaseId,
    otherwise: LeaseState,
) -> Error {
    let found = async {
        let mut tx = look(app, caller).await?;
        let loss = loss(&mut tx, lease, otherwise).await?;
        tx.roll_back().await;
        Ok::<_, Error>(loss)
    };
    match found.await {
        Ok(loss) => Error::LeaseLost(Box::new(loss)),
        Err(error) => error,
    }
}

/// Adds who broke the lost leases among these. The queue or PostgreSQL alone may report a broken
/// lease as expired.
pub(super) async fn name_breakers(
    app: &App,
    caller: &Caller,
    beats: &mut [Beat],
) -> Result<(), Error> {
    let is_lost = |beat: &&Beat| matches!(beat.state, LeaseState::Expired | LeaseState::Broken);
    let lost: Vec<LeaseId> = beats.iter().filter(is_lost).map(|beat| beat.lease_id).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let mut tx = look(app, caller).await?;
    let breaks = breaks(&mut tx, &lost).await?;
    tx.roll_back().await;
    for beat in beats {
        if let Some(cause) = breaks.get(&beat.lease_id) {
            beat.state = LeaseState::Broken;
            beat.broken = Some(cause.clone());
        }
    }
    Ok(())
}
