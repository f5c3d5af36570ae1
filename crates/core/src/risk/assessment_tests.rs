//! The whole assessment: arithmetic, rounding, levels, and the stored form.

use proptest::prelude::*;

use super::super::samples::*;
use super::super::{History, Outcomes, Weights};
use super::*;
use crate::change::ChangeKind;

/// Criticality 95, seven changes (30), three things reached (25), a fifth failing (20).
fn example() -> Sample {
    Sample {
        resources: vec![known("database:prod-db-01", 95, &["service:a", "service:b"])],
        effect: Some(observed(vec![change("database:prod-db-01", ChangeKind::Change, false); 7])),
        history: Some(History {
            like: Outcomes::default(),
            tenant: Outcomes { failed: 20, total: 100 },
        }),
        recent: vec![],
    }
}

#[test]
fn risk_score_is_the_weighted_sum_of_the_factors() {
    let rated = example().rated(&RiskConfig::default());
    let parts: Vec<_> = rated
        .factors
        .iter()
        .map(|f| (f.name, f.score.points(), f.weight_bp, f.contribution_bp))
        .collect();
    assert_eq!(
        parts,
        [
            (FactorName::ResourceCriticality, 95, 4_000, 380_000),
            (FactorName::ChangeMagnitude, 30, 3_000, 90_000),
            (FactorName::BlastRadius, 25, 2_000, 50_000),
            (FactorName::HistoricalFailureRate, 20, 1_000, 20_000),
        ]
    );
    assert_eq!(rated.score.points(), 54);
    assert_eq!(rated.level, Level::Medium);
    assert_eq!((rated.assessed_at, rated.assessed_by.as_str()), (NOW, "risk/2"));
}

#[test]
fn risk_level_follows_the_thresholds_of_the_tenant() {
    let settings = RiskConfig {
        thresholds: super::super::Thresholds::new(10, 20, 54).unwrap(),
        ..RiskConfig::default()
    };
    assert_eq!(example().rated(&settings).level, Level::Critical);
}

#[test]
fn risk_weights_apply_to_their_factors() {
    for (index, points) in [95, 30, 25, 20].into_iter().enumerate() {
        let mut bp = [0; 4];
        bp[index] = 10_000;
        let settings = RiskConfig {
            weights: Weights::new(bp[0], bp[1], bp[2], bp[3]).unwrap(),
            ..RiskConfig::default()
        };
        assert_eq!(example().score(&settings).points(), points);
    }
}

#[test]
fn risk_score_rounds_half_a_point_up() {
    let score = |criticality_bp: u16, magnitude_bp: u16| {
        let weights = Weights::new(criticality_bp, magnitude_bp, 0, 0).unwrap();
        // A point for the first, nothing for the second.
        let sample = Sample { resources: vec![known("db:0", 1, &[])], ..Sample::harmless() };
        let settings = RiskConfig { weights, ..RiskConfig::default() };
        sample.score(&settings).points()
    };
    assert_eq!(score(4_999, 5_001), 0);
    assert_eq!(score(5_000, 5_000), 1);
    assert_eq!(score(10_000, 0), 1);
}

#[test]
fn risk_assessment_round_trips_through_storage() {
    let rated = example().rated(&RiskConfig::default());
    let text = serde_json::to_string(&rated).unwrap();
    assert_eq!(serde_json::from_str::<Assessment>(&text).unwrap(), rated);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["level"], "MEDIUM");
    assert_eq!(value["score"], 54);
    assert_eq!(value["assessed_at"], "2026-03-18T15:30:00.000000Z");
    assert_eq!(
        value["factors"][0],
        serde_json::json!({
            "name": "resource_criticality",
            "score": 95,
            "weight_bp": 4000,
            "contribution_bp": 380_000,
            "sentence": "database:prod-db-01 is rated 95 of 100 in the registry"
        })
    );
    assert_eq!(value["factors"][3]["name"], "historical_failure_rate");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn risk_contributions_add_up_to_the_unrounded_score(
        sample in sample(), settings in weights()
    ) {
        let rated = sample.rated(&settings);
        let sum: u32 = rated.factors.iter().map(|factor| factor.contribution_bp).sum();
        let exact = f64::from(sum) / 10_000.0;
        prop_assert!((exact - f64::from(rated.score.points())).abs() <= 0.5);
        for factor in &rated.factors {
            let share = u32::from(factor.score.points()) * u32::from(factor.weight_bp);
            prop_assert_eq!(factor.contribution_bp, share);
        }
        let lowest = rated.factors.iter().map(|f| f.score).min().unwrap();
        let highest = rated.factors.iter().map(|f| f.score).max().unwrap();
        prop_assert!((lowest..=highest).contains(&rated.score));
    }
}
