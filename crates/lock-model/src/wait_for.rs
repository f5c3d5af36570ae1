//! Who waits for whom in a space, read from its tables.

use ade_core::ids::LeaseId;
use ade_core::lock::wait_for::{WaitFor, Waiter, is_live, makes_edge};
use ade_core::lock::{Lease, LeasePhase, Mode};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::table::Space;

/// Returns whether any owner both holds and waits. Otherwise there is no cycle and the search can
/// be skipped: if every edge of a cycle led to an earlier waiter, places would decrease all the way
/// round, which is impossible. So some edge leads to a holder that also waits.
pub fn may_have_cycle(space: &Space, now: Timestamp) -> bool {
    space.leases().any(|lease| {
        lease.state == LeasePhase::Granted
            && is_live(lease, now)
            && space.waiting.contains_key(&lease.request.owner())
    })
}

pub fn wait_for(space: &Space, now: Timestamp) -> WaitFor {
    let live = |id: &LeaseId| space.lease(*id).filter(|lease| is_live(lease, now));
    let waiters = space.waiting.values().filter_map(live).map(|lease| {
        let ahead = lease
            .request
            .set()
            .iter()
            .flat_map(|(resource, mode)| conflicting_ahead(space, lease, resource, mode));
        let owners = ahead.filter_map(|id| live(&id)).map(|ahead| ahead.request.owner());
        Waiter::new(lease, owners.collect())
    });
    waiters.collect()
}

fn conflicting_ahead<'a>(
    space: &'a Space,
    lease: &'a Lease,
    resource: &'a ResourceRef,
    mode: Mode,
) -> impl Iterator<Item = LeaseId> + 'a {
    let earlier = space.queue(resource).take_while(|(id, _)| *id != lease.request.lease());
    space
        .holders(resource)
        .chain(earlier)
        .filter(move |(_, ahead)| makes_edge(mode, *ahead))
        .map(|(id, _)| id)
}

#[cfg(test)]
#[path = "wait_for_tests.rs"]
mod tests;
