//! Effects: bounds, counts, what counts as measured, and that storage does not alter them.

use super::super::read;
use super::*;
use crate::limits::JSON_DEPTH_MAX;

fn value(text: &str) -> StrictValue {
    StrictValue::parse(text.as_bytes()).unwrap()
}

fn change(action: ChangeKind, irreversible: bool) -> Change {
    Change {
        resource: "db:a".parse().unwrap(),
        action,
        irreversible,
        summary: "s".to_owned(),
        rows: None,
        before: None,
        after: None,
    }
}

fn report(changes: Vec<Change>) -> Report {
    Report { changes, ..Report::default() }
}

#[test]
fn effect_counts_each_kind_and_irreversible_ones_separately() {
    use ChangeKind::{Add, Change, Remove};
    let changes = [
        (Add, false),
        (Change, true),
        (Change, false),
        (Remove, true),
        (Remove, false),
        (Remove, true),
    ];
    let changes = changes.map(|(kind, irreversible)| change(kind, irreversible));
    let effect = Effect::observed(report(changes.to_vec())).unwrap();
    let expected = Counts { adds: 1, changes: 2, removes: 3, irreversible: 3, rows: 0 };
    assert_eq!(effect.counts(), expected);
    assert_eq!(effect.measured(), Some(expected));
    let nothing = Effect::observed(Report::default()).unwrap();
    assert_eq!(nothing.counts(), Counts::default());
}

#[test]
fn effect_is_measured_only_by_a_preview_without_errors() {
    let changes = vec![change(ChangeKind::Add, false)];
    let declared = Effect::declared(report(changes.clone())).unwrap();
    assert_eq!(declared.origin(), Origin::Declared);
    assert_eq!(declared.measured(), None);
    assert_eq!(declared.counts().adds, 1);
    let failed = Effect::observed(Report {
        changes,
        warnings: vec!["w".to_owned()],
        errors: vec!["e".to_owned()],
    })
    .unwrap();
    assert_eq!(failed.origin(), Origin::Observed);
    assert_eq!(failed.measured(), None);
    assert_eq!(
        (failed.warnings(), failed.errors()),
        (&["w".to_owned()][..], &["e".to_owned()][..])
    );
}

#[test]
fn effect_report_cannot_set_its_origin() {
    let text = br#"{"origin":"observed","changes":[]}"#;
    let refused = read::<Report>(text).unwrap_err().to_string();
    assert!(refused.contains("unknown field `origin`"), "{refused}");
    let report = read::<Report>(br#"{"changes":[]}"#).unwrap();
    assert_eq!(report, Report::default());
}

#[test]
fn effect_change_must_state_reversibility() {
    let text = br#"{"changes":[{"resource":"db:a","action":"remove","summary":"s"}]}"#;
    let refused = read::<Report>(text).unwrap_err().to_string();
    assert!(refused.contains("missing field `irreversible`"), "{refused}");
    let text = br#"{"changes":[{"resource":"db:a","action":"add","irreversible":false,
        "summary":"s","size":1}]}"#;
    let refused = read::<Report>(text).unwrap_err().to_string();
    assert!(refused.contains("unknown field `size`"), "{refused}");
}

#[test]
fn effect_bounds_are_inclusive() {
    let many = |count| vec![change(ChangeKind::Add, false); count];
    assert!(Effect::observed(report(many(EFFECT_CHANGES_MAX))).is_ok());
    let count = EFFECT_CHANGES_MAX + 1;
    assert_eq!(Effect::observed(report(many(count))), Err(EffectError::TooManyChanges { count }));

    let summary = |bytes| Change { summary: "x".repeat(bytes), ..change(ChangeKind::Add, false) };
    assert!(Effect::observed(report(vec![summary(CHANGE_SUMMARY_MAX_BYTES)])).is_ok());
    let bytes = CHANGE_SUMMARY_MAX_BYTES + 1;
    assert_eq!(
        Effect::observed(report(vec![summary(1), summary(bytes)])),
        Err(EffectError::SummaryTooLong { index: 1, bytes })
    );
}

#[test]
fn effect_notes_are_bounded_by_number_and_length() {
    let notes = |count, bytes| vec!["x".repeat(bytes); count];
    let warned = |warnings| Effect::observed(Report { warnings, ..Report::default() });
    let failed = |errors| Effect::observed(Report { errors, ..Report::default() });
    assert!(warned(notes(EFFECT_NOTES_MAX, EFFECT_NOTE_MAX_BYTES)).is_ok());
    assert!(failed(notes(EFFECT_NOTES_MAX, EFFECT_NOTE_MAX_BYTES)).is_ok());
    let count = EFFECT_NOTES_MAX + 1;
    let list = "warnings";
    assert_eq!(warned(notes(count, 1)), Err(EffectError::TooManyNotes { list, count }));
    let bytes = EFFECT_NOTE_MAX_BYTES + 1;
    let list = "errors";
    let mut errors = notes(2, 1);
    errors.insert(1, "x".repeat(bytes));
    assert_eq!(failed(errors), Err(EffectError::NoteTooLong { list, bytes }));
}

#[test]
fn effect_total_size_is_bounded() {
    let with = |bytes: usize| {
        Effect::observed(report(vec![Change {
            after: Some(value(&format!("\"{}\"", "x".repeat(bytes)))),
            ..change(ChangeKind::Add, false)
        }]))
    };
    let frame = canonical::to_bytes(&with(0).unwrap()).unwrap().len();
    assert!(with(PAYLOAD_MAX_BYTES - frame).is_ok());
    assert_eq!(
        with(PAYLOAD_MAX_BYTES - frame + 1),
        Err(EffectError::TooLarge { bytes: PAYLOAD_MAX_BYTES + 1 })
    );
}

#[test]
fn effect_addition_has_no_before_and_removal_no_after() {
    let with = |action, before: Option<&str>, after: Option<&str>| {
        Effect::observed(report(vec![Change {
            before: before.map(value),
            after: after.map(value),
            ..change(action, false)
        }]))
    };
    let resource: ResourceRef = "db:a".parse().unwrap();
    assert!(with(ChangeKind::Add, None, Some("1")).is_ok());
    assert!(with(ChangeKind::Change, Some("1"), Some("2")).is_ok());
    assert!(with(ChangeKind::Remove, Some("1"), None).is_ok());
    assert_eq!(
        with(ChangeKind::Add, Some("null"), Some("1")),
        Err(EffectError::AddWithBefore { index: 0, resource: resource.clone() })
    );
    assert_eq!(
        with(ChangeKind::Remove, Some("1"), Some("1")),
        Err(EffectError::RemoveWithAfter { index: 0, resource })
    );
}

#[test]
fn effect_round_trips_through_storage_with_null_values() {
    let effect = Effect::declared(Report {
        changes: vec![
            Change {
                before: Some(value("null")),
                after: Some(value(r#"{"b":1.0,"a":[0.5]}"#)),
                ..change(ChangeKind::Change, true)
            },
            change(ChangeKind::Remove, false),
        ],
        warnings: vec!["slow".to_owned()],
        errors: vec![],
    })
    .unwrap();
    let text = serde_json::to_string(&effect).unwrap();
    assert_eq!(serde_json::from_str::<Effect>(&text).unwrap(), effect);
    assert_eq!(
        text,
        concat!(
            r#"{"origin":"declared","changes":[{"resource":"db:a","action":"change","#,
            r#""irreversible":true,"summary":"s","before":null,"after":{"a":[0.5],"b":1}},"#,
            r#"{"resource":"db:a","action":"remove","irreversible":false,"summary":"s"}],"#,
            r#""warnings":["slow"],"errors":[]}"#
        )
    );
}

#[test]
fn effect_from_storage_is_validated_again() {
    let note = "x".repeat(EFFECT_NOTE_MAX_BYTES + 1);
    let text = format!(r#"{{"origin":"observed","changes":[],"warnings":["{note}"],"errors":[]}}"#);
    let refused = serde_json::from_str::<Effect>(&text).unwrap_err();
    assert!(refused.to_string().contains("an entry of warnings has 1025 bytes"));
    let deep = format!("{}1{}", "[".repeat(JSON_DEPTH_MAX + 1), "]".repeat(JSON_DEPTH_MAX + 1));
    let text = format!(
        r#"{{"origin":"observed","changes":[{{"resource":"db:a","action":"add",
        "irreversible":false,"summary":"s","after":{deep}}}],"warnings":[],"errors":[]}}"#
    );
    let refused = serde_json::from_str::<Effect>(&text).unwrap_err().to_string();
    assert!(refused.contains("nested deeper"), "{refused}");
    let text = r#"{"origin":"seen","changes":[],"warnings":[],"errors":[]}"#;
    assert!(serde_json::from_str::<Effect>(text).is_err());
    let text = r#"{"origin":"observed","changes":[],"warnings":[],"errors":[],"score":0}"#;
    assert!(serde_json::from_str::<Effect>(text).is_err());
}

#[test]
fn effect_resources_are_unique_and_in_canonical_order() {
    let on = |resource: &str| Change {
        resource: resource.parse().unwrap(),
        ..change(ChangeKind::Change, false)
    };
    let effect = Effect::observed(report(vec![on("db:b"), on("db:a"), on("db:b")])).unwrap();
    let named: Vec<_> = effect.resources().iter().map(ToString::to_string).collect();
    assert_eq!(named, ["db:a", "db:b"]);
}

#[test]
fn effect_row_share_is_rounded_up_to_a_step() {
    let percent = |count, before| AffectedRows::some(count, Some(before)).percent;
    for (count, before, expected) in [
        (0, 10, 1),
        (1, 1_000, 1),
        (11, 1_000, 2),
        (3, 10, 50),
        (51, 100, 100),
        (20, 10, 100),
        (5, 0, 100),
    ] {
        assert_eq!(percent(count, before), Some(expected), "{count} of {before}");
    }
    assert_eq!(AffectedRows::some(7, None), AffectedRows { count: Some(7), percent: None });
    let all = |before| AffectedRows::all(before);
    assert_eq!(all(None), AffectedRows { count: None, percent: Some(100) });
    for (before, expected) in [(0, 0), (9, 9), (11, 20), (1_000, 1_000), (1_001, 2_000)] {
        assert_eq!(all(Some(before)).count, Some(expected), "{before}");
    }
}

#[test]
fn effect_counts_the_rows_of_all_changes() {
    let touching = |rows| Change { rows, ..change(ChangeKind::Change, true) };
    let rows = |changes| Effect::observed(report(changes)).unwrap().counts().rows;
    let some = |count| touching(Some(AffectedRows::some(count, None)));
    assert_eq!(rows(vec![some(3), touching(None), some(4)]), 7);
    assert_eq!(rows(vec![some(3), touching(Some(AffectedRows::all(None)))]), u64::MAX);
    let effect = Effect::observed(report(vec![some(3)])).unwrap();
    let text = serde_json::to_string(&effect).unwrap();
    assert!(text.contains(r#""rows":{"count":3}"#), "{text}");
    assert_eq!(serde_json::from_str::<Effect>(&text).unwrap(), effect);
}
