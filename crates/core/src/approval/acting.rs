//! Explains who can act for a person now: every delegation path from the person is followed, and
//! each path that ends without a result says why. The walk that decides stops at the first answer;
//! this one continues, and a test compares both.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use thiserror::Error;

use super::delegation::{Conditions, Delegation, DelegationError, DelegationKind};
use crate::actor::Directory;
use crate::ids::UserId;
use crate::limits::{DELEGATION_DEPTH_MAX, DELEGATION_STEPS_MAX};
use crate::policy::Subject;
use crate::risk::Score;
use crate::time::Timestamp;

/// The person whose slot is explained, and the facts around it.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a question holds a function")]
pub struct DelegationQuery<'a> {
    pub owner: UserId,
    pub delegations: &'a [Delegation],
    pub directory: &'a Directory,
    /// The task in question. Without a task, conditions are listed and not evaluated.
    pub about: Option<About<'a>>,
    pub now: Timestamp,
}

/// The facts about one task.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct About<'a> {
    pub subject: &'a Subject,
    /// A policy of the task forbids delegation.
    pub is_forbidden: bool,
    /// Whether a person could approve the task without any delegation.
    pub may_approve: &'a dyn Fn(UserId) -> bool,
}

/// One delegation path from the owner to another person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationPath<'a> {
    pub kind: DelegationKind,
    /// The delegations along the path; never empty.
    pub steps: Vec<&'a Delegation>,
    /// Why the person at the end may not act; empty if they may.
    pub obstacles: Vec<Obstacle>,
}

impl DelegationPath<'_> {
    /// Returns the people along the path, from the owner to its end.
    pub fn path(&self) -> Vec<UserId> {
        let owner = self.steps.first().map(|step| step.owner);
        owner.into_iter().chain(self.steps.iter().map(|step| step.delegate_to)).collect()
    }

    pub fn leads_to(&self) -> Option<UserId> {
        self.steps.last().map(|step| step.delegate_to)
    }

    pub fn acts(&self) -> bool {
        self.obstacles.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "obstacle", rename_all = "snake_case")]
pub enum Obstacle {
    #[error("the delegation starts at {starts_at}")]
    NotBegun { starts_at: Timestamp },
    #[error("the delegation covers other task types")]
    OtherType,
    #[error("the delegation covers other resources")]
    OtherResources,
    #[error(
        "the delegation covers risk above {}, the task has {}",
        .above.points(),
        .risk.points()
    )]
    RiskNotAbove { risk: Score, above: Score },
    #[error("a policy of this task forbids delegation")]
    Forbidden,
    #[error("{delegate} cannot approve this task in their own right")]
    NotAllowed { delegate: UserId },
    #[error("{delegate} is not active")]
    Inactive { delegate: UserId },
    #[error("{first} comes first in the delegation chain and answers")]
    Later { first: UserId },
}

/// All delegation paths of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ways<'a> {
    pub ways: Vec<DelegationPath<'a>>,
    pub faults: Vec<DelegationError>,
    /// There are more paths than are listed.
    pub is_cut: bool,
}

/// Explains all delegation paths: transfers depth first, then the people the owner follows, nearest
/// first.
pub fn ways<'a>(question: &DelegationQuery<'a>) -> Ways<'a> {
    let mut edges: Vec<&Delegation> = question
        .delegations
        .iter()
        .filter(|edge| edge.active && question.now < edge.expires_at)
        .collect();
    edges.sort_by_key(|edge| edge.id);
    let mut search = Search {
        question: *question,
        edges,
        path: vec![question.owner],
        steps: Vec::new(),
        walked: 0,
        first: None,
        found: Ways::default(),
    };
    search.descend();
    search.follow();
    search.found
}

struct Search<'a> {
    question: DelegationQuery<'a>,
    /// The delegations that have not ended, in the order of their ids.
    edges: Vec<&'a Delegation>,
    path: Vec<UserId>,
    steps: Vec<&'a Delegation>,
    walked: usize,
    /// The first person found who answers for the owner.
    first: Option<UserId>,
    found: Ways<'a>,
}

impl<'a> Search<'a> {
    fn edges_of(&self, owner: UserId, kind: DelegationKind) -> Vec<&'a Delegation> {
        let of_owner = |edge: &&&Delegation| edge.owner == owner && edge.kind == kind;
        self.edges.iter().filter(of_owner).copied().collect()
    }

    /// Returns why a delegation does not apply at all.
    fn hindrances(&self, edge: &Delegation) -> Vec<Obstacle> {
        let mut found = Vec::new();
        let starts_at = edge.starts_at;
        if self.question.now < starts_at {
            found.push(Obstacle::NotBegun { starts_at });
        }
        if let Some(about) = &self.question.about {
            found.extend(edge.conditions.unmet(about.subject));
        }
        found
    }

    fn speaks(&self, edge: &Delegation) -> bool {
        self.hindrances(edge).is_empty()
    }

    fn has_transfer(&self, owner: UserId) -> bool {
        self.edges_of(owner, DelegationKind::Transfer).iter().any(|edge| self.speaks(edge))
    }

    /// Returns why a delegate at the end of a path cannot act.
    fn obstacles(&self, delegate: UserId) -> Vec<Obstacle> {
        let mut found = Vec::new();
        match &self.question.about {
            Some(about) => {
                if about.is_forbidden {
                    found.push(Obstacle::Forbidden);
                }
                if !(about.may_approve)(delegate) {
                    found.push(Obstacle::NotAllowed { delegate });
                }
            }
            None if !self.question.directory.is_active(delegate) => {
                found.push(Obstacle::Inactive { delegate });
            }
            None => {}
        }
        found
    }

    fn tell(&mut self, kind: DelegationKind, steps: Vec<&'a Delegation>, obstacles: Vec<Obstacle>) {
        if self.found.ways.len() < DELEGATION_STEPS_MAX {
            self.found.ways.push(DelegationPath { kind, steps, obstacles });
        } else {
            self.found.is_cut = true;
        }
    }

    fn descend(&mut self) {
        let Some(last) = self.path.last().copied() else { return };
        for edge in self.edges_of(last, DelegationKind::Transfer) {
            let delegate = edge.delegate_to;
            let hindrances = self.hindrances(edge);
            let is_cycle = self.path.contains(&delegate);
            self.path.push(delegate);
            self.steps.push(edge);
            if hindrances.is_empty() {
                self.walked += 1;
                self.step(edge, is_cycle);
            } else {
                self.tell(DelegationKind::Transfer, self.steps.clone(), hindrances);
            }
            self.steps.pop();
            self.path.pop();
            if self.walked > DELEGATION_STEPS_MAX {
                self.found.is_cut = true;
                return;
            }
        }
    }

    /// Handles the last edge of the path and continues from its delegate.
    fn step(&mut self, edge: &'a Delegation, is_cycle: bool) {
        let delegate = edge.delegate_to;
        let path = self.path.clone();
        if is_cycle {
            self.found.faults.push(DelegationError::Cycle { path });
        } else if path.len() > DELEGATION_DEPTH_MAX + 1 || self.walked > DELEGATION_STEPS_MAX {
            self.found.faults.push(DelegationError::TooLong { path });
        } else if edge.cascade && self.has_transfer(delegate) {
            self.descend();
        } else {
            let mut obstacles = self.obstacles(delegate);
            if obstacles.is_empty() && self.question.about.is_some() {
                // With a task exactly one person answers; without one, conditions decide later.
                match self.first {
                    Some(first) => obstacles.push(Obstacle::Later { first }),
                    None => self.first = Some(delegate),
                }
            }
            self.tell(DelegationKind::Transfer, self.steps.clone(), obstacles);
        }
    }

    fn follow(&mut self) {
        let owner = self.question.owner;
        let mut listed = BTreeSet::new();
        let mut expanded = BTreeSet::from([owner]);
        let mut open: VecDeque<Vec<&'a Delegation>> = VecDeque::from([Vec::new()]);
        while let Some(steps) = open.pop_front() {
            let last = steps.last().map_or(owner, |step| step.delegate_to);
            for edge in self.edges_of(last, DelegationKind::Follow) {
                let delegate = edge.delegate_to;
                let mut way = steps.clone();
                way.push(edge);
                let path: Vec<UserId> =
                    [owner].into_iter().chain(way.iter().map(|step| step.delegate_to)).collect();
                let is_cycle = delegate == owner || steps.iter().any(|s| s.delegate_to == delegate);
                let hindrances = self.hindrances(edge);
                if !hindrances.is_empty() {
                    self.tell(DelegationKind::Follow, way, hindrances);
                } else if is_cycle {
                    self.found.faults.push(DelegationError::Cycle { path });
                } else if way.len() > DELEGATION_DEPTH_MAX {
                    self.found.faults.push(DelegationError::TooLong { path });
                } else {
                    if listed.insert(delegate) {
                        let obstacles = self.obstacles(delegate);
                        self.tell(DelegationKind::Follow, way.clone(), obstacles);
                    }
                    if edge.cascade && expanded.insert(delegate) {
                        open.push_back(way);
                    }
                }
            }
        }
    }
}

impl Conditions {
    /// Returns the conditions that this task does not meet; empty if all hold.
    fn unmet(&self, subject: &Subject) -> Vec<Obstacle> {
        let mut unmet = Vec::new();
        if !self.type_holds(subject) {
            unmet.push(Obstacle::OtherType);
        }
        if !self.resource_holds(subject) {
            unmet.push(Obstacle::OtherResources);
        }
        if let Some(above) = self.risk_above
            && subject.risk <= above
        {
            unmet.push(Obstacle::RiskNotAbove { risk: subject.risk, above });
        }
        unmet
    }
}

#[cfg(test)]
#[path = "acting_tests.rs"]
mod tests;
