//! The difference between two effects: it explains an effect drift and shows what changed since a
//! reviewer looked. It is empty exactly if the two effects are equal.

use serde::Serialize;

use super::{Change, Effect, Origin};

/// A change of the same resource whose description differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Altered {
    pub old: Change,
    pub new: Change,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The old and the new origin, if it changed.
    pub origin: Option<(Origin, Origin)>,
    pub added: Vec<Change>,
    pub removed: Vec<Change>,
    pub altered: Vec<Altered>,
    pub warnings: Notes,
    pub errors: Notes,
    /// The changes are equal but in another order.
    pub is_reordered: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub fn difference(old: &Effect, new: &Effect) -> Difference {
    let (mut removed, mut added) = unmatched(old.changes(), new.changes());
    let mut altered =
        pair(&mut removed, &mut added, |a, b| a.resource == b.resource && a.action == b.action);
    altered.extend(pair(&mut removed, &mut added, |a, b| a.resource == b.resource));
    let mut difference = Difference {
        origin: (old.origin() != new.origin()).then(|| (old.origin(), new.origin())),
        added,
        removed,
        altered,
        warnings: notes(old.warnings(), new.warnings()),
        errors: notes(old.errors(), new.errors()),
        is_reordered: false,
    };
    difference.is_reordered = difference.is_empty() && old != new;
    difference
}

fn notes(old: &[String], new: &[String]) -> Notes {
    let (removed, added) = unmatched(old, new);
    Notes { added, removed }
}

/// Returns the elements that only the old and only the new list contains, counted with
/// multiplicity.
fn unmatched<T: PartialEq + Clone>(old: &[T], new: &[T]) -> (Vec<T>, Vec<T>) {
    let mut rest: Vec<&T> = new.iter().collect();
    let mut gone = Vec::new();
    for item in old {
        match rest.iter().position(|other| *other == item) {
            Some(index) => drop(rest.remove(index)),
            None => gone.push(item.clone()),
        }
    }
    (gone, rest.into_iter().cloned().collect())
}

/// Removes matching elements from both lists, in order.
fn pair(
    removed: &mut Vec<Change>,
    added: &mut Vec<Change>,
    belong: impl Fn(&Change, &Change) -> bool,
) -> Vec<Altered> {
    let mut altered = Vec::new();
    for old in std::mem::take(removed) {
        match added.iter().position(|new| belong(&old, new)) {
            Some(index) => altered.push(Altered { old, new: added.remove(index) }),
            None => removed.push(old),
        }
    }
    altered
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
