//! Compares who can object to the pending changes that take effect without a second admin. Taking
//! an objector away while such a change is open would let its proposer wait without opposition.

use std::collections::{BTreeMap, BTreeSet};

use super::RuleFinding;
use crate::ids::{PendingChangeId, UserId};
use crate::policy::Strictness;

/// A reason why a person who may object to a pending change might not be able to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectionObstacle {
    pub change: PendingChangeId,
    pub person: UserId,
    pub kind: ObstacleKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObstacleKind {
    /// The account of the person is not active.
    Inactive,
    /// This account is linked to the account of the person, or has its mail address. A sign-in is
    /// refused if there are too many of them.
    SharedWith(UserId),
}

/// Returns the obstacles that a change adds.
pub fn compare_objections(
    old: &BTreeSet<ObjectionObstacle>,
    new: &BTreeSet<ObjectionObstacle>,
    names: &BTreeMap<UserId, String>,
) -> Vec<RuleFinding> {
    // Several accounts that are shared with one person are one consequence.
    let added: BTreeSet<_> = new
        .difference(old)
        .map(|obstacle| {
            let is_inactive = obstacle.kind == ObstacleKind::Inactive;
            (obstacle.change, obstacle.person, is_inactive)
        })
        .collect();
    let finding = |(change, person, is_inactive): (PendingChangeId, UserId, bool)| {
        let name = names.get(&person).cloned().unwrap_or_else(|| person.to_string());
        let sentence = if is_inactive {
            format!("{name} could no longer object to pending change {change}")
        } else {
            format!(
                "{name} might no longer be able to sign in and object to pending change {change}"
            )
        };
        let finding = RuleFinding::new(Strictness::Looser, sentence);
        RuleFinding { concerns: Some(change), ..finding }
    };
    added.into_iter().map(finding).collect()
}

/// Returns the findings without those about pending changes that are not open any more.
pub fn still_relevant(
    findings: &[RuleFinding],
    open: &BTreeSet<PendingChangeId>,
) -> Vec<RuleFinding> {
    let is_relevant =
        |finding: &&RuleFinding| finding.concerns.is_none_or(|change| open.contains(&change));
    findings.iter().filter(is_relevant).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn change(number: u128) -> PendingChangeId {
        PendingChangeId::from_u128(number)
    }

    const fn obstacle(number: u128, person: u128, kind: ObstacleKind) -> ObjectionObstacle {
        ObjectionObstacle { change: change(number), person: UserId::from_u128(person), kind }
    }

    #[test]
    fn objections_that_are_lost_are_looser_and_name_the_change() {
        let names = BTreeMap::from([(UserId::from_u128(2), "Rea".to_owned())]);
        let shared = |other| ObstacleKind::SharedWith(UserId::from_u128(other));
        let old = BTreeSet::from([obstacle(1, 3, ObstacleKind::Inactive)]);
        let mut new = old.clone();
        new.extend([
            obstacle(1, 2, ObstacleKind::Inactive),
            obstacle(5, 2, shared(7)),
            obstacle(5, 2, shared(8)),
        ]);
        let found = compare_objections(&old, &new, &names);
        let expected = [
            format!("Rea could no longer object to pending change {}", change(1)),
            format!(
                "Rea might no longer be able to sign in and object to pending change {}",
                change(5)
            ),
        ];
        let sentences: Vec<_> = found.iter().map(|finding| finding.sentence.clone()).collect();
        assert_eq!(sentences, expected);
        assert!(found.iter().all(|finding| finding.verdict == Strictness::Looser));
        assert_eq!(found[0].concerns, Some(change(1)));
        assert_eq!(compare_objections(&new, &old, &names), [], "what ends is no consequence");
    }

    #[test]
    fn objections_to_closed_changes_are_irrelevant() {
        let about = |sentence: &str, concerns| {
            let finding = RuleFinding::new(Strictness::Looser, sentence);
            RuleFinding { concerns, ..finding }
        };
        let findings = [about("a", None), about("b", Some(change(1))), about("c", Some(change(2)))];
        let left = still_relevant(&findings, &BTreeSet::from([change(2)]));
        assert_eq!(left, [findings[0].clone(), findings[2].clone()]);
    }
}
