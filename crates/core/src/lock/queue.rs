//! One lock space: who holds, who waits and in which order, with every command on it. A set is
//! granted whole or not at all, and the tables of holders, waiters, deadlines and waiting owners
//! always say what the records say. No I/O, and no say in who may commit: that is `fence`.

use std::collections::{BTreeMap, BTreeSet};

use super::lease::{Event, Lease, Refusal, Reply, Standing, State};
use super::request::{Class, Mode, Owner, Request};
use super::token::{Epoch, Order, Token};
use super::wait_for::WaitFor;
use crate::ids::LeaseId;
use crate::limits::LOCK_SWEEP_PER_CALL;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// Where one waiter stands. The lease id only decides if a caller sends back a place that is
/// not its own: it can then do no harm but to itself.
pub(super) type Place = (Order, LeaseId);

/// How a request comes: after a rebuild, waiters and advisory holders of the old epoch say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    New,
    /// Stood in line in an earlier epoch, and keeps its place.
    Waited(Order),
    /// Held an advisory lease in an earlier epoch, and claims it again.
    Held(Token),
}

/// Empty (no epoch) until it is rebuilt for the first time, and again after every loss.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Space {
    pub(super) epoch: Option<Epoch>,
    pub(super) tokens: u64,
    pub(super) orders: u64,
    /// Until then an advisory lease of a lost epoch may still be in use.
    pub(super) unsure_until: Option<Timestamp>,
    pub(super) leases: BTreeMap<LeaseId, Lease>,
    pub(super) holders: BTreeMap<ResourceRef, BTreeMap<LeaseId, Mode>>,
    pub(super) queues: BTreeMap<ResourceRef, BTreeMap<Place, Mode>>,
    pub(super) deadlines: BTreeSet<(Timestamp, LeaseId)>,
    /// One wait per owner: with two, a grant could close a cycle, not only an enqueue.
    pub(super) waiting: BTreeMap<Owner, LeaseId>,
}

// Commands. Each is idempotent by lease id and answers with where the lease now stands.
impl Space {
    pub fn acquire(
        &mut self,
        epoch: Epoch,
        request: Request,
        arrival: Arrival,
        now: Timestamp,
    ) -> Reply<Standing> {
        self.enter(epoch, now, |space, events| space.admit(epoch, request, arrival, now, events))
    }

    /// Extends grants and waits alike; for a waiter it is heartbeat and poll in one.
    pub fn renew(
        &mut self,
        epoch: Epoch,
        leases: &[LeaseId],
        now: Timestamp,
    ) -> Reply<Vec<Standing>> {
        self.enter(epoch, now, |space, events| {
            let renewed = leases.iter().map(|id| space.extend(*id, now, events));
            Ok(renewed.collect())
        })
    }

    /// Gives back a grant or takes back a wait. In a lock delay it is the holder itself who says
    /// that it has stopped, so nothing is left to wait for.
    pub fn release(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<Standing> {
        let told = Event::Released { lease };
        self.end(epoch, lease, State::Released, told, now, |state| !state.is_over())
    }

    /// Takes back a wait, never a grant that came first: its owner is told that it holds.
    pub fn cancel(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<Standing> {
        let told = Event::Released { lease };
        self.end(epoch, lease, State::Released, told, now, |state| state == State::Waiting)
    }

    /// An operator frees what a holder has. The holder is not asked, so for a fenced lease this
    /// is only as safe as the fence that PostgreSQL sets beside it.
    pub fn break_lease(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<Standing> {
        let told = Event::Broken { lease };
        self.end(epoch, lease, State::Broken, told, now, |state| {
            matches!(state, State::Granted | State::Delayed)
        })
    }

    /// PostgreSQL has seen a token at or above this grant's: never mint below `floor` again, and
    /// mint anew for the same grant.
    pub fn refence(
        &mut self,
        epoch: Epoch,
        lease: LeaseId,
        floor: Token,
        now: Timestamp,
    ) -> Reply<Standing> {
        self.enter(epoch, now, |space, events| {
            space.settle(lease, now, events);
            let Some(known) = space.leases.get(&lease) else {
                return Ok(Standing::Unknown);
            };
            if known.state != State::Granted {
                return Ok(space.standing(lease));
            }
            if known.registered {
                return Err(Refusal::AlreadyRegistered);
            }
            let needs_rebuild = Refusal::Rebuild { stored: space.epoch };
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

    /// Notes that PostgreSQL has registered this grant: only now does its expiry need a delay.
    pub fn register(&mut self, epoch: Epoch, lease: LeaseId, now: Timestamp) -> Reply<Standing> {
        self.enter(epoch, now, |space, events| {
            space.settle(lease, now, events);
            if let Some(known) = space.leases.get(&lease)
                && known.state == State::Granted
            {
                if known.request.class() == Class::Advisory {
                    return Err(Refusal::NotFenced);
                }
                space.change(lease, |lease| lease.registered = true);
            }
            Ok(space.standing(lease))
        })
    }

    /// Any process may call this at any time. Answers how many records it moved.
    pub fn sweep(&mut self, epoch: Epoch, limit: usize, now: Timestamp) -> Reply<usize> {
        let mut events = Vec::new();
        let answer = self.gate(epoch).map(|()| self.lapse_due(limit, now, &mut events));
        Reply { answer, events }
    }
}

// The way in, and the steps of the commands.
impl Space {
    /// Fails closed both ways: a caller with an old epoch must read it again, and a space with
    /// an old one knows nothing of what was registered since.
    pub(super) fn gate(&self, epoch: Epoch) -> Result<(), Refusal> {
        match self.epoch {
            Some(stored) if stored == epoch => Ok(()),
            Some(stored) if stored > epoch => Err(Refusal::StaleEpoch { stored }),
            stored => Err(Refusal::Rebuild { stored }),
        }
    }

    pub(super) fn enter<T>(
        &mut self,
        epoch: Epoch,
        now: Timestamp,
        act: impl FnOnce(&mut Self, &mut Vec<Event>) -> Result<T, Refusal>,
    ) -> Reply<T> {
        let mut events = Vec::new();
        let answer = self.gate(epoch).and_then(|()| {
            self.lapse_due(LOCK_SWEEP_PER_CALL, now, &mut events);
            act(self, &mut events)
        });
        Reply { answer, events }
    }

    /// An enqueue is the only thing that adds edges, so a search right here is exact: there are
    /// no phantom cycles and none outlives the call that closed it. One wait can close several.
    pub(super) fn break_deadlocks(&mut self, now: Timestamp, events: &mut Vec<Event>) {
        while WaitFor::may_have_cycle(self, now)
            && let Some(deadlock) = WaitFor::of(self, now).deadlock()
        {
            let victim = deadlock.victim;
            let cycle = deadlock.cycle;
            events.push(Event::Deadlock { victim, cycle });
            self.finish(victim, State::Victim, now, events);
        }
    }

    fn extend(&mut self, id: LeaseId, now: Timestamp, events: &mut Vec<Event>) -> Standing {
        self.settle(id, now, events);
        if self.leases.get(&id).is_some_and(|lease| lease.is_spent(now))
            && let Standing::Granted { token, deadline } = self.standing(id)
        {
            // It runs out as if its holder had gone.
            return Standing::Spent { token, deadline };
        }
        self.change(id, |lease| match lease.state {
            State::Granted => lease.deadline = now.plus(lease.request.ttl()),
            State::Waiting => lease.deadline = now.plus(lease.request.wait()),
            State::Delayed
            | State::Released
            | State::Expired
            | State::Broken
            | State::TimedOut
            | State::Victim => {}
        });
        self.standing(id)
    }

    fn end(
        &mut self,
        epoch: Epoch,
        id: LeaseId,
        state: State,
        told: Event,
        now: Timestamp,
        may_end: impl FnOnce(State) -> bool,
    ) -> Reply<Standing> {
        self.enter(epoch, now, |space, events| {
            space.settle(id, now, events);
            if space.leases.get(&id).is_some_and(|lease| may_end(lease.state)) {
                events.push(told);
                space.finish(id, state, now, events);
            }
            Ok(space.standing(id))
        })
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
