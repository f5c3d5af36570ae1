//! Compares two versions of a policy for every task, whatever its risk, time and author. Replays
//! show what a version means for the tasks of the last days; this comparison covers all others.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::RuleFinding;
use crate::change::Origin;
use crate::ids::PolicyId;
use crate::limits::REQUIREMENT_ESCALATION_STEPS_MAX;
use crate::policy::{
    AuthorKind, AutoApprove, Document, EscalationAction, EscalationStep, Match, Pattern, Policy,
    Strictness, Subject, compare, merge,
};
use crate::risk::Score;
use crate::timeouts::ApprovalTimeouts;

/// Compares a version of a policy with its predecessor, beside the other policies in force.
pub fn compare_versions(
    old: Option<&Document>,
    new: &Document,
    others: &[&Document],
    timeouts: ApprovalTimeouts,
) -> Vec<RuleFinding> {
    let name = &new.name;
    let finding = |verdict, what: &str| {
        (verdict != Strictness::Same)
            .then(|| RuleFinding::new(verdict, format!("the policy {name} {what}")))
    };
    let found = match (old.filter(|old| old.enabled), new.enabled) {
        (None, false) => vec![],
        (None, true) => vec![finding(added(new, others, timeouts), "applies to its first tasks")],
        (Some(old), false) => {
            vec![finding(removed(old, others, timeouts), "no longer applies to any task")]
        }
        (Some(old), true) => {
            let (extent, tasks) = match extent(&old.matching, &new.matching) {
                Some(Ordering::Equal) => (Strictness::Same, ""),
                Some(Ordering::Greater) => {
                    (added(new, others, timeouts), "applies to further tasks")
                }
                Some(Ordering::Less) => (removed(old, others, timeouts), "applies to fewer tasks"),
                None => (Strictness::Mixed, "applies to other tasks"),
            };
            let need = requirements(Some(old), new, timeouts).and(escalation(old, new, others));
            let passing = clauses(old.auto_approve_if.as_ref(), new.auto_approve_if.as_ref());
            vec![
                finding(extent, tasks),
                finding(need, needing(need)),
                finding(passing, passed(passing)),
            ]
        }
    };
    found.into_iter().flatten().collect()
}

const fn needing(verdict: Strictness) -> &'static str {
    match verdict {
        Strictness::Same => "requires the same",
        Strictness::Stricter => "is stricter about its tasks",
        Strictness::Looser => "is less strict about its tasks",
        Strictness::Mixed => "has requirements that cannot be compared with its former ones",
    }
}

const fn passed(verdict: Strictness) -> &'static str {
    match verdict {
        Strictness::Same => "lets the same tasks pass without a person",
        Strictness::Stricter => "lets fewer tasks pass without a person",
        Strictness::Looser => "lets further tasks pass without a person",
        Strictness::Mixed => "lets other tasks pass without a person",
    }
}

/// A further policy of a task makes it stricter. For a task that no other policy matches, it
/// replaces the default reviewers.
fn added(new: &Document, others: &[&Document], timeouts: ApprovalTimeouts) -> Strictness {
    let covers = |other: &&Document| {
        let extent = extent(&new.matching, &other.matching);
        other.enabled && matches!(extent, Some(Ordering::Equal | Ordering::Greater))
    };
    if others.iter().any(covers) {
        return Strictness::Stricter;
    }
    let passing = clauses(None, new.auto_approve_if.as_ref());
    Strictness::Stricter.and(requirements(None, new, timeouts)).and(passing)
}

fn removed(old: &Document, others: &[&Document], timeouts: ApprovalTimeouts) -> Strictness {
    match added(old, others, timeouts) {
        Strictness::Stricter => Strictness::Looser,
        Strictness::Same | Strictness::Looser | Strictness::Mixed => Strictness::Mixed,
    }
}

/// Compares what the documents require of a task that no other policy matches, apart from their
/// clauses. `None` stands for the default reviewers.
fn requirements(old: Option<&Document>, new: &Document, timeouts: ApprovalTimeouts) -> Strictness {
    let subject = Subject {
        task_type: String::new(),
        resources: BTreeSet::new(),
        tags: BTreeSet::new(),
        risk: Score::MAX,
        author_kind: AuthorKind::User,
        author_roles: BTreeSet::new(),
        origin: Origin::Declared,
    };
    let requirement = |document: Option<&Document>| {
        let policy = document.map(|document| Policy {
            id: PolicyId::from_u128(0),
            version: 1,
            document: Document { auto_approve_if: None, ..document.clone() },
        });
        let matched: Vec<&Policy> = policy.iter().collect();
        merge(&matched, &subject, &timeouts)
    };
    compare(&requirement(old), &requirement(Some(new)))
}

/// Compares the steps as far as other policies of the same task matter: a step widens a group that
/// several policies ask for only if all of them have it, and only the first steps count.
fn escalation(old: &Document, new: &Document, others: &[&Document]) -> Strictness {
    let widening = |document: &Document| -> BTreeSet<EscalationStep> {
        let is_widening =
            |step: &&EscalationStep| matches!(step.action, EscalationAction::Widen { .. });
        document.escalation.iter().filter(is_widening).cloned().collect()
    };
    let steps = others.iter().map(|other| other.escalation.len()).sum::<usize>();
    let is_cut = steps + old.escalation.len() > REQUIREMENT_ESCALATION_STEPS_MAX;
    if !widening(new).is_subset(&widening(old)) {
        Strictness::Looser
    } else if is_cut && old.escalation != new.escalation {
        Strictness::Mixed
    } else {
        Strictness::Same
    }
}

/// Compares which tasks pass without a person.
fn clauses(old: Option<&AutoApprove>, new: Option<&AutoApprove>) -> Strictness {
    let effective = |clause: &&AutoApprove| clause.has_condition();
    let (old, new) = match (old.filter(effective), new.filter(effective)) {
        (None, None) => return Strictness::Same,
        (None, Some(_)) => return Strictness::Looser,
        (Some(_), None) => return Strictness::Stricter,
        (Some(old), Some(new)) => (old, new),
    };
    let below = |clause: &AutoApprove| clause.risk_below.map_or(u8::MAX, Score::points);
    let conditions = [
        Some(below(new).cmp(&below(old))),
        of_sets(&old.author_has_role, &new.author_has_role),
        of_patterns(&old.resources_in_scope, &new.resources_in_scope),
        Some(new.accept_declared_effect.cmp(&old.accept_declared_effect)),
    ];
    match conditions.into_iter().fold(Some(Ordering::Equal), both) {
        Some(Ordering::Less) => Strictness::Stricter,
        Some(Ordering::Equal) => Strictness::Same,
        Some(Ordering::Greater) => Strictness::Looser,
        None => Strictness::Mixed,
    }
}

/// Compares which tasks the policies match: `Greater` if the new one matches all that the old one
/// does and more, `None` if each matches some that the other does not.
fn extent(old: &Match, new: &Match) -> Option<Ordering> {
    let Match { task_types, resource_patterns, tags, risk_at_least, author_kind, hours } = new;
    [
        of_patterns(&old.task_types, task_types),
        of_patterns(&old.resource_patterns, resource_patterns),
        of_sets(&old.tags, tags),
        // Without a bound, every risk matches; it is less than any bound.
        Some(old.risk_at_least.cmp(risk_at_least)),
        of_choices(old.author_kind.as_ref(), author_kind.as_ref()),
        of_choices(old.hours.as_ref(), hours.as_ref()),
    ]
    .into_iter()
    .fold(Some(Ordering::Equal), both)
}

/// Combines the extents of two conditions, both of which must hold.
fn both(one: Option<Ordering>, other: Option<Ordering>) -> Option<Ordering> {
    match (one?, other?) {
        (Ordering::Equal, extent) | (extent, Ordering::Equal) => Some(extent),
        (one, other) => (one == other).then_some(one),
    }
}

fn of_patterns(old: &[Pattern], new: &[Pattern]) -> Option<Ordering> {
    let texts = |patterns: &[Pattern]| -> BTreeSet<String> {
        patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect()
    };
    of_sets(&texts(old), &texts(new))
}

/// Compares conditions that one of several values meets; an empty one always holds.
fn of_sets<T: Ord>(old: &BTreeSet<T>, new: &BTreeSet<T>) -> Option<Ordering> {
    let covers = |one: &BTreeSet<T>, other: &BTreeSet<T>| {
        one.is_empty() || (!other.is_empty() && other.is_subset(one))
    };
    match (covers(old, new), covers(new, old)) {
        (true, true) => Some(Ordering::Equal),
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        (false, false) => None,
    }
}

/// Compares conditions that one value meets; without one, the condition always holds.
fn of_choices<T: PartialEq>(old: Option<&T>, new: Option<&T>) -> Option<Ordering> {
    match (old, new) {
        (old, new) if old == new => Some(Ordering::Equal),
        (None, _) => Some(Ordering::Less),
        (_, None) => Some(Ordering::Greater),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
#[path = "policies_tests.rs"]
mod tests;
