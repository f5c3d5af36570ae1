//! The judgement of a place in line over records that were read elsewhere, for a queue that is
//! kept in rows instead of in a [`Space`](super::Space). The rule is the same one: a set goes if it
//! fits beside all holders and all earlier waiters on every one of its resources.

use super::lease::Lease;
use super::request::{Mode, Request};
use super::token::{Epoch, Order};
use crate::ids::LeaseId;
use crate::resource::ResourceRef;

/// The place of the next arrival after so many; `None` once the epoch has no more numbers.
pub fn next_place(epoch: Epoch, arrivals: u64, boost: u32) -> Option<Order> {
    Order::new(epoch, arrivals + 1, boost)
}

/// Who holds and who waits: everybody who matters for the resources that are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub holding: &'a [Lease],
    pub waiting: &'a [Lease],
}

impl<'a> Line<'a> {
    /// The first resource on which this request would have to wait at this place.
    pub fn blocked_on(&self, request: &'a Request, order: Order) -> Option<&'a ResourceRef> {
        let place = (order, request.lease());
        let blocked = request.set().iter().find(|(resource, mode)| {
            let ahead = self.ahead(resource, place).filter_map(|lease| mode_on(lease, resource));
            let holding = self.holding.iter().filter_map(|lease| mode_on(lease, resource));
            !mode.fits_beside(holding.chain(ahead))
        });
        blocked.map(|(resource, _)| resource)
    }

    /// The first resource where what the owner holds itself leaves no room: only the owner could
    /// end such a wait, and it would be waiting.
    pub fn own_in_the_way(&self, request: &'a Request) -> Option<&'a ResourceRef> {
        let is_own = |lease: &&Lease| lease.request.owner() == request.owner();
        let blocked = request.set().iter().find(|(resource, mode)| {
            let own = self.holding.iter().filter(is_own);
            !mode.fits_beside(own.filter_map(|lease| mode_on(lease, resource)))
        });
        blocked.map(|(resource, _)| resource)
    }

    /// One more than are ahead in the longest of its lines.
    pub fn position(&self, request: &Request, order: Order) -> usize {
        let place = (order, request.lease());
        let lines = request.set().resources().map(|on| self.ahead(on, place).count());
        lines.max().unwrap_or_default() + 1
    }

    /// How many wait for the fullest of its resources, and for which.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::sample::*;
    use crate::lock::{Standing, State};

    /// What the model of the queue knows, taken apart into rows.
    fn rows(desk: &Desk) -> (Vec<Lease>, Vec<Lease>) {
        let live = desk.space.leases().filter(|lease| !lease.state.is_over()).cloned();
        live.partition(|lease| lease.state != State::Waiting)
    }

    #[test]
    fn rows_are_judged_as_the_model_judges_them() {
        let mut desk = Desk::open();
        let asked = [
            ask(1, 1, &[("a", S), ("b", X)]),
            ask(2, 2, &[("a", S)]),
            ask(3, 3, &[("a", X), ("c", X)]),
            ask(4, 4, &[("a", S)]),
            ask(5, 5, &[("c", X)]),
            ask(6, 6, &[("slots", counting(2))]),
            ask(7, 7, &[("slots", counting(2))]),
            ask(8, 8, &[("slots", counting(2)), ("d", X)]),
            ask(9, 9, &[("d", X)]),
            ask(10, 10, &[("e", X)]),
        ];
        for request in asked {
            let (holding, waiting) = rows(&desk);
            let line = Line { holding: &holding, waiting: &waiting };
            let order = next_place(Epoch::FIRST, 1_000, 0).unwrap();
            let is_blocked = line.blocked_on(&request, order).is_some();
            let position = line.position(&request, order);
            let lease = request.lease();
            match desk.acquire(request, 0) {
                Standing::Granted { .. } => assert!(!is_blocked, "{lease}"),
                Standing::Waiting { position: told, .. } => {
                    assert!(is_blocked, "{lease}");
                    assert_eq!(position, told, "{lease}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_owner_does_not_wait_for_itself() {
        let mut desk = Desk::open();
        desk.hold(ask(1, 1, &[("a", X)]), 0);
        let (holding, waiting) = rows(&desk);
        let line = Line { holding: &holding, waiting: &waiting };
        let (own, other) = (ask(2, 1, &[("a", S)]), ask(3, 3, &[("a", S)]));
        assert_eq!(line.own_in_the_way(&own), Some(&resource("a")));
        assert_eq!(line.own_in_the_way(&other), None);
        assert_eq!(line.depth(&other), Some((&resource("a"), 0)));
    }
}
