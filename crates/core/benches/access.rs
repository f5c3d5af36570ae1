//! Measures one permission check, which runs on every request and inside every decision.

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

use ade_core::access::{Access, Action, Object, Question, TaskRelation};
use ade_core::actor::{Actor, Directory, Person, Role};
use ade_core::ids::{AgentId, UserId};
use criterion::{Criterion, criterion_group, criterion_main};

fn check(criterion: &mut Criterion) {
    let Ok(access) = Access::new() else { return };
    let user = Actor::user(UserId::from_u128(1));
    let agent = Actor::agent(AgentId::from_u128(2), UserId::from_u128(1));
    let roles: BTreeSet<Role> =
        [Role::AUTHOR, Role::REVIEWER, Role::ADMIN, "dba"].map(Role::new).into();
    let person = Person {
        id: UserId::from_u128(1),
        roles,
        roles_since: BTreeMap::new(),
        active: true,
        manager: None,
        aliases: BTreeSet::new(),
        is_unconfirmed: false,
    };
    let directory = Directory::new([person]);
    let task = Object::Task(TaskRelation {
        is_own_agent: true,
        is_assigned: true,
        holds_permit: true,
        ..TaskRelation::default()
    });
    let mut run = |name: &str, actor: &Actor, action: Action, object: Object| {
        let question = Question::new(actor, &directory, true, action, object);
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| access.check(black_box(&question)).is_ok());
        });
    };
    run("approve_allowed", &user, Action::Approve, task);
    run("cancel_allowed", &user, Action::Cancel, task);
    run("read_allowed", &user, Action::ReadTask, task);
    run("finish_allowed", &agent, Action::FinishApply, task);
    run("approve_refused", &agent, Action::Approve, task);
    run("freeze_allowed", &user, Action::SetFreeze, Object::Tenant);
}

criterion_group!(benches, check);
criterion_main!(benches);
