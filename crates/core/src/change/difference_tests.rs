//! The difference of two effects is empty exactly if they are equal, and never loses or invents a
//! change.

use proptest::prelude::*;

use super::super::{ChangeKind, Report};
use super::*;

fn change(resource: &str, action: ChangeKind, summary: &str) -> Change {
    Change {
        resource: resource.parse().unwrap(),
        action,
        irreversible: false,
        summary: summary.to_owned(),
        rows: None,
        before: None,
        after: None,
    }
}

fn observed(changes: Vec<Change>) -> Effect {
    Effect::observed(Report { changes, ..Report::default() }).unwrap()
}

#[test]
fn effect_difference_separates_added_removed_and_moved() {
    use ChangeKind::{Add, Change, Remove};
    let same = change("db:same", Change, "x");
    let old = observed(vec![
        same.clone(),
        change("db:gone", Add, "x"),
        change("db:moved", Change, "to 1"),
        change("db:turned", Change, "x"),
    ]);
    let new = observed(vec![
        change("db:turned", Remove, "x"),
        change("db:moved", Remove, "y"),
        change("db:moved", Change, "to 2"),
        change("db:came", Add, "x"),
        same,
    ]);
    let expected = Difference {
        added: vec![change("db:moved", Remove, "y"), change("db:came", Add, "x")],
        removed: vec![change("db:gone", Add, "x")],
        altered: vec![
            Altered {
                old: change("db:moved", Change, "to 1"),
                new: change("db:moved", Change, "to 2"),
            },
            Altered {
                old: change("db:turned", Change, "x"),
                new: change("db:turned", Remove, "x"),
            },
        ],
        ..Difference::default()
    };
    assert_eq!(difference(&old, &new), expected);
    assert!(!expected.is_empty());
}

#[test]
fn effect_difference_includes_origin_and_notes() {
    let report = |warnings: &[&str], errors: &[&str]| Report {
        changes: vec![],
        warnings: warnings.iter().map(ToString::to_string).collect(),
        errors: errors.iter().map(ToString::to_string).collect(),
    };
    let old = Effect::declared(report(&["a", "b"], &["e"])).unwrap();
    let new = Effect::observed(report(&["b", "c"], &[])).unwrap();
    let found = difference(&old, &new);
    assert_eq!(found.origin, Some((Origin::Declared, Origin::Observed)));
    let notes = |added: &[&str], removed: &[&str]| Notes {
        added: added.iter().map(ToString::to_string).collect(),
        removed: removed.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found.warnings, notes(&["c"], &["a"]));
    assert_eq!(found.errors, notes(&[], &["e"]));
    assert!(!found.is_reordered);
}

#[test]
fn effect_difference_reports_a_mere_reordering() {
    let (a, b) = (change("db:a", ChangeKind::Add, ""), change("db:b", ChangeKind::Add, ""));
    let found = difference(&observed(vec![a.clone(), b.clone()]), &observed(vec![b, a]));
    assert_eq!(found, Difference { is_reordered: true, ..Difference::default() });
}

fn effects() -> impl Strategy<Value = Effect> {
    let kind =
        prop_oneof![Just(ChangeKind::Add), Just(ChangeKind::Change), Just(ChangeKind::Remove)];
    let change = ("db:[ab]", kind, "[xy]")
        .prop_map(|(resource, kind, summary)| change(&resource, kind, &summary));
    (prop::collection::vec(change, 0..5), prop::collection::vec("[xy]", 0..3), any::<bool>())
        .prop_map(|(changes, warnings, seen)| {
            let report = Report { changes, warnings, errors: vec![] };
            if seen { Effect::observed(report).unwrap() } else { Effect::declared(report).unwrap() }
        })
}

fn sorted(mut changes: Vec<Change>) -> Vec<String> {
    changes.sort_by_key(|change| format!("{change:?}"));
    changes.iter().map(|change| format!("{change:?}")).collect()
}

proptest! {
    #[test]
    fn effect_difference_is_empty_iff_equal(old in effects(), new in effects()) {
        prop_assert_eq!(difference(&old, &new).is_empty(), old == new);
        prop_assert!(difference(&old, &old).is_empty());
    }

    /// The old effect minus the removed plus the added changes is the new one, and no change is
    /// both added and removed.
    #[test]
    fn effect_difference_leads_from_old_to_new(old in effects(), new in effects()) {
        let found = difference(&old, &new);
        let mut rebuilt = old.changes().to_vec();
        let gone = found.altered.iter().map(|pair| &pair.old).chain(&found.removed);
        for change in gone {
            let index = rebuilt.iter().position(|other| other == change);
            rebuilt.remove(index.expect("a removed change exists in the old effect"));
        }
        rebuilt.extend(found.altered.iter().map(|pair| pair.new.clone()));
        rebuilt.extend(found.added.clone());
        prop_assert_eq!(sorted(rebuilt), sorted(new.changes().to_vec()));
        for pair in &found.altered {
            prop_assert_eq!(&pair.old.resource, &pair.new.resource);
            prop_assert_ne!(&pair.old, &pair.new);
        }
        for change in &found.removed {
            prop_assert!(found.added.iter().all(|other| other.resource != change.resource));
        }
    }
}
