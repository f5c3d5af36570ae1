//! How long one permission check takes: it is asked on every request and inside every decision.

use std::collections::BTreeSet;
use std::hint::black_box;

use ade_core::access::{Access, Action, Object, Question, Standing};
use ade_core::actor::{Actor, Role};
use ade_core::ids::{AgentId, UserId};
use criterion::{Criterion, criterion_group, criterion_main};

fn check(criterion: &mut Criterion) {
    let Ok(access) = Access::new() else { return };
    let user = Actor::user(UserId::from_u128(1));
    let agent = Actor::Agent { id: AgentId::from_u128(2), on_behalf_of: UserId::from_u128(1) };
    let roles: BTreeSet<Role> =
        [Role::AUTHOR, Role::REVIEWER, Role::ADMIN, "dba"].map(Role::new).into();
    let task = Object::Task(Standing {
        is_own_agent: true,
        is_assigned: true,
        holds_permit: true,
        ..Standing::default()
    });
    let mut run = |name: &str, actor: &Actor, action: Action, object: Object| {
        let question = Question { actor, roles: &roles, active: true, action, object };
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
