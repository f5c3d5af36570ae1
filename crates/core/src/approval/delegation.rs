//! Standing delegations: `transfer` moves a request to another person, `follow` counts another
//! person's approval as one's own. Chains are walked depth first; a cycle or an over-long chain is
//! a named fault and never routes a request. A delegation never grants permissions.

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
pub enum DelegationKind {
    Transfer,
    Follow,
}

/// The conditions of a delegation. An empty condition is not checked; every given condition must
/// hold.
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
    pub kind: DelegationKind,
    pub conditions: Conditions,
    /// Whether delegations of the delegate, of the same kind, lead further.
    pub cascade: bool,
    pub starts_at: Timestamp,
    pub expires_at: Timestamp,
    pub active: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum DelegationError {
    #[error("the delegations form a cycle: {}", path_text(path))]
    Cycle { path: Vec<UserId> },
    #[error("the delegation chain is longer than {DELEGATION_DEPTH_MAX}: {}", path_text(path))]
    TooLong { path: Vec<UserId> },
    #[error("{delegate} cannot approve this task in their own right: {}", path_text(path))]
    NotAllowed { delegate: UserId, path: Vec<UserId> },
}

fn path_text(path: &[UserId]) -> String {
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}

/// The result of resolving the slot of one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The people from the owner to the one who answers; the owner alone if no delegation applies.
    pub chain: Vec<UserId>,
    pub faults: Vec<DelegationError>,
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

/// The delegations that apply to this task now, grouped by owner in the order of their ids.
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

    fn edges_of(
        &self,
        owner: UserId,
        kind: DelegationKind,
    ) -> impl Iterator<Item = &'a Delegation> + '_ {
        self.edges.iter().copied().filter(move |edge| edge.owner == owner && edge.kind == kind)
    }

    pub fn leads_on(&self, owner: UserId) -> bool {
        self.edges.iter().any(|edge| edge.owner == owner)
    }

    pub fn has_transfer(&self, owner: UserId) -> bool {
        self.edges_of(owner, DelegationKind::Transfer).next().is_some()
    }

    /// Follows transfers depth first and returns the first branch that ends with a person who may
    /// approve; otherwise the owner.
    pub fn transfer(&self, owner: UserId) -> Resolution {
        let mut search = Search { path: vec![owner], faults: Vec::new(), steps: 0 };
        if self.descend(&mut search) {
            Resolution { chain: search.path, faults: search.faults }
        } else {
            Resolution { chain: vec![owner], faults: search.faults }
        }
    }

    /// Extends the path to a valid end, or leaves it unchanged.
    fn descend(&self, search: &mut Search) -> bool {
        let Some(last) = search.path.last().copied() else {
            return false;
        };
        for edge in self.edges_of(last, DelegationKind::Transfer) {
            let delegate = edge.delegate_to;
            let is_cycle = search.path.contains(&delegate);
            search.path.push(delegate);
            search.steps += 1;
            let path = || search.path.clone();
            if is_cycle {
                search.faults.push(DelegationError::Cycle { path: path() });
            } else if search.path.len() > DELEGATION_DEPTH_MAX + 1
                || search.steps > DELEGATION_STEPS_MAX
            {
                search.faults.push(DelegationError::TooLong { path: path() });
            } else if edge.cascade && self.has_transfer(delegate) {
                // A person who has delegated their own requests does not answer for others.
                if self.descend(search) {
                    return true;
                }
            } else if (self.may_approve)(delegate) {
                return true;
            } else {
                search.faults.push(DelegationError::NotAllowed { delegate, path: path() });
            }
            search.path.pop();
            if search.steps > DELEGATION_STEPS_MAX {
                return false;
            }
        }
        false
    }

    /// Returns everyone whose approval counts for the owner, each with a shortest chain to them.
    pub fn followed(&self, owner: UserId) -> (Vec<Vec<UserId>>, Vec<DelegationError>) {
        let mut chains: Vec<Vec<UserId>> = Vec::new();
        let mut faults = Vec::new();
        // Two sets are needed: a person reached over an edge that does not cascade may be reached
        // again over one that does. The search is breadth first, so that the first chain to a
        // person is a shortest one.
        let mut listed = BTreeSet::new();
        let mut expanded = BTreeSet::from([owner]);
        let mut open = VecDeque::from([vec![owner]]);
        while let Some(path) = open.pop_front() {
            let Some(last) = path.last().copied() else {
                continue;
            };
            for edge in self.edges_of(last, DelegationKind::Follow) {
                let delegate = edge.delegate_to;
                let mut next = path.clone();
                next.push(delegate);
                if path.contains(&delegate) {
                    faults.push(DelegationError::Cycle { path: next });
                } else if next.len() > DELEGATION_DEPTH_MAX + 1 {
                    faults.push(DelegationError::TooLong { path: next });
                } else {
                    if listed.insert(delegate) {
                        if (self.may_approve)(delegate) {
                            chains.push(next.clone());
                        } else {
                            faults
                                .push(DelegationError::NotAllowed { delegate, path: next.clone() });
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
    faults: Vec<DelegationError>,
    /// The number of edges followed. It is bounded, because a dense graph has too many paths.
    steps: usize,
}

#[cfg(test)]
#[path = "delegation_tests.rs"]
mod tests;
