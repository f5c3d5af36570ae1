//! The comparison of versions: single changes with their verdicts, and against requirements of
//! random tasks beside random other policies.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::samples::{
    asking, documents, group, hours, noon, numbered, people, roles, subject, subjects,
    unconstrained,
};
use crate::policy::{DelegationRule, Exempt, requirement};
use crate::rule_change::overall;

fn findings(old: Option<&Document>, new: &Document, others: &[&Document]) -> Vec<RuleFinding> {
    compare_versions(old, new, others, ApprovalTimeouts::default())
}

fn verdict(old: Option<&Document>, new: &Document, others: &[&Document]) -> Strictness {
    overall(&findings(old, new, others))
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).unwrap()
}

fn base() -> Document {
    let matching = Match {
        task_types: vec![pattern("db.*")],
        risk_at_least: Some(Score::new(30)),
        ..Match::default()
    };
    Document {
        matching,
        require: vec![group(&["dba"], &[], 2)],
        auto_approve_if: Some(clause(40)),
        ..Document::named("databases")
    }
}

fn clause(below: u8) -> AutoApprove {
    let resources_in_scope = vec![pattern("database:a-*"), pattern("database:b-*")];
    AutoApprove {
        risk_below: Some(Score::new(below)),
        resources_in_scope,
        ..AutoApprove::default()
    }
}

/// Every task is matched by this policy.
fn catch_all() -> Document {
    asking("all")
}

#[test]
fn policy_version_is_compared_in_every_respect() {
    let matching = |change: fn(&mut Match)| {
        let mut document = base();
        change(&mut document.matching);
        document
    };
    let clause_of = |change: fn(&mut AutoApprove)| {
        let mut new = clause(40);
        change(&mut new);
        Document { auto_approve_if: Some(new), ..base() }
    };
    let stricter = [
        Document { require: vec![group(&["dba"], &[], 3)], ..base() },
        Document { auto_approve_if: None, ..base() },
        Document { auto_approve_if: Some(clause(39)), ..base() },
        clause_of(|clause| clause.author_has_role = roles(&["dba"])),
        clause_of(|clause| clause.resources_in_scope.truncate(1)),
        Document { delegation: DelegationRule::Forbidden, ..base() },
        matching(|matching| matching.task_types.clear()),
        matching(|matching| matching.task_types.push(pattern("sql.*"))),
        matching(|matching| matching.risk_at_least = Some(Score::new(29))),
        matching(|matching| matching.risk_at_least = None),
    ];
    let all = catch_all();
    for new in stricter {
        let found = findings(Some(&base()), &new, &[&all]);
        assert_eq!(overall(&found), Strictness::Stricter, "{new:?}");
        let back = verdict(Some(&new), &base(), &[&all]);
        assert_eq!(back, Strictness::Looser, "{new:?}");
    }
    let other = matching(|matching| matching.task_types = vec![pattern("sql.*")]);
    assert_eq!(verdict(Some(&base()), &other, &[&all]), Strictness::Mixed);
    let both = Document { require: vec![group(&["dba"], &[], 1)], ..base() };
    let both = Document { auto_approve_if: None, ..both };
    assert_eq!(verdict(Some(&base()), &both, &[&all]), Strictness::Mixed);
    assert_eq!(findings(Some(&base()), &base(), &[&all]), []);
}

#[test]
fn policy_version_without_others_replaces_the_default() {
    let new = asking("databases");
    let found = findings(None, &new, &[]);
    assert_eq!(overall(&found), Strictness::Mixed, "another audience");
    assert_eq!(found[0].sentence, "the policy databases applies to its first tasks");
    let two = Document { require: vec![group(&["reviewer", "admin"], &[], 2)], ..new.clone() };
    assert_eq!(verdict(None, &two, &[]), Strictness::Stricter, "the default audience, twice");
    let slow = Document { reject_threshold: 2, ..two.clone() };
    assert_eq!(verdict(None, &slow, &[]), Strictness::Mixed);
    assert_eq!(verdict(None, &new, &[&catch_all()]), Strictness::Stricter);
    let off = Document { enabled: false, ..catch_all() };
    assert_eq!(verdict(None, &new, &[&off]), Strictness::Mixed);
    let passing = Document { auto_approve_if: Some(clause(40)), ..two };
    assert_eq!(verdict(None, &passing, &[]), Strictness::Mixed);
    assert_eq!(verdict(None, &passing, &[&catch_all()]), Strictness::Stricter);
}

#[test]
fn policy_version_that_is_disabled_is_a_removal() {
    let off = Document { enabled: false, ..base() };
    assert_eq!(verdict(Some(&base()), &off, &[&catch_all()]), Strictness::Looser);
    assert_eq!(verdict(Some(&base()), &off, &[]), Strictness::Mixed);
    assert_eq!(verdict(Some(&off), &base(), &[&catch_all()]), Strictness::Stricter);
    assert_eq!(findings(Some(&off), &off, &[]), []);
    assert_eq!(findings(None, &off, &[]), []);
}

#[test]
fn policy_version_that_widens_like_another_is_looser() {
    let widen = |after: u64| EscalationStep {
        after: hours(after),
        action: EscalationAction::Widen { roles: roles(&["sre"]), people: people(&[]) },
    };
    let old = Document { escalation: vec![widen(1)], ..asking("one") };
    let new = Document { escalation: vec![widen(1), widen(2)], ..old.clone() };
    let other = Document { escalation: vec![widen(2)], ..asking("other") };
    assert_eq!(verdict(Some(&old), &new, &[&other]), Strictness::Looser);
}

/// Makes a document stricter, the same or different in one respect, so that many random pairs are
/// comparable.
fn changed(mut document: Document, how: u8, from: Document) -> Document {
    match how {
        0 => document.require = from.require,
        1 => document.require.iter_mut().for_each(|group| group.min += 1),
        2 => document.auto_approve_if = None,
        3 => document.auto_approve_if = from.auto_approve_if,
        4 => document.respond_within = from.respond_within,
        5 => document.approval_valid_for /= 2,
        6 => document.delegation = DelegationRule::Forbidden,
        7 => document.escalation.truncate(1),
        8 => document.escalation = from.escalation,
        9 => {
            let Exempt { roles, people } = from.exempt;
            document.exempt.roles.extend(roles);
            document.exempt.people.extend(people);
        }
        10 => document.matching = from.matching,
        11 => document.matching.task_types.extend(from.matching.task_types),
        12 => document.matching.hours = None,
        13 => document.matching.tags.clear(),
        14 => document.matching.risk_at_least = None,
        15 => document.reject_threshold = 1,
        16 => document.role_age_min = from.role_age_min,
        _ => document.enabled = from.enabled,
    }
    document
}

fn is_looser(verdict: Strictness) -> bool {
    !crate::rule_change::is_at_least_as_strict(verdict)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn policy_version_at_least_as_strict_is_so_for_every_task(
        old in prop_oneof![documents(), unconstrained()],
        from in documents(),
        hows in vec(0..18_u8, 1..4),
        others in vec(prop_oneof![unconstrained(), documents()], 0..3),
        subjects in vec(subjects(), 1..6),
        exists in any::<bool>(),
    ) {
        let new = hows.into_iter().fold(old.clone(), |new, how| changed(new, how, from.clone()));
        let before = exists.then_some(&old);
        let others: Vec<&Document> = others.iter().collect();
        if !is_looser(verdict(before, &new, &others)) {
            let timeouts = ApprovalTimeouts::default();
            let with = |version: Option<&Document>| {
                let all = others.iter().copied().chain(version).cloned().collect();
                numbered(all)
            };
            let (was, is) = (with(before), with(Some(&new)));
            for subject in subjects.iter().chain([&subject()]) {
                let need = |policies: &[Policy]| requirement(policies, subject, noon(), &timeouts);
                let (was, is) = (need(&was), need(&is));
                prop_assert!(!is_looser(compare(&was, &is)), "{was:?}\n{is:?}");
            }
        }
    }
}
