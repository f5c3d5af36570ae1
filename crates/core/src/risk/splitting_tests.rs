//! T14: one change split into many small tasks scores at least as high as the whole change.

use std::time::Duration;

use proptest::prelude::*;

use super::super::samples::*;
use super::super::{RiskConfig, assess};
use super::*;
use crate::change::{ChangeKind, Effect};
use crate::ids::TaskId;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// All parts touch one common resource and possibly others, in any order within the window.
    #[test]
    fn change_splitting_scores_at_least_the_whole(
        registry in registry(),
        shared in 0..5_usize,
        parts in prop::collection::vec((named(), changes(), 0..=3_600_u64), 1..6),
        settings in weights(),
    ) {
        let mut whole = Sample { resources: vec![], recent: vec![], ..Sample::harmless() };
        let mut union = BTreeSet::new();
        let mut all_changes = vec![];
        let mut tasks = vec![];
        for (number, (mut named, kinds, seconds)) in (1..).zip(parts) {
            named.insert(shared);
            let resources = pick(&registry, &named);
            let changes = dealt(&resources, &kinds);
            union.extend(named);
            all_changes.extend(changes.clone());
            let effect = observed(changes);
            tasks.push((effect.clone(), RecentTask {
                at: NOW.minus(Duration::from_secs(seconds)),
                counts: effect.measured(),
                ..recent(number, resources, 0)
            }));
        }
        whole.resources = pick(&registry, &union);
        whole.effect = Some(observed(all_changes));

        let (effect, last) = tasks.pop().unwrap();
        let last = Sample {
            resources: last.resources,
            effect: Some(effect),
            recent: tasks.into_iter().map(|(_, task)| task).collect(),
            ..whole.clone()
        };
        prop_assert!(last.score(&settings) >= whole.score(&settings));
        for index in 0..4 {
            prop_assert!(last.factor(index).0 >= whole.factor(index).0);
        }
    }
}

fn with_recent(recent: Vec<RecentTask>) -> Sample {
    Sample {
        effect: Some(observed(vec![change("db:0", ChangeKind::Add, false)])),
        recent,
        ..Sample::harmless()
    }
}

#[test]
fn change_splitting_adds_up_sizes_reach_and_criticality() {
    let alone = with_recent(vec![]);
    let points = |sample: &Sample| [0, 1, 2].map(|index| sample.factor(index).0);
    assert_eq!(points(&alone), [0, 10, 13]);
    let earlier = recent(1, vec![known("db:0", 0, &[]), known("db:1", 70, &["svc:1"])], 2);
    // Three changes, and three resources reached.
    let joined = with_recent(vec![earlier]);
    assert_eq!(points(&joined), [70, 20, 25]);
    assert_eq!(
        joined.factor(1).1,
        "the preview observed 3 added, 0 changed and 0 removed, 0 of them irreversible, combined \
         with 1 recent task by the same author on these resources"
    );
}

#[test]
fn change_splitting_counts_every_kind() {
    let mut earlier = recent(1, vec![known("db:0", 0, &[])], 1);
    earlier.counts = Some(Counts { adds: 1, changes: 2, removes: 4, irreversible: 3, rows: 0 });
    let mut sample =
        with_recent(vec![earlier.clone(), RecentTask { task: TaskId::from_u128(2), ..earlier }]);
    sample.effect = Some(observed(vec![
        change("db:0", ChangeKind::Add, true),
        change("db:0", ChangeKind::Change, false),
        change("db:0", ChangeKind::Remove, false),
    ]));
    assert_eq!(
        sample.factor(1).1,
        "the preview observed 3 added, 5 changed and 9 removed, 7 of them irreversible, combined \
         with 2 recent tasks by the same author on these resources"
    );
}

#[test]
fn change_splitting_window_is_one_hour_with_clock_skew() {
    let at = |at: Timestamp| {
        let task = recent(1, vec![known("db:0", 0, &[])], 6);
        with_recent(vec![RecentTask { at, ..task }]).factor(1).0
    };
    let edge = NOW.minus(CHANGE_SPLITTING_WINDOW);
    assert_eq!(at(edge), 30);
    assert_eq!(at(edge.minus(Duration::from_micros(1))), 10);
    assert_eq!(at(NOW.plus(Duration::from_secs(5))), 30);
}

#[test]
fn change_splitting_follows_a_chain_of_overlapping_tasks() {
    let near = recent(1, vec![known("db:0", 0, &[]), known("db:1", 0, &[])], 2);
    let far = recent(2, vec![known("db:1", 0, &[]), known("db:2", 0, &[])], 4);
    let apart = recent(3, vec![known("db:3", 0, &[])], 100);
    // In any order.
    for recent in [vec![near.clone(), far.clone(), apart.clone()], vec![apart, far, near]] {
        assert_eq!(with_recent(recent).factor(1).0, 30);
    }
}

/// Otherwise a task without a resource list would escape the window.
#[test]
fn change_splitting_is_not_evaded_by_naming_no_resource() {
    let earlier = recent(1, vec![known("db:0", 0, &[]), known("db:1", 0, &[])], 6);
    let sample =
        Sample { resources: vec![], effect: Some(observed(vec![])), ..with_recent(vec![earlier]) };
    let points = [0, 1, 2].map(|index| sample.factor(index).0);
    assert_eq!(points, [100, 28, 100]);
    let unnamed = recent(1, vec![], 6);
    assert_eq!(with_recent(vec![unnamed]).factor(1).0, 30);
}

#[test]
fn change_splitting_does_not_count_the_task_itself() {
    let own = recent(0, vec![known("db:0", 90, &[])], 100);
    let settings = RiskConfig::default();
    assert_eq!(with_recent(vec![own]).rated(&settings), with_recent(vec![]).rated(&settings));
}

#[test]
fn change_splitting_with_unknown_size_is_the_largest() {
    let mut earlier = recent(1, vec![known("db:0", 0, &[])], 0);
    earlier.counts = Effect::declared(report(vec![])).unwrap().measured();
    let (points, sentence) = with_recent(vec![earlier]).factor(1);
    assert_eq!(points, 100);
    assert_eq!(
        sentence,
        "a recent task of the same author on these resources was not previewed, so their combined \
         size counts as the largest"
    );
}

#[test]
fn change_splitting_keeps_the_worse_rating_of_a_resource() {
    let rated = |one: ResourceFacts, other: ResourceFacts| {
        let sample = Sample {
            resources: vec![one.clone()],
            ..with_recent(vec![recent(1, vec![other.clone()], 0)])
        };
        let swapped =
            Sample { resources: vec![other], ..with_recent(vec![recent(1, vec![one], 0)]) };
        let points = [0, 2].map(|index| sample.factor(index).0);
        assert_eq!(points, [0, 2].map(|index| swapped.factor(index).0));
        points
    };
    let low = known("db:0", 10, &["svc:1"]);
    let high = known("db:0", 80, &["svc:2"]);
    assert_eq!(rated(low.clone(), high), [80, 25]);
    let unknown = ResourceFacts { dependents: None, ..known("db:0", 5, &[]) };
    assert_eq!(rated(low, unknown), [10, 100]);
}

#[test]
fn change_splitting_assessment_is_deterministic() {
    let sample = with_recent(vec![recent(1, vec![known("db:0", 3, &["svc:1"])], 4)]);
    let settings = RiskConfig::default();
    assert_eq!(assess(&sample.facts(), &settings, NOW), assess(&sample.facts(), &settings, NOW));
}
