//! What time does to a lease: grants expire (over a lock delay if registered), waits time out,
//! tombstones vanish. Expiry is data judged by `now`, never a side effect of a store, so that
//! it can promote, delay and be told. A lease whose deadline has come is never revived.

use super::lease::{Event, Lease, State};
use super::queue::Space;
use crate::ids::LeaseId;
use crate::limits::LOCK_HOLD_MAX;
use crate::time::Timestamp;

impl Lease {
    /// At its deadline a lease is already over: holder and successor must not share an instant.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.deadline <= now
    }

    /// Whether a heartbeat now would keep it past the longest hold. Of a lease that is registered
    /// the record judges that.
    pub(super) fn is_spent(&self, now: Timestamp) -> bool {
        let until = now.plus(self.request.ttl());
        self.held_since.is_some_and(|since| until > since.plus(LOCK_HOLD_MAX))
    }
}

impl Space {
    /// Takes up to `limit` due records, earliest deadline first, one step each.
    pub(super) fn lapse_due(
        &mut self,
        limit: usize,
        now: Timestamp,
        events: &mut Vec<Event>,
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

    /// Brings one lease up to `now`, whatever the sweep has left: nobody is ever told that a
    /// lease stands which is over.
    pub(super) fn settle(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<Event>) {
        while self.leases.get(&id).is_some_and(|lease| lease.is_due(now)) {
            self.lapse(id, now, events);
        }
    }

    fn lapse(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<Event>) {
        let Some(lease) = self.leases.get(&id) else {
            return;
        };
        match lease.state {
            State::Granted => {
                events.push(Event::Expired { lease: id });
                let lock_delay = lease.request.class().lock_delay();
                if lease.registered && !lock_delay.is_zero() {
                    // Counted from the deadline, as PostgreSQL does: a late sweep adds nothing.
                    let until = lease.deadline.plus(lock_delay);
                    self.change(id, |lease| {
                        lease.state = State::Delayed;
                        lease.deadline = until;
                    });
                } else {
                    self.finish(id, State::Expired, now, events);
                }
            }
            State::Delayed => self.finish(id, State::Expired, now, events),
            State::Waiting => {
                events.push(Event::TimedOut { lease: id });
                self.finish(id, State::TimedOut, now, events);
            }
            State::Released | State::Expired | State::Broken | State::TimedOut | State::Victim => {
                self.take(id);
            }
        }
    }
}

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;
