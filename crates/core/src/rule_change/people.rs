//! Compares who may vote: active people, their roles, and which accounts belong to one person.

use std::collections::{BTreeMap, BTreeSet};

use super::{RuleFinding, RuleSet};
use crate::actor::{Directory, Person, Role};
use crate::ids::UserId;
use crate::policy::{Policy, Strictness};

/// Returns the people who are active admins, each by one account.
pub fn admins(directory: &Directory) -> BTreeSet<UserId> {
    directory.holders(Role::ADMIN).map(|account| directory.human(account)).collect()
}

pub(super) fn compare(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let mut findings = Vec::new();
    for person in new.directory.people() {
        let name = new.name(person.id);
        let was = held(old.directory.person(person.id));
        let is = held(Some(person));
        for role in is.difference(&was) {
            let sentence = format!("{name} gets the role {role}");
            findings.push(RuleFinding::new(Strictness::Looser, sentence));
        }
        for role in was.difference(&is) {
            let verdict = if excludes(old.policies, role) {
                Strictness::Looser
            } else {
                Strictness::Stricter
            };
            findings.push(RuleFinding::new(verdict, format!("{name} loses the role {role}")));
        }
    }
    findings.extend(links(old, new));
    if admins(old.directory).len() > 1 && admins(new.directory).len() < 2 {
        let sentence = "the tenant has fewer than two admins: later changes wait for time instead \
                        of a second admin";
        findings.push(RuleFinding::new(Strictness::Looser, sentence));
    }
    findings
}

/// Returns the roles that count: those of an active account.
fn held(person: Option<&Person>) -> BTreeSet<Role> {
    person.filter(|person| person.active).map(|person| person.roles.clone()).unwrap_or_default()
}

/// Returns whether a policy excludes people with this role, so that losing it admits them.
fn excludes(policies: &[Policy], role: &Role) -> bool {
    policies.iter().any(|policy| policy.document.exempt.roles.contains(role))
}

/// Compares which accounts are one person. Two accounts of one person have one vote and cannot
/// approve each other's tasks.
fn links(old: &RuleSet<'_>, new: &RuleSet<'_>) -> Vec<RuleFinding> {
    let sentences = |before: &RuleSet<'_>, after: &RuleSet<'_>, verdict, count: &str| {
        let split = linked(after.directory)
            .into_iter()
            .filter(|(one, other)| !before.directory.same_human(*one, *other));
        let sentence = |(one, other)| {
            let (one, other) = (new.name(one), new.name(other));
            RuleFinding::new(verdict, format!("{one} and {other} count as {count}"))
        };
        split.map(sentence).collect::<Vec<_>>()
    };
    let mut findings = sentences(old, new, Strictness::Stricter, "one person");
    findings.extend(sentences(new, old, Strictness::Looser, "two people"));
    findings
}

/// Returns every pair of accounts that belong to one person.
fn linked(directory: &Directory) -> Vec<(UserId, UserId)> {
    let mut accounts: BTreeMap<UserId, Vec<UserId>> = BTreeMap::new();
    for person in directory.people() {
        accounts.entry(directory.human(person.id)).or_default().push(person.id);
    }
    let pairs = |of_one: &Vec<UserId>| -> Vec<(UserId, UserId)> {
        let others = |(index, one): (usize, &UserId)| {
            let one = *one;
            of_one.iter().skip(index + 1).map(move |other| (one, *other)).collect::<Vec<_>>()
        };
        of_one.iter().enumerate().flat_map(others).collect()
    };
    accounts.values().flat_map(pairs).collect()
}
