//! Properties of the rules beyond the matrix: what no role, standing or mistake gets past.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use cedar_policy::{Policy, PolicySet};
use proptest::prelude::*;

use super::matrix_tests::cases;
use super::*;
use crate::actor::{Actor, Role};
use crate::ids::{AgentId, UserId};

const ROLES: [&str; 5] = ["author", "reviewer", "admin", "operator", "auditor"];

fn user() -> Actor {
    Actor::user(UserId::from_u128(1))
}

fn agent() -> Actor {
    Actor::Agent { id: AgentId::from_u128(2), on_behalf_of: UserId::from_u128(1) }
}

fn roles(names: &[&str]) -> BTreeSet<Role> {
    names.iter().map(|name| Role::new(*name)).collect()
}

/// Every fact true at once, the ones that only ever refuse left out.
fn everything() -> Standing {
    Standing {
        is_author: false,
        is_own_agent: true,
        is_assigned: true,
        is_voter: true,
        is_separated: false,
        is_executor: true,
        holds_permit: true,
        is_resource_owner: true,
        is_first_override_admin: false,
    }
}

fn objects() -> Vec<Object> {
    vec![
        Object::Tenant,
        Object::Own { is_own: true },
        Object::Own { is_own: false },
        Object::Task(everything()),
    ]
}

fn check(
    access: &Access,
    actor: &Actor,
    names: &[&str],
    action: Action,
    object: Object,
) -> Result<(), Denied> {
    access.check(&Question { actor, roles: &roles(names), active: true, action, object })
}

#[test]
fn agents_reach_reading_proposing_and_executing_only() {
    let open = [
        (Class::Read, true),
        (Class::Propose, true),
        (Class::Execute, true),
        (Class::Decide, false),
        (Class::Operate, false),
        (Class::Administer, false),
    ];
    assert_eq!(open.map(|(class, _)| class), Class::ALL);
    for (class, expected) in open {
        assert_eq!(class.is_open_to_agents(), expected, "{class}");
    }

    let access = Access::new().unwrap();
    for action in Action::ALL {
        for object in objects() {
            let verdict = check(&access, &agent(), &ROLES, *action, object);
            if !action.class().is_open_to_agents() {
                let denied = verdict.unwrap_err();
                // A question about the wrong kind of object is refused before any rule.
                let fits = !denied.detail.contains("does not fit");
                let rule = denied.rule.as_deref();
                assert!(!fits || rule == Some("agent_class"), "{action}: {denied}");
            }
        }
    }
}

#[test]
fn a_worker_never_decides_whatever_it_is_given() {
    let access = Access::new().unwrap();
    let worker = Actor::system("expirer");
    for action in Action::ALL.iter().filter(|a| a.class() == Class::Decide) {
        for object in objects() {
            assert!(check(&access, &worker, &ROLES, *action, object).is_err(), "{action}");
        }
    }
    let denied = check(&access, &worker, &ROLES, Action::Approve, Object::Task(everything()));
    assert_eq!(denied.unwrap_err().rule.as_deref(), Some("worker_vote"));
}

#[test]
fn roles_do_nothing_for_a_worker() {
    let access = Access::new().unwrap();
    let worker = Actor::system("expirer");
    for action in Action::ALL {
        for object in objects() {
            let bare = check(&access, &worker, &[], *action, object);
            assert_eq!(bare, check(&access, &worker, &ROLES, *action, object));
        }
    }
}

#[test]
fn an_agent_may_propose_only_what_its_person_may() {
    let access = Access::new().unwrap();
    let create =
        |names: &[&str]| check(&access, &agent(), names, Action::Create, Object::Tenant).is_ok();
    assert!(create(&["author"]));
    assert!(create(&["admin"]));
    assert!(!create(&["reviewer", "operator", "auditor"]));

    let own = Object::Task(Standing { is_own_agent: true, ..Standing::default() });
    for action in [Action::Amend, Action::Submit] {
        assert!(check(&access, &agent(), &["author"], action, own).is_ok());
        assert!(check(&access, &agent(), &["admin"], action, own).is_ok());
        assert!(check(&access, &agent(), &["reviewer"], action, own).is_err());
        let foreign = Object::Task(Standing::default());
        let denied = check(&access, &agent(), &["admin"], action, foreign);
        assert!(denied.is_err(), "an admin's agent is no admin: {action}");
    }
}

#[test]
fn an_author_without_the_role_may_clean_up_but_not_propose() {
    let access = Access::new().unwrap();
    let own = Object::Task(Standing { is_author: true, is_separated: true, ..Standing::default() });
    let may = |action| check(&access, &user(), &[], action, own).is_ok();
    assert!(may(Action::Cancel) && may(Action::Delete));
    for action in [Action::Amend, Action::Submit, Action::Retry, Action::Resubmit] {
        assert!(!may(action), "{action}");
    }
}

#[test]
fn a_tenant_role_is_enough_to_review_when_assigned_and_means_nothing_else() {
    let access = Access::new().unwrap();
    let assigned = Object::Task(Standing { is_assigned: true, ..Standing::default() });
    assert!(check(&access, &user(), &["dba"], Action::Approve, assigned).is_ok());
    assert!(check(&access, &user(), &["dba"], Action::DraftPolicy, Object::Tenant).is_err());
}

#[test]
fn two_admins_are_two_people() {
    let access = Access::new().unwrap();
    let asked = Object::Task(Standing { is_first_override_admin: true, ..Standing::default() });
    let denied = check(&access, &user(), &["admin"], Action::ConfirmOverride, asked).unwrap_err();
    assert_eq!(denied.rule.as_deref(), Some("second_admin"));

    let drafted = Object::Own { is_own: true };
    let denied = check(&access, &user(), &["admin"], Action::PublishPolicy, drafted).unwrap_err();
    assert_eq!(denied.rule.as_deref(), Some("second_publisher"));
}

#[test]
fn an_author_is_kept_out_even_if_separation_was_not_worked_out() {
    let access = Access::new().unwrap();
    let careless =
        Object::Task(Standing { is_author: true, is_assigned: true, ..Standing::default() });
    for action in [Action::Approve, Action::Reject, Action::ConfirmOverride] {
        let denied = check(&access, &user(), &["admin"], action, careless).unwrap_err();
        assert_eq!(denied.rule.as_deref(), Some("separation"), "{action}");
    }
}

#[test]
fn a_refusal_says_why_and_who_could() {
    let access = Access::new().unwrap();
    let stranger = Object::Task(Standing::default());
    let denied = check(&access, &user(), &["reviewer"], Action::Approve, stranger).unwrap_err();
    assert_eq!(
        denied,
        Denied {
            action: Action::Approve,
            rule: None,
            detail: "it is open to a reviewer the task is assigned to, who had no part in the \
                     change"
                .to_owned(),
        }
    );
    let denied = check(&access, &agent(), &["admin"], Action::Cancel, stranger).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "task.cancel is refused: it is open to the task's author; or the agent that proposed \
         it, or another acting for its author; or an admin; or the server's own workers"
    );
    let denied = check(&access, &agent(), &[], Action::BreakLock, Object::Tenant).unwrap_err();
    assert_eq!(
        denied.detail,
        "agents read, propose and execute; deciding, operating and administering are for \
         people; it is open to an operator or an admin"
    );
}

#[test]
fn a_question_about_the_wrong_kind_of_object_is_refused() {
    let access = Access::new().unwrap();
    let admin = ["admin"];
    let denied = check(&access, &user(), &admin, Action::Submit, Object::Tenant).unwrap_err();
    assert_eq!(denied.rule, None);
    assert!(denied.detail.contains("does not fit"), "{denied}");
    let task = Object::Task(Standing::default());
    assert!(check(&access, &user(), &admin, Action::DraftPolicy, task).is_err());
}

#[test]
fn every_action_is_in_the_schema_under_its_class_and_no_other_is() {
    let access = Access::new().unwrap();
    let mut found = BTreeMap::new();
    for action in access.schema.action_entities().unwrap().iter() {
        let (attributes, groups) = {
            let (_, attributes, groups) = action.clone().into_inner();
            (attributes.len(), groups)
        };
        assert_eq!(attributes, 0);
        let groups: Vec<String> = groups.iter().map(|g| g.id().unescaped().to_owned()).collect();
        found.insert(action.uid().id().unescaped().to_owned(), groups);
    }
    let mut expected: BTreeMap<String, Vec<String>> =
        Class::ALL.map(|class| (class.to_string(), vec![])).into_iter().collect();
    for action in Action::ALL {
        expected.insert(action.to_string(), vec![action.class().to_string()]);
    }
    assert_eq!(found, expected);
}

fn load(policies: &str) -> Result<Access, AccessError> {
    Access::load(SCHEMA, policies)
}

#[test]
fn rules_that_do_not_hold_are_refused_at_start() {
    let permit = "@id(\"a\") @who(\"b\") permit (principal, action, resource)";
    assert!(load(&format!("{permit};")).is_ok());

    let twice = load(&format!("{permit}; {permit};"));
    assert!(matches!(twice, Err(AccessError::Policies(_))), "{twice:?}");
    let unknown = load(&format!("{permit} when {{ principal.age == 1 }};"));
    assert!(matches!(unknown, Err(AccessError::Policies(_))), "{unknown:?}");
    let never = load(&format!("{permit} when {{ false }};"));
    assert!(matches!(never, Err(AccessError::Policies(_))), "{never:?}");
    let garbage = load("permit");
    assert!(matches!(garbage, Err(AccessError::Policies(_))), "{garbage:?}");
    let schema = Access::load("entity", "");
    assert!(matches!(schema, Err(AccessError::Schema(_))), "{schema:?}");
    let shadowing = Access::load(&format!("type Bool = {{}}; {SCHEMA}"), "");
    assert!(matches!(shadowing, Err(AccessError::Schema(_))), "{shadowing:?}");
    let missing = Access::load("entity Task;", "");
    assert_eq!(missing.unwrap_err(), AccessError::UnknownAction(Action::Create));
}

#[test]
fn every_rule_has_a_name_and_a_sentence() {
    let annotation = |text| match load(text) {
        Err(AccessError::Unannotated { annotation, .. }) => annotation,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(annotation("permit (principal, action, resource);"), "id");
    assert_eq!(annotation("@id(\"\") permit (principal, action, resource);"), "id");
    assert_eq!(annotation("@id(\"a\") permit (principal, action, resource);"), "who");
    assert_eq!(annotation("@id(\"a\") @who(\"b\") forbid (principal, action, resource);"), "says");
}

/// A rule that fails at run time must close, not be skipped: the sum overflows.
#[test]
fn a_rule_that_cannot_be_evaluated_refuses() {
    let access = load(
        "@id(\"open\") @who(\"all\") permit (principal, action, resource);
         @id(\"broken\") @says(\"no\") forbid (principal, action, resource)
         when { 9223372036854775807 + 1 == 0 };",
    )
    .unwrap();
    let denied = check(&access, &user(), &["admin"], Action::Create, Object::Tenant).unwrap_err();
    assert_eq!(denied.rule, None);
    assert!(denied.detail.contains("overflow"), "{denied}");
}

#[test]
fn leaving_out_what_cannot_match_changes_no_answer() {
    let access = Access::new().unwrap();
    let whole: Vec<Policy> = rules::parse_policies(BASE, &access.schema).unwrap();
    let whole = PolicySet::from_policies(whole).unwrap();
    for case in cases() {
        for active in [true, false] {
            let question = case.question(active);
            let rules = &access.rules[&case.action];
            let request = access.request(&question, rules).unwrap();
            let ask = |policies| {
                let entities = access.world.entities();
                access.authorizer.is_authorized(&request, policies, entities)
            };
            let cut = ask(rules.policies(Kind::of(&case.actor)));
            let all = ask(&whole);
            assert_eq!(cut.decision(), all.decision());
            let reasons = |answer: &cedar_policy::Response| -> BTreeSet<String> {
                answer.diagnostics().reason().map(ToString::to_string).collect()
            };
            assert_eq!(reasons(&cut), reasons(&all));
        }
    }
}

#[test]
fn each_action_asks_fewer_than_all_rules() {
    let access = Access::new().unwrap();
    let asked = |action, kind| access.rules[&action].policies(kind).num_of_policies();
    assert_eq!(asked(Action::Approve, Kind::User), 3, "inactive, separation, reviewer_decides");
    assert_eq!(asked(Action::Approve, Kind::Agent), 3, "inactive, agent_class, separation");
    assert_eq!(asked(Action::Approve, Kind::System), 3, "inactive, worker_vote, separation");
    assert_eq!(asked(Action::DraftPolicy, Kind::User), 2, "inactive, admin_administers");
}

fn standings() -> impl Strategy<Value = Standing> {
    proptest::array::uniform9(any::<bool>()).prop_map(Standing::from_facts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The sentences of the threat model that must hold in every combination.
    #[test]
    fn no_combination_of_facts_lets_the_wrong_one_decide(
        standing in standings(),
        held in proptest::sample::subsequence(ROLES.to_vec(), 0..=5),
    ) {
        static ACCESS: LazyLock<Access> = LazyLock::new(|| Access::new().unwrap());
        let object = Object::Task(standing);
        let may = |actor: &Actor, action| check(&ACCESS, actor, &held, action, object).is_ok();
        for action in [Action::Approve, Action::Reject, Action::RequestChanges, Action::Delegate] {
            let party = standing.is_author || standing.is_separated;
            prop_assert_eq!(may(&user(), action), standing.is_assigned && !party);
            prop_assert!(!may(&agent(), action));
            prop_assert!(!may(&Actor::system("w"), action));
        }
        let second = held.contains(&"admin")
            && !(standing.is_author || standing.is_separated || standing.is_first_override_admin);
        prop_assert_eq!(may(&user(), Action::ConfirmOverride), second);
        for action in [Action::BeginApply, Action::FinishApply] {
            prop_assert!(!may(&user(), action));
            prop_assert_eq!(may(&agent(), action), standing.holds_permit);
        }
    }
}
