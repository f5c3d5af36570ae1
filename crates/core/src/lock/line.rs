//! Decides whether a request must wait, for a queue that is stored in rows instead of in Redis. The
//! rule is the same: a set is granted if it fits beside all holders and all earlier waiters on each
//! of its resources. The caller reads the records.

use super::lease::Lease;
use super::request::{Mode, Request};
use super::token::{Epoch, Order};
use crate::ids::LeaseId;
use crate::resource::ResourceRef;

/// Returns the place of the next arrival after `arrivals`; `None` once the epoch has no more
/// numbers.
pub fn next_place(epoch: Epoch, arrivals: u64, boost: u32) -> Option<Order> {
    Order::new(epoch, arrivals + 1, boost)
}

/// The holders and waiters that matter for the requested resources.
#[derive(Debug, Clone, Copy)]
pub struct QueueSnapshot<'a> {
    pub holding: &'a [Lease],
    pub waiting: &'a [Lease],
}

impl<'a> QueueSnapshot<'a> {
    /// Returns the first resource on which this request would have to wait at this place.
    pub fn blocked_on(&self, request: &'a Request, order: Order) -> Option<&'a ResourceRef> {
        let place = (order, request.lease());
        let blocked = request.set().iter().find(|(resource, mode)| {
            let ahead = self.ahead(resource, place).filter_map(|lease| mode_on(lease, resource));
            let holding = self.holding.iter().filter_map(|lease| mode_on(lease, resource));
            !mode.fits_beside(holding.chain(ahead))
        });
        blocked.map(|(resource, _)| resource)
    }

    /// Returns the first resource on which the holds of the owner leave no room: only the owner
    /// could end such a wait, and it would be waiting.
    pub fn own_in_the_way(&self, request: &'a Request) -> Option<&'a ResourceRef> {
        let is_own = |lease: &&Lease| lease.request.owner() == request.owner();
        let blocked = request.set().iter().find(|(resource, mode)| {
            let own = self.holding.iter().filter(is_own);
            !mode.fits_beside(own.filter_map(|lease| mode_on(lease, resource)))
        });
        blocked.map(|(resource, _)| resource)
    }

    /// Returns one more than the number of waiters ahead in the longest of its queues.
    pub fn position(&self, request: &Request, order: Order) -> usize {
        let place = (order, request.lease());
        let lines = request.set().resources().map(|on| self.ahead(on, place).count());
        lines.max().unwrap_or_default() + 1
    }

    /// Returns the resource of the set with the most waiters, and their number.
    pub fn depth(&self, request: &'a Request) -> Option<(&'a ResourceRef, usize)> {
        let waits = |on: &ResourceRef| {
            self.waiting.iter().filter(|lease| mode_on(lease, on).is_some()).count()
        };
        request.set().resources().map(|on| (on, waits(on))).max_by_key(|(_, count)| *count)
    }

    fn ahead(&self, on: &ResourceRef, place: (Order, LeaseId)) -> impl Iterator<Item = &'a Lease> {
        self.waiting.iter().filter(move |lease| {
            let theirs = lease.order.map(|order| (order, lease.request.lease()));
            theirs.is_some_and(|theirs| theirs < place) && mode_on(lease, on).is_some()
        })
    }
}

fn mode_on(lease: &Lease, resource: &ResourceRef) -> Option<Mode> {
    lease.request.set().mode_of(resource)
}
