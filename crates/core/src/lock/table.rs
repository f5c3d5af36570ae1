//! The tables of a space, moved together. A record is only ever taken out whole and put back
//! whole, so holders, queues, deadlines and waiting owners cannot disagree with it. Also what
//! may be read from outside.

use std::collections::BTreeMap;

use super::lease::{Lease, Standing, State};
use super::queue::Space;
use super::request::Mode;
use super::token::{Epoch, Token};
use crate::ids::LeaseId;
use crate::resource::ResourceRef;

impl Space {
    pub const fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// Every record, tombstones included, by lease id.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Who holds a resource (or rests on it after expiry), by lease id.
    pub fn holders(&self, resource: &ResourceRef) -> impl Iterator<Item = (LeaseId, Mode)> {
        let holders = self.holders.get(resource).into_iter().flatten();
        holders.map(|(id, mode)| (*id, *mode))
    }

    /// Who waits for a resource, first to last.
    pub fn queue(&self, resource: &ResourceRef) -> impl Iterator<Item = (LeaseId, Mode)> {
        let queue = self.queues.get(resource).into_iter().flatten();
        queue.map(|((_, id), mode)| (*id, *mode))
    }

    /// How many resources the leases of an agent hold or wait for.
    pub fn taken_by(&self, agent: &str) -> usize {
        let live = self.leases.values().filter(|lease| !lease.state.is_over());
        let own = live.filter(|lease| lease.request.agent() == Some(agent));
        own.map(|lease| lease.request.set().len()).sum()
    }

    pub fn standing(&self, id: LeaseId) -> Standing {
        let Some(lease) = self.leases.get(&id) else {
            return Standing::Unknown;
        };
        let deadline = lease.deadline;
        match (lease.state, lease.token, lease.order) {
            (State::Granted, Some(token), _) => Standing::Granted { token, deadline },
            (State::Waiting, _, Some(order)) => {
                Standing::Waiting { position: self.position(id), order, deadline }
            }
            (State::Delayed, ..) => Standing::Delayed { until: deadline },
            (
                state @ (State::Released
                | State::Expired
                | State::Broken
                | State::TimedOut
                | State::Victim),
                ..,
            ) => Standing::Over { state },
            // A grant without token or a wait without place is never put into the tables.
            (State::Granted, None, _) | (State::Waiting, _, None) => Standing::Unknown,
        }
    }

    pub(super) fn position(&self, id: LeaseId) -> usize {
        let Some((lease, order)) = self.leases.get(&id).and_then(|l| Some((l, l.order?))) else {
            return 0;
        };
        let ahead = |resource| {
            let queue = self.queues.get(resource);
            queue.map_or(0, |queue| queue.range(..(order, id)).count())
        };
        let longest = lease.request.set().resources().map(ahead).max();
        longest.unwrap_or_default() + 1
    }

    /// `None` once the counter of this epoch is used up.
    pub(super) fn mint(&mut self) -> Option<Token> {
        let token = Token::new(self.epoch?, self.tokens + 1)?;
        self.tokens += 1;
        Some(token)
    }

    pub(super) fn change(&mut self, id: LeaseId, change: impl FnOnce(&mut Lease)) {
        if let Some(mut lease) = self.take(id) {
            change(&mut lease);
            self.put(lease);
        }
    }

    pub(super) fn put(&mut self, lease: Lease) {
        let id = lease.request.lease();
        match lease.state {
            State::Waiting => {
                if let Some(order) = lease.order {
                    for (resource, mode) in lease.request.set().iter() {
                        let queue = self.queues.entry(resource.clone()).or_default();
                        queue.insert((order, id), mode);
                    }
                    self.waiting.insert(lease.request.owner(), id);
                }
            }
            State::Granted | State::Delayed => {
                for (resource, mode) in lease.request.set().iter() {
                    let holders = self.holders.entry(resource.clone()).or_default();
                    holders.insert(id, mode);
                }
            }
            State::Released | State::Expired | State::Broken | State::TimedOut | State::Victim => {}
        }
        self.deadlines.insert((lease.deadline, id));
        self.leases.insert(id, lease);
    }

    pub(super) fn take(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        self.deadlines.remove(&(lease.deadline, id));
        match (lease.state, lease.order) {
            (State::Waiting, Some(order)) => {
                for resource in lease.request.set().resources() {
                    leave(&mut self.queues, resource, &(order, id));
                }
                self.waiting.remove(&lease.request.owner());
            }
            (State::Granted | State::Delayed, _) => {
                for resource in lease.request.set().resources() {
                    leave(&mut self.holders, resource, &id);
                }
            }
            (
                State::Waiting
                | State::Released
                | State::Expired
                | State::Broken
                | State::TimedOut
                | State::Victim,
                _,
            ) => {}
        }
        Some(lease)
    }
}

/// An empty table is no table: two spaces that say the same are then equal.
fn leave<K: Ord>(
    tables: &mut BTreeMap<ResourceRef, BTreeMap<K, Mode>>,
    resource: &ResourceRef,
    key: &K,
) {
    if let Some(table) = tables.get_mut(resource) {
        table.remove(key);
        if table.is_empty() {
            tables.remove(resource);
        }
    }
}
