//! Explanations: which gates are closed, with evidence and the way to open each.

use crate::change::Digest;
use crate::freeze::{Freeze, FreezeExtent, InstallationFreeze};
use crate::ids::{AgentId, FreezeId, ProcessId, SessionId, TaskId, UserId};
use crate::lock::Owner;
use crate::policy::Document;
use crate::samples::*;
use crate::task::*;

fn closed(world: &World, task: &Task, seconds: i64) -> Vec<GateName> {
    let actor = worker();
    let explanation = explain(task, &world.gates(), &world.facts(&actor), at(seconds));
    assert!(explanation.gates.iter().all(|gate| !gate.evidence.is_empty()));
    for gate in &explanation.gates {
        assert_eq!(gate.how_to_pass.is_some(), !gate.passed, "{gate:?}");
    }
    explanation.closed().map(|gate| gate.name).collect()
}

fn evidence(world: &World, task: &Task, seconds: i64, name: GateName) -> String {
    let actor = worker();
    let explanation = explain(task, &world.gates(), &world.facts(&actor), at(seconds));
    explanation.gates.into_iter().find(|gate| gate.name == name).unwrap().evidence
}

#[test]
fn explain_gates_open_one_after_the_other() {
    let world = World::new([two_dbas()]);
    let draft = draft();
    assert_eq!(closed(&world, &draft, 1), [GateName::Submitted, GateName::Approval]);
    let task = world.reviewing(at(0));
    assert_eq!(closed(&world, &task, 1), [GateName::Approval]);
    let text = evidence(&world, &task, 1, GateName::Approval);
    assert_eq!(text, "approvals missing: 2; rejections: 0");
    assert_eq!(closed(&world, &world.approved(at(0)), 1), []);
}

#[test]
fn explain_agrees_with_the_permit() {
    let base = World::new([two_dbas()]);
    let mut frozen = base.clone();
    frozen.freezes = vec![Freeze {
        id: FreezeId::from_u128(1),
        scope: FreezeExtent::Tenant,
        reason: "incident 9".to_owned(),
        set_by: ADMIN,
        ends_at: Some(at(99)),
    }];
    let mut all_frozen = frozen.clone();
    all_frozen.installation = Some(InstallationFreeze {
        number: 1,
        reason: "incident 10".to_owned(),
        set_by: "root".to_owned(),
        since: at(0),
    });
    let mut full = base.clone();
    full.has_capacity = false;
    let mut blocked = base.clone();
    let resource = "database:prod-db-01".parse().unwrap();
    blocked.blocked = vec![Blocked { resource, by: Holder::Task(TaskId::from_u128(9)) }];
    let mut weaker = base.clone();
    weaker.edit(ALICE, |person| person.active = false);
    let task = base.approved(at(0));
    for (world, gate) in [
        (&frozen, GateName::Freeze),
        (&all_frozen, GateName::Freeze),
        (&full, GateName::Capacity),
        (&blocked, GateName::Locks),
        (&weaker, GateName::Approval),
    ] {
        assert!(closed(world, &task, 1).contains(&gate), "{gate:?}");
        assert!(world.decide(&task, &agent(), &world.start(), at(1)).is_err());
    }
    let text = evidence(&frozen, &task, 1, GateName::Freeze);
    assert!(text.contains("incident 9") && text.contains("until 1970"), "{text}");
    let text = evidence(&all_frozen, &task, 1, GateName::Freeze);
    assert!(text.contains("whole installation") && text.contains("incident 10"), "{text}");
    let text = evidence(&blocked, &task, 1, GateName::Locks);
    assert!(text.starts_with("database:prod-db-01 is held by task_"), "{text}");
}

#[test]
fn explain_shows_locks_and_slots_only_before_the_permit() {
    let mut world = World::new([two_dbas()]);
    let task = world.approved(at(0));
    let resource = "database:prod-db-01".parse().unwrap();
    world.blocked = vec![Blocked { resource, by: Holder::Agent(AgentId::from_u128(9)) }];
    world.has_capacity = false;
    let before = [State::Draft, State::Submitted, State::Reviewing, State::Approved];
    for state in State::ALL {
        let task = Task { state, ..task.clone() };
        let closed = closed(&world, &task, 1);
        for gate in [GateName::Locks, GateName::Capacity] {
            assert_eq!(closed.contains(&gate), before.contains(&state), "{state} {gate:?}");
            let text = evidence(&world, &task, 1, gate);
            assert_eq!(
                text.ends_with("it does not request a permit now"),
                !before.contains(&state)
            );
        }
    }
}

#[test]
fn explain_names_a_holder_without_lease_secrets() {
    let (session, login) = (ProcessId::from_u128(1), SessionId::from_u128(2));
    let (task, agent, user) = (TaskId::from_u128(3), AgentId::from_u128(4), UserId::from_u128(5));
    let of = Holder::of;
    assert_eq!(of(Owner::Task(task), &agent.to_string()), Holder::Task(task));
    assert_eq!(of(Owner::Agent(session), &agent.to_string()), Holder::Agent(agent));
    assert_eq!(of(Owner::User(login), &user.to_string()), Holder::User(user));
    for owner in [Owner::Agent(session), Owner::User(login)] {
        let shown = of(owner, "a-host");
        assert_eq!(shown, Holder::Unnamed(Digest::of(owner.to_string().as_bytes())));
        assert!(!shown.to_string().contains(&owner.to_string()), "{shown}");
    }
    for shown in [Holder::Task(task), Holder::Agent(agent), Holder::User(user)] {
        assert_eq!(serde_json::to_value(shown).unwrap(), shown.to_string());
    }
}

#[test]
fn explain_shows_an_expired_override_as_closed() {
    let world = World::new([two_dbas()]);
    let mut task = world.reviewing(at(0));
    let ask = Command::Override { ticket: "INC".to_owned(), reason: "down".to_owned() };
    task = world.step(&task, &user(ADMIN), &ask, at(0));
    let confirm = Command::ConfirmOverride { seen: seen(&task) };
    task = world.step(&task, &user(SECOND_ADMIN), &confirm, at(0));
    assert_eq!(closed(&world, &task, 3599), []);
    assert_eq!(closed(&world, &task, 3600), [GateName::Window]);
}

#[test]
fn explain_names_a_group_that_cannot_be_met() {
    let world = World::new([Document { require: vec![group(&["dba"], &[], 3)], ..two_dbas() }]);
    let task = world.reviewing(at(0));
    assert!(closed(&world, &task, 1).contains(&GateName::Policy));
    let text = evidence(&world, &task, 1, GateName::Policy);
    assert_eq!(text, "not enough eligible reviewers for dba: 3 needed, 2 available");
}

#[test]
fn explain_describes_the_rules_in_words() {
    let world = World::new([]);
    let text = evidence(&world, &world.reviewing(at(0)), 1, GateName::Policy);
    assert_eq!(
        text,
        "no policy matches, so the default applies and asks for 1 of admin or reviewer"
    );
    let named = Document { require: vec![group(&[], &[CAROL], 1)], ..two_dbas() };
    let world = World::new([two_dbas(), named]);
    let text = evidence(&world, &world.reviewing(at(0)), 1, GateName::Policy);
    assert!(text.starts_with("2 policies ask for"), "{text}");
    assert!(text.contains("2 of dba") && text.contains(&format!("1 of {CAROL}")), "{text}");
    let world = World::new([two_dbas()]);
    let text = evidence(&world, &world.reviewing(at(0)), 1, GateName::Policy);
    assert_eq!(text, "1 policy asks for 2 of dba");
}

#[test]
fn explain_lists_who_may_answer_and_who_may_not() {
    let mut world = World::new([two_dbas()]);
    world.edit(AUTHOR, |person| person.roles = roles(&["author", "dba"]));
    let task = world.reviewing(at(0));
    let actor = worker();
    let explanation = explain(&task, &world.gates(), &world.facts(&actor), at(1));
    let may: Vec<_> =
        explanation.assignment.requests.iter().map(|request| request.reviewer).collect();
    assert_eq!(may, [ALICE, BOB]);
    let groups = &explanation.assignment.groups[0];
    assert!(groups[0].excluded.contains_key(&AUTHOR));
}
