//! Batches are decided completely or not at all.

use super::*;
use crate::change::Digest;
use crate::policy::Document;
use crate::samples::{ALICE, BOB, World, at, group, seen, two_dbas, user};
use crate::task::State;

fn world() -> World {
    World::new([Document { require: vec![group(&["dba"], &[], 1)], ..two_dbas() }])
}

fn tasks(world: &World, count: u128) -> Vec<Task> {
    (1..=count).map(|id| Task { id: TaskId::from_u128(id), ..world.reviewing(at(0)) }).collect()
}

fn order(answer: Answer) -> BatchOrder {
    BatchOrder {
        answer,
        reason: Some("looked".to_owned()),
        apply_immediately: false,
        skip_validation: false,
    }
}

fn run(world: &World, tasks: &[Task], order: &BatchOrder) -> Result<Preflight, BatchRefusal> {
    let actor = user(ALICE);
    let facts = world.facts(&actor);
    let items: Vec<BatchTask<'_>> =
        tasks.iter().map(|task| BatchTask { task, facts: &facts, seen: seen(task) }).collect();
    preflight(&items, order, Thresholds::default(), at(1))
}

#[test]
fn batch_without_problems_is_decided_completely() {
    let world = world();
    let tasks = tasks(&world, 3);
    let preflight = run(&world, &tasks, &order(Answer::Approve)).unwrap();
    let decisions = preflight.all().unwrap();
    assert_eq!(decisions.len(), 3);
    assert_eq!(decisions[2].0, TaskId::from_u128(3));
    assert!(decisions.iter().all(|(_, decision)| decision.to == To::State(State::Approved)));
    let preflight = run(&world, &tasks, &order(Answer::Reject)).unwrap();
    let rejected = preflight.all().unwrap();
    assert!(rejected.iter().all(|(_, decision)| decision.to == To::State(State::Rejected)));
}

#[test]
fn batch_swap_after_the_look_refuses_the_whole_batch() {
    let world = world();
    let tasks = tasks(&world, 3);
    let actor = user(ALICE);
    let facts = world.facts(&actor);
    for swapped in 0..3 {
        let items: Vec<BatchTask<'_>> = tasks
            .iter()
            .enumerate()
            .map(|(index, task)| {
                let mut seen = seen(task);
                if index == swapped {
                    seen.digest = Digest::of(b"what was on screen");
                }
                BatchTask { task, facts: &facts, seen }
            })
            .collect();
        let preflight =
            preflight(&items, &order(Answer::Approve), Thresholds::default(), at(1)).unwrap();
        assert_eq!(preflight.all(), None);
        for (index, (_, verdict)) in preflight.verdicts.iter().enumerate() {
            let is_stale =
                matches!(verdict, Err(ItemRefusal::Refused(Refusal::StaleRevision { .. })));
            assert_eq!(is_stale, index == swapped);
        }
    }
}

#[test]
fn batch_with_a_critical_item_is_refused() {
    let world = world();
    let mut tasks = tasks(&world, 2);
    tasks[1].content.level = Level::Critical;
    let preflight = run(&world, &tasks, &order(Answer::Approve)).unwrap();
    assert!(preflight.verdicts[0].1.is_ok());
    assert_eq!(preflight.verdicts[1].1, Err(ItemRefusal::Critical));
    assert_eq!(preflight.all(), None);
}

#[test]
fn batch_of_other_changes_is_refused_at_every_level() {
    let world = world();
    for level in [Level::Low, Level::Medium, Level::High] {
        let mut tasks = tasks(&world, 3);
        for task in &mut tasks {
            task.content.level = level;
        }
        for answer in [Answer::Approve, Answer::Reject] {
            let preflight = run(&world, &tasks, &order(answer)).unwrap();
            assert!(preflight.all().is_some(), "{level:?}: all of one shape");
            for other in 0..3 {
                let mut mixed = tasks.clone();
                mixed[other].content.shape = Digest::of(b"another shape");
                let preflight = run(&world, &mixed, &order(answer)).unwrap();
                assert_eq!(preflight.all(), None, "{level:?}: nothing is written");
                for (at, (_, verdict)) in preflight.verdicts.iter().enumerate() {
                    let is_other = mixed[at].content.shape != mixed[0].content.shape;
                    let is_refused = *verdict == Err(ItemRefusal::OtherShape);
                    assert_eq!(is_refused, is_other, "{level:?}: item {at} of {other}");
                }
            }
        }
    }
}

#[test]
fn batch_shape_is_that_of_the_first_unchanged_item() {
    let world = world();
    let mut tasks = tasks(&world, 3);
    tasks[0].content.shape = Digest::of(b"the new shape");
    let actor = user(ALICE);
    let facts = world.facts(&actor);
    let mut items: Vec<BatchTask<'_>> =
        tasks.iter().map(|task| BatchTask { task, facts: &facts, seen: seen(task) }).collect();
    items[0].seen.digest = Digest::of(b"what was on screen");
    let preflight =
        preflight(&items, &order(Answer::Approve), Thresholds::default(), at(1)).unwrap();
    let [stale, second, third] = &preflight.verdicts[..] else { panic!("{preflight:?}") };
    let is_stale = matches!(stale.1, Err(ItemRefusal::Refused(Refusal::StaleRevision { .. })));
    assert!(is_stale && second.1.is_ok() && third.1.is_ok(), "{preflight:?}");
}

#[test]
fn batch_size_is_bounded_and_duplicates_are_refused() {
    let world = world();
    let one = tasks(&world, 1);
    assert_eq!(run(&world, &[], &order(Answer::Approve)), Err(BatchRefusal::Size { items: 0 }));
    let same = vec![one[0].clone(); 2];
    let preflight = run(&world, &same, &order(Answer::Approve)).unwrap();
    assert!(preflight.verdicts[0].1.is_ok());
    assert_eq!(preflight.verdicts[1].1, Err(ItemRefusal::Twice));
    let many = vec![one[0].clone(); BATCH_ITEMS_MAX + 1];
    let items = BATCH_ITEMS_MAX + 1;
    assert_eq!(run(&world, &many, &order(Answer::Approve)), Err(BatchRefusal::Size { items }));
    let most = vec![one[0].clone(); BATCH_ITEMS_MAX];
    assert!(run(&world, &most, &order(Answer::Approve)).is_ok());
}

#[test]
fn batch_keeps_all_checks_and_refuses_change_requests() {
    let world = world();
    let tasks = tasks(&world, 1);
    let skipping = BatchOrder { skip_validation: true, ..order(Answer::Approve) };
    assert_eq!(run(&world, &tasks, &skipping), Err(BatchRefusal::SkipValidation));
    let changes = order(Answer::RequestChanges);
    assert_eq!(run(&world, &tasks, &changes), Err(BatchRefusal::Answer));
}

#[test]
fn batch_apply_immediately_prioritizes_approved_tasks() {
    let world = world();
    let mut tasks = tasks(&world, 2);
    // Another reviewer approved the second task meanwhile: this vote is late and changes nothing.
    let late = world.step(&tasks[1], &user(BOB), &crate::samples::yes(&tasks[1]), at(1));
    tasks[1] = late;
    let now = BatchOrder { apply_immediately: true, ..order(Answer::Approve) };
    let preflight = run(&world, &tasks, &now).unwrap();
    let fronts: Vec<bool> = preflight
        .all()
        .unwrap()
        .iter()
        .map(|(_, decision)| decision.writes.contains(&Write::FrontOfQueue))
        .collect();
    assert_eq!(fronts, [true, false]);
    let later = run(&world, &tasks, &order(Answer::Approve)).unwrap();
    assert!(later.all().unwrap().iter().all(|(_, d)| !d.writes.contains(&Write::FrontOfQueue)));
}
