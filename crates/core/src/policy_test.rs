//! Runs the cases of a file against a set of policies, with the functions that decide real tasks,
//! and reports where the outcome differs from the expected one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::actor::Directory;
use crate::approval::assignment::{Assignment, AssignmentInput, Shortage};
use crate::approval::separation_of_duties::{Involved, Participants};
use crate::ids::UserId;
use crate::policy::{
    AutoApproval, Case, CaseOutcome, Cases, DelegationRule, Group, GroupNeed, Policy, PolicyRef,
    Requirement, period_text, requirement,
};
use crate::time::Timestamp;
use crate::timeouts::ApprovalTimeouts;

/// The result of one case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    pub name: String,
    /// The line of the case in its file.
    pub line: u64,
    pub outcome: CaseOutcome,
    /// The rules behind the outcome, one sentence each.
    pub why: Vec<String>,
    /// The differences; empty if all is as expected.
    pub differences: Vec<Mismatch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The field of `expect` that differs.
    pub what: &'static str,
    pub expected: String,
    pub found: String,
}

/// Runs all cases and returns the results in their order.
pub fn run(policies: &[Policy], cases: &Cases) -> Vec<CaseResult> {
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
    fn verdict(&self, case: &Case) -> CaseResult {
        let now = case.at.unwrap_or(Timestamp::from_micros(0));
        let asked = requirement(self.policies, &case.subject, now, &ApprovalTimeouts::default());
        let shortages = self.shortages(case, &asked, now);
        let outcome = match &asked.auto_approve {
            AutoApproval::Allowed { .. } => CaseOutcome::Passes,
            AutoApproval::Never | AutoApproval::Refused { .. } if shortages.is_empty() => {
                CaseOutcome::Review
            }
            AutoApproval::Never | AutoApproval::Refused { .. } => CaseOutcome::Denied,
        };
        CaseResult {
            name: case.name.clone(),
            line: case.line,
            outcome,
            why: self.why(&asked, &shortages),
            differences: self.differences(case, outcome, &asked),
        }
    }

    /// Returns the groups that the people of the file could not satisfy even if all approved.
    fn shortages(&self, case: &Case, asked: &Requirement, now: Timestamp) -> Vec<Shortage> {
        if self.directory.people().next().is_none() {
            return Vec::new();
        }
        let involvement = Participants {
            author: case.author.unwrap_or(UserId::from_u128(u128::MAX)),
            agent: None,
            submitter: None,
            editors: BTreeSet::new(),
            token_issuers: BTreeSet::new(),
        };
        let situation = AssignmentInput {
            role_age_min: None,
            subject: &case.subject,
            involved: Involved::of(&involvement, &self.directory),
            revision: 1,
            escalated_to: Duration::ZERO,
            approvals: &[],
            directory: &self.directory,
            delegations: &[],
            now,
        };
        Assignment::new(&[asked], situation).assign().shortages
    }

    fn named(&self, references: impl IntoIterator<Item = PolicyRef>) -> String {
        let names = references.into_iter().filter_map(|one| self.names.get(&one).copied());
        let names: BTreeSet<&str> = names.collect();
        if names.is_empty() {
            return "the default, because no policy matches".to_owned();
        }
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    fn why(&self, asked: &Requirement, shortages: &[Shortage]) -> Vec<String> {
        if let AutoApproval::Allowed { clauses } = &asked.auto_approve {
            return vec![format!("no approval is needed: {}", self.named(clauses.iter().copied()))];
        }
        let mut why: Vec<String> = asked
            .groups
            .iter()
            .map(|group| format!("{}: {}", group.in_words(), self.named(group.asked_by.clone())))
            .collect();
        if let AutoApproval::Refused { reasons } = &asked.auto_approve {
            why.extend(reasons.iter().map(|reason| {
                let by = self.named([reason.policy]);
                format!("not auto-approved: {by}: {}", reason.condition)
            }));
        }
        why.extend(shortages.iter().map(|short| {
            let by = self.named(short.asked_by.clone());
            format!(
                "only {} of {} required people could approve: {by}",
                short.possible, short.needed
            )
        }));
        why
    }

    fn differences(&self, case: &Case, outcome: CaseOutcome, asked: &Requirement) -> Vec<Mismatch> {
        let wanted = &case.expected;
        let mut found = Mismatches::default();
        let has_hours =
            |one: &&Policy| one.document.enabled && one.document.matching.hours.is_some();
        if case.at.is_none()
            && let Some(policy) = self.policies.iter().find(has_hours)
        {
            let expected = format!("a time, because {} has hours", policy.document.name);
            found.add("task.at", expected, "none".to_owned());
        }
        let words = |outcome: CaseOutcome| outcome.as_str().to_owned();
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

/// Joins the texts sorted and without duplicates, so that equal sets give equal texts.
fn joined(texts: impl Iterator<Item = String>, between: &str) -> String {
    let texts: BTreeSet<String> = texts.collect();
    if texts.is_empty() {
        return "none".to_owned();
    }
    texts.into_iter().collect::<Vec<_>>().join(between)
}

#[derive(Default)]
struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    fn add(&mut self, what: &'static str, expected: String, found: String) {
        self.0.push(Mismatch { what, expected, found });
    }

    /// Compares one field. A field that is not expected is not compared.
    fn compare(&mut self, what: &'static str, expected: Option<String>, found: String) {
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            self.add(what, expected, found);
        }
    }
}

#[cfg(test)]
#[path = "policy_test_tests.rs"]
mod tests;
