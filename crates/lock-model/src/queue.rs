//! The commands on a lock space. A set is granted as a whole or not at all. The space does no I/O
//! and does not decide who may commit; see `fence`.

use ade_core::ids::LeaseId;
use ade_core::limits::LOCK_SWEEP_PER_CALL;
use ade_core::lock::{
    Arrival, Epoch, FencingToken, LeaseClass, LeasePhase, LeaseStatus, LockEvent, LockRefusal,
    Reply, Request,
};
use ade_core::time::Timestamp;

use super::expire::is_spent;
use super::table::Space;
use super::wait_for::{may_have_cycle, wait_for};

// The commands. Each is idempotent by lease id and returns the status of the lease.
impl Space {
    pub fn acquire(
        &mut self,
        epoch: Epoch,
        request: Request,
        arrival: Arrival,
        now: Timestamp,
    ) -> Reply<LeaseStatus> {
        self.enter(epoch, now, |space, events| space.admit(epoch, request, arrival, now, events))
    }

    /// Extends grants and waits. For a waiter it is both heartbeat and poll.
    pub fn renew(
        &mut self,
        epoch: Epoch,
        leases: &[LeaseId],
        now: Timestamp,
    ) -> Reply<Vec<LeaseStatus>> {
        self.enter(epoch, now, |space, events| {
            let renewed = leases.iter().map(|id| space.extend(*id, now, events));
            Ok(renewed.collect())
        })
    }

    /// Releases a grant or cancels a wait. During a lock delay the holder itself reports that it
    /// has stopped, so the delay ends.
    pub fn release(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<LeaseStatus> {
        let event = LockEvent::Released { lease };
        self.end(epoch, lease, LeasePhase::Released, event, now, |state| !state.is_over())
    }

    /// Cancels a wait, never a grant that came first: then the owner learns that it holds the lock.
    pub fn cancel(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<LeaseStatus> {
        let event = LockEvent::Released { lease };
        self.end(epoch, lease, LeasePhase::Released, event, now, |state| {
            state == LeasePhase::Waiting
        })
    }

    /// Ends the lease of a holder on behalf of an operator. The holder is not asked, so for a
    /// fenced lease this is only as safe as the fence that PostgreSQL sets with it.
    pub fn break_lease(
        &mut self,
        epoch: Epoch,
        lease: LeaseId,
        now: Timestamp,
    ) -> Reply<LeaseStatus> {
        let event = LockEvent::Broken { lease };
        self.end(epoch, lease, LeasePhase::Broken, event, now, |state| {
            matches!(state, LeasePhase::Granted | LeasePhase::Delayed)
        })
    }

    /// Issues a new token above `floor` for a grant whose token PostgreSQL refused as too low. No
    /// token up to `floor` is issued again.
    pub fn refence(
        &mut self,
        epoch: Epoch,
        lease: LeaseId,
        floor: FencingToken,
        now: Timestamp,
    ) -> Reply<LeaseStatus> {
        self.enter(epoch, now, |space, events| {
            space.settle(lease, now, events);
            let Some(known) = space.leases.get(&lease) else {
                return Ok(LeaseStatus::Unknown);
            };
            if known.state != LeasePhase::Granted {
                return Ok(space.standing(lease));
            }
            if known.registered {
                return Err(LockRefusal::AlreadyRegistered);
            }
            let needs_rebuild = LockRefusal::Rebuild { stored: space.epoch };
            if floor.epoch() > epoch {
                return Err(needs_rebuild);
            }
            if floor.epoch() == epoch {
                space.tokens = space.tokens.max(floor.counter());
            }
            let token = space.mint().ok_or(needs_rebuild)?;
            space.change(lease, |lease| lease.token = Some(token));
            Ok(space.standing(lease))
        })
    }

    /// Records that PostgreSQL has registered this grant. Only from now on does its expiry need a
    /// delay.
    pub fn register(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<LeaseStatus> {
        self.enter(epoch, now, |space, events| {
            space.settle(lease, now, events);
            if let Some(known) = space.leases.get(&lease)
                && known.state == LeasePhase::Granted
            {
                if known.request.class() == LeaseClass::Advisory {
                    return Err(LockRefusal::NotFenced);
                }
                space.change(lease, |lease| lease.registered = true);
            }
            Ok(space.standing(lease))
        })
    }

    /// Processes due records and returns their number. Any process may call this at any time.
    pub fn sweep(&mut self, epoch: Epoch, limit: usize, now: Timestamp) -> Reply<usize> {
        let mut events = Vec::new();
        let answer = self.gate(epoch).map(|()| self.lapse_due(limit, now, &mut events));
        Reply { answer, events }
    }
}

// The entry check and the steps of the commands.
impl Space {
    /// Refuses if the epochs differ: a caller with an old epoch must read it again, and a space
    /// with an old epoch does not know later registrations.
    pub(super) fn gate(&self, epoch: Epoch) -> Result<(), LockRefusal> {
        match self.epoch {
            Some(stored) if stored == epoch => Ok(()),
            Some(stored) if stored > epoch => Err(LockRefusal::StaleEpoch { stored }),
            stored => Err(LockRefusal::Rebuild { stored }),
        }
    }

    pub(super) fn enter<T>(
        &mut self,
        epoch: Epoch,
        now: Timestamp,
        act: impl FnOnce(&mut Self, &mut Vec<LockEvent>) -> Result<T, LockRefusal>,
    ) -> Reply<T> {
        let mut events = Vec::new();
        let answer = self.gate(epoch).and_then(|()| {
            self.lapse_due(LOCK_SWEEP_PER_CALL, now, &mut events);
            act(self, &mut events)
        });
        Reply { answer, events }
    }

    /// Breaks deadlocks. Only an enqueue adds edges, so a search at this point is exact: there are
    /// no phantom cycles, and no cycle outlives the call that closed it. One wait can close several
    /// cycles.
    pub(super) fn break_deadlocks(&mut self, now: Timestamp, events: &mut Vec<LockEvent>) {
        while may_have_cycle(self, now)
            && let Some(deadlock) = wait_for(self, now).deadlock()
        {
            let victim = deadlock.victim;
            let cycle = deadlock.cycle;
            events.push(LockEvent::Deadlock { victim, cycle });
            self.finish(victim, LeasePhase::Victim, now, events);
        }
    }

    fn extend(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<LockEvent>) -> LeaseStatus {
        self.settle(id, now, events);
        if self.leases.get(&id).is_some_and(|lease| is_spent(lease, now))
            && let LeaseStatus::Granted { token, deadline } = self.standing(id)
        {
            // The lease expires as if its holder had gone.
            return LeaseStatus::Spent { token, deadline };
        }
        self.change(id, |lease| match lease.state {
            LeasePhase::Granted => lease.deadline = now.plus(lease.request.ttl()),
            LeasePhase::Waiting => lease.deadline = now.plus(lease.request.wait()),
            LeasePhase::Delayed
            | LeasePhase::Released
            | LeasePhase::Expired
            | LeasePhase::Broken
            | LeasePhase::TimedOut
            | LeasePhase::Victim => {}
        });
        self.standing(id)
    }

    fn end(
        &mut self,
        epoch: Epoch,
        id: LeaseId,
        state: LeasePhase,
        event: LockEvent,
        now: Timestamp,
        may_end: impl FnOnce(LeasePhase) -> bool,
    ) -> Reply<LeaseStatus> {
        self.enter(epoch, now, |space, events| {
            space.settle(id, now, events);
            if space.leases.get(&id).is_some_and(|lease| may_end(lease.state)) {
                events.push(event);
                space.finish(id, state, now, events);
            }
            Ok(space.standing(id))
        })
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
