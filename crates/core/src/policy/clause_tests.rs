//! Each condition of a clause on its own, at its boundary, and clauses of several policies.

use super::*;
use crate::policy::samples::{asking, policy, roles, subject};
use crate::policy::{Document, Pattern};

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(text).unwrap()).collect()
}

fn below(points: u8) -> AutoApprove {
    AutoApprove { risk_below: Some(Score::new(points)), ..AutoApprove::default() }
}

fn resource(text: &str) -> ResourceRef {
    text.parse().unwrap()
}

#[test]
fn auto_approve_clause_needs_risk_below_the_bound() {
    assert_eq!(below(41).failures(&subject()), []);
    for bound in [40, 39] {
        let failed =
            FailedCondition::RiskNotBelow { risk: Score::new(40), below: Score::new(bound) };
        assert_eq!(below(bound).failures(&subject()), [failed]);
    }
}

#[test]
fn auto_approve_clause_needs_one_of_the_roles() {
    let clause =
        |names: &[&str]| AutoApprove { author_has_role: roles(names), ..AutoApprove::default() };
    assert_eq!(clause(&["dba", "sre"]).failures(&subject()), []);
    let failed = clause(&["ops", "sre"]).failures(&subject());
    assert_eq!(failed, [FailedCondition::AuthorLacksRole { wanted: roles(&["ops", "sre"]) }]);
    assert_eq!(failed[0].to_string(), "the author has none of the roles ops, sre");
}

#[test]
fn auto_approve_clause_needs_every_resource_in_scope() {
    let clause = |globs: &[&str]| AutoApprove {
        resources_in_scope: patterns(globs),
        ..AutoApprove::default()
    };
    assert_eq!(clause(&["database:prod-*", "cache:**"]).failures(&subject()), []);
    let failed = clause(&["database:prod-*"]).failures(&subject());
    let outside =
        FailedCondition::OutOfScope { resources: BTreeSet::from([resource("cache:eu/x")]) };
    assert_eq!(failed, [outside]);
    assert_eq!(failed[0].to_string(), "cache:eu/x not in the policy's scope");
    let mut nothing = subject();
    nothing.resources.clear();
    assert_eq!(clause(&["**"]).failures(&nothing), [FailedCondition::NoResource]);
    assert_eq!(below(41).failures(&nothing), [], "without a scope, resources are not checked");
}

#[test]
fn auto_approve_clause_refuses_declared_effects_by_default() {
    let mut declared = subject();
    declared.origin = Origin::Declared;
    assert_eq!(below(41).failures(&declared), [FailedCondition::EffectDeclared]);
    let accepting = AutoApprove { accept_declared_effect: true, ..below(41) };
    assert_eq!(accepting.failures(&declared), []);
    assert_eq!(accepting.failures(&subject()), []);
}

#[test]
fn auto_approve_clause_needs_a_real_condition() {
    let clause = AutoApprove { accept_declared_effect: true, ..AutoApprove::default() };
    assert_eq!(clause.failures(&subject()), [FailedCondition::NoCondition]);
}

#[test]
fn auto_approve_clause_names_every_failed_condition() {
    let clause = AutoApprove {
        risk_below: Some(Score::new(1)),
        author_has_role: roles(&["ops"]),
        resources_in_scope: patterns(&["queue:**"]),
        accept_declared_effect: false,
    };
    let mut declared = subject();
    declared.origin = Origin::Declared;
    assert_eq!(clause.failures(&declared).len(), 4);
}

fn judged(clauses: &[Option<AutoApprove>]) -> AutoApproval {
    let policies: Vec<Policy> = (1..)
        .zip(clauses)
        .map(|(number, clause)| {
            let document = Document { auto_approve_if: clause.clone(), ..asking("one") };
            policy(number, document)
        })
        .collect();
    judge(&policies.iter().collect::<Vec<_>>(), &subject())
}

fn reference(number: u128) -> PolicyRef {
    policy(number, asking("one")).reference()
}

#[test]
fn auto_approve_needs_a_clause_in_every_matching_policy() {
    assert_eq!(judged(&[]), AutoApproval::Never);
    assert_eq!(judged(&[None, None]), AutoApproval::Never);
    assert_eq!(
        judged(&[Some(below(41)), Some(below(50))]),
        AutoApproval::Allowed { clauses: vec![reference(1), reference(2)] }
    );
    let risk = FailedCondition::RiskNotBelow { risk: Score::new(40), below: Score::new(30) };
    let refused = judged(&[Some(below(30)), None, Some(below(41))]);
    let reasons = vec![
        AutoRefusal { policy: reference(1), condition: risk },
        AutoRefusal { policy: reference(2), condition: FailedCondition::NoClause },
    ];
    assert_eq!(refused, AutoApproval::Refused { reasons: reasons.clone() });
    assert_eq!(
        reasons[0].to_string(),
        "pol_00000000000000000000000001 version 1: the risk is 40, not below 30"
    );
}

#[test]
fn auto_approve_refusal_serializes_its_reasons() {
    let refused = judged(&[Some(below(30))]);
    let expected = concat!(
        r#"{"answer":"refused","reasons":[{"policy":{"id":"pol_00000000000000000000000001","#,
        r#""version":1},"condition":{"failed":"risk_not_below","risk":40,"below":30}}]}"#,
    );
    assert_eq!(serde_json::to_string(&refused).unwrap(), expected);
}

#[test]
fn auto_approve_widening_raises_a_risk_bound_only() {
    let floor = Score::new(30);
    let document = |clause: &str| {
        let text = format!("name: x\nrequire: [{{roles: [a]}}]\n{clause}");
        Document::parse_yaml(&text).unwrap()
    };
    let below = |clause: &str| {
        let clause = document(clause).widened_to(floor).auto_approve_if;
        clause.map(|clause| clause.risk_below.map(Score::points))
    };
    assert_eq!(below("auto_approve_if: {risk_below: 20}\n"), Some(Some(30)));
    assert_eq!(below("auto_approve_if: {risk_below: 40}\n"), Some(Some(40)));
    assert_eq!(below("auto_approve_if: {author_has_role: [b]}\n"), Some(None));
    assert_eq!(below(""), None, "a policy without a clause still asks people");
}
