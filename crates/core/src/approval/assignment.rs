//! From requirements to people: who sits in each group, who may answer for them, who is asked,
//! and why. The same function serves the review, the explain answer and the simulation, so they
//! cannot disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::delegation::{Delegation, Fault, Walk};
use super::quorum::{Need, Seat, tally};
use super::separation::{Conflict, Involvement, conflict};
use super::{Approval, Place, Route, Status};
use crate::actor::{Directory, Person, Role};
use crate::ids::UserId;
use crate::policy::{Audience, DelegationRule, GroupNeed, PolicyRef, Requirement, Subject};
use crate::time::Timestamp;

/// What assignment needs to know of a task and its tenant.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub subject: &'a Subject,
    pub involvement: &'a Involvement,
    pub revision: u32,
    /// How far the escalation has come; it may have widened groups.
    pub escalated_to: Duration,
    pub approvals: &'a [Approval],
    pub directory: &'a Directory,
    pub delegations: &'a [Delegation],
    pub now: Timestamp,
}

/// Why somebody has a seat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Because {
    Named,
    Role { role: Role },
    Widened,
}

/// A group as people: everybody who sits in it, and everybody who would but may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatedGroup {
    pub min: u32,
    pub asked_by: BTreeSet<PolicyRef>,
    pub members: BTreeMap<UserId, Because>,
    pub excluded: BTreeMap<UserId, Conflict>,
}

/// One person to be asked, with every place they could fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub reviewer: UserId,
    pub places: Vec<Place>,
}

/// A group that nobody's yes could ever meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shortage {
    pub needed: u32,
    pub possible: u32,
    pub roles: BTreeSet<Role>,
    pub asked_by: BTreeSet<PolicyRef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub requests: Vec<Request>,
    pub shortages: Vec<Shortage>,
    pub faults: Vec<Fault>,
    /// Per requirement, its groups as people.
    pub groups: Vec<Vec<SeatedGroup>>,
}

impl Situation<'_> {
    pub fn conflict(&self, person: UserId) -> Option<Conflict> {
        conflict(self.involvement, self.directory, person)
    }

    fn seat_group(&self, group: &GroupNeed, requirement: &Requirement) -> SeatedGroup {
        let audience = requirement.audience_after(group, self.escalated_to);
        let mut members = BTreeMap::new();
        let mut excluded = BTreeMap::new();
        for person in self.directory.people() {
            let Some(because) = because(person, group, &audience) else {
                continue;
            };
            let is_exempt = requirement.exempt_people.contains(&person.id)
                || requirement.exempt_roles.iter().any(|role| person.roles.contains(role));
            if is_exempt {
                continue;
            }
            match self.conflict(person.id) {
                Some(conflict) => {
                    excluded.insert(person.id, conflict);
                }
                None => {
                    members.insert(person.id, because);
                }
            }
        }
        SeatedGroup { min: group.min, asked_by: group.asked_by.clone(), members, excluded }
    }

    pub fn seat(&self, requirement: &Requirement) -> Vec<SeatedGroup> {
        requirement.groups.iter().map(|group| self.seat_group(group, requirement)).collect()
    }

    /// Whether a person could vote here without anybody's delegation.
    pub fn may_approve(&self, groups: &[SeatedGroup], person: UserId) -> bool {
        let Some(known) = self.directory.person(person) else {
            return false;
        };
        let is_reviewer = known.has_role(Role::REVIEWER) || known.has_role(Role::ADMIN);
        let is_member = groups.iter().any(|group| group.members.contains_key(&person));
        known.active && (is_reviewer || is_member) && self.conflict(person).is_none()
    }

    /// The places of one owner's seat: who may fill it, by which way.
    fn places<F: Fn(UserId) -> bool>(
        &self,
        owner: UserId,
        requirement: &Requirement,
        walk: &Walk<'_, F>,
        may_approve: impl Fn(UserId) -> bool,
        faults: &mut Vec<Fault>,
    ) -> Vec<(UserId, Place)> {
        let mut places = Vec::new();
        let mut answerer = vec![owner];
        if requirement.delegation == DelegationRule::Allowed {
            let resolution = walk.transfer(owner);
            faults.extend(resolution.faults);
            answerer = resolution.chain;
            let (chains, follow_faults) = walk.followed(owner);
            faults.extend(follow_faults);
            for chain in chains {
                if let Some(last) = chain.last().copied() {
                    places.push((last, Place { owner, route: Route::Follow { chain } }));
                }
            }
        }
        if !self.directory.is_active(owner) && answerer.len() == 1 {
            answerer.extend(self.directory.person(owner).and_then(|person| person.manager));
            if let [_, manager] = *answerer
                && may_approve(manager)
            {
                let route = Route::Reassigned { chain: vec![owner, manager] };
                places.push((manager, Place { owner, route }));
            }
        } else if let Some(last) = answerer.last().copied()
            && may_approve(last)
        {
            let route =
                if last == owner { Route::Own } else { Route::Transfer { chain: answerer } };
            places.insert(0, (last, Place { owner, route }));
        }
        let lasting = self.approvals.iter().filter(|approval| {
            approval.revision == self.revision && approval.status != Status::Superseded
        });
        for approval in lasting {
            for place in &approval.places {
                if place.owner == owner
                    && place.route.is_lasting()
                    && may_approve(approval.reviewer)
                {
                    places.push((approval.reviewer, place.clone()));
                }
            }
        }
        places
    }
}

fn because(person: &Person, group: &GroupNeed, audience: &Audience) -> Option<Because> {
    // A named person keeps the seat when deactivated: it is theirs to be reassigned.
    if group.people.contains(&person.id) {
        return Some(Because::Named);
    }
    if !person.active {
        return None;
    }
    if let Some(role) = group.roles.iter().find(|role| person.roles.contains(*role)) {
        return Some(Because::Role { role: role.clone() });
    }
    let is_widened = audience.people.contains(&person.id)
        || audience.roles.iter().any(|role| person.roles.contains(role));
    is_widened.then_some(Because::Widened)
}

/// Everybody who is asked under these requirements, each of which must be met on its own.
pub fn assign(requirements: &[&Requirement], situation: &Situation<'_>) -> Assignment {
    let mut by_reviewer: BTreeMap<UserId, Vec<Place>> = BTreeMap::new();
    let mut shortages = Vec::new();
    let mut faults = Vec::new();
    let mut seated = Vec::new();
    for requirement in requirements {
        let groups = situation.seat(requirement);
        let may_approve = |person| situation.may_approve(&groups, person);
        let walk = Walk::new(situation.delegations, situation.subject, situation.now, may_approve);
        let owners: BTreeSet<UserId> =
            groups.iter().flat_map(|group| group.members.keys().copied()).collect();
        let mut fillers: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
        for owner in owners {
            for (reviewer, place) in
                situation.places(owner, requirement, &walk, may_approve, &mut faults)
            {
                let human = situation.directory.human(reviewer);
                fillers.entry(owner).or_default().insert(human);
                let places = by_reviewer.entry(reviewer).or_default();
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        shortages.extend(find_shortages(requirement, &groups, &fillers, situation.directory));
        seated.push(groups);
    }
    faults.dedup();
    let requests =
        by_reviewer.into_iter().map(|(reviewer, places)| Request { reviewer, places }).collect();
    Assignment { requests, shortages, faults, groups: seated }
}

/// Groups that stay short even if everybody who may says yes.
fn find_shortages(
    requirement: &Requirement,
    groups: &[SeatedGroup],
    fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
    directory: &Directory,
) -> Vec<Shortage> {
    let needs: Vec<Need> = groups.iter().map(|group| need_of(group, fillers, directory)).collect();
    let everybody: BTreeSet<UserId> = fillers.values().flatten().copied().collect();
    let best = tally(&needs, &everybody);
    best.groups
        .iter()
        .zip(&requirement.groups)
        .filter(|(tally, _)| !tally.is_met())
        .map(|(tally, group)| Shortage {
            needed: tally.needed,
            possible: tally.needed - tally.missing(),
            roles: group.roles.clone(),
            asked_by: group.asked_by.clone(),
        })
        .collect()
}

/// A seated group as the matching sees it: two accounts of one human are one seat.
pub fn need_of(
    group: &SeatedGroup,
    fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
    directory: &Directory,
) -> Need {
    let mut seats: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
    for owner in group.members.keys() {
        let seat = seats.entry(directory.human(*owner)).or_default();
        seat.extend(fillers.get(owner).into_iter().flatten());
    }
    let seats = seats.into_iter().map(|(owner, fillers)| Seat { owner, fillers }).collect();
    Need { min: group.min, seats }
}

#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
