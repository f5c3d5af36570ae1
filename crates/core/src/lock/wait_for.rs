//! Who waits for whom in a space, read from its tables: deadlocks with their victim, and who
//! blocks most. Owners, not leases, are the nodes: an owner that waits gives nothing back.
//! Counting resources stay out: a wait for any one of many is no edge to each of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::lease::{Lease, State};
use super::queue::Space;
use super::request::{Mode, Owner};
use crate::ids::LeaseId;
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitFor {
    /// Waiter → those who must go first: conflicting holders and conflicting earlier waiters.
    edges: BTreeMap<Owner, BTreeSet<Owner>>,
    waits: BTreeMap<Owner, Wait>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    birth: Timestamp,
    lease: LeaseId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The wait that ends. Its owner keeps what it holds: to release under a running change
    /// would be unsafe, so it is told and releases by itself.
    pub victim: LeaseId,
    /// From the victim on, each waiting for the next and the last for the victim; the shortest.
    pub cycle: Vec<LeaseId>,
}

/// Someone who waits for nobody and is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootBlocker {
    pub owner: Owner,
    /// How many owners cannot go on before it does, directly or through others.
    pub blocked: usize,
}

/// Time alone ends a lock delay and whatever is due, so nobody has to give those back and they
/// make no edge: an edge to them could close a cycle that dissolves by itself.
fn is_live(lease: &Lease, now: Timestamp) -> bool {
    matches!(lease.state, State::Granted | State::Waiting) && !lease.is_due(now)
}

impl WaitFor {
    /// Whether somebody both holds and waits. Without that there is no cycle, so the search can
    /// be skipped, and nothing is missed: were every edge of a cycle one to an earlier waiter,
    /// places would fall all the way round and arrive below themselves. So some edge leads to a
    /// holder, and in a cycle that holder waits.
    pub fn may_have_cycle(space: &Space, now: Timestamp) -> bool {
        space.leases().any(|lease| {
            lease.state == State::Granted
                && is_live(lease, now)
                && space.waiting.contains_key(&lease.request.owner())
        })
    }

    pub fn of(space: &Space, now: Timestamp) -> Self {
        let mut edges = BTreeMap::new();
        let mut waits = BTreeMap::new();
        let live = |id: &LeaseId| space.lease(*id).filter(|lease| is_live(lease, now));
        for lease in space.waiting.values().filter_map(live) {
            let owner = lease.request.owner();
            let birth = lease.request.birth();
            let wait = Wait { birth, lease: lease.request.lease() };
            waits.insert(owner, wait);
            let ahead = lease
                .request
                .set()
                .iter()
                .flat_map(|(resource, mode)| conflicting_ahead(space, lease, resource, mode));
            let owners = ahead.filter_map(|id| live(&id)).map(|ahead| ahead.request.owner());
            edges.insert(owner, owners.collect());
        }
        Self { edges, waits }
    }

    /// From records that were read elsewhere: all waits, and the holders of what they wait for.
    pub fn between(waiting: &[Lease], holding: &[Lease], now: Timestamp) -> Self {
        let live = |leases: &'_ [Lease]| -> Vec<Lease> {
            leases.iter().filter(|lease| is_live(lease, now)).cloned().collect()
        };
        let (mut waiting, holding) = (live(waiting), live(holding));
        waiting.sort_by_key(|lease| (lease.order, lease.request.lease()));
        let mut edges = BTreeMap::new();
        let mut waits = BTreeMap::new();
        for (at, lease) in waiting.iter().enumerate() {
            let owner = lease.request.owner();
            let wait = Wait { birth: lease.request.birth(), lease: lease.request.lease() };
            waits.insert(owner, wait);
            let earlier = waiting.iter().take(at);
            let ahead = holding.iter().chain(earlier).filter(|ahead| is_in_the_way(lease, ahead));
            edges.insert(owner, ahead.map(|ahead| ahead.request.owner()).collect());
        }
        Self { edges, waits }
    }

    pub fn edges(&self) -> impl Iterator<Item = (Owner, Owner)> {
        self.edges.iter().flat_map(|(from, to)| to.iter().map(|to| (*from, *to)))
    }

    /// Of all owners on any cycle, the youngest one's wait: latest birth, then highest lease id.
    /// That does not depend on the way the graph is searched.
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

    /// Those at whom all waiting ends, most blocking first.
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

    /// Everyone reached by at least one edge.
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

    /// Breadth first, so the first way back is a shortest one.
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

/// Whether they conflict on some resource, as an edge of the graph knows it.
fn is_in_the_way(lease: &Lease, ahead: &Lease) -> bool {
    lease.request.set().iter().any(|(resource, mode)| {
        ahead.request.set().mode_of(resource).is_some_and(|other| makes_edge(mode, other))
    })
}

fn makes_edge(mode: Mode, ahead: Mode) -> bool {
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

fn conflicting_ahead<'a>(
    space: &'a Space,
    lease: &'a Lease,
    resource: &'a ResourceRef,
    mode: Mode,
) -> impl Iterator<Item = LeaseId> + 'a {
    let earlier = space.queue(resource).take_while(|(id, _)| *id != lease.request.lease());
    space
        .holders(resource)
        .chain(earlier)
        .filter(move |(_, ahead)| makes_edge(mode, *ahead))
        .map(|(id, _)| id)
}

#[cfg(test)]
#[path = "wait_for_tests.rs"]
mod tests;
