//! The lowest level at its boundaries: criticality, kind of change and share of the table.

use crate::change::{AffectedRows, Change, ChangeKind};
use crate::risk::samples::{NOW, Sample, change, known, observed};
use crate::risk::{Level, RiskConfig, Score, Thresholds, assess};

const DATABASE: &str = "db:0";

fn level(criticality: u8, change: Change) -> Level {
    // The thresholds are out of reach of the weighted factors.
    let thresholds = Thresholds::new(97, 98, 99).unwrap();
    let settings = RiskConfig { thresholds, ..RiskConfig::default() };
    let sample = Sample {
        resources: vec![known(DATABASE, criticality, &[])],
        effect: Some(observed(vec![change])),
        ..Sample::harmless()
    };
    let rated = assess(&sample.facts(), &settings, NOW);
    assert_eq!(rated.level == Level::High, rated.score == Score::new(98), "{rated:?}");
    rated.level
}

fn touching(action: ChangeKind, rows: AffectedRows) -> Change {
    Change { rows: Some(rows), ..change(DATABASE, action, true) }
}

#[test]
fn risk_of_a_large_share_of_a_critical_table_is_high() {
    for (criticality, action, rows, expected) in [
        (70, ChangeKind::Remove, AffectedRows::all(Some(10)), Level::High),
        (69, ChangeKind::Remove, AffectedRows::all(Some(10)), Level::Low),
        (95, ChangeKind::Remove, AffectedRows::some(1, Some(1_000)), Level::Low),
        (95, ChangeKind::Change, AffectedRows::some(100, Some(1_000)), Level::Low),
        (95, ChangeKind::Change, AffectedRows::some(101, Some(1_000)), Level::High),
        (95, ChangeKind::Change, AffectedRows::some(1, None), Level::High),
        (95, ChangeKind::Add, AffectedRows::some(1_000, None), Level::Low),
    ] {
        assert_eq!(level(criticality, touching(action, rows)), expected, "{criticality} {rows:?}");
    }
    assert_eq!(level(95, change(DATABASE, ChangeKind::Remove, true)), Level::Low);
    let unknown =
        Sample { resources: vec![known(DATABASE, 70, &[])], effect: None, ..Sample::harmless() };
    assert!(unknown.score(&RiskConfig::default()) >= Score::new(60), "dropped information");
}

#[test]
fn risk_of_rows_grows_with_their_number() {
    let score = |count| {
        let rows = AffectedRows::some(count, Some(u64::MAX));
        let effect = Some(observed(vec![touching(ChangeKind::Change, rows)]));
        let sample = Sample { effect, ..Sample::harmless() };
        assess(&sample.facts(), &RiskConfig::default(), NOW).score
    };
    let scores = [1_000, 100_000, 10_000_000].map(score);
    assert!(scores.is_sorted() && scores[0] < scores[2], "{scores:?}");
}
