//! How a space that lost its memory gets it back from PostgreSQL, where every registered hold
//! is a row: a new epoch from all of them, or one forgotten holder at a time. Registered holds
//! always win over what the space believed; who merely waited keeps its place.

use super::lease::{Event, Lease, Refusal, Reply, Standing, State};
use super::queue::{Arrival, Space};
use super::request::{Class, Request};
use super::token::{Epoch, Token};
use crate::limits::LEASE_TOMBSTONE_TTL;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

/// A hold that PostgreSQL has registered, neither fenced nor released.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LiveHold {
    pub request: Request,
    pub token: Token,
    pub deadline: Timestamp,
}

impl LiveHold {
    /// As somebody sees it now: past its deadline it is in the way until its delay is over.
    pub fn seen_at(self, now: Timestamp) -> Lease {
        let state = if self.deadline > now { State::Granted } else { State::Delayed };
        Lease { state, ..self.into_lease() }
    }

    fn into_lease(self) -> Lease {
        Lease {
            request: self.request,
            state: State::Granted,
            token: Some(self.token),
            order: None,
            deadline: self.deadline,
            held_since: None,
            registered: true,
        }
    }
}

impl Space {
    /// Begins an epoch with what PostgreSQL knows. Compare-and-set: of several who saw the old
    /// epoch end, one wins and the rest are told `StaleEpoch`. `unsure_until` is when the last
    /// advisory lease of the lost epoch must have run out; `None` if there was none before.
    pub fn rebuild(
        &mut self,
        epoch: Epoch,
        holds: impl IntoIterator<Item = LiveHold>,
        unsure_until: Option<Timestamp>,
    ) -> Reply<usize> {
        let events = Vec::new();
        if let Some(stored) = self.epoch.filter(|stored| *stored >= epoch) {
            let answer = Err(Refusal::StaleEpoch { stored });
            return Reply { answer, events };
        }
        *self = Self { epoch: Some(epoch), unsure_until, ..Self::default() };
        for hold in holds {
            self.put(hold.into_lease());
        }
        let answer = Ok(self.leases.len());
        Reply { answer, events }
    }

    /// PostgreSQL refused a grant of ours because of `hold`: take it over, so that the two do
    /// not disagree for ever. Grants in its way that were never registered go back to their
    /// places; those that cannot wait are broken.
    pub fn adopt(&mut self, epoch: Epoch, hold: LiveHold, now: Timestamp) -> Reply<Standing> {
        self.enter(epoch, now, |space, events| {
            let id = hold.request.lease();
            space.settle(id, now, events);
            if hold.token.epoch() == epoch {
                // A space that forgot a holder has forgotten its token too: do not mint it again.
                space.tokens = space.tokens.max(hold.token.counter());
            }
            let mut freed: Vec<ResourceRef> = Vec::new();
            match space.leases.get(&id).map(|known| known.state) {
                None => {}
                Some(State::Waiting) => freed.extend(space.take(id).iter().flat_map(resources)),
                Some(State::Granted) => {
                    space.change(id, |lease| {
                        lease.registered = true;
                        lease.token = Some(hold.token);
                    });
                    return Ok(space.standing(id));
                }
                // Already resting, or over: a tombstone is not brought back even by a row.
                Some(
                    State::Delayed
                    | State::Released
                    | State::Expired
                    | State::Broken
                    | State::TimedOut
                    | State::Victim,
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

    /// Takes off the youngest grants that keep `hold` from fitting. Registered ones stay: if
    /// PostgreSQL has registered both, they do not conflict there, and it is the judge.
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

    /// Only a fenced lease can go back: it has done nothing before its registration. Whoever
    /// holds an advisory one acts on it already, and must learn that it has lost it.
    fn send_back(
        &mut self,
        epoch: Epoch,
        mut lease: Lease,
        now: Timestamp,
        events: &mut Vec<Event>,
    ) {
        let id = lease.request.lease();
        let can_wait = lease.request.class() != Class::Advisory
            && !lease.request.wait().is_zero()
            && !self.waiting.contains_key(&lease.request.owner());
        let old_place = lease.order;
        if lease.is_due(now) {
            events.push(Event::Expired { lease: id });
            lease.state = State::Expired;
        } else if can_wait
            && let Some(order) = old_place.or_else(|| {
                let place = self.take_place(epoch, &lease.request, Arrival::New);
                place.ok()
            })
        {
            events.push(Event::Displaced { lease: id });
            lease.state = State::Waiting;
            lease.token = None;
            lease.order = Some(order);
        } else {
            events.push(Event::Broken { lease: id });
            lease.state = State::Broken;
        }
        lease.deadline = now.plus(if lease.state == State::Waiting {
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
