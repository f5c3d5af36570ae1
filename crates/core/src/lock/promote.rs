//! Who may go: the one judgement of a place in line, and the walk that grants whoever has
//! become free to go. Nobody is granted past an earlier waiter it would delay, and nobody who
//! may go is left waiting.

use std::collections::VecDeque;

use super::lease::{Event, State};
use super::queue::{Place, Space};
use super::request::{LockSet, Mode};
use crate::ids::LeaseId;
use crate::limits::{LEASE_CLAIM_TTL, LEASE_TOMBSTONE_TTL};
use crate::resource::ResourceRef;
use crate::time::Timestamp;

impl Space {
    /// The first resource on which a set would have to wait, judged at `place`; `None` if it may
    /// be granted whole. Holders and earlier waiters count alike: what a later one leaves for an
    /// earlier one is never less than it was. A grant therefore frees nobody and blocks nobody
    /// ahead, and the order of grants within one call changes nothing but their tokens.
    pub(super) fn blocked_on<'a>(&self, set: &'a LockSet, place: Place) -> Option<&'a ResourceRef> {
        set.iter()
            .find(|(resource, mode)| {
                let ahead = self.modes_ahead(resource, place);
                !mode.fits_beside(ahead)
            })
            .map(|(resource, _)| resource)
    }

    fn modes_ahead(&self, resource: &ResourceRef, place: Place) -> impl Iterator<Item = Mode> {
        let holders = self.holders.get(resource).into_iter().flatten();
        let queue = self.queues.get(resource);
        let earlier = queue.into_iter().flat_map(move |queue| queue.range(..place));
        holders.map(|(_, mode)| *mode).chain(earlier.map(|(_, mode)| *mode))
    }

    /// Ends a lease: out of every table, a tombstone against late duplicates, and on with
    /// whoever stood behind it.
    pub(super) fn finish(
        &mut self,
        id: LeaseId,
        state: State,
        now: Timestamp,
        events: &mut Vec<Event>,
    ) {
        let Some(freed) = self.bury(id, state, now) else {
            return;
        };
        self.promote(freed.resources().cloned(), now, events);
    }

    /// [`Space::finish`] without the promotion, for callers that promote once for several.
    pub(super) fn bury(&mut self, id: LeaseId, state: State, now: Timestamp) -> Option<LockSet> {
        let mut lease = self.take(id)?;
        lease.state = state;
        lease.deadline = now.plus(LEASE_TOMBSTONE_TTL);
        let freed = lease.request.set().clone();
        self.put(lease);
        Some(freed)
    }

    /// Walks the lines of `freed`, first to last. A waiter found dead is not handed the lock but
    /// dropped, and since it leaves all its lines, those are walked too.
    pub(super) fn promote(
        &mut self,
        freed: impl IntoIterator<Item = ResourceRef>,
        now: Timestamp,
        events: &mut Vec<Event>,
    ) {
        let mut open: VecDeque<ResourceRef> = freed.into_iter().collect();
        while let Some(resource) = open.pop_front() {
            let line: Vec<(Place, Mode)> = self
                .queues
                .get(&resource)
                .map(|queue| queue.iter().map(|(place, mode)| (*place, *mode)).collect())
                .unwrap_or_default();
            for (place, mode) in line {
                let (_, id) = place;
                let Some(lease) = self.leases.get(&id) else {
                    continue;
                };
                if lease.is_due(now) {
                    events.push(Event::TimedOut { lease: id });
                    for left in
                        self.bury(id, State::TimedOut, now).iter().flat_map(LockSet::resources)
                    {
                        if *left != resource && !open.contains(left) {
                            open.push_back(left.clone());
                        }
                    }
                    continue;
                }
                match self.blocked_on(lease.request.set(), place) {
                    None => self.grant_claim(id, now, events),
                    // Whoever stands behind a writer, or behind one for whom there is no room
                    // on this very resource, has no room either: a long line costs one look.
                    Some(blocked) if mode == Mode::Exclusive || *blocked == resource => break,
                    Some(_) => {}
                }
            }
        }
    }

    /// A waiter may have died since its last heartbeat, so it gets only the time to show life;
    /// its first renewal turns that into the full lease.
    fn grant_claim(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<Event>) {
        let Some(token) = self.mint() else {
            return;
        };
        self.change(id, |lease| {
            lease.state = State::Granted;
            lease.token = Some(token);
            lease.held_since = lease.request.held_since(now);
            lease.deadline = now.plus(lease.request.ttl().min(LEASE_CLAIM_TTL));
        });
        events.push(Event::Promoted { lease: id, token });
    }
}
