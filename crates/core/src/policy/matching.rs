//! Selects the policies that apply to a task. A disabled policy never applies.

use super::document::Match;
use super::{Policy, Subject};
use crate::time::Timestamp;

pub fn matching<'a>(policies: &'a [Policy], subject: &Subject, now: Timestamp) -> Vec<&'a Policy> {
    policies
        .iter()
        .filter(|policy| policy.document.enabled)
        .filter(|policy| policy.document.matching.holds(subject, now))
        .collect()
}

impl Match {
    /// Returns whether the task matches. An empty field matches everything; all given fields must
    /// match.
    pub fn holds(&self, subject: &Subject, now: Timestamp) -> bool {
        self.type_holds(subject)
            && self.resources_hold(subject)
            && (self.tags.is_empty() || !self.tags.is_disjoint(&subject.tags))
            && self.risk_at_least.is_none_or(|least| subject.risk >= least)
            && self.author_kind.is_none_or(|kind| subject.author_kind == kind)
            && self.hours.as_ref().is_none_or(|hours| hours.holds(now))
    }

    fn type_holds(&self, subject: &Subject) -> bool {
        self.task_types.is_empty()
            || self.task_types.iter().any(|pattern| pattern.matches_text(&subject.task_type))
    }

    fn resources_hold(&self, subject: &Subject) -> bool {
        let meets_one = |resource| {
            self.resource_patterns.iter().any(|pattern| pattern.matches_resource(resource))
        };
        self.resource_patterns.is_empty() || subject.resources.iter().any(meets_one)
    }
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
