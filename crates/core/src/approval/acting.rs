//! Who may act for one person now, told way by way: every delegation that starts from them is
//! followed, and each way that leads nowhere says why. The walk that decides stops at the first
//! answer; this one goes on, and a test holds both together.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use thiserror::Error;

use super::delegation::{Conditions, Delegation, Fault, Kind};
use crate::actor::Directory;
use crate::ids::UserId;
use crate::limits::{DELEGATION_DEPTH_MAX, DELEGATION_STEPS_MAX};
use crate::policy::Subject;
use crate::risk::Score;
use crate::time::Timestamp;

/// Whose place it is, and what is known around it.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "a question holds a function")]
pub struct Question<'a> {
    pub owner: UserId,
    pub delegations: &'a [Delegation],
    pub directory: &'a Directory,
    /// Without a task conditions are not asked, only told.
    pub about: Option<About<'a>>,
    pub now: Timestamp,
}

/// What the rules say of one task.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct About<'a> {
    pub subject: &'a Subject,
    /// A policy of the task forbids delegation.
    pub is_forbidden: bool,
    /// Whether somebody could approve it without anybody's delegation.
    pub may_approve: &'a dyn Fn(UserId) -> bool,
}

/// One way from the owner to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way<'a> {
    pub kind: Kind,
    /// One delegation after the other; never empty.
    pub steps: Vec<&'a Delegation>,
    /// Why its end may not act; empty if they may.
    pub obstacles: Vec<Obstacle>,
}

impl Way<'_> {
    /// From the owner to the one it leads to.
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
    #[error("it begins at {starts_at}")]
    NotBegun { starts_at: Timestamp },
    #[error("it is for other types of tasks")]
    OtherType,
    #[error("it is for other resources")]
    OtherResources,
    #[error("it is for a risk above {}, and this one has {}", .above.points(), .risk.points())]
    RiskNotAbove { risk: Score, above: Score },
    #[error("a policy of this task forbids delegation")]
    Forbidden,
    #[error("{delegate} may not approve this in their own right")]
    NotAllowed { delegate: UserId },
    #[error("{delegate} is not active")]
    Inactive { delegate: UserId },
    #[error("{first} is found first and answers")]
    Later { first: UserId },
}

/// All ways of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ways<'a> {
    pub ways: Vec<Way<'a>>,
    pub faults: Vec<Fault>,
    /// There are more than one answer tells.
    pub is_cut: bool,
}

/// Transfers depth first, then whom the owner follows, nearest first.
pub fn ways<'a>(question: &Question<'a>) -> Ways<'a> {
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
    question: Question<'a>,
    /// Not over, in the order of their ids.
    edges: Vec<&'a Delegation>,
    path: Vec<UserId>,
    steps: Vec<&'a Delegation>,
    walked: usize,
    /// Who answers for the owner.
    first: Option<UserId>,
    found: Ways<'a>,
}

impl<'a> Search<'a> {
    fn edges_of(&self, owner: UserId, kind: Kind) -> Vec<&'a Delegation> {
        let of_owner = |edge: &&&Delegation| edge.owner == owner && edge.kind == kind;
        self.edges.iter().filter(of_owner).copied().collect()
    }

    /// What keeps a delegation from speaking at all.
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
        self.edges_of(owner, Kind::Transfer).iter().any(|edge| self.speaks(edge))
    }

    /// Why somebody who was reached may not act.
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

    fn tell(&mut self, kind: Kind, steps: Vec<&'a Delegation>, obstacles: Vec<Obstacle>) {
        if self.found.ways.len() < DELEGATION_STEPS_MAX {
            self.found.ways.push(Way { kind, steps, obstacles });
        } else {
            self.found.is_cut = true;
        }
    }

    fn descend(&mut self) {
        let Some(last) = self.path.last().copied() else { return };
        for edge in self.edges_of(last, Kind::Transfer) {
            let delegate = edge.delegate_to;
            let hindrances = self.hindrances(edge);
            let is_cycle = self.path.contains(&delegate);
            self.path.push(delegate);
            self.steps.push(edge);
            if hindrances.is_empty() {
                self.walked += 1;
                self.step(edge, is_cycle);
            } else {
                self.tell(Kind::Transfer, self.steps.clone(), hindrances);
            }
            self.steps.pop();
            self.path.pop();
            if self.walked > DELEGATION_STEPS_MAX {
                self.found.is_cut = true;
                return;
            }
        }
    }

    /// The last edge of the path speaks; what comes of it.
    fn step(&mut self, edge: &'a Delegation, is_cycle: bool) {
        let delegate = edge.delegate_to;
        let path = self.path.clone();
        if is_cycle {
            self.found.faults.push(Fault::Cycle { path });
        } else if path.len() > DELEGATION_DEPTH_MAX + 1 || self.walked > DELEGATION_STEPS_MAX {
            self.found.faults.push(Fault::TooLong { path });
        } else if edge.cascade && self.has_transfer(delegate) {
            self.descend();
        } else {
            let mut obstacles = self.obstacles(delegate);
            if obstacles.is_empty() && self.question.about.is_some() {
                // With a task exactly one answers; without one, conditions decide later.
                match self.first {
                    Some(first) => obstacles.push(Obstacle::Later { first }),
                    None => self.first = Some(delegate),
                }
            }
            self.tell(Kind::Transfer, self.steps.clone(), obstacles);
        }
    }

    fn follow(&mut self) {
        let owner = self.question.owner;
        let mut listed = BTreeSet::new();
        let mut expanded = BTreeSet::from([owner]);
        let mut open: VecDeque<Vec<&'a Delegation>> = VecDeque::from([Vec::new()]);
        while let Some(steps) = open.pop_front() {
            let last = steps.last().map_or(owner, |step| step.delegate_to);
            for edge in self.edges_of(last, Kind::Follow) {
                let delegate = edge.delegate_to;
                let mut way = steps.clone();
                way.push(edge);
                let path: Vec<UserId> =
                    [owner].into_iter().chain(way.iter().map(|step| step.delegate_to)).collect();
                let is_cycle = delegate == owner || steps.iter().any(|s| s.delegate_to == delegate);
                let hindrances = self.hindrances(edge);
                if !hindrances.is_empty() {
                    self.tell(Kind::Follow, way, hindrances);
                } else if is_cycle {
                    self.found.faults.push(Fault::Cycle { path });
                } else if way.len() > DELEGATION_DEPTH_MAX {
                    self.found.faults.push(Fault::TooLong { path });
                } else {
                    if listed.insert(delegate) {
                        let obstacles = self.obstacles(delegate);
                        self.tell(Kind::Follow, way.clone(), obstacles);
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
    /// What of them this task does not meet; nothing if they hold.
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
