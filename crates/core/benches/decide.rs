//! Measures a decision: complete, with five policies and twenty reviewers, and without the access
//! check. The goals are 50 µs and 1 µs.

use std::hint::black_box;

use ade_core::ids::UserId;
use ade_core::policy::Document;
use ade_core::samples::{
    ALICE, World, agent, at, group, person, transition, two_dbas, user, worker, yes,
};
use ade_core::task::{Command, decide};
use criterion::{Criterion, criterion_group, criterion_main};

/// Five matching policies, each with its own group, and twenty people in these groups.
fn crowded() -> World {
    let roles = ["dba", "security", "sre", "network", "storage"];
    let documents = roles.iter().enumerate().map(|(index, role)| Document {
        name: format!("policy-{index}"),
        require: vec![group(&[role], &[], 2)],
        ..two_dbas()
    });
    let mut world = World::new(documents);
    let newcomers = (100..116).zip(roles.iter().cycle());
    world.people.extend(
        newcomers.map(|(number, role)| person(UserId::from_u128(number), &["reviewer", role])),
    );
    world.edit(ALICE, |_| {});
    world
}

fn full(criterion: &mut Criterion) {
    let world = crowded();
    let submitted = world.submitted(at(0));
    let reviewing = world.reviewing(at(0));
    let reviewer = user(ALICE);
    let vote = yes(&reviewing);
    let facts = world.facts(&reviewer);
    criterion.bench_function("decide_approve_5_policies_20_reviewers", |bencher| {
        bencher.iter(|| decide(black_box(&reviewing), black_box(&vote), &facts, at(1)));
    });
    let server = worker();
    let facts = world.facts(&server);
    criterion.bench_function("decide_open_review_5_policies_20_reviewers", |bencher| {
        bencher.iter(|| decide(black_box(&submitted), &Command::OpenReview, &facts, at(1)));
    });
}

fn bare(criterion: &mut Criterion) {
    let world = World::new([two_dbas()]);
    let applying = world.applying(at(0));
    let holder = agent();
    let facts = world.facts(&holder);
    let begin = world.begin();
    criterion.bench_function("transition_without_access", |bencher| {
        bencher.iter(|| transition(black_box(&applying), black_box(&begin), &facts, at(1)));
    });
    criterion.bench_function("decide_with_access", |bencher| {
        bencher.iter(|| decide(black_box(&applying), black_box(&begin), &facts, at(1)));
    });
}

criterion_group!(benches, full, bare);
criterion_main!(benches);
