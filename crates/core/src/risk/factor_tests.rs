//! Each factor alone: points and explanation, at the boundaries and in the normal case.

use proptest::prelude::*;

use super::super::samples::*;
use super::*;
use crate::change::{ChangeKind, Report};

#[test]
fn criticality_is_the_highest_and_names_the_resource() {
    let one =
        Sample { resources: vec![known("database:prod-db-01", 95, &[])], ..Sample::harmless() };
    assert_eq!(
        one.factor(0),
        (95, "database:prod-db-01 is rated 95 of 100 in the registry".to_owned())
    );
    let mut several = one;
    several.resources.insert(0, known("service:api", 20, &[]));
    several.resources.push(known("service:web", 30, &[]));
    assert_eq!(
        several.factor(0),
        (
            95,
            "database:prod-db-01 is rated 95 of 100 in the registry, the highest of 3 resources"
                .to_owned()
        )
    );
}

#[test]
fn criticality_tie_names_the_first_in_canonical_order() {
    let sample = Sample {
        resources: vec![known("db:b", 40, &[]), known("db:a", 40, &[])],
        ..Sample::harmless()
    };
    assert!(sample.factor(0).1.starts_with("db:a is rated 40"));
}

#[test]
fn criticality_fallback_is_named_as_such() {
    let facts = |pattern_default: Option<u8>| Sample {
        resources: vec![ResourceFacts {
            criticality: None,
            pattern_default: pattern_default.map(Score::new),
            ..known("db:x", 0, &[])
        }],
        ..Sample::harmless()
    };
    assert_eq!(
        facts(Some(70)).factor(0).1,
        "db:x is not in the registry; its pattern is rated 70 of 100"
    );
    assert_eq!(
        facts(None).factor(0).1,
        "db:x is not in the registry and no pattern matches it, so it counts as 50 of 100"
    );
}

#[test]
fn risk_without_resources_has_the_highest_factors() {
    let sample = Sample { resources: vec![], ..Sample::harmless() };
    assert_eq!(
        sample.factor(0),
        (100, "the task lists no resource, so its criticality counts as the highest".to_owned())
    );
    assert_eq!(
        sample.factor(2),
        (100, "the task lists no resource, so its blast radius counts as the widest".to_owned())
    );
}

fn sized(adds: usize, changes: usize, removes: usize, irreversible: usize) -> (u8, String) {
    use ChangeKind::{Add, Change, Remove};
    let kinds = [(Add, adds), (Change, changes), (Remove, removes)];
    let mut all = vec![];
    for (kind, count) in kinds {
        all.extend(vec![change("db:0", kind, false); count]);
    }
    for change in all.iter_mut().rev().take(irreversible) {
        change.irreversible = true;
    }
    let sample = Sample { effect: Some(observed(all)), ..Sample::harmless() };
    sample.factor(1)
}

#[test]
fn magnitude_adds_four_for_irreversible_changes() {
    assert_eq!(sized(0, 0, 0, 0).0, 0);
    assert_eq!(sized(1, 0, 0, 0).0, 10);
    assert_eq!(sized(0, 1, 0, 0).0, 10);
    assert_eq!(sized(0, 0, 1, 0).0, 10);
    // One and four more are five; three and four more are seven.
    assert_eq!(sized(1, 0, 0, 1).0, 25);
    assert_eq!(sized(1, 1, 1, 1).0, 30);
    assert_eq!(sized(1, 1, 1, 0).0, 20);
    assert_eq!(
        sized(1, 2, 3, 1).1,
        "the preview observed 1 added, 2 changed and 3 removed, 1 of them irreversible"
    );
    assert_eq!(sized(1_000, 0, 0, 0).0, 100);
    assert_eq!(sized(255, 0, 0, 0).0, 80);
}

#[test]
fn magnitude_of_an_unmeasured_effect_is_the_largest() {
    let with = |effect: Option<Effect>| {
        let sample = Sample { effect, ..Sample::harmless() };
        sample.factor(1)
    };
    assert_eq!(
        with(None),
        (100, "the change was not previewed, so its size counts as the largest".to_owned())
    );
    let failed = |count: usize| {
        let report = Report { errors: vec!["timeout".to_owned(); count], ..Report::default() };
        with(Some(Effect::observed(report).unwrap()))
    };
    assert_eq!(
        failed(1),
        (100, "the preview ended with 1 error, so its size counts as the largest".to_owned())
    );
    assert_eq!(failed(2).1, "the preview ended with 2 errors, so its size counts as the largest");
    let warned = Report { warnings: vec!["slow".to_owned()], ..Report::default() };
    assert_eq!(with(Some(Effect::observed(warned).unwrap())).0, 0);
}

#[test]
fn reach_counts_each_resource_once() {
    let reach = |resources: Vec<ResourceFacts>| {
        let sample = Sample { resources, ..Sample::harmless() };
        sample.factor(2)
    };
    assert_eq!(
        reach(vec![known("db:a", 0, &[])]),
        (13, "the change reaches 1 resource and 0 dependents".to_owned())
    );
    // b is named and depends on a; c depends on both: three resources.
    assert_eq!(
        reach(vec![known("db:a", 0, &["db:b", "db:c"]), known("db:b", 0, &["db:c"]),]),
        (25, "the change reaches 2 resources and 1 dependent".to_owned())
    );
    // A resource that is named twice counts once.
    assert_eq!(reach(vec![known("db:a", 0, &[]), known("db:a", 0, &[])]).0, 13);
    let crowd: Vec<String> = (0..254).map(|number| format!("svc:{number}")).collect();
    let crowd: Vec<&str> = crowd.iter().map(String::as_str).collect();
    assert_eq!(reach(vec![known("db:a", 0, &crowd)]).0, 100);
    assert_eq!(reach(vec![known("db:a", 0, &crowd[..126])]).0, 88);
}

#[test]
fn reach_with_unknown_dependents_is_the_widest() {
    let unknown = ResourceFacts { dependents: None, ..known("db:b", 0, &[]) };
    let sample = Sample { resources: vec![known("db:a", 0, &[]), unknown], ..Sample::harmless() };
    assert_eq!(
        sample.factor(2),
        (
            100,
            "the dependents of db:b are unknown, so the blast radius counts as the widest"
                .to_owned()
        )
    );
}

fn outcomes_of(failed: u32, total: u32) -> Outcomes {
    Outcomes { failed, total }
}

fn rate(like: Outcomes, tenant: Outcomes) -> (u8, String) {
    let (score, sentence) = historical_failure_rate(Some(History { like, tenant }));
    (score.points(), sentence)
}

#[test]
fn failure_rate_of_few_outcomes_leans_on_the_tenant() {
    let tenant = outcomes_of(20, 100);
    assert_eq!(
        rate(outcomes_of(0, 0), tenant),
        (20, "no similar task has finished yet; 20 of all 100 tasks failed".to_owned())
    );
    // (1 + 10 · 0.2) / 11 = 27.3 %, rounded up.
    assert_eq!(
        rate(outcomes_of(1, 1), tenant),
        (28, "1 of 1 similar tasks failed; 20 of all 100 tasks failed".to_owned())
    );
    assert_eq!(rate(outcomes_of(5, 10), tenant).0, 35);
    assert_eq!(rate(outcomes_of(990, 990), tenant).0, 100);
    assert_eq!(rate(outcomes_of(0, 990), tenant).0, 1);
    assert_eq!(rate(outcomes_of(0, 10), outcomes_of(0, 10)).0, 0);
    assert_eq!(rate(outcomes_of(u32::MAX, u32::MAX), outcomes_of(1, 1)).0, 100);
}

#[test]
fn failure_rate_without_history_is_even() {
    assert_eq!(
        rate(outcomes_of(0, 0), outcomes_of(0, 0)),
        (
            50,
            "no similar task has finished yet; no other task has finished either, so 50 of 100 \
             count as failed"
                .to_owned()
        )
    );
}

#[test]
fn failure_rate_counts_unknown_outcomes_as_failed() {
    assert_eq!(
        historical_failure_rate(None),
        (
            Score::MAX,
            "the outcomes of similar tasks are unknown, so they count as failed".to_owned()
        )
    );
}

#[test]
fn failure_rate_with_excess_failures_is_full() {
    let sane = outcomes_of(0, 10);
    assert_eq!(rate(outcomes_of(50, 10), sane).0, 50);
    assert_eq!(rate(outcomes_of(0, 0), outcomes_of(9, 3)).0, 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Compared with exact fractions, the result is never below the true smoothed rate and never a
    /// point above it. The mean itself is rounded up by at most a basis point.
    #[test]
    fn failure_rate_is_smoothed_and_rounded_up(like in outcomes(), tenant in outcomes()) {
        let mean = if tenant.total == 0 {
            0.5
        } else {
            f64::from(tenant.failed) / f64::from(tenant.total)
        };
        let exact = (f64::from(like.failed) + 10.0 * mean) / (f64::from(like.total) + 10.0);
        let points = f64::from(rate(like, tenant).0);
        prop_assert!(points >= 100.0 * exact - 1e-9);
        prop_assert!(points < 100.0 * exact + 1.02);
    }

    #[test]
    fn failure_rate_is_never_lowered_by_a_failure(like in outcomes(), tenant in outcomes()) {
        let failed = Outcomes { failed: like.failed + 1, total: like.total + 1 };
        let succeeded = Outcomes { failed: like.failed, total: like.total + 1 };
        prop_assert!(rate(failed, tenant).0 >= rate(like, tenant).0);
        prop_assert!(rate(succeeded, tenant).0 <= rate(like, tenant).0);
    }
}

#[test]
fn failure_history_that_is_worse_has_the_higher_rate() {
    let of = |failed, total| Outcomes { failed, total };
    for (one, other, expected) in [
        (of(0, 0), of(0, 0), of(0, 0)),
        (of(0, 0), of(0, 5), of(0, 5)),
        (of(0, 9), of(1, 100), of(1, 100)),
        (of(1, 2), of(3, 10), of(1, 2)),
        (of(1, 2), of(5, 10), of(5, 10)),
    ] {
        assert_eq!(one.worse(other), expected);
        assert_eq!(other.worse(one), expected, "in either order");
    }
}
