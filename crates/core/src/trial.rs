//! A set of policies tried on the cases of a file: what would become of each task, by the
//! functions that decide on real ones, and where that is not what the case expects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::actor::Directory;
use crate::approval::assignment::{Seating, Shortage, Situation};
use crate::approval::separation::{Involved, Involvement};
use crate::ids::UserId;
use crate::policy::{
    AutoApproval, Case, Cases, DelegationRule, Group, GroupNeed, Outcome, Policy, PolicyRef,
    Requirement, period_text, requirement,
};
use crate::time::Timestamp;
use crate::times::ApprovalTimes;

/// What came of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub name: String,
    /// Of the case in its file.
    pub line: u64,
    pub outcome: Outcome,
    /// The rules behind the outcome, one sentence each.
    pub why: Vec<String>,
    /// Empty if all is as expected.
    pub differences: Vec<Difference>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field of `expect` that does not hold.
    pub what: &'static str,
    pub expected: String,
    pub found: String,
}

/// In the order of the cases.
pub fn run(policies: &[Policy], cases: &Cases) -> Vec<Verdict> {
    let trial = Trial {
        policies,
        names: policies.iter().map(|p| (p.reference(), p.document.name.as_str())).collect(),
        directory: Directory::new(cases.people.iter().cloned()),
    };
    cases.cases.iter().map(|case| trial.verdict(case)).collect()
}

struct Trial<'a> {
    policies: &'a [Policy],
    names: BTreeMap<PolicyRef, &'a str>,
    directory: Directory,
}

impl Trial<'_> {
    fn verdict(&self, case: &Case) -> Verdict {
        let now = case.at.unwrap_or(Timestamp::from_micros(0));
        let asked = requirement(self.policies, &case.subject, now, &ApprovalTimes::default());
        let shortages = self.shortages(case, &asked, now);
        let outcome = match &asked.auto_approve {
            AutoApproval::Allowed { .. } => Outcome::Passes,
            AutoApproval::Never | AutoApproval::Refused { .. } if shortages.is_empty() => {
                Outcome::Review
            }
            AutoApproval::Never | AutoApproval::Refused { .. } => Outcome::Denied,
        };
        Verdict {
            name: case.name.clone(),
            line: case.line,
            outcome,
            why: self.why(&asked, &shortages),
            differences: self.differences(case, outcome, &asked),
        }
    }

    /// Groups that the people of the file could not meet, whoever of them agreed.
    fn shortages(&self, case: &Case, asked: &Requirement, now: Timestamp) -> Vec<Shortage> {
        if self.directory.people().next().is_none() {
            return Vec::new();
        }
        let involvement = Involvement {
            author: case.author.unwrap_or(UserId::from_u128(u128::MAX)),
            agent: None,
            submitter: None,
            editors: BTreeSet::new(),
        };
        let situation = Situation {
            subject: &case.subject,
            involved: Involved::of(&involvement, &self.directory),
            revision: 1,
            escalated_to: Duration::ZERO,
            approvals: &[],
            directory: &self.directory,
            delegations: &[],
            now,
        };
        Seating::new(&[asked], situation).assign().shortages
    }

    fn named(&self, references: impl IntoIterator<Item = PolicyRef>) -> String {
        let names = references.into_iter().filter_map(|one| self.names.get(&one).copied());
        let names: BTreeSet<&str> = names.collect();
        if names.is_empty() {
            return "the default, since no policy matches".to_owned();
        }
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn why(&self, asked: &Requirement, shortages: &[Shortage]) -> Vec<String> {
        if let AutoApproval::Allowed { clauses } = &asked.auto_approve {
            return vec![format!("nobody is asked: {}", self.named(clauses.iter().copied()))];
        }
        let mut why: Vec<String> = asked
            .groups
            .iter()
            .map(|group| format!("{}: {}", group.in_words(), self.named(group.asked_by.clone())))
            .collect();
        if let AutoApproval::Refused { reasons } = &asked.auto_approve {
            why.extend(reasons.iter().map(|reason| {
                let by = self.named([reason.policy]);
                format!("not without a person: {by}: {}", reason.condition)
            }));
        }
        why.extend(shortages.iter().map(|short| {
            let by = self.named(short.asked_by.clone());
            format!("only {} of {} could ever agree: {by}", short.possible, short.needed)
        }));
        why
    }

    fn differences(&self, case: &Case, outcome: Outcome, asked: &Requirement) -> Vec<Difference> {
        let wanted = &case.expected;
        let mut found = Found::default();
        let has_hours =
            |one: &&Policy| one.document.enabled && one.document.matching.hours.is_some();
        if case.at.is_none()
            && let Some(policy) = self.policies.iter().find(has_hours)
        {
            let expected = format!("a time, since {} has hours", policy.document.name);
            found.add("task.at", expected, "none".to_owned());
        }
        let words = |outcome: Outcome| outcome.as_str().to_owned();
        found.compare("outcome", Some(words(wanted.outcome)), words(outcome));
        let in_words = |groups: &Vec<Group>| joined(groups.iter().map(Group::in_words), " and ");
        let groups = joined(asked.groups.iter().map(GroupNeed::in_words), " and ");
        found.compare("groups", wanted.groups.as_ref().map(in_words), groups);
        let names = asked.policies.iter().filter_map(|one| self.names.get(one));
        let names = joined(names.map(|name| (*name).to_owned()), ", ");
        let policies = wanted.policies.as_ref().map(|names| joined(names.iter().cloned(), ", "));
        found.compare("policies", policies, names);
        let threshold = wanted.reject_threshold.map(|number| number.to_string());
        found.compare("reject_threshold", threshold, asked.reject_threshold.to_string());
        let period = wanted.respond_within.map(period_text);
        found.compare("respond_within", period, period_text(asked.respond_within));
        let period = wanted.approval_valid_for.map(period_text);
        found.compare("approval_valid_for", period, period_text(asked.approval_valid_for));
        found.compare("delegation", wanted.delegation.map(rule), rule(asked.delegation));
        let age = asked.role_age_min.map_or("none".to_owned(), period_text);
        found.compare("role_age_min", wanted.role_age_min.map(period_text), age);
        found.0
    }
}

fn rule(rule: DelegationRule) -> String {
    match rule {
        DelegationRule::Allowed => "allowed".to_owned(),
        DelegationRule::Forbidden => "forbidden".to_owned(),
    }
}

/// In one order and each once, so that equal sets are equal texts.
fn joined(texts: impl Iterator<Item = String>, between: &str) -> String {
    let texts: BTreeSet<String> = texts.collect();
    if texts.is_empty() {
        return "none".to_owned();
    }
    texts.into_iter().collect::<Vec<_>>().join(between)
}

#[derive(Default)]
struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, what: &'static str, expected: String, found: String) {
        self.0.push(Difference { what, expected, found });
    }

    /// What is not expected may be anything.
    fn compare(&mut self, what: &'static str, expected: Option<String>, found: String) {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            self.add(what, expected, found);
        }
    }
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
