//! Restores a space that lost its data from PostgreSQL, where every registered hold is a row: a new
//! epoch from all of them, or one lost holder at a time. Registered holds always take precedence
//! over the state of the space; waiters keep their places.

use ade_core::limits::LEASE_TOMBSTONE_TTL;
use ade_core::lock::{
    Arrival, Epoch, Lease, LeaseClass, LeasePhase, LeaseStatus, LiveHold, LockEvent, LockRefusal,
    Reply,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::table::Space;

impl Space {
    /// Starts an epoch with the holds from PostgreSQL. It is a compare-and-set: of several callers
    /// that saw the old epoch end, one wins and the others get `StaleEpoch`. `unsure_until` is when
    /// the last advisory lease of the lost epoch must have expired; `None` if there was no such
    /// lease.
    pub fn rebuild(
        &mut self,
        epoch: Epoch,
        holds: impl IntoIterator<Item = LiveHold>,
        unsure_until: Option<Timestamp>,
    ) -> Reply<usize> {
        let events = Vec::new();
        if let Some(stored) = self.epoch.filter(|stored| *stored >= epoch) {
            let answer = Err(LockRefusal::StaleEpoch { stored });
            return Reply { answer, events };
        }
        *self = Self { epoch: Some(epoch), unsure_until, ..Self::default() };
        for hold in holds {
            self.put(hold.into_lease());
        }
        let answer = Ok(self.leases.len());
        Reply { answer, events }
    }

    /// Takes over `hold`, because of which PostgreSQL refused a grant of this space. Grants in its
    /// way that were never registered return to their places; those that cannot wait are broken.
    pub fn adopt(&mut self, epoch: Epoch, hold: LiveHold, now: Timestamp) -> Reply<LeaseStatus> {
        self.enter(epoch, now, |space, events| {
            let id = hold.request.lease();
            space.settle(id, now, events);
            if hold.token.epoch() == epoch {
                // A space that lost a holder has lost its token too, which must not be issued
                // again.
                space.tokens = space.tokens.max(hold.token.counter());
            }
            let mut freed: Vec<ResourceRef> = Vec::new();
            match space.leases.get(&id).map(|known| known.state) {
                None => {}
                Some(LeasePhase::Waiting) => {
                    freed.extend(space.take(id).iter().flat_map(resources));
                }
                Some(LeasePhase::Granted) => {
                    space.change(id, |lease| {
                        lease.registered = true;
                        lease.token = Some(hold.token);
                    });
                    return Ok(space.standing(id));
                }
                // Already in its lock delay, or over: a tombstone is not revived even by a row.
                Some(
                    LeasePhase::Delayed
                    | LeasePhase::Released
                    | LeasePhase::Expired
                    | LeasePhase::Broken
                    | LeasePhase::TimedOut
                    | LeasePhase::Victim,
                ) => return Ok(space.standing(id)),
            }
            let displaced = space.clear_way(&hold);
            space.put(hold.into_lease());
            for lease in displaced {
                freed.extend(resources(&lease));
                space.send_back(epoch, lease, now, events);
            }
            space.promote(freed, now, events);
            space.break_deadlocks(now, events);
            Ok(space.standing(id))
        })
    }

    /// Removes the youngest grants that keep `hold` from fitting. Registered ones stay: if
    /// PostgreSQL has registered both, they do not conflict.
    fn clear_way(&mut self, hold: &LiveHold) -> Vec<Lease> {
        let mut displaced = Vec::new();
        for (resource, mode) in hold.request.set().iter() {
            while !mode.fits_beside(self.holders(resource).map(|(_, held)| held)) {
                let unregistered = self
                    .holders(resource)
                    .filter_map(|(id, _)| self.leases.get(&id))
                    .filter(|lease| !lease.registered);
                let youngest = unregistered.max_by_key(|lease| lease.token);
                let Some(lease) = youngest.map(|l| l.request.lease()).and_then(|id| self.take(id))
                else {
                    break;
                };
                displaced.push(lease);
            }
        }
        displaced
    }

    /// Returns a displaced grant to the queue. Only a fenced lease can wait again: it has done
    /// nothing before its registration. The holder of an advisory lease already acts on it and must
    /// learn that it is lost.
    fn send_back(
        &mut self,
        epoch: Epoch,
        mut lease: Lease,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) {
        let id = lease.request.lease();
        let can_wait = lease.request.class() != LeaseClass::Advisory
            && !lease.request.wait().is_zero()
            && !self.waiting.contains_key(&lease.request.owner());
        let old_place = lease.order;
        if lease.is_due(now) {
            events.push(LockEvent::Expired { lease: id });
            lease.state = LeasePhase::Expired;
        } else if can_wait
            && let Some(order) = old_place.or_else(|| {
                let place = self.take_place(epoch, &lease.request, Arrival::New);
                place.ok()
            })
        {
            events.push(LockEvent::Displaced { lease: id });
            lease.state = LeasePhase::Waiting;
            lease.token = None;
            lease.order = Some(order);
        } else {
            events.push(LockEvent::Broken { lease: id });
            lease.state = LeasePhase::Broken;
        }
        lease.deadline = now.plus(if lease.state == LeasePhase::Waiting {
            lease.request.wait()
        } else {
            LEASE_TOMBSTONE_TTL
        });
        self.put(lease);
    }
}

fn resources(lease: &Lease) -> Vec<ResourceRef> {
    lease.request.set().resources().cloned().collect()
}

#[cfg(test)]
#[path = "rebuild_tests.rs"]
mod tests;
