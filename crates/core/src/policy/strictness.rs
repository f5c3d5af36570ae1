//! Compares how strict two requirements are; a what-if shows the result before a policy is
//! published. The comparison is cautious: groups are compared by their audience, so replacing one
//! audience by another is `Mixed`, even where a person would call it narrower.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::clause::AutoApproval;
use super::requirement::{GroupNeed, Requirement};

/// How the new requirement compares to the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    Same,
    Stricter,
    Looser,
    /// Stricter in one respect and looser in another.
    Mixed,
}

impl Strictness {
    fn of(order: Ordering) -> Self {
        match order {
            Ordering::Less => Self::Looser,
            Ordering::Equal => Self::Same,
            Ordering::Greater => Self::Stricter,
        }
    }

    /// Combines two comparisons of the same two sets of rules.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same, other) => other,
            (one, Self::Same) => one,
            (Self::Stricter, Self::Stricter) => Self::Stricter,
            (Self::Looser, Self::Looser) => Self::Looser,
            (Self::Stricter | Self::Looser | Self::Mixed, _) => Self::Mixed,
        }
    }

    /// Compares two sets; more elements are stricter.
    fn of_sets<T: Ord>(old: &BTreeSet<T>, new: &BTreeSet<T>) -> Self {
        match (old.is_subset(new), new.is_subset(old)) {
            (true, true) => Self::Same,
            (true, false) => Self::Stricter,
            (false, true) => Self::Looser,
            (false, false) => Self::Mixed,
        }
    }
}

/// Compares only what is needed for an approval; notifications and policy names do not matter.
pub fn compare(old: &Requirement, new: &Requirement) -> Strictness {
    let shorter = |old: &_, new: &_| Strictness::of(Ord::cmp(old, new));
    [
        groups(old, new),
        Strictness::of(old.reject_threshold.cmp(&new.reject_threshold)),
        shorter(&old.respond_within, &new.respond_within),
        shorter(&old.approval_valid_for, &new.approval_valid_for),
        Strictness::of(new.delegation.cmp(&old.delegation)),
        Strictness::of(new.role_age_min.cmp(&old.role_age_min)),
        Strictness::of_sets(&old.exempt_people, &new.exempt_people),
        Strictness::of_sets(&old.exempt_roles, &new.exempt_roles),
        Strictness::of(needs_people(new).cmp(&needs_people(old))),
    ]
    .into_iter()
    .fold(Strictness::Same, Strictness::and)
}

fn needs_people(requirement: &Requirement) -> bool {
    match requirement.auto_approve {
        AutoApproval::Allowed { .. } => false,
        AutoApproval::Never | AutoApproval::Refused { .. } => true,
    }
}

fn groups(old: &Requirement, new: &Requirement) -> Strictness {
    let kept = old.groups.iter().filter_map(|before| {
        let after = same_audience(&new.groups, before)?;
        let min = Strictness::of(after.min.cmp(&before.min));
        Some(min.and(widening(old, before, new, after)))
    });
    let dropped = old.groups.iter().any(|group| same_audience(&new.groups, group).is_none());
    let added = new.groups.iter().any(|group| same_audience(&old.groups, group).is_none());
    kept.fold(Strictness::Same, Strictness::and)
        .and(if dropped { Strictness::Looser } else { Strictness::Same })
        .and(if added { Strictness::Stricter } else { Strictness::Same })
}

fn same_audience<'a>(groups: &'a [GroupNeed], wanted: &GroupNeed) -> Option<&'a GroupNeed> {
    groups.iter().find(|group| group.roles == wanted.roles && group.people == wanted.people)
}

/// Compares at every moment at which either requirement changes: admitting more people is looser.
fn widening(
    old: &Requirement,
    before: &GroupNeed,
    new: &Requirement,
    after: &GroupNeed,
) -> Strictness {
    old.escalation
        .iter()
        .chain(&new.escalation)
        .map(|step| {
            let then = old.audience_after(before, step.after);
            let now = new.audience_after(after, step.after);
            Strictness::of_sets(&now.roles, &then.roles)
                .and(Strictness::of_sets(&now.people, &then.people))
        })
        .fold(Strictness::Same, Strictness::and)
}

#[cfg(test)]
#[path = "strictness_tests.rs"]
mod tests;
