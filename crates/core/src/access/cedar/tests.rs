//! Properties of the rules beyond the matrix, for every role, relation and error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use cedar_policy::{Policy, PolicySet};
use proptest::prelude::*;

use super::matrix_tests::cases;
use super::*;
use crate::access::Scope;
use crate::actor::{Actor, Role};
use crate::ids::{AgentId, UserId};

const ROLES: [&str; 5] = ["author", "reviewer", "admin", "operator", "auditor"];

fn user() -> Actor {
    Actor::user(UserId::from_u128(1))
}

fn agent() -> Actor {
    Actor::agent(AgentId::from_u128(2), UserId::from_u128(1))
}

fn roles(names: &[&str]) -> BTreeSet<Role> {
    names.iter().map(|name| Role::new(*name)).collect()
}

/// Sets all facts, except for those that can only deny.
fn everything() -> TaskRelation {
    TaskRelation {
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
fn agents_may_only_read_propose_and_execute() {
    let open = [
        (Scope::Read, true),
        (Scope::Propose, true),
        (Scope::Execute, true),
        (Scope::Decide, false),
        (Scope::Operate, false),
        (Scope::Administer, false),
    ];
    assert_eq!(open.map(|(class, _)| class), Scope::ALL);
    for (class, expected) in open {
        assert_eq!(class.is_open_to_agents(), expected, "{class}");
    }

    let access = Access::new().unwrap();
    for action in Action::ALL {
        for object in objects() {
            let verdict = check(&access, &agent(), &ROLES, *action, object);
            if !action.class().is_open_to_agents() {
                let denied = verdict.unwrap_err();
                // A question about the wrong kind of object is denied before any rule is evaluated.
                let fits = !denied.detail.contains("the access request is invalid");
                let rule = denied.rule.as_deref();
                assert!(!fits || rule == Some("agent_class"), "{action}: {denied}");
            }
        }
    }
}

#[test]
fn token_for_another_person_never_carries_authority() {
    let open: Vec<Scope> =
        Scope::ALL.into_iter().filter(|class| class.is_open_to_tokens_for_others()).collect();
    assert_eq!(open, [Scope::Read, Scope::Propose, Scope::Execute]);
}

#[test]
fn worker_with_any_role_never_decides() {
    let access = Access::new().unwrap();
    let worker = Actor::system("expirer");
    for action in Action::ALL.iter().filter(|a| a.class() == Scope::Decide) {
        for object in objects() {
            assert!(check(&access, &worker, &ROLES, *action, object).is_err(), "{action}");
        }
    }
    let denied = check(&access, &worker, &ROLES, Action::Approve, Object::Task(everything()));
    assert_eq!(denied.unwrap_err().rule.as_deref(), Some("worker_vote"));
}

#[test]
fn worker_gains_nothing_from_roles() {
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
fn agent_proposes_only_what_its_owner_may() {
    let access = Access::new().unwrap();
    let create =
        |names: &[&str]| check(&access, &agent(), names, Action::Create, Object::Tenant).is_ok();
    assert!(create(&["author"]));
    assert!(create(&["admin"]));
    assert!(!create(&["reviewer", "operator", "auditor"]));

    let own = Object::Task(TaskRelation { is_own_agent: true, ..TaskRelation::default() });
    for action in [Action::Amend, Action::Submit] {
        assert!(check(&access, &agent(), &["author"], action, own).is_ok());
        assert!(check(&access, &agent(), &["admin"], action, own).is_ok());
        assert!(check(&access, &agent(), &["reviewer"], action, own).is_err());
        let foreign = Object::Task(TaskRelation::default());
        let denied = check(&access, &agent(), &["admin"], action, foreign);
        assert!(denied.is_err(), "an admin's agent is no admin: {action}");
    }
}

#[test]
fn author_without_the_role_may_clean_up_but_not_propose() {
    let access = Access::new().unwrap();
    let own = Object::Task(TaskRelation {
        is_author: true,
        is_separated: true,
        ..TaskRelation::default()
    });
    let may = |action| check(&access, &user(), &[], action, own).is_ok();
    assert!(may(Action::Cancel) && may(Action::Delete));
    for action in [Action::Amend, Action::Submit, Action::Retry, Action::Resubmit] {
        assert!(!may(action), "{action}");
    }
}

#[test]
fn tenant_role_permits_assigned_reviews_and_nothing_else() {
    let access = Access::new().unwrap();
    let assigned = Object::Task(TaskRelation { is_assigned: true, ..TaskRelation::default() });
    assert!(check(&access, &user(), &["dba"], Action::Approve, assigned).is_ok());
    assert!(check(&access, &user(), &["dba"], Action::DraftPolicy, Object::Tenant).is_err());
}

#[test]
fn override_and_publishing_need_two_admins() {
    let access = Access::new().unwrap();
    let asked =
        Object::Task(TaskRelation { is_first_override_admin: true, ..TaskRelation::default() });
    let denied = check(&access, &user(), &["admin"], Action::ConfirmOverride, asked).unwrap_err();
    assert_eq!(denied.rule.as_deref(), Some("second_admin"));

    let drafted = Object::Own { is_own: true };
    let denied = check(&access, &user(), &["admin"], Action::PublishPolicy, drafted).unwrap_err();
    assert_eq!(denied.rule.as_deref(), Some("second_publisher"));
}

#[test]
fn author_is_denied_even_without_separation_facts() {
    let access = Access::new().unwrap();
    let careless = Object::Task(TaskRelation {
        is_author: true,
        is_assigned: true,
        ..TaskRelation::default()
    });
    for action in [Action::Approve, Action::Reject, Action::ConfirmOverride] {
        let denied = check(&access, &user(), &["admin"], action, careless).unwrap_err();
        assert_eq!(denied.rule.as_deref(), Some("separation"), "{action}");
    }
}

#[test]
fn denial_names_the_reason_and_who_may_act() {
    let access = Access::new().unwrap();
    let stranger = Object::Task(TaskRelation::default());
    let denied = check(&access, &user(), &["reviewer"], Action::Approve, stranger).unwrap_err();
    assert_eq!(
        denied,
        Denied {
            action: Action::Approve,
            rule: None,
            detail: "allowed for a reviewer the task is assigned to, who did not take part in the \
                     change"
                .to_owned(),
        }
    );
    let denied = check(&access, &agent(), &["admin"], Action::Cancel, stranger).unwrap_err();
    assert_eq!(
        denied.to_string(),
        "task.cancel is not permitted: allowed for the task's author; or the agent that proposed \
         it, or another acting for its author; or an admin; or background jobs of the server"
    );
    let denied = check(&access, &agent(), &[], Action::BreakLock, Object::Tenant).unwrap_err();
    assert_eq!(
        denied.detail,
        "agents can read, propose and execute; only people can decide, operate and administer; \
         allowed for an operator or an admin"
    );
}

#[test]
fn access_check_on_the_wrong_object_kind_is_denied() {
    let access = Access::new().unwrap();
    let admin = ["admin"];
    let denied = check(&access, &user(), &admin, Action::Submit, Object::Tenant).unwrap_err();
    assert_eq!(denied.rule, None);
    assert!(denied.detail.contains("the access request is invalid"), "{denied}");
    let task = Object::Task(TaskRelation::default());
    assert!(check(&access, &user(), &admin, Action::DraftPolicy, task).is_err());
}

#[test]
fn action_schema_lists_every_action_under_its_class() {
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
        Scope::ALL.map(|class| (class.to_string(), vec![])).into_iter().collect();
    for action in Action::ALL {
        expected.insert(action.to_string(), vec![action.class().to_string()]);
    }
    assert_eq!(found, expected);
}

fn load(policies: &str) -> Result<Access, AccessError> {
    Access::load(SCHEMA, policies)
}

#[test]
fn access_rules_that_are_invalid_fail_at_startup() {
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
fn access_rules_have_a_name_and_a_sentence() {
    let annotation = |text| match load(text) {
        Err(AccessError::Unannotated { annotation, .. }) => annotation,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(annotation("permit (principal, action, resource);"), "id");
    assert_eq!(annotation("@id(\"\") permit (principal, action, resource);"), "id");
    assert_eq!(annotation("@id(\"a\") permit (principal, action, resource);"), "who");
    assert_eq!(annotation("@id(\"a\") @who(\"b\") forbid (principal, action, resource);"), "says");
}

/// A rule that fails at run time must deny and not be skipped: the sum overflows.
#[test]
fn access_rule_that_fails_to_evaluate_denies() {
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
fn access_rule_filter_changes_no_decision() {
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
fn access_check_evaluates_only_relevant_rules() {
    let access = Access::new().unwrap();
    let asked = |action, kind| access.rules[&action].policies(kind).num_of_policies();
    assert_eq!(asked(Action::Approve, Kind::User), 3, "inactive, separation, reviewer_decides");
    assert_eq!(asked(Action::Approve, Kind::Agent), 3, "inactive, agent_class, separation");
    assert_eq!(asked(Action::Approve, Kind::System), 3, "inactive, worker_vote, separation");
    assert_eq!(asked(Action::DraftPolicy, Kind::User), 2, "inactive, admin_administers");
}

fn standings() -> impl Strategy<Value = TaskRelation> {
    proptest::array::uniform9(any::<bool>()).prop_map(TaskRelation::from_facts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The statements of the threat model that must hold in every combination.
    #[test]
    fn decision_by_an_ineligible_actor_is_always_denied(
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
