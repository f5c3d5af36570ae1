//! From requirements to people: who sits in each group, who may answer for them, who is asked,
//! and why. The same function serves the review, the explain answer and the simulation, so they
//! cannot disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::delegation::{Delegation, Fault, Walk};
use super::quorum::{Need, Seat, tally};
use super::separation::{Conflict, Involved};
use super::tenure::{Tenure, TooNew};
use super::{Approval, Exclusion, Place, Route, Status};
use crate::actor::{Directory, Person, Role};
use crate::ids::UserId;
use crate::policy::{DelegationRule, GroupNeed, PolicyRef, Requirement, Subject};
use crate::time::Timestamp;

/// What assignment needs to know of a task and its tenant.
#[derive(Debug, Clone)]
pub struct Situation<'a> {
    pub subject: &'a Subject,
    pub involved: Involved,
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

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => f.write_str("is named"),
            Self::Role { role } => write!(f, "has the role {}", role.as_str()),
            Self::Widened => f.write_str("was added by the escalation"),
        }
    }
}

/// A group as people: everybody who sits in it, and everybody who would but may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatedGroup {
    pub min: u32,
    pub asked_by: BTreeSet<PolicyRef>,
    pub members: BTreeMap<UserId, Because>,
    pub excluded: BTreeMap<UserId, Exclusion>,
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

impl Assignment {
    /// Why somebody is asked: their own seats, then those they would fill for others.
    pub fn why(&self, request: &Request) -> BTreeSet<String> {
        let own = request.places.iter().filter(|place| place.route == Route::Own);
        let seats = own.flat_map(|place| {
            let groups = self.groups.iter().flatten();
            groups.filter_map(|group| group.members.get(&place.owner)).map(ToString::to_string)
        });
        let others = request.places.iter().filter_map(|place| place.route.in_words(place.owner));
        seats.chain(others).collect()
    }
}

/// One requirement with its groups seated.
#[derive(Debug)]
pub struct Seated<'a> {
    requirement: &'a Requirement,
    groups: Vec<SeatedGroup>,
    /// Everybody who could vote here without anybody's delegation, by id.
    approvers: Vec<UserId>,
}

impl Seated<'_> {
    pub fn may_approve(&self, person: UserId) -> bool {
        self.approvers.binary_search(&person).is_ok()
    }

    /// The groups as the matching sees them, if these humans fill these owners' seats.
    pub fn needs(
        &self,
        fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
        directory: &Directory,
    ) -> Vec<Need> {
        self.groups.iter().map(|group| need_of(group, fillers, directory)).collect()
    }
}

/// The requirements of a task, each of which must be met on its own, with everybody seated: done
/// once for all that a decision asks of it.
#[derive(Debug)]
pub struct Seating<'a> {
    situation: Situation<'a>,
    seated: Vec<Seated<'a>>,
}

impl<'a> Seating<'a> {
    pub fn new(requirements: &[&'a Requirement], situation: Situation<'a>) -> Self {
        let seated = requirements.iter().map(|requirement| situation.seat(requirement)).collect();
        Self { situation, seated }
    }

    pub fn situation(&self) -> &Situation<'a> {
        &self.situation
    }

    pub fn seated(&self) -> &[Seated<'a>] {
        &self.seated
    }

    pub fn requirements(&self) -> Vec<&'a Requirement> {
        self.seated.iter().map(|seated| seated.requirement).collect()
    }

    /// Whether a person could vote under every requirement without anybody's delegation.
    pub fn may_approve(&self, person: UserId) -> bool {
        self.seated.iter().all(|seated| seated.may_approve(person))
    }

    /// The role that would give a person a seat if it were older.
    pub fn too_new(&self, person: UserId) -> Option<&TooNew> {
        let groups = self.seated.iter().flat_map(|seated| &seated.groups);
        groups.filter_map(|group| group.excluded.get(&person)).find_map(|excluded| match excluded {
            Exclusion::TooNew(too_new) => Some(too_new),
            Exclusion::Involved(_) => None,
        })
    }

    /// Everybody who is asked.
    pub fn requests(&self) -> Vec<Request> {
        let mut faults = Vec::new();
        requests(self.seated.iter().flat_map(|seated| self.situation.places(seated, &mut faults)))
    }

    /// Everybody who is asked, and what stands in the way of enough.
    pub fn assign(self) -> Assignment {
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
        Assignment { requests: requests(all), shortages, faults, groups }
    }
}

impl Situation<'_> {
    pub fn conflict(&self, person: UserId) -> Option<Conflict> {
        self.involved.conflict(self.directory.human(person))
    }

    fn seat<'r>(&self, requirement: &'r Requirement) -> Seated<'r> {
        let mut groups: Vec<SeatedGroup> = requirement.groups.iter().map(empty).collect();
        let widened: Vec<Vec<_>> = requirement
            .groups
            .iter()
            .map(|group| requirement.widened_by(group, self.escalated_to).collect())
            .collect();
        let tenure = Tenure::of(requirement, self.now);
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
        Seated { requirement, groups, approvers }
    }

    /// Who may fill which seat of a requirement, by which way; owner by owner.
    fn places(&self, seated: &Seated<'_>, faults: &mut Vec<Fault>) -> Vec<(UserId, Place)> {
        let may_approve = |person| seated.may_approve(person);
        let walk = Walk::new(self.delegations, self.subject, self.now, may_approve);
        let lasting: Vec<(UserId, &Place)> = self
            .approvals
            .iter()
            .filter(|approval| {
                approval.revision == self.revision && approval.status != Status::Superseded
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

    /// The places of one owner's seat under the delegation rules of the moment.
    fn places_now<F: Fn(UserId) -> bool>(
        &self,
        owner: UserId,
        seated: &Seated<'_>,
        walk: &Walk<'_, F>,
        faults: &mut Vec<Fault>,
    ) -> Vec<(UserId, Place)> {
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
                    places.push((last, Place { owner, route: Route::Follow { chain } }));
                }
            }
        }
        if !self.directory.is_active(owner) && answerer.len() == 1 {
            answerer.extend(self.directory.person(owner).and_then(|person| person.manager));
            if let [_, manager] = *answerer
                && seated.may_approve(manager)
            {
                let route = Route::Reassigned { chain: vec![owner, manager] };
                places.push((manager, Place { owner, route }));
            }
        } else if let Some(last) = answerer.last().copied()
            && seated.may_approve(last)
        {
            let route =
                if last == owner { Route::Own } else { Route::Transfer { chain: answerer } };
            places.insert(0, (last, Place { owner, route }));
        }
        places
    }
}

fn empty(group: &GroupNeed) -> SeatedGroup {
    SeatedGroup {
        min: group.min,
        asked_by: group.asked_by.clone(),
        members: BTreeMap::new(),
        excluded: BTreeMap::new(),
    }
}

/// Roles and people that a step of the escalation added to a group.
type Widening<'a> = (&'a BTreeSet<Role>, &'a BTreeSet<UserId>);

/// Nothing for whoever the group is not about; an error for a role that does not count yet.
fn seat_of(
    person: &Person,
    group: &GroupNeed,
    widened: &[Widening<'_>],
    tenure: Tenure,
) -> Option<Result<Because, TooNew>> {
    // A named person keeps the seat when deactivated: it is theirs to be reassigned.
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

fn requests(places: impl IntoIterator<Item = (UserId, Place)>) -> Vec<Request> {
    let mut by_reviewer: BTreeMap<UserId, Vec<Place>> = BTreeMap::new();
    for (reviewer, place) in places {
        let places = by_reviewer.entry(reviewer).or_default();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    by_reviewer.into_iter().map(|(reviewer, places)| Request { reviewer, places }).collect()
}

/// Groups that stay short even if everybody who may says yes.
fn find_shortages(
    seated: &Seated<'_>,
    places: &[(UserId, Place)],
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

/// Two accounts of one human are one seat; a seat that nobody fills is left out.
fn need_of(
    group: &SeatedGroup,
    fillers: &BTreeMap<UserId, BTreeSet<UserId>>,
    directory: &Directory,
) -> Need {
    let mut seats: BTreeMap<UserId, BTreeSet<UserId>> = BTreeMap::new();
    let filled = group.members.keys().filter_map(|owner| Some((owner, fillers.get(owner)?)));
    for (owner, fillers) in filled {
        seats.entry(directory.human(*owner)).or_default().extend(fillers);
    }
    let seats = seats.into_iter().map(|(owner, fillers)| Seat { owner, fillers }).collect();
    Need { min: group.min, seats }
}

#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
