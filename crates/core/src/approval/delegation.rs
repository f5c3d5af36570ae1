//! Standing delegations: `transfer` moves a request to somebody else, `follow` lets somebody
//! else's yes stand for one's own. Chains are walked depth first; a loop or an over-long chain
//! is a named fault and never a way to be asked. Nobody gains a right by being delegated to.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::{DelegationId, UserId};
use crate::limits::{DELEGATION_DEPTH_MAX, DELEGATION_STEPS_MAX};
use crate::policy::{Pattern, Subject};
use crate::risk::Score;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Transfer,
    Follow,
}

/// Empty means no condition; every given condition must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    pub task_types: Vec<Pattern>,
    pub resource_patterns: Vec<Pattern>,
    pub risk_above: Option<Score>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    pub id: DelegationId,
    pub owner: UserId,
    pub delegate_to: UserId,
    pub kind: Kind,
    pub conditions: Conditions,
    /// Whether the delegate's own delegations of the same kind lead further.
    pub cascade: bool,
    pub starts_at: Timestamp,
    pub expires_at: Timestamp,
    pub active: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    #[error("the delegations run in a circle: {}", path_text(path))]
    Cycle { path: Vec<UserId> },
    #[error("the delegation chain is longer than {DELEGATION_DEPTH_MAX}: {}", path_text(path))]
    TooLong { path: Vec<UserId> },
    #[error("{delegate} may not approve this in their own right: {}", path_text(path))]
    NotAllowed { delegate: UserId, path: Vec<UserId> },
}

fn path_text(path: &[UserId]) -> String {
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}

/// What became of one owner's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// From the owner to the one who answers; the owner alone if nothing moved it.
    pub chain: Vec<UserId>,
    pub faults: Vec<Fault>,
}

impl Delegation {
    pub fn applies(&self, subject: &Subject, now: Timestamp) -> bool {
        self.active
            && self.starts_at <= now
            && now < self.expires_at
            && self.conditions.hold(subject)
    }
}

impl Conditions {
    fn hold(&self, subject: &Subject) -> bool {
        let risk_holds = self.risk_above.is_none_or(|floor| subject.risk > floor);
        self.type_holds(subject) && self.resource_holds(subject) && risk_holds
    }

    pub(super) fn type_holds(&self, subject: &Subject) -> bool {
        self.task_types.is_empty()
            || self.task_types.iter().any(|pattern| pattern.matches_text(&subject.task_type))
    }

    pub(super) fn resource_holds(&self, subject: &Subject) -> bool {
        self.resource_patterns.is_empty()
            || self.resource_patterns.iter().any(|pattern| {
                subject.resources.iter().any(|resource| pattern.matches_resource(resource))
            })
    }
}

/// The delegations that speak about this task now, walked by owner in the order of their ids.
pub struct Walk<'a, F: Fn(UserId) -> bool> {
    edges: Vec<&'a Delegation>,
    /// Whether a person may approve this task in their own right.
    may_approve: F,
}

impl<F: Fn(UserId) -> bool> std::fmt::Debug for Walk<'_, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("edges", &self.edges).finish_non_exhaustive()
    }
}

impl<'a, F: Fn(UserId) -> bool> Walk<'a, F> {
    pub fn new(
        delegations: &'a [Delegation],
        subject: &Subject,
        now: Timestamp,
        may_approve: F,
    ) -> Self {
        let mut edges: Vec<&Delegation> =
            delegations.iter().filter(|delegation| delegation.applies(subject, now)).collect();
        edges.sort_by_key(|delegation| delegation.id);
        Self { edges, may_approve }
    }

    fn edges_of(&self, owner: UserId, kind: Kind) -> impl Iterator<Item = &'a Delegation> + '_ {
        self.edges.iter().copied().filter(move |edge| edge.owner == owner && edge.kind == kind)
    }

    pub fn leads_on(&self, owner: UserId) -> bool {
        self.edges.iter().any(|edge| edge.owner == owner)
    }

    pub fn has_transfer(&self, owner: UserId) -> bool {
        self.edges_of(owner, Kind::Transfer).next().is_some()
    }

    /// The first branch, depth first, that ends with somebody who may approve; else the owner.
    pub fn transfer(&self, owner: UserId) -> Resolution {
        let mut search = Search { path: vec![owner], faults: Vec::new(), steps: 0 };
        if self.descend(&mut search) {
            Resolution { chain: search.path, faults: search.faults }
        } else {
            Resolution { chain: vec![owner], faults: search.faults }
        }
    }

    /// Extends the path to a valid end, or leaves it as it was.
    fn descend(&self, search: &mut Search) -> bool {
        let Some(last) = search.path.last().copied() else {
            return false;
        };
        for edge in self.edges_of(last, Kind::Transfer) {
            let delegate = edge.delegate_to;
            let is_cycle = search.path.contains(&delegate);
            search.path.push(delegate);
            search.steps += 1;
            let path = || search.path.clone();
            if is_cycle {
                search.faults.push(Fault::Cycle { path: path() });
            } else if search.path.len() > DELEGATION_DEPTH_MAX + 1
                || search.steps > DELEGATION_STEPS_MAX
            {
                search.faults.push(Fault::TooLong { path: path() });
            } else if edge.cascade && self.has_transfer(delegate) {
                // Somebody who has given their own requests away does not answer for others.
                if self.descend(search) {
                    return true;
                }
            } else if (self.may_approve)(delegate) {
                return true;
            } else {
                search.faults.push(Fault::NotAllowed { delegate, path: path() });
            }
            search.path.pop();
            if search.steps > DELEGATION_STEPS_MAX {
                return false;
            }
        }
        false
    }

    /// Everybody whose yes stands for the owner's, each with a shortest chain that leads there.
    pub fn followed(&self, owner: UserId) -> (Vec<Vec<UserId>>, Vec<Fault>) {
        let mut chains: Vec<Vec<UserId>> = Vec::new();
        let mut faults = Vec::new();
        // Two sets: a person met over an edge that does not cascade may be met again over one
        // that does. Breadth first, so the first chain to anybody is a shortest.
        let mut listed = BTreeSet::new();
        let mut expanded = BTreeSet::from([owner]);
        let mut open = VecDeque::from([vec![owner]]);
        while let Some(path) = open.pop_front() {
            let Some(last) = path.last().copied() else {
                continue;
            };
            for edge in self.edges_of(last, Kind::Follow) {
                let delegate = edge.delegate_to;
                let mut next = path.clone();
                next.push(delegate);
                if path.contains(&delegate) {
                    faults.push(Fault::Cycle { path: next });
                } else if next.len() > DELEGATION_DEPTH_MAX + 1 {
                    faults.push(Fault::TooLong { path: next });
                } else {
                    if listed.insert(delegate) {
                        if (self.may_approve)(delegate) {
                            chains.push(next.clone());
                        } else {
                            faults.push(Fault::NotAllowed { delegate, path: next.clone() });
                        }
                    }
                    if edge.cascade && expanded.insert(delegate) {
                        open.push_back(next);
                    }
                }
            }
        }
        (chains, faults)
    }
}

struct Search {
    path: Vec<UserId>,
    faults: Vec<Fault>,
    /// Edges walked: a dense graph has more paths than anybody could follow.
    steps: usize,
}

#[cfg(test)]
#[path = "delegation_tests.rs"]
mod tests;
