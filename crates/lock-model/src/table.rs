//! One lock space: the tables of the holders, the waiters and their order. A record is only removed
//! and inserted as a whole, so that holders, queues, deadlines and waiting owners cannot disagree
//! with it. The module also has the read access for callers.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::LeaseId;
use ade_core::lock::{Epoch, FencingToken, Lease, LeasePhase, LeaseStatus, Mode, Order, Owner};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

/// The place of one waiter. The lease id only matters if a caller sends a place that is not its
/// own; it can then only harm itself.
pub(super) type Place = (Order, LeaseId);

/// A lock space. It is empty and has no epoch before its first rebuild and after every loss.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Space {
    pub(super) epoch: Option<Epoch>,
    pub(super) tokens: u64,
    pub(super) orders: u64,
    /// The time until which an advisory lease of a lost epoch may still be in use.
    pub(super) unsure_until: Option<Timestamp>,
    pub(super) leases: BTreeMap<LeaseId, Lease>,
    pub(super) holders: BTreeMap<ResourceRef, BTreeMap<LeaseId, Mode>>,
    pub(super) queues: BTreeMap<ResourceRef, BTreeMap<Place, Mode>>,
    pub(super) deadlines: BTreeSet<(Timestamp, LeaseId)>,
    /// The wait of each owner. With two waits per owner, a grant could close a cycle, not only an
    /// enqueue.
    pub(super) waiting: BTreeMap<Owner, LeaseId>,
}

impl Space {
    pub const fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    pub fn lease(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// Returns every record, including tombstones, by lease id.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Returns the holders of a resource, including those in a lock delay, by lease id.
    pub fn holders(&self, resource: &ResourceRef) -> impl Iterator<Item = (LeaseId, Mode)> {
        let holders = self.holders.get(resource).into_iter().flatten();
        holders.map(|(id, mode)| (*id, *mode))
    }

    /// Returns the waiters for a resource, first to last.
    pub fn queue(&self, resource: &ResourceRef) -> impl Iterator<Item = (LeaseId, Mode)> {
        let queue = self.queues.get(resource).into_iter().flatten();
        queue.map(|((_, id), mode)| (*id, *mode))
    }

    /// Returns how many resources the leases of an agent hold or wait for.
    pub fn taken_by(&self, agent: &str) -> usize {
        let live = self.leases.values().filter(|lease| !lease.state.is_over());
        let own = live.filter(|lease| lease.request.agent() == Some(agent));
        own.map(|lease| lease.request.set().len()).sum()
    }

    pub fn standing(&self, id: LeaseId) -> LeaseStatus {
        let Some(lease) = self.leases.get(&id) else {
            return LeaseStatus::Unknown;
        };
        let deadline = lease.deadline;
        match (lease.state, lease.token, lease.order) {
            (LeasePhase::Granted, Some(token), _) => LeaseStatus::Granted { token, deadline },
            (LeasePhase::Waiting, _, Some(order)) => {
                LeaseStatus::Waiting { position: self.position(id), order, deadline }
            }
            (LeasePhase::Delayed, ..) => LeaseStatus::Delayed { until: deadline },
            (
                state @ (LeasePhase::Released
                | LeasePhase::Expired
                | LeasePhase::Broken
                | LeasePhase::TimedOut
                | LeasePhase::Victim),
                ..,
            ) => LeaseStatus::Over { state },
            // A grant without token or a wait without place is never put into the tables.
            (LeasePhase::Granted, None, _) | (LeasePhase::Waiting, _, None) => LeaseStatus::Unknown,
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

    /// Returns a new token; `None` once the counter of this epoch is exhausted.
    pub(super) fn mint(&mut self) -> Option<FencingToken> {
        let token = FencingToken::new(self.epoch?, self.tokens + 1)?;
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
            LeasePhase::Waiting => {
                if let Some(order) = lease.order {
                    for (resource, mode) in lease.request.set().iter() {
                        let queue = self.queues.entry(resource.clone()).or_default();
                        queue.insert((order, id), mode);
                    }
                    self.waiting.insert(lease.request.owner(), id);
                }
            }
            LeasePhase::Granted | LeasePhase::Delayed => {
                for (resource, mode) in lease.request.set().iter() {
                    let holders = self.holders.entry(resource.clone()).or_default();
                    holders.insert(id, mode);
                }
            }
            LeasePhase::Released
            | LeasePhase::Expired
            | LeasePhase::Broken
            | LeasePhase::TimedOut
            | LeasePhase::Victim => {}
        }
        self.deadlines.insert((lease.deadline, id));
        self.leases.insert(id, lease);
    }

    pub(super) fn take(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.leases.remove(&id)?;
        self.deadlines.remove(&(lease.deadline, id));
        match (lease.state, lease.order) {
            (LeasePhase::Waiting, Some(order)) => {
                for resource in lease.request.set().resources() {
                    leave(&mut self.queues, resource, &(order, id));
                }
                self.waiting.remove(&lease.request.owner());
            }
            (LeasePhase::Granted | LeasePhase::Delayed, _) => {
                for resource in lease.request.set().resources() {
                    leave(&mut self.holders, resource, &id);
                }
            }
            (
                LeasePhase::Waiting
                | LeasePhase::Released
                | LeasePhase::Expired
                | LeasePhase::Broken
                | LeasePhase::TimedOut
                | LeasePhase::Victim,
                _,
            ) => {}
        }
        Some(lease)
    }
}

/// Removes empty tables, so that two spaces with the same content are equal.
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
