//! Merging by table and by property; the oracles count people and clauses policy by policy.

use super::*;
use crate::change::Origin;
use crate::policy::samples::{
    asking, group, hours, noon, numbered, people, policy, roles, subject, subjects, unconstrained,
};
use crate::policy::{AutoApprove, Exempt, Group, ReassignTo, Strictness, compare};
use crate::risk::Score;
use proptest::collection::vec;
use proptest::prelude::*;

fn asked(policies: &[Policy], subject: &Subject) -> Requirement {
    requirement(policies, subject, noon(), &ApprovalTimeouts::default())
}

fn merged(documents: Vec<Document>) -> Requirement {
    asked(&numbered(documents), &subject())
}

fn reference(number: u128) -> PolicyRef {
    policy(number, asking("any")).reference()
}

fn need(names: &[&str], numbers: &[u128], min: u32, asked_by: &[u128]) -> GroupNeed {
    GroupNeed {
        roles: roles(names),
        people: people(numbers),
        min,
        asked_by: asked_by.iter().map(|number| reference(*number)).collect(),
    }
}

fn widen(after: u64, names: &[&str], numbers: &[u128]) -> EscalationStep {
    EscalationStep {
        after: hours(after),
        action: EscalationAction::Widen { roles: roles(names), people: people(numbers) },
    }
}

#[test]
fn requirement_without_a_policy_asks_default_reviewers() {
    let expected = Requirement {
        groups: vec![need(&["admin", "reviewer"], &[], 1, &[])],
        reject_threshold: 1,
        respond_within: hours(48),
        approval_valid_for: hours(168),
        escalation: Vec::new(),
        escalation_asked_by: Vec::new(),
        delegation: DelegationRule::Allowed,
        role_age_min: None,
        exempt_people: BTreeSet::new(),
        exempt_roles: BTreeSet::new(),
        auto_approve: AutoApproval::Never,
        policies: Vec::new(),
    };
    assert_eq!(merged(Vec::new()), expected);
    let off = Document { enabled: false, reject_threshold: 9, ..asking("off") };
    assert_eq!(merged(vec![off]), expected);
}

#[test]
fn requirement_of_an_empty_policy_asks_default_reviewers() {
    let silent = merged(vec![Document::named("silent")]);
    assert_eq!(silent.groups, [need(&["admin", "reviewer"], &[], 1, &[0])]);
    assert_eq!(silent.auto_approve, AutoApproval::Never);
    let clause = Document {
        auto_approve_if: Some(AutoApprove {
            risk_below: Some(Score::new(41)),
            ..AutoApprove::default()
        }),
        ..Document::named("clause")
    };
    let beside = merged(vec![clause, asking("dba")]);
    let both = [need(&["admin", "reviewer"], &[], 1, &[0]), need(&["dba"], &[], 1, &[1])];
    assert_eq!(beside.groups, both);
}

#[test]
fn requirement_group_with_zero_still_asks_one() {
    let careless =
        Document { require: vec![group(&["dba"], &[], 0)], ..Document::named("careless") };
    assert_eq!(merged(vec![careless]).groups, [need(&["dba"], &[], 1, &[0])]);
}

#[test]
fn requirement_merges_equal_groups_with_the_higher_min() {
    let asks = |groups: Vec<Group>| Document { require: groups, ..Document::named("asks") };
    let both = merged(vec![
        asks(vec![group(&["dba"], &[], 3), group(&["dba"], &[7], 1)]),
        asks(vec![group(&["dba"], &[], 2), group(&["dba", "sre"], &[], 1)]),
    ]);
    let expected = [
        need(&["dba"], &[], 3, &[0, 1]),
        need(&["dba"], &[7], 1, &[0]),
        need(&["dba", "sre"], &[], 1, &[1]),
    ];
    assert_eq!(both.groups, expected);
    assert_eq!(both.policies, [reference(0), reference(1)]);
}

#[test]
fn requirement_takes_the_strictest_of_each_setting() {
    let first = Document {
        reject_threshold: 3,
        respond_within: Some(hours(4)),
        approval_valid_for: hours(90),
        delegation: DelegationRule::Forbidden,
        role_age_min: Some(hours(2)),
        exempt: Exempt { roles: roles(&["trainee"]), people: people(&[1]) },
        ..asking("first")
    };
    let second = Document {
        reject_threshold: 2,
        respond_within: Some(hours(5)),
        approval_valid_for: hours(80),
        delegation: DelegationRule::Allowed,
        role_age_min: Some(hours(24)),
        exempt: Exempt { roles: roles(&["guest"]), people: people(&[2]) },
        ..asking("second")
    };
    let both = merged(vec![first, second]);
    assert_eq!(both.reject_threshold, 2);
    assert_eq!(both.respond_within, hours(4));
    assert_eq!(both.approval_valid_for, hours(80));
    assert_eq!(both.delegation, DelegationRule::Forbidden);
    assert_eq!(both.role_age_min, Some(hours(24)), "the longest");
    assert_eq!(both.in_words(), "1 of dba, by roles held for at least 1d");
    assert_eq!(both.exempt_roles, roles(&["guest", "trainee"]));
    assert_eq!(both.exempt_people, people(&[1, 2]));
    let allowed = merged(vec![asking("one")]);
    assert_eq!(allowed.delegation, DelegationRule::Allowed);
}

#[test]
fn requirement_steps_are_unique_and_sorted_by_time() {
    let manager =
        EscalationStep { after: hours(6), action: EscalationAction::Reassign(ReassignTo::Manager) };
    let with = |steps: Vec<EscalationStep>| Document { escalation: steps, ..asking("steps") };
    let both = merged(vec![
        with(vec![widen(8, &["sre"], &[])]),
        with(vec![manager.clone(), widen(8, &["sre"], &[])]),
        with(vec![widen(2, &["ops"], &[])]),
    ]);
    assert_eq!(both.escalation, [widen(2, &["ops"], &[]), manager, widen(8, &["sre"], &[])]);
    let asked_by = [
        BTreeSet::from([reference(2)]),
        BTreeSet::from([reference(1)]),
        BTreeSet::from([reference(0), reference(1)]),
    ];
    assert_eq!(both.escalation_asked_by, asked_by);
}

#[test]
fn requirement_keeps_the_earliest_escalation_steps() {
    let documents = (0..20_u64)
        .map(|number| Document {
            escalation: (1..=4).map(|step| widen(100 * step - number, &["sre"], &[])).collect(),
            ..asking("many")
        })
        .collect();
    let many = merged(documents);
    assert_eq!(many.escalation.len(), REQUIREMENT_ESCALATION_STEPS_MAX);
    assert_eq!(many.escalation_asked_by.len(), REQUIREMENT_ESCALATION_STEPS_MAX);
    assert_eq!(many.escalation[0].after, hours(81));
    // 20 of each hundred; the bound of 64 falls after four of the last.
    assert_eq!(many.escalation[63].after, hours(384));
}

#[test]
fn requirement_step_widens_only_its_own_policies() {
    let strict = Document {
        require: vec![group(&["dba"], &[], 2), group(&["owner"], &[], 1)],
        ..Document::named("strict")
    };
    let lax = Document {
        require: vec![group(&["dba"], &[], 1), group(&["reviewer"], &[], 1)],
        escalation: vec![widen(4, &["anyone"], &[5])],
        ..Document::named("lax")
    };
    let both = merged(vec![strict, lax]);
    let after = |names: &[&str], waited: u64| {
        let group = both.groups.iter().find(|group| group.roles == roles(names));
        both.audience_after(group.unwrap(), hours(waited))
    };
    let as_asked = |names: &[&str]| Audience { roles: roles(names), people: people(&[]) };
    let widened = Audience { roles: roles(&["anyone", "reviewer"]), people: people(&[5]) };
    assert_eq!(after(&["reviewer"], 3), as_asked(&["reviewer"]));
    assert_eq!(after(&["reviewer"], 4), widened, "a group of its own policy, exactly when due");
    assert_eq!(after(&["owner"], 99), as_asked(&["owner"]), "a group of another policy");
    assert_eq!(after(&["dba"], 99), as_asked(&["dba"]), "a group that both policies ask for");
}

#[test]
fn requirement_only_widening_admits_others() {
    let others = Document {
        escalation: vec![
            EscalationStep {
                after: hours(1),
                action: EscalationAction::Notify {
                    roles: roles(&["on-call"]),
                    people: people(&[4]),
                },
            },
            EscalationStep {
                after: hours(2),
                action: EscalationAction::Reassign(ReassignTo::Delegate),
            },
        ],
        ..asking("others")
    };
    let only = merged(vec![others]);
    let audience = only.audience_after(&only.groups[0], hours(9));
    assert_eq!((audience.roles, audience.people), (roles(&["dba"]), people(&[])));
}

/// Returns whether the people satisfy the groups, by plain counting.
fn enough(crowd: &[(UserId, BTreeSet<Role>)], asked: &Group) -> bool {
    let fits = crowd
        .iter()
        .filter(|(id, has)| {
            asked.people.contains(id) || has.iter().any(|r| asked.roles.contains(r))
        })
        .count();
    fits >= usize::try_from(asked.min).unwrap()
}

fn crowds() -> impl Strategy<Value = Vec<(UserId, BTreeSet<Role>)>> {
    let role = proptest::sample::select(&["dba", "sre", "on", "Domain Admins", "reviewer"][..]);
    let has = proptest::collection::btree_set(role.prop_map(Role::new), 0..=3);
    vec(has, 0..60).prop_map(|all| (0..).map(UserId::from_u128).zip(all).collect())
}

fn clause_holds(document: &Document, subject: &Subject) -> bool {
    document.auto_approve_if.as_ref().is_some_and(|clause| {
        (subject.origin == Origin::Observed || clause.accept_declared_effect)
            && clause.risk_below.is_none_or(|below| subject.risk < below)
            && (clause.author_has_role.is_empty()
                || clause.author_has_role.intersection(&subject.author_roles).count() > 0)
            && (clause.resources_in_scope.is_empty()
                || (!subject.resources.is_empty()
                    && subject.resources.iter().all(|resource| {
                        let scope = &clause.resources_in_scope;
                        scope.iter().any(|pattern| pattern.matches_resource(resource))
                    })))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The merged groups are met by exactly those people that meet every policy separately.
    #[test]
    fn requirement_is_met_iff_every_policy_is_met(
        documents in vec(unconstrained(), 1..5),
        crowd in crowds(),
    ) {
        let fallback = group(&["admin", "reviewer"], &[], 1);
        let each = documents.iter().all(|document| {
            let own = &document.require;
            own.iter().all(|asked| enough(&crowd, asked))
                && (!own.is_empty() || enough(&crowd, &fallback))
        });
        let whole = merged(documents).groups.iter().all(|need| {
            let asked = Group {
                roles: need.roles.clone(),
                people: need.people.clone(),
                min: need.min,
            };
            enough(&crowd, &asked)
        });
        prop_assert_eq!(whole, each);
    }

    #[test]
    fn requirement_auto_approval_needs_every_clause(
        documents in vec(unconstrained(), 0..4),
        subject in subjects(),
    ) {
        let each = !documents.is_empty()
            && documents.iter().all(|document| clause_holds(document, &subject));
        let policies = numbered(documents);
        let answer = asked(&policies, &subject).auto_approve;
        prop_assert_eq!(matches!(answer, AutoApproval::Allowed { .. }), each);
        if let AutoApproval::Allowed { clauses } = answer {
            prop_assert_eq!(clauses.len(), policies.len());
        }
    }

    /// If a policy matched before, another one removes no group and lowers no minimum, extends no
    /// period, weakens no rejection, readmits no exempt reviewer, admits no further person at any
    /// moment, and allows no auto-approval. (Without a match it replaces the default.)
    #[test]
    fn requirement_is_never_loosened_by_another_policy(
        documents in vec(unconstrained(), 1..4),
        another in unconstrained(),
        subject in subjects(),
    ) {
        let mut policies = numbered(documents);
        let before = asked(&policies, &subject);
        policies.push(policy(99, another));
        let after = asked(&policies, &subject);
        for group in &before.groups {
            let kept = after
                .groups
                .iter()
                .find(|kept| kept.roles == group.roles && kept.people == group.people);
            let Some(kept) = kept else {
                return Err(TestCaseError::fail(format!("{group:?} is gone")));
            };
            prop_assert!(kept.min >= group.min);
            for hour in 0..30 {
                let then = before.audience_after(group, hours(hour));
                let now = after.audience_after(kept, hours(hour));
                prop_assert!(now.roles.is_subset(&then.roles));
                prop_assert!(now.people.is_subset(&then.people));
            }
        }
        prop_assert!(after.reject_threshold <= before.reject_threshold);
        prop_assert!(after.respond_within <= before.respond_within);
        prop_assert!(after.approval_valid_for <= before.approval_valid_for);
        prop_assert!(after.delegation >= before.delegation);
        prop_assert!(after.role_age_min >= before.role_age_min);
        prop_assert!(after.exempt_people.is_superset(&before.exempt_people));
        prop_assert!(after.exempt_roles.is_superset(&before.exempt_roles));
        let allowed = |answer: &AutoApproval| matches!(answer, AutoApproval::Allowed { .. });
        prop_assert!(!allowed(&after.auto_approve) || allowed(&before.auto_approve));
        prop_assert!(matches!(
            compare(&before, &after),
            Strictness::Same | Strictness::Stricter
        ));
    }

    #[test]
    fn requirement_ignores_policy_order_and_repetition(
        documents in vec(unconstrained(), 0..4),
        subject in subjects(),
        turn in 0..4_usize,
    ) {
        let mut policies = numbered(documents);
        let expected = asked(&policies, &subject);
        let repeated: Vec<Policy> = policies.iter().chain(&policies).cloned().collect();
        prop_assert_eq!(&asked(&repeated, &subject), &expected);
        let turn = turn % policies.len().max(1);
        policies.rotate_left(turn);
        prop_assert_eq!(&asked(&policies, &subject), &expected);
        policies.reverse();
        prop_assert_eq!(&asked(&policies, &subject), &expected);
    }

    #[test]
    fn requirement_ignores_disabled_policies(
        documents in vec(unconstrained(), 0..4),
        off in unconstrained(),
    ) {
        let mut policies = numbered(documents);
        let expected = asked(&policies, &subject());
        policies.insert(0, policy(99, Document { enabled: false, ..off }));
        prop_assert_eq!(asked(&policies, &subject()), expected);
    }

    #[test]
    fn requirement_always_needs_an_approval(documents in vec(unconstrained(), 0..4)) {
        let groups = merged(documents).groups;
        prop_assert!(!groups.is_empty());
        for group in groups {
            prop_assert!(group.min >= 1);
            prop_assert!(!group.roles.is_empty() || !group.people.is_empty());
        }
    }
}
