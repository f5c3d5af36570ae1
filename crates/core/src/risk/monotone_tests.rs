//! T15: removing information never lowers the score, for any task, any weights and any other facts.

use proptest::prelude::*;

use super::super::samples::*;
use super::super::{RecentTask, ResourceFacts};
use super::*;
use crate::change::{ChangeKind, Effect, Report};
use crate::limits::RISK_CRITICALITY_DEFAULT;

fn report_of(sample: &Sample) -> Report {
    report(sample.effect.as_ref().unwrap().changes().to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn risk_monotone_dropping_the_effect(sample in sample(), settings in weights()) {
        let before = sample.score(&settings);
        let without = Sample { effect: None, ..sample };
        prop_assert!(without.score(&settings) >= before);
    }

    #[test]
    fn risk_monotone_from_observed_to_declared(sample in sample(), settings in weights()) {
        let before = sample.score(&settings);
        let declared = Effect::declared(report_of(&sample)).unwrap();
        let declared = Sample { effect: Some(declared), ..sample.clone() };
        prop_assert!(declared.score(&settings) >= before);
        // A declared effect measures nothing: any other declaration scores the same.
        let empty = Effect::declared(Report::default()).unwrap();
        let empty = Sample { effect: Some(empty), ..sample };
        prop_assert_eq!(empty.score(&settings), declared.score(&settings));
    }

    #[test]
    fn risk_monotone_when_the_preview_had_errors(sample in sample(), settings in weights()) {
        let before = sample.score(&settings);
        let mut report = report_of(&sample);
        report.errors.push("timeout".to_owned());
        let failed = Sample { effect: Some(Effect::observed(report).unwrap()), ..sample };
        prop_assert!(failed.score(&settings) >= before);
    }

    #[test]
    fn risk_monotone_when_dependents_become_unknown(
        sample in sample(), settings in weights(), which: prop::sample::Index
    ) {
        let before = sample.score(&settings);
        let mut unknown = sample;
        let which = which.index(unknown.resources.len());
        unknown.resources[which].dependents = None;
        prop_assert!(unknown.score(&settings) >= before);
        prop_assert_eq!(unknown.factor(2).0, 100);
    }

    #[test]
    fn risk_monotone_when_outcomes_become_unknown(sample in sample(), settings in weights()) {
        let before = sample.score(&settings);
        let unknown = Sample { history: None, ..sample };
        prop_assert!(unknown.score(&settings) >= before);
    }

    #[test]
    fn risk_monotone_when_the_size_of_a_recent_task_becomes_unknown(
        sample in sample(), settings in weights()
    ) {
        for index in 0..sample.recent.len() {
            let mut unknown = sample.clone();
            unknown.recent[index].counts = None;
            prop_assert!(unknown.score(&settings) >= sample.score(&settings));
        }
    }

    #[test]
    fn risk_monotone_when_a_recent_task_joins(sample in sample(), settings in weights()) {
        for index in 0..sample.recent.len() {
            let mut fewer = sample.clone();
            fewer.recent.remove(index);
            prop_assert!(fewer.score(&settings) <= sample.score(&settings));
        }
    }

    #[test]
    fn risk_monotone_dropping_the_resource_list(sample in sample(), settings in weights()) {
        let alone = Sample { recent: vec![], ..sample.clone() };
        for sample in [sample, alone] {
            let before = sample.score(&settings);
            let mut nothing = Sample { resources: vec![], ..sample };
            prop_assert!(nothing.score(&settings) >= before);
            nothing.effect = None;
            prop_assert!(nothing.score(&settings) >= before);
            prop_assert_eq!((nothing.factor(0).0, nothing.factor(2).0), (100, 100));
        }
    }

    #[test]
    fn risk_monotone_in_the_size_of_the_effect(
        sample in sample(), settings in weights(), more in changes()
    ) {
        let before = sample.score(&settings);
        let mut report = report_of(&sample);
        report.changes.extend(dealt(&sample.resources, &more));
        let larger = Sample { effect: Some(Effect::observed(report).unwrap()), ..sample };
        prop_assert!(larger.score(&settings) >= before);
    }

    #[test]
    fn risk_monotone_in_what_cannot_be_undone(sample in sample(), settings in weights()) {
        let before = sample.score(&settings);
        let mut report = report_of(&sample);
        for change in &mut report.changes {
            change.irreversible = true;
        }
        let worse = Sample { effect: Some(Effect::observed(report).unwrap()), ..sample };
        prop_assert!(worse.score(&settings) >= before);
    }

    #[test]
    fn risk_monotone_in_criticality(
        sample in sample(), settings in weights(), which: prop::sample::Index, points in 0..=100_u8
    ) {
        let before = sample.score(&settings);
        let mut raised = sample;
        let which = which.index(raised.resources.len());
        let rated = super::super::criticality(&raised.resources[which]);
        raised.resources[which].criticality = Some(rated.max(Score::new(points)));
        prop_assert!(raised.score(&settings) >= before);
    }

    /// The registry does not belong to the author. Without its entry, a resource rates as the
    /// default of its pattern, or as 50; removing an entry that was not higher cannot lower the
    /// score.
    #[test]
    fn risk_monotone_without_the_registry_entry(
        sample in sample(), settings in weights(), which: prop::sample::Index
    ) {
        let which = which.index(sample.resources.len());
        let mut absent = sample.clone();
        absent.resources[which].criticality = None;
        let fallback = absent.resources[which]
            .pattern_default
            .unwrap_or(Score::new(RISK_CRITICALITY_DEFAULT));
        let mut rated = sample.clone();
        rated.resources[which].criticality = Some(fallback);
        prop_assert_eq!(absent.score(&settings), rated.score(&settings));
        if sample.resources[which].criticality <= Some(fallback) {
            prop_assert!(absent.score(&settings) >= sample.score(&settings));
        }
    }

    /// Leaving a resource off the list does not hide it while the effect touches it.
    #[test]
    fn risk_monotone_when_a_resource_is_unlisted(
        sample in sample(), settings in weights(), is_observed: bool
    ) {
        let mut report = report_of(&sample);
        report.changes.push(change("db:unlisted", ChangeKind::Add, false));
        let effect = if is_observed {
            Effect::observed(report).unwrap()
        } else {
            Effect::declared(report).unwrap()
        };
        let hidden = Sample { effect: Some(effect), ..sample.clone() };
        prop_assert!(hidden.score(&settings) >= sample.score(&settings));
        for index in 0..3 {
            let (points, sentence) = hidden.factor(index);
            prop_assert_eq!(points, 100);
            prop_assert!(sentence.starts_with("the effect touches db:unlisted, which the task"));
        }
    }

    #[test]
    fn risk_explanations_are_one_line(sample in sample()) {
        let nothing = Sample { resources: vec![], effect: None, history: None, recent: vec![] };
        for sample in [sample, nothing] {
            for index in 0..4 {
                let (_, sentence) = sample.factor(index);
                prop_assert!(!sentence.is_empty() && sentence.lines().count() == 1);
            }
        }
    }
}

#[test]
fn risk_without_any_facts_is_the_highest_score() {
    let nothing = Sample { resources: vec![], effect: None, history: None, recent: vec![] };
    let rated = nothing.rated(&RiskConfig::default());
    assert_eq!((rated.score, rated.level), (Score::MAX, Level::Critical));
}

/// The samples must reach the cases that the properties cover, or they prove nothing.
#[test]
fn risk_samples_reach_low_and_high_scores() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let drawn: Vec<Sample> =
        (0..200).map(|_| sample().new_tree(&mut runner).unwrap().current()).collect();
    let scores = drawn.iter().map(|s| s.score(&RiskConfig::default()).points());
    let (low, high): (Vec<_>, Vec<_>) = scores.partition(|points| *points < 50);
    assert!(low.len() > 10 && high.len() > 10, "{} {}", low.len(), high.len());
    let joined = |sample: &&Sample| sample.factor(1).1.contains("combined with");
    assert!(drawn.iter().filter(joined).count() > 10);
}

fn entry(criticality: Option<u8>, pattern_default: Option<u8>) -> ResourceFacts {
    ResourceFacts {
        criticality: criticality.map(Score::new),
        pattern_default: pattern_default.map(Score::new),
        ..known("db:0", 0, &[])
    }
}

#[test]
fn criticality_prefers_registry_then_pattern_then_middle() {
    for (facts, points) in [
        (entry(Some(10), Some(90)), 10),
        (entry(Some(0), None), 0),
        (entry(None, Some(10)), 10),
        (entry(None, Some(90)), 90),
        (entry(None, None), 50),
    ] {
        let sample = Sample { resources: vec![facts], ..Sample::harmless() };
        assert_eq!(sample.factor(0).0, points);
    }
}

#[test]
fn declared_effect_counts_as_largest() {
    let changes = vec![change("db:0", ChangeKind::Add, false)];
    let small = Sample { effect: Some(observed(changes.clone())), ..Sample::harmless() };
    assert_eq!(small.factor(1).0, 10);
    let declared = Sample { effect: Some(Effect::declared(report(changes)).unwrap()), ..small };
    assert_eq!(
        declared.factor(1),
        (
            100,
            "the effect was declared, not observed, so its size counts as the largest".to_owned()
        )
    );
}

#[test]
fn change_splitting_ignores_other_authors_and_resources() {
    let other_author =
        RecentTask { author: STRANGER, ..recent(1, vec![known("db:0", 99, &[])], 50) };
    let other_resource = recent(2, vec![known("db:9", 99, &[])], 50);
    let sample = Sample { recent: vec![other_author, other_resource], ..Sample::harmless() };
    let settings = RiskConfig::default();
    assert_eq!(sample.rated(&settings), Sample::harmless().rated(&settings));
}
