//! Promotion: the single judgement of a queue place, and the walk that grants waiters that have
//! become free. No request is granted past an earlier waiter that it would delay, and no request
//! that may be granted is left waiting.

use std::collections::VecDeque;

use ade_core::ids::LeaseId;
use ade_core::limits::{LEASE_CLAIM_TTL, LEASE_TOMBSTONE_TTL};
use ade_core::lock::{LeasePhase, LockEvent, LockSet, Mode};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::admit::held_since;
use super::table::{Place, Space};

impl Space {
    /// Returns the first resource on which a set would have to wait at `place`; `None` if the whole
    /// set can be granted. Holders and earlier waiters count alike, so a later request never takes
    /// room from an earlier one. A grant therefore neither frees nor blocks an earlier request, and
    /// the order of grants within one call changes only their tokens.
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

    /// Ends a lease: removes it from every table, leaves a tombstone against late duplicates, and
    /// promotes the waiters behind it.
    pub(super) fn finish(
        &mut self,
        id: LeaseId,
        state: LeasePhase,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) {
        let Some(freed) = self.bury(id, state, now) else {
            return;
        };
        self.promote(freed.resources().cloned(), now, events);
    }

    /// Does the same as [`Space::finish`] without promoting, for callers that end several leases.
    pub(super) fn bury(
        &mut self,
        id: LeaseId,
        state: LeasePhase,
        now: Timestamp,
    ) -> Option<LockSet> {
        let mut lease = self.take(id)?;
        lease.state = state;
        lease.deadline = now.plus(LEASE_TOMBSTONE_TTL);
        let freed = lease.request.set().clone();
        self.put(lease);
        Some(freed)
    }

    /// Walks the queues of `freed`, first to last. An expired waiter is dropped and never granted;
    /// it leaves all its queues, so those are walked too.
    pub(super) fn promote(
        &mut self,
        freed: impl IntoIterator<Item = ResourceRef>,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
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
                    events.push(LockEvent::TimedOut { lease: id });
                    for left in
                        self.bury(id, LeasePhase::TimedOut, now).iter().flat_map(LockSet::resources)
                    {
                        if *left != resource && !open.contains(left) {
                            open.push_back(left.clone());
                        }
                    }
                    continue;
                }
                match self.blocked_on(lease.request.set(), place) {
                    None => self.grant_claim(id, now, events),
                    // A request behind a writer, or behind one that does not fit on this resource,
                    // does not fit either: a long queue costs one check.
                    Some(blocked) if mode == Mode::Exclusive || *blocked == resource => break,
                    Some(_) => {}
                }
            }
        }
    }

    /// Grants a claim. The waiter may have died since its last heartbeat, so it only gets a short
    /// time to respond; its first renewal turns the claim into the full lease.
    fn grant_claim(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<LockEvent>) {
        let Some(token) = self.mint() else {
            return;
        };
        self.change(id, |lease| {
            lease.state = LeasePhase::Granted;
            lease.token = Some(token);
            lease.held_since = held_since(&lease.request, now);
            lease.deadline = now.plus(lease.request.ttl().min(LEASE_CLAIM_TTL));
        });
        events.push(LockEvent::Promoted { lease: id, token });
    }
}
