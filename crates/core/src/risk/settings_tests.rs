//! Settings: defaults, validation at every edge, and the same validation from storage.

use super::*;

#[test]
fn risk_settings_defaults_are_pinned() {
    let settings = RiskConfig::default();
    assert_eq!(settings.weights.in_order(), [4_000, 3_000, 2_000, 1_000]);
    for (points, level) in [
        (0, Level::Low),
        (29, Level::Low),
        (30, Level::Medium),
        (59, Level::Medium),
        (60, Level::High),
        (84, Level::High),
        (85, Level::Critical),
        (100, Level::Critical),
    ] {
        assert_eq!(settings.thresholds.level(Score::new(points)), level, "{points}");
    }
    // The defaults pass their own validation.
    assert_eq!(Weights::new(4_000, 3_000, 2_000, 1_000), Ok(settings.weights));
    assert_eq!(Thresholds::new(30, 60, 85), Ok(settings.thresholds));
}

#[test]
fn risk_weights_must_add_up_to_one() {
    assert!(Weights::new(10_000, 0, 0, 0).is_ok());
    assert_eq!(Weights::new(1, 2, 3, 9_994).unwrap().in_order(), [1, 2, 3, 9_994]);
    for (last, sum_bp) in [(9_993, 9_999), (9_995, 10_001), (u16::MAX, 65_541)] {
        assert_eq!(Weights::new(1, 2, 3, last), Err(SettingsError::WeightsDoNotAddUp { sum_bp }));
    }
    let sum_bp = 4 * 65_535;
    assert_eq!(
        Weights::new(u16::MAX, u16::MAX, u16::MAX, u16::MAX),
        Err(SettingsError::WeightsDoNotAddUp { sum_bp })
    );
}

#[test]
fn risk_thresholds_must_rise_and_stay_on_the_scale() {
    for (medium, high, critical) in [(0, 1, 2), (98, 99, 100)] {
        assert!(Thresholds::new(medium, high, critical).is_ok());
    }
    for (medium, high, critical) in [(30, 30, 85), (30, 85, 85), (60, 30, 85), (30, 60, 101)] {
        assert_eq!(
            Thresholds::new(medium, high, critical),
            Err(SettingsError::ThresholdsDoNotRise { medium, high, critical })
        );
    }
}

#[test]
fn risk_settings_round_trip_through_storage_and_are_checked() {
    let settings = RiskConfig {
        weights: Weights::new(2_500, 2_500, 2_500, 2_500).unwrap(),
        thresholds: Thresholds::new(20, 40, 80).unwrap(),
        pattern_defaults: BTreeMap::from([("database:prod-*".to_owned(), Score::new(90))]),
    };
    let text = serde_json::to_string(&settings).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"weights":{"resource_criticality_bp":2500,"change_magnitude_bp":2500,"#,
            r#""blast_radius_bp":2500,"historical_failure_rate_bp":2500},"#,
            r#""thresholds":{"medium":20,"high":40,"critical":80},"#,
            r#""pattern_defaults":{"database:prod-*":90}}"#
        )
    );
    assert_eq!(serde_json::from_str::<RiskConfig>(&text).unwrap(), settings);

    for (wrong, reason) in [
        (text.replacen("2500", "2501", 1), "add up to 10001"),
        (text.replacen("40", "20", 1), "do not rise"),
        (text.replacen("90", "101", 1), "not a risk score"),
        (text.replacen("thresholds", "threshold", 1), "unknown field"),
        (text.replacen("medium", "low", 1), "unknown field"),
    ] {
        let refused = serde_json::from_str::<RiskConfig>(&wrong).unwrap_err();
        assert!(refused.to_string().contains(reason), "{refused}");
    }
}

#[test]
fn risk_settings_left_out_have_their_defaults() {
    assert_eq!(serde_json::from_str::<RiskConfig>("{}").unwrap(), RiskConfig::default());
}

#[test]
fn risk_pattern_defaults_are_bounded_inclusively() {
    let text = |count: usize| {
        let patterns: BTreeMap<_, _> = (0..count).map(|n| (format!("db:{n}"), 1)).collect();
        serde_json::json!({"pattern_defaults": patterns}).to_string()
    };
    let read = |count| serde_json::from_str::<RiskConfig>(&text(count));
    assert!(read(RISK_PATTERN_DEFAULTS_MAX).is_ok());
    let refused = read(RISK_PATTERN_DEFAULTS_MAX + 1).unwrap_err().to_string();
    assert!(refused.contains("257 pattern defaults are too many"), "{refused}");
}
