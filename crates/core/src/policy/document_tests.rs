//! The example policies have their meaning; every document round-trips; damaged text is refused or
//! is still a complete document.

use super::*;
use crate::policy::samples::{documents, group, hours, people, roles};
use crate::policy::{PolicyRef, Weekday};
use proptest::prelude::*;

const PRODUCTION: &str = include_str!("../../tests/policies/production-databases.yaml");
const SMALL: &str = include_str!("../../tests/policies/small-changes.yaml");
const EVERYTHING: &str = include_str!("../../tests/policies/everything.yaml");

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(text).unwrap()).collect()
}

fn production() -> Document {
    let step = |after, action| EscalationStep { after: hours(after), action };
    let week =
        [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];
    Document {
        name: "production-databases".to_owned(),
        enabled: true,
        matching: Match {
            task_types: patterns(&["schema.*", "data.{fix,import}"]),
            resource_patterns: patterns(&["database:prod-*", "**/critical"]),
            tags: BTreeSet::from(["customer-data".to_owned(), "production".to_owned()]),
            risk_at_least: Some(Score::new(30)),
            author_kind: Some(AuthorKind::Agent),
            hours: Some(Hours::new("Europe/Vienna", week, "18:00", "08:00").unwrap()),
        },
        require: vec![group(&["dba"], &[], 2), group(&["service-owner"], &[7], 1)],
        reject_threshold: 2,
        auto_approve_if: Some(AutoApprove {
            risk_below: Some(Score::new(20)),
            author_has_role: roles(&["dba", "release-bot"]),
            resources_in_scope: patterns(&["database:prod-scratch-*"]),
            accept_declared_effect: false,
        }),
        respond_within: Some(hours(24)),
        escalation: vec![
            step(4, EscalationAction::Notify { roles: roles(&["on-call"]), people: people(&[]) }),
            step(8, EscalationAction::Reassign(ReassignTo::Delegate)),
            step(12, EscalationAction::Reassign(ReassignTo::Manager)),
            step(
                16,
                EscalationAction::Widen { roles: roles(&["senior-dba"]), people: people(&[9]) },
            ),
        ],
        approval_valid_for: hours(72),
        delegation: DelegationRule::Forbidden,
        role_age_min: Some(hours(24)),
        exempt: Exempt { roles: roles(&["trainee"]), people: people(&[8]) },
    }
}

#[test]
fn policy_example_has_every_field() {
    assert_eq!(Document::parse_yaml(PRODUCTION).unwrap(), production());
}

#[test]
fn policy_fields_left_out_have_their_defaults() {
    let everything = Document::parse_yaml(EVERYTHING).unwrap();
    let expected = Document {
        name: "everything".to_owned(),
        enabled: true,
        matching: Match::default(),
        require: vec![group(&["admin", "reviewer"], &[], 1)],
        reject_threshold: 1,
        auto_approve_if: None,
        respond_within: None,
        escalation: Vec::new(),
        approval_valid_for: hours(168),
        delegation: DelegationRule::Allowed,
        role_age_min: None,
        exempt: Exempt::default(),
    };
    assert_eq!(everything, expected);
    let small = Document::parse_yaml(SMALL).unwrap();
    assert!(small.require.is_empty());
    assert!(!small.auto_approve_if.unwrap().accept_declared_effect);
}

#[test]
fn policy_canonical_yaml_is_readable() {
    let small = Document::parse_yaml(SMALL).unwrap();
    let expected = r#"name: small-changes
enabled: true
match:
  resource_patterns:
  - "*:sandbox-*"
reject_threshold: 1
auto_approve_if:
  risk_below: 30
  resources_in_scope:
  - "*:sandbox-*"
  accept_declared_effect: false
approval_valid_for: 7d
delegation: allowed
"#;
    assert_eq!(small.to_yaml().unwrap(), expected);
}

#[test]
fn policy_canonical_json_has_one_spelling() {
    let everything = Document::parse_yaml(EVERYTHING).unwrap();
    let expected = concat!(
        r#"{"approval_valid_for":"7d","delegation":"allowed","enabled":true,"#,
        r#""name":"everything","reject_threshold":1,"#,
        r#""require":[{"min":1,"roles":["admin","reviewer"]}]}"#,
    );
    assert_eq!(everything.to_json().unwrap(), expected);
}

#[test]
fn policy_round_trips_through_storage_and_is_validated() {
    let policy = crate::policy::samples::policy(3, production());
    let stored = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<crate::policy::Policy>(&stored).unwrap(), policy);
    let tampered = stored.replace("\"min\":2", "\"min\":0");
    assert_ne!(tampered, stored);
    let refused = serde_json::from_str::<crate::policy::Policy>(&tampered).unwrap_err();
    assert!(refused.to_string().starts_with("require[0].min: expected"), "{refused}");
    let reference = PolicyRef { id: crate::ids::PolicyId::from_u128(3), version: 1 };
    assert_eq!(policy.reference(), reference);
    assert_eq!(reference.to_string(), "pol_00000000000000000000000003 version 1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn policy_round_trips_through_yaml(document in documents()) {
        let text = document.to_yaml().unwrap();
        prop_assert_eq!(Document::parse_yaml(&text), Ok(document), "{}", text);
    }

    #[test]
    fn policy_round_trips_through_json(document in documents()) {
        let text = document.to_json().unwrap();
        prop_assert_eq!(&Document::parse_json(&text), &Ok(document.clone()));
        prop_assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), document);
    }

    #[test]
    fn policy_reader_never_panics(text in ".{0,200}") {
        let _ = Document::parse_yaml(&text);
        let _ = Document::parse_json(&text);
    }

    /// Damage to a good document is refused or gives another valid document; it never panics.
    #[test]
    fn policy_that_was_damaged_is_refused_or_complete(
        place in 0..PRODUCTION.len(),
        damage in "[ :\\-\\[\\]{}#\"'&*!|>%@`0a\\n]{0,2}",
    ) {
        prop_assume!(PRODUCTION.is_char_boundary(place));
        let (before, after) = PRODUCTION.split_at(place);
        let text = format!("{before}{damage}{}", after.get(1..).unwrap_or_default());
        match Document::parse_yaml(&text) {
            Ok(document) => {
                let again = Document::parse_json(&document.to_json().unwrap());
                prop_assert_eq!(again, Ok(document));
            }
            Err(refused) => prop_assert!(!refused.errors.is_empty()),
        }
    }
}

#[test]
fn document_that_matches_what_authors_choose_has_a_warning() {
    let warning = |matching: &str| {
        let text = format!("name: p\nmatch: {matching}\nrequire: [{{roles: [dba], min: 1}}]\n");
        Document::parse_yaml(&text).unwrap().warning()
    };
    for chosen in ["{task_types: ['db.*']}", "{tags: [prod]}", "{task_types: [x], tags: [prod]}"] {
        assert!(warning(chosen).unwrap().contains("`p` matches only by"), "{chosen}");
    }
    for given in [
        "{}",
        "{tags: [prod], resource_patterns: ['database:*']}",
        "{task_types: ['db.*'], risk_at_least: 60}",
        "{task_types: ['db.*'], author_kind: agent}",
    ] {
        assert_eq!(warning(given), None, "{given}");
    }
}
