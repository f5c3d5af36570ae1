//! An oracle for reviews: it describes an organisation by a few lists and computes the outcome of
//! its tasks by brute force, without using product code. It is deliberately slow and simple.

use std::collections::{BTreeMap, BTreeSet};

/// The number of ordinary people. The two admins who publish policies come after them.
pub const PEOPLE: usize = 6;
pub const ADMINS: [usize; 2] = [PEOPLE, PEOPLE + 1];
pub const ALL_PEOPLE: usize = PEOPLE + ADMINS.len();

/// A set of humans, one bit each.
type Mask = u32;

#[derive(Debug, Clone)]
pub struct Organisation {
    /// The roles of each ordinary person.
    pub roles: Vec<BTreeSet<&'static str>>,
    /// Two accounts that belong to one human.
    pub same: Option<(usize, usize)>,
    /// A person who has left, and their manager.
    pub leaver: Option<(usize, usize)>,
    pub policies: Vec<Policy>,
    /// All delegations, in the order of their creation.
    pub delegations: Vec<Delegation>,
    pub stories: Vec<Story>,
}

#[derive(Debug, Clone)]
pub struct Policy {
    /// `db` or `infra`; without it, the policy applies to every task.
    pub family: Option<&'static str>,
    pub groups: Vec<Group>,
    pub reject_threshold: usize,
    pub exempt_role: Option<&'static str>,
    pub exempt_person: Option<usize>,
    pub forbids_delegation: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub roles: BTreeSet<&'static str>,
    pub people: BTreeSet<usize>,
    pub min: usize,
}

#[derive(Debug, Clone)]
pub struct Delegation {
    pub owner: usize,
    pub to: usize,
    pub follows: bool,
    pub cascade: bool,
    pub family: Option<&'static str>,
}

/// One task and the moves that people attempt on it.
#[derive(Debug, Clone)]
pub struct Story {
    pub author: usize,
    pub family: &'static str,
    pub moves: Vec<(usize, Move)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Approve,
    Reject,
    RequestChanges,
    Withdraw,
}

impl Organisation {
    pub fn human(&self, person: usize) -> usize {
        match self.same {
            Some((one, other)) if person == other => one,
            _ => person,
        }
    }

    pub fn is_active(&self, person: usize) -> bool {
        self.leaver.is_none_or(|(leaver, _)| leaver != person)
    }

    fn has_role(&self, person: usize, role: &str) -> bool {
        self.roles.get(person).map_or(role == "admin", |roles| roles.contains(role))
    }

    /// Whether the new delegation would close a cycle with others of its kind, regardless of their
    /// conditions.
    pub fn closes_circle(&self, new: &Delegation) -> bool {
        let mut reached = BTreeSet::from([new.to]);
        loop {
            let edges = self.delegations.iter().filter(|edge| edge.follows == new.follows);
            let next: BTreeSet<usize> =
                edges.filter(|edge| reached.contains(&edge.owner)).map(|edge| edge.to).collect();
            let before = reached.len();
            reached.extend(next);
            if reached.len() == before {
                return reached.contains(&new.owner);
            }
        }
    }
}

/// The review of one task.
pub struct Review<'a> {
    organisation: &'a Organisation,
    story: &'a Story,
    /// The answers in order. A withdrawn answer stays in the list and does not count.
    ballots: Vec<(usize, Move, bool)>,
    pub state: &'static str,
}

impl<'a> Review<'a> {
    pub fn open(organisation: &'a Organisation, story: &'a Story) -> Self {
        Self { organisation, story, ballots: Vec::new(), state: "REVIEWING" }
    }

    fn policies(&self) -> impl Iterator<Item = &'a Policy> {
        let family = self.story.family;
        let all = self.organisation.policies.iter();
        all.filter(move |policy| policy.family.is_none_or(|of| of == family))
    }

    /// The groups of all matching policies. Equal groups are merged and need the greater number.
    fn groups(&self) -> Vec<Group> {
        let mut merged: Vec<Group> = Vec::new();
        for group in self.policies().flat_map(|policy| &policy.groups) {
            let same = |one: &&mut Group| one.roles == group.roles && one.people == group.people;
            match merged.iter_mut().find(same) {
                Some(known) => known.min = known.min.max(group.min),
                None => merged.push(group.clone()),
            }
        }
        if merged.is_empty() {
            let roles = BTreeSet::from(["reviewer", "admin"]);
            merged.push(Group { roles, people: BTreeSet::new(), min: 1 });
        }
        merged
    }

    fn is_involved(&self, person: usize) -> bool {
        self.organisation.human(person) == self.organisation.human(self.story.author)
    }

    fn is_exempt(&self, person: usize) -> bool {
        self.policies().any(|policy| {
            policy.exempt_person == Some(person)
                || policy.exempt_role.is_some_and(|role| self.organisation.has_role(person, role))
        })
    }

    fn sits_in(&self, group: &Group, person: usize) -> bool {
        let mut by_role = group.roles.iter().filter(|_| self.organisation.is_active(person));
        !self.is_exempt(person)
            && !self.is_involved(person)
            && (group.people.contains(&person)
                || by_role.any(|role| self.organisation.has_role(person, role)))
    }

    /// Whether this person may approve without a delegation.
    fn may_approve(&self, person: usize) -> bool {
        self.organisation.is_active(person)
            && !self.is_involved(person)
            && (self.groups().iter().any(|group| self.sits_in(group, person))
                || self.organisation.has_role(person, "reviewer")
                || self.organisation.has_role(person, "admin"))
    }

    fn delegations(&self, owner: usize, follows: bool) -> Vec<&'a Delegation> {
        if self.policies().any(|policy| policy.forbids_delegation) {
            return Vec::new();
        }
        let speaks =
            |edge: &&Delegation| edge.family.is_none_or(|family| family == self.story.family);
        let all = self.organisation.delegations.iter().filter(speaks);
        all.filter(|edge| edge.owner == owner && edge.follows == follows).collect()
    }

    /// Everyone a transfer leads to, in the order in which they are found.
    fn transfer_ends(&self, path: &[usize]) -> Vec<usize> {
        let edges = self.delegations(*path.last().unwrap(), false);
        let open = edges.into_iter().filter(|edge| !path.contains(&edge.to));
        open.flat_map(|edge| {
            if edge.cascade && !self.delegations(edge.to, false).is_empty() {
                self.transfer_ends(&[path, &[edge.to]].concat())
            } else {
                vec![edge.to]
            }
        })
        .collect()
    }

    fn followed(&self, path: &[usize]) -> BTreeSet<usize> {
        let edges = self.delegations(*path.last().unwrap(), true);
        let mut found = BTreeSet::new();
        for edge in edges.into_iter().filter(|edge| !path.contains(&edge.to)) {
            found.insert(edge.to);
            if edge.cascade {
                found.extend(self.followed(&[path, &[edge.to]].concat()));
            }
        }
        found
    }

    /// The people who may fill the seat of this person.
    fn fillers(&self, owner: usize) -> BTreeSet<usize> {
        let mut fillers = self.followed(&[owner]);
        let moved_to = self.transfer_ends(&[owner]).into_iter().find(|end| self.may_approve(*end));
        let manager = self.organisation.leaver.filter(|(leaver, _)| *leaver == owner);
        fillers.insert(match (moved_to, manager) {
            (Some(end), _) => end,
            (None, Some((_, manager))) => manager,
            (None, None) => owner,
        });
        fillers.retain(|person| self.may_approve(*person));
        fillers
    }

    /// Maps each person who is asked to the owners of the seats that they may fill.
    pub fn asked(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let groups = self.groups();
        let mut asked: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let has_seat = |person: &usize| groups.iter().any(|group| self.sits_in(group, *person));
        for owner in (0..ALL_PEOPLE).filter(has_seat) {
            for filler in self.fillers(owner) {
                asked.entry(filler).or_default().insert(owner);
            }
        }
        asked
    }

    /// Whether these accounts together can satisfy every group, with each human in at most one
    /// seat. Every assignment is tried, group by group and seat by seat.
    fn suffices(&self, accounts: &BTreeSet<usize>) -> bool {
        let asked = self.asked();
        let mut used: BTreeSet<Mask> = BTreeSet::from([0]);
        for group in self.groups() {
            let mut seats: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for owner in (0..ALL_PEOPLE).filter(|person| self.sits_in(&group, *person)) {
                let seat = seats.entry(self.organisation.human(owner)).or_default();
                let fills = |account: &&usize| {
                    asked.get(account).is_some_and(|owners| owners.contains(&owner))
                };
                let fillers = accounts.iter().filter(fills);
                seat.extend(fillers.map(|account| self.organisation.human(*account)));
            }
            let mut ways: BTreeSet<(Mask, usize)> = used.iter().map(|mask| (*mask, 0)).collect();
            for fillers in seats.values() {
                let sit = |(mask, count): &(Mask, usize)| -> Vec<(Mask, usize)> {
                    let bits = fillers.iter().map(|human| 1 << human);
                    bits.filter(|bit| mask & bit == 0).map(|bit| (mask | bit, count + 1)).collect()
                };
                let more: Vec<(Mask, usize)> = ways.iter().flat_map(sit).collect();
                ways.extend(more);
            }
            used = ways.iter().filter(|way| way.1 >= group.min).map(|way| way.0).collect();
        }
        !used.is_empty()
    }

    pub fn is_reachable(&self) -> bool {
        self.suffices(&self.asked().into_keys().collect())
    }

    /// The latest answer of each human, unless it was withdrawn.
    fn standing(&self) -> Vec<(usize, Move)> {
        let mut latest: BTreeMap<usize, (usize, Move, bool)> = BTreeMap::new();
        for ballot in &self.ballots {
            latest.insert(self.organisation.human(ballot.0), *ballot);
        }
        latest.into_values().filter(|ballot| !ballot.2).map(|ballot| (ballot.0, ballot.1)).collect()
    }

    /// Applies a move and returns whether it was accepted.
    pub fn take(&mut self, person: usize, what: Move) -> bool {
        if self.state != "REVIEWING" || !self.organisation.is_active(person) {
            return false;
        }
        if what == Move::Withdraw {
            let own = self.ballots.iter_mut().rfind(|ballot| ballot.0 == person);
            return own.is_some_and(|ballot| !std::mem::replace(&mut ballot.2, true));
        }
        if !self.asked().contains_key(&person) {
            return false;
        }
        self.ballots.push((person, what, false));
        let standing = self.standing();
        let of = |answer: Move| standing.iter().filter(move |one| one.1 == answer);
        let threshold = self.policies().map(|policy| policy.reject_threshold).min().unwrap_or(1);
        let yes: BTreeSet<usize> = of(Move::Approve).map(|one| one.0).collect();
        self.state = match what {
            Move::RequestChanges => "DRAFT",
            Move::Reject if of(Move::Reject).count() >= threshold => "REJECTED",
            Move::Approve if self.suffices(&yes) => "APPROVED",
            _ => "REVIEWING",
        };
        true
    }
}
