//! Turns requirements into people: the members of each group, their substitutes, the people who are
//! asked, and why. The review, the explanation and the evaluation use the same function, so they
//! cannot disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::delegation::{Delegation, DelegationError, Walk};
use super::quorum::{Need, SlotCandidates, tally};
use super::separation_of_duties::{Conflict, Involved};
use super::tenure::{Tenure, TooNew};
use super::{Approval, ApprovalStatus, Exclusion, Route, Slot};
use crate::actor::{Directory, Person, Role};
use crate::ids::UserId;
use crate::policy::{DelegationRule, GroupNeed, PolicyRef, Requirement, Subject};
use crate::time::Timestamp;

/// The facts about a task and its tenant that the assignment needs.
#[derive(Debug, Clone)]
pub struct AssignmentInput<'a> {
    pub subject: &'a Subject,
    pub involved: Involved,
    pub revision: u32,
    /// How far the escalation has come. Its steps may have widened groups.
    pub escalated_to: Duration,
    pub approvals: &'a [Approval],
    pub directory: &'a Directory,
    pub delegations: &'a [Delegation],
    /// The age that roles must have for the risk of the task, whatever the policies require.
    pub role_age_min: Option<Duration>,
    pub now: Timestamp,
}

/// Why a person has a reviewer slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Because {
    Named,
    Role { role: Role },
    Widened,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("is named"),
            Self::Role { role } => write!(f, "has the role {}", role.as_str()),
            Self::Widened => f.write_str("was added by escalation"),
        }
    }
}

/// A group with its members, and with the people who are excluded from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerGroup {
    pub min: u32,
    pub asked_by: BTreeSet<PolicyRef>,
    pub members: BTreeMap<UserId, Because>,
    pub excluded: BTreeMap<UserId, Exclusion>,
}

/// A person to be asked, with every slot they could fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    pub reviewer: UserId,
    pub places: Vec<Slot>,
}

/// A group that can never be satisfied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shortage {
    pub needed: u32,
    pub possible: u32,
    pub roles: BTreeSet<Role>,
    pub asked_by: BTreeSet<PolicyRef>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentPlan {
    pub requests: Vec<ReviewRequest>,
    pub shortages: Vec<Shortage>,
    pub faults: Vec<DelegationError>,
    /// The groups of each requirement, with their members.
    pub groups: Vec<Vec<ReviewerGroup>>,
}

impl AssignmentPlan {
    /// Returns why a person is asked: for their own slots and those they could fill for others.
    pub fn why(&self, request: &ReviewRequest) -> BTreeSet<String> {
        let own = request.places.iter().filter(|place| place.route == Route::Own);
        let seats = own.flat_map(|place| {
            let groups = self.groups.iter().flatten();
            groups.filter_map(|group| group.members.get(&place.owner)).map(ToString::to_string)
        });
        let others = request.places.iter().filter_map(|place| place.route.in_words(place.owner));
        seats.chain(others).collect()
    }
}

/// One requirement with the members of its groups.
#[derive(Debug)]
pub struct AssignedRequirement<'a> {
    requirement: &'a Requirement,
    groups: Vec<ReviewerGroup>,
    /// The people who could vote here without a delegation, by id.
    approvers: Vec<UserId>,
}

impl AssignedRequirement<'_> {
    pub fn may_approve(&self, person: UserId) -> bool {
        self.approvers.binary_search(&person).is_ok()
    }

    /// Returns the groups as input for the matching; `fillers` has the humans for each slot owner.
    pub fn needs(
        &self,
        fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
        directory: &Directory,
    ) -> Vec<Need> {
        self.groups.iter().map(|group| need_of(group, fillers, directory)).collect()
    }
}

/// The requirements of a task with all members resolved. Each requirement must be met separately.
/// It is computed once for all questions of a decision.
#[derive(Debug)]
pub struct Assignment<'a> {
    situation: AssignmentInput<'a>,
    seated: Vec<AssignedRequirement<'a>>,
}

impl<'a> Assignment<'a> {
    pub fn new(requirements: &[&'a Requirement], situation: AssignmentInput<'a>) -> Self {
        let seated = requirements.iter().map(|requirement| situation.seat(requirement)).collect();
        Self { situation, seated }
    }

    pub fn situation(&self) -> &AssignmentInput<'a> {
        &self.situation
    }

    pub fn seated(&self) -> &[AssignedRequirement<'a>] {
        &self.seated
    }

    pub fn requirements(&self) -> Vec<&'a Requirement> {
        self.seated.iter().map(|seated| seated.requirement).collect()
    }

    /// Returns whether a person could vote under every requirement without a delegation.
    pub fn may_approve(&self, person: UserId) -> bool {
        self.seated.iter().all(|seated| seated.may_approve(person))
    }

    /// Returns the role that would give a person a slot if it had been held for longer.
    pub fn too_new(&self, person: UserId) -> Option<&TooNew> {
        let groups = self.seated.iter().flat_map(|seated| &seated.groups);
        groups.filter_map(|group| group.excluded.get(&person)).find_map(|excluded| match excluded {
            Exclusion::TooNew(too_new) => Some(too_new),
            Exclusion::Involved(_) => None,
        })
    }

    /// Returns all people who are asked.
    pub fn requests(&self) -> Vec<ReviewRequest> {
        let mut faults = Vec::new();
        requests(self.seated.iter().flat_map(|seated| self.situation.places(seated, &mut faults)))
    }

    /// Returns all people who are asked, and the groups that cannot be satisfied.
    pub fn assign(self) -> AssignmentPlan {
        let mut faults = Vec::new();
        let mut shortages = Vec::new();
        let mut all = Vec::new();
        for seated in &self.seated {
            let places = self.situation.places(seated, &mut faults);
            shortages.extend(find_shortages(seated, &places, self.situation.directory));
            all.extend(places);
        }
        faults.dedup();
        let groups = self.seated.into_iter().map(|seated| seated.groups).collect();
        AssignmentPlan { requests: requests(all), shortages, faults, groups }
    }
}

impl AssignmentInput<'_> {
    pub fn conflict(&self, person: UserId) -> Option<Conflict> {
        self.involved.conflict(self.directory.human(person))
    }

    fn seat<'r>(&self, requirement: &'r Requirement) -> AssignedRequirement<'r> {
        let mut groups: Vec<ReviewerGroup> = requirement.groups.iter().map(empty).collect();
        let widened: Vec<Vec<_>> = requirement
            .groups
            .iter()
            .map(|group| requirement.widened_by(group, self.escalated_to).collect())
            .collect();
        let tenure = Tenure::of(requirement, self.role_age_min, self.now);
        let mut approvers = Vec::new();
        for person in self.directory.people() {
            let conflict = self.conflict(person.id);
            let is_exempt = requirement.exempt_people.contains(&person.id)
                || requirement.exempt_roles.iter().any(|role| person.roles.contains(role));
            let mut has_seat = false;
            let needs = requirement.groups.iter().zip(&widened).zip(&mut groups);
            for ((need, widened), group) in needs.filter(|_| !is_exempt) {
                let exclusion = match (seat_of(person, need, widened, tenure), conflict) {
                    (None, _) => continue,
                    (Some(_), Some(conflict)) => Exclusion::Involved(conflict),
                    (Some(Err(too_new)), None) => Exclusion::TooNew(too_new),
                    (Some(Ok(because)), None) => {
                        group.members.insert(person.id, because);
                        has_seat = true;
                        continue;
                    }
                };
                group.excluded.insert(person.id, exclusion);
            }
            let is_reviewer =
                || [Role::REVIEWER, Role::ADMIN].iter().any(|role| tenure.counts(person, role));
            if person.active && conflict.is_none() && (has_seat || is_reviewer()) {
                approvers.push(person.id);
            }
        }
        AssignedRequirement { requirement, groups, approvers }
    }

    /// Returns who may fill which slot of a requirement and by which route, owner by owner.
    fn places(
        &self,
        seated: &AssignedRequirement<'_>,
        faults: &mut Vec<DelegationError>,
    ) -> Vec<(UserId, Slot)> {
        let may_approve = |person| seated.may_approve(person);
        let walk = Walk::new(self.delegations, self.subject, self.now, may_approve);
        let lasting: Vec<(UserId, &Slot)> = self
            .approvals
            .iter()
            .filter(|approval| {
                approval.revision == self.revision && approval.status != ApprovalStatus::Superseded
            })
            .flat_map(|approval| approval.places.iter().map(|place| (approval.reviewer, place)))
            .filter(|(reviewer, place)| place.route.is_lasting() && may_approve(*reviewer))
            .collect();
        let owners: BTreeSet<UserId> =
            seated.groups.iter().flat_map(|group| group.members.keys().copied()).collect();
        let mut places = Vec::new();
        for owner in owners {
            places.extend(self.places_now(owner, seated, &walk, faults));
            let kept = lasting.iter().filter(|(_, place)| place.owner == owner);
            places.extend(kept.map(|(reviewer, place)| (*reviewer, (*place).clone())));
        }
        places
    }

    /// Returns who may fill the slot of one owner under the current delegation rules.
    fn places_now<F: Fn(UserId) -> bool>(
        &self,
        owner: UserId,
        seated: &AssignedRequirement<'_>,
        walk: &Walk<'_, F>,
        faults: &mut Vec<DelegationError>,
    ) -> Vec<(UserId, Slot)> {
        let mut places = Vec::new();
        let mut answerer = vec![owner];
        if seated.requirement.delegation == DelegationRule::Allowed && walk.leads_on(owner) {
            let resolution = walk.transfer(owner);
            faults.extend(resolution.faults);
            answerer = resolution.chain;
            let (chains, follow_faults) = walk.followed(owner);
            faults.extend(follow_faults);
            for chain in chains {
                if let Some(last) = chain.last().copied() {
                    places.push((last, Slot { owner, route: Route::Follow { chain } }));
                }
            }
        }
        if !self.directory.is_active(owner) && answerer.len() == 1 {
            answerer.extend(self.directory.person(owner).and_then(|person| person.manager));
            if let [_, manager] = *answerer
                && seated.may_approve(manager)
            {
                let route = Route::Reassigned { chain: vec![owner, manager] };
                places.push((manager, Slot { owner, route }));
            }
        } else if let Some(last) = answerer.last().copied()
            && seated.may_approve(last)
        {
            let route =
                if last == owner { Route::Own } else { Route::Transfer { chain: answerer } };
            places.insert(0, (last, Slot { owner, route }));
        }
        places
    }
}

fn empty(group: &GroupNeed) -> ReviewerGroup {
    ReviewerGroup {
        min: group.min,
        asked_by: group.asked_by.clone(),
        members: BTreeMap::new(),
        excluded: BTreeMap::new(),
    }
}

/// Roles and people that an escalation step added to a group.
type Widening<'a> = (&'a BTreeSet<Role>, &'a BTreeSet<UserId>);

/// Returns why the person has a slot: `None` for a person outside the group, an error for a role
/// that does not count yet.
fn seat_of(
    person: &Person,
    group: &GroupNeed,
    widened: &[Widening<'_>],
    tenure: Tenure,
) -> Option<Result<Because, TooNew>> {
    // A named person keeps the seat when deactivated, so that it can be reassigned.
    if group.people.contains(&person.id) {
        return Some(Ok(Because::Named));
    }
    if !person.active {
        return None;
    }
    let counts = |role: &Role| tenure.counts(person, role.as_str());
    if let Some(role) = group.roles.iter().find(|role| counts(role)) {
        return Some(Ok(Because::Role { role: role.clone() }));
    }
    let is_widened = widened
        .iter()
        .any(|(roles, people)| people.contains(&person.id) || roles.iter().any(counts));
    if is_widened {
        return Some(Ok(Because::Widened));
    }
    let mut roles = group.roles.iter().chain(widened.iter().flat_map(|(roles, _)| roles.iter()));
    roles.find_map(|role| tenure.too_new(person, role)).map(Err)
}

fn requests(places: impl IntoIterator<Item = (UserId, Slot)>) -> Vec<ReviewRequest> {
    let mut by_reviewer: BTreeMap<UserId, Vec<Slot>> = BTreeMap::new();
    for (reviewer, place) in places {
        let places = by_reviewer.entry(reviewer).or_default();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    by_reviewer.into_iter().map(|(reviewer, places)| ReviewRequest { reviewer, places }).collect()
}

/// Finds the groups that stay short even if every eligible person approves.
fn find_shortages(
    seated: &AssignedRequirement<'_>,
    places: &[(UserId, Slot)],
    directory: &Directory,
) -> Vec<Shortage> {
    let mut fillers: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
    for (reviewer, place) in places {
        fillers.entry(place.owner).or_default().insert(directory.human(*reviewer));
    }
    let everybody: BTreeSet<UserId> = fillers.values().flatten().copied().collect();
    let best = tally(&seated.needs(&fillers, directory), &everybody);
    best.groups
        .iter()
        .zip(&seated.requirement.groups)
        .filter(|(tally, _)| !tally.is_met())
        .map(|(tally, group)| Shortage {
            needed: tally.needed,
            possible: tally.needed - tally.missing(),
            roles: group.roles.clone(),
            asked_by: group.asked_by.clone(),
        })
        .collect()
}

/// Builds the matching input of a group. Two accounts of one person share a slot; a slot that
/// cannot be filled is left out.
fn need_of(
    group: &ReviewerGroup,
    fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
    directory: &Directory,
) -> Need {
    let mut seats: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
    let filled = group.members.keys().filter_map(|owner| Some((owner, fillers.get(owner)?)));
    for (owner, fillers) in filled {
        seats.entry(directory.human(*owner)).or_default().extend(fillers);
    }
    let seats =
        seats.into_iter().map(|(owner, fillers)| SlotCandidates { owner, fillers }).collect();
    Need { min: group.min, seats }
}

#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
