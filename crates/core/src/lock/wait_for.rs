//! The wait-for graph: deadlocks with their victim, and the owners that block most. The nodes are
//! owners and not leases, because a waiting owner releases none of its leases. Counting resources
//! have no edges: a waiter needs only one of their holders to leave.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::lease::{Lease, LeasePhase};
use super::request::{Mode, Owner};
use crate::ids::LeaseId;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitFor {
    /// For each waiter, the owners that must go first: conflicting holders and conflicting earlier
    /// waiters.
    edges: BTreeMap<Owner, BTreeSet<Owner>>,
    waits: BTreeMap<Owner, Wait>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    birth: Timestamp,
    lease: LeaseId,
}

/// A wait as a node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    pub owner: Owner,
    pub birth: Timestamp,
    pub lease: LeaseId,
    /// The owners that must go first.
    pub behind: BTreeSet<Owner>,
}

impl Waiter {
    pub fn new(lease: &Lease, behind: BTreeSet<Owner>) -> Self {
        let request = &lease.request;
        let (owner, birth, lease) = (request.owner(), request.birth(), request.lease());
        Self { owner, birth, lease, behind }
    }
}

impl FromIterator<Waiter> for WaitFor {
    fn from_iter<I: IntoIterator<Item = Waiter>>(waiters: I) -> Self {
        let (mut edges, mut waits) = (BTreeMap::new(), BTreeMap::new());
        for Waiter { owner, birth, lease, behind } in waiters {
            waits.insert(owner, Wait { birth, lease });
            edges.insert(owner, behind);
        }
        Self { edges, waits }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The wait that is aborted. Its owner keeps its holds: releasing them under a running change
    /// would be unsafe, so the owner is informed and releases them itself.
    pub victim: LeaseId,
    /// A shortest cycle, beginning with the victim; each waits for the next, and the last for the
    /// victim.
    pub cycle: Vec<LeaseId>,
}

/// An owner that waits for no one and is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootBlocker {
    pub owner: Owner,
    /// How many owners wait for it, directly or indirectly.
    pub blocked: usize,
}

/// Returns whether the lease can have edges. A lease that is due or in its lock delay ends with
/// time, so an edge to it could close a cycle that is no deadlock.
pub fn is_live(lease: &Lease, now: Timestamp) -> bool {
    matches!(lease.state, LeasePhase::Granted | LeasePhase::Waiting) && !lease.is_due(now)
}

impl WaitFor {
    /// Builds the graph from all waits and the holders of the resources they wait for.
    pub fn between(waiting: &[Lease], holding: &[Lease], now: Timestamp) -> Self {
        let live = |leases: &'_ [Lease]| -> Vec<Lease> {
            leases.iter().filter(|lease| is_live(lease, now)).cloned().collect()
        };
        let (mut waiting, holding) = (live(waiting), live(holding));
        waiting.sort_by_key(|lease| (lease.order, lease.request.lease()));
        let waiters = waiting.iter().enumerate().map(|(at, lease)| {
            let earlier = waiting.iter().take(at);
            let ahead = holding.iter().chain(earlier).filter(|ahead| is_in_the_way(lease, ahead));
            Waiter::new(lease, ahead.map(|ahead| ahead.request.owner()).collect())
        });
        waiters.collect()
    }

    pub fn edges(&self) -> impl Iterator<Item = (Owner, Owner)> {
        self.edges.iter().flat_map(|(from, to)| to.iter().map(|to| (*from, *to)))
    }

    /// Returns the wait of the youngest owner on any cycle: latest birth, then highest lease id.
    /// The result does not depend on the order of the search.
    pub fn deadlock(&self) -> Option<Deadlock> {
        let stuck = self.waits.iter().filter(|(owner, _)| self.reachable(**owner).contains(*owner));
        let (owner, victim) = stuck.max_by_key(|(_, wait)| **wait)?;
        let cycle = self.shortest_cycle(*owner);
        Some(Deadlock {
            victim: victim.lease,
            cycle: cycle
                .iter()
                .filter_map(|owner| self.waits.get(owner))
                .map(|wait| wait.lease)
                .collect(),
        })
    }

    /// Returns the owners at which all waiting ends, most blocking first.
    pub fn root_blockers(&self) -> Vec<RootBlocker> {
        let mut blocked: BTreeMap<Owner, usize> = BTreeMap::new();
        for waiter in self.waits.keys() {
            for owner in self.reachable(*waiter) {
                if !self.waits.contains_key(&owner) {
                    *blocked.entry(owner).or_default() += 1;
                }
            }
        }
        let mut roots: Vec<RootBlocker> =
            blocked.into_iter().map(|(owner, blocked)| RootBlocker { owner, blocked }).collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.blocked));
        roots
    }

    fn next(&self, owner: Owner) -> impl Iterator<Item = Owner> {
        self.edges.get(&owner).into_iter().flatten().copied()
    }

    /// Returns all owners that are reached by at least one edge.
    fn reachable(&self, from: Owner) -> BTreeSet<Owner> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<Owner> = self.next(from).collect();
        while let Some(owner) = open.pop() {
            if reached.insert(owner) {
                open.extend(self.next(owner));
            }
        }
        reached
    }

    /// Searches breadth first, so that the first way back is a shortest one.
    fn shortest_cycle(&self, start: Owner) -> Vec<Owner> {
        let mut came_from: BTreeMap<Owner, Owner> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(owner) = open.pop_front() {
            for next in self.next(owner) {
                if next == start {
                    return trail(&came_from, start, owner);
                }
                if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(owner);
                    open.push_back(next);
                }
            }
        }
        Vec::new()
    }
}

/// Returns whether the leases conflict on some resource in a way that makes an edge.
fn is_in_the_way(lease: &Lease, ahead: &Lease) -> bool {
    lease.request.set().iter().any(|(resource, mode)| {
        ahead.request.set().mode_of(resource).is_some_and(|other| makes_edge(mode, other))
    })
}

/// Returns whether a request in this mode waits for one ahead of it on the same resource.
pub fn makes_edge(mode: Mode, ahead: Mode) -> bool {
    let counts = |mode| matches!(mode, Mode::Counting { .. });
    !counts(mode) && !counts(ahead) && mode.conflicts_with(ahead)
}

fn trail(came_from: &BTreeMap<Owner, Owner>, start: Owner, last: Owner) -> Vec<Owner> {
    let mut trail = vec![last];
    let mut at = last;
    while at != start
        && let Some(before) = came_from.get(&at)
    {
        trail.push(*before);
        at = *before;
    }
    trail.reverse();
    trail
}
