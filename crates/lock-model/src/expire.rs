//! Expiry of leases: grants expire (after a lock delay if registered), waits time out, tombstones
//! vanish. Expiry is judged by `now` and is never a side effect of a store, so that it can promote
//! waiters, apply delays and be reported. An expired lease is never revived.

use ade_core::ids::LeaseId;
use ade_core::limits::LOCK_HOLD_MAX;
use ade_core::lock::{Lease, LeasePhase, LockEvent};
use ade_core::time::Timestamp;

use super::table::Space;

/// Returns whether a heartbeat now would extend the lease past its maximum age. For a registered
/// lease PostgreSQL decides that.
pub(super) fn is_spent(lease: &Lease, now: Timestamp) -> bool {
    let until = now.plus(lease.request.ttl());
    lease.held_since.is_some_and(|since| until > since.plus(LOCK_HOLD_MAX))
}

impl Space {
    /// Processes up to `limit` due records by one step each, earliest deadline first.
    pub(super) fn lapse_due(
        &mut self,
        limit: usize,
        now: Timestamp,
        events: &mut Vec<LockEvent>,
    ) -> usize {
        let mut done = 0;
        while done < limit
            && let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            self.lapse(id, now, events);
            done += 1;
        }
        done
    }

    /// Brings one lease up to `now`, whatever the sweep has left, so that an expired lease is never
    /// reported as held.
    pub(super) fn settle(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<LockEvent>) {
        while self.leases.get(&id).is_some_and(|lease| lease.is_due(now)) {
            self.lapse(id, now, events);
        }
    }

    fn lapse(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<LockEvent>) {
        let Some(lease) = self.leases.get(&id) else {
            return;
        };
        match lease.state {
            LeasePhase::Granted => {
                events.push(LockEvent::Expired { lease: id });
                let lock_delay = lease.request.class().lock_delay();
                if lease.registered && !lock_delay.is_zero() {
                    // The delay counts from the deadline, as in PostgreSQL: a late sweep adds
                    // nothing.
                    let until = lease.deadline.plus(lock_delay);
                    self.change(id, |lease| {
                        lease.state = LeasePhase::Delayed;
                        lease.deadline = until;
                    });
                } else {
                    self.finish(id, LeasePhase::Expired, now, events);
                }
            }
            LeasePhase::Delayed => self.finish(id, LeasePhase::Expired, now, events),
            LeasePhase::Waiting => {
                events.push(LockEvent::TimedOut { lease: id });
                self.finish(id, LeasePhase::TimedOut, now, events);
            }
            LeasePhase::Released
            | LeasePhase::Expired
            | LeasePhase::Broken
            | LeasePhase::TimedOut
            | LeasePhase::Victim => {
                self.take(id);
            }
        }
    }
}

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;
