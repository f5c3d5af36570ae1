//! Every setting in which requirements can differ, in both directions, and the symmetry of the
//! comparison.

use super::*;
use crate::policy::samples::{
    asking, group, hours, noon, numbered, people, roles, subject, unconstrained,
};
use crate::policy::{
    AutoApprove, DelegationRule, Document, EscalationAction, EscalationStep, Exempt, requirement,
};
use crate::risk::Score;
use crate::timeouts::ApprovalTimeouts;
use proptest::collection::vec;
use proptest::prelude::*;

fn of(document: Document) -> Requirement {
    requirement(&numbered(vec![document]), &subject(), noon(), &ApprovalTimeouts::default())
}

fn clause(below: u8) -> AutoApprove {
    AutoApprove { risk_below: Some(Score::new(below)), ..AutoApprove::default() }
}

fn widening(after: u64, names: &[&str], numbers: &[u128]) -> Vec<EscalationStep> {
    vec![EscalationStep {
        after: hours(after),
        action: EscalationAction::Widen { roles: roles(names), people: people(numbers) },
    }]
}

fn base() -> Document {
    Document {
        require: vec![group(&["dba"], &[], 2)],
        reject_threshold: 2,
        auto_approve_if: Some(clause(41)),
        escalation: widening(4, &["sre"], &[1]),
        role_age_min: Some(hours(2)),
        exempt: Exempt { roles: roles(&["guest"]), people: people(&[3]) },
        ..asking("base")
    }
}

/// Each differs from the base in one setting, in which it is stricter.
fn stricter() -> Vec<Document> {
    vec![
        Document { require: vec![group(&["dba"], &[], 3)], ..base() },
        Document { require: vec![group(&["dba"], &[], 2), group(&["sre"], &[], 1)], ..base() },
        Document { reject_threshold: 1, ..base() },
        Document { auto_approve_if: Some(clause(40)), ..base() },
        Document { auto_approve_if: None, ..base() },
        Document { respond_within: Some(hours(47)), ..base() },
        Document { approval_valid_for: hours(167), ..base() },
        Document { delegation: DelegationRule::Forbidden, ..base() },
        Document { role_age_min: Some(hours(3)), ..base() },
        Document { escalation: Vec::new(), ..base() },
        Document { escalation: widening(5, &["sre"], &[1]), ..base() },
        Document { escalation: widening(4, &["sre"], &[]), ..base() },
        Document { escalation: widening(4, &["dba"], &[1]), ..base() },
        Document {
            exempt: Exempt { roles: roles(&["guest", "trainee"]), people: people(&[3]) },
            ..base()
        },
        Document { exempt: Exempt { roles: roles(&["guest"]), people: people(&[3, 4]) }, ..base() },
    ]
}

#[test]
fn strictness_compares_every_setting_both_ways() {
    for document in stricter() {
        let shown = format!("{document:?}");
        let (old, new) = (of(base()), of(document));
        assert_eq!(compare(&old, &new), Strictness::Stricter, "{shown}");
        assert_eq!(compare(&new, &old), Strictness::Looser, "{shown}");
    }
}

#[test]
fn strictness_in_both_directions_is_mixed() {
    let lax = Document { approval_valid_for: hours(169), ..base() };
    for document in stricter() {
        if document.approval_valid_for != base().approval_valid_for {
            continue;
        }
        let (old, new) = (of(lax.clone()), of(base()));
        assert_eq!(compare(&old, &new), Strictness::Stricter);
        let both = Document { approval_valid_for: hours(169), ..document };
        assert_eq!(compare(&of(base()), &of(both)), Strictness::Mixed);
    }
    let two = |first: &[&str], second: u32| Document {
        require: vec![group(first, &[], second)],
        ..base()
    };
    assert_eq!(
        compare(&of(two(&["dba"], 1)), &of(two(&["sre"], 1))),
        Strictness::Mixed,
        "another audience"
    );
    let exempt = |names: &[&str]| Document {
        exempt: Exempt { roles: roles(names), people: people(&[]) },
        ..base()
    };
    assert_eq!(compare(&of(exempt(&["a"])), &of(exempt(&["b"]))), Strictness::Mixed);
}

#[test]
fn strictness_ignores_notification_recipients() {
    let telling = Document {
        name: "another".to_owned(),
        escalation: vec![EscalationStep {
            after: hours(1),
            action: EscalationAction::Notify { roles: roles(&["on-call"]), people: people(&[]) },
        }],
        ..asking("base")
    };
    assert_eq!(compare(&of(asking("base")), &of(telling)), Strictness::Same);
}

fn flipped(answer: Strictness) -> Strictness {
    match answer {
        Strictness::Same => Strictness::Same,
        Strictness::Stricter => Strictness::Looser,
        Strictness::Looser => Strictness::Stricter,
        Strictness::Mixed => Strictness::Mixed,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn strictness_comparison_is_antisymmetric(
        old in vec(unconstrained(), 0..3),
        new in vec(unconstrained(), 0..3),
    ) {
        let old = requirement(&numbered(old), &subject(), noon(), &ApprovalTimeouts::default());
        let new = requirement(&numbered(new), &subject(), noon(), &ApprovalTimeouts::default());
        prop_assert_eq!(compare(&new, &old), flipped(compare(&old, &new)));
        prop_assert_eq!(compare(&old, &old), Strictness::Same);
    }
}
