//! The effect of a revision. An [`Effect`] is always within its bounds, and only the server sets
//! its origin: an author or an executor sends a [`Report`], which has no such field. Counts are
//! derived and never stored.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::{Origin, StrictValue};
use crate::limits::{
    CHANGE_SUMMARY_MAX_BYTES, EFFECT_CHANGES_MAX, EFFECT_NOTE_MAX_BYTES, EFFECT_NOTES_MAX,
    JSON_INTEGER_MAX, PAYLOAD_MAX_BYTES,
};
use crate::resource::ResourceRef;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Add,
    Change,
    Remove,
}

/// The rows of a table that a change touches. An absent number is unknown and counts as all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AffectedRows {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The share of the table in percent, rounded up to a coarse step: another estimate of the size
    /// of the table must not make it another effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
}

impl AffectedRows {
    const STEPS: [u8; 7] = [1, 2, 5, 10, 20, 50, 100];

    /// Describes `count` rows of a table that had `before` rows.
    pub fn some(count: u64, before: Option<u64>) -> Self {
        let count = count.min(JSON_INTEGER_MAX);
        let share = |before: u64| count.saturating_mul(100).div_ceil(before.max(count).max(1));
        let step = |share: u64| Self::STEPS.into_iter().find(|step| share <= u64::from(*step));
        Self { count: Some(count), percent: before.and_then(|before| step(share(before))) }
    }

    /// Describes all rows of a table that had about `before` rows. The number is an estimate, so
    /// only its first digit is kept.
    pub fn all(before: Option<u64>) -> Self {
        let first_digit = |rows: u64| {
            let unit = 10_u64.pow(rows.checked_ilog10().unwrap_or_default());
            rows.div_ceil(unit).saturating_mul(unit).min(JSON_INTEGER_MAX)
        };
        Self { count: before.map(first_digit), percent: Some(100) }
    }
}

/// One change that the revision would make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// One of the resources of the task. Details inside the resource belong in the summary.
    pub resource: ResourceRef,
    pub action: ChangeKind,
    /// This field is required: leaving it out would be the easiest way to look harmless.
    pub irreversible: bool,
    pub summary: String,
    /// Absent if the change is not to the rows of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<AffectedRows>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "present")]
    pub before: Option<StrictValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "present")]
    pub after: Option<StrictValue>,
}

/// Distinguishes a `null` that was sent, which is a value, from a field that was left out.
/// Otherwise an effect would come back from storage with another digest.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StrictValue>, D::Error> {
    StrictValue::deserialize(deserializer).map(Some)
}

/// An effect as reported. The reporter does not choose its origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub changes: Vec<Change>,
    #[serde(default)]
    pub warnings: Vec<String>,
    #[serde(default)]
    pub errors: Vec<String>,
}

/// An effect. Changes stay in the reported order, because an executor that makes them in another
/// order does something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Effect {
    origin: Origin,
    changes: Vec<Change>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    origin: Origin,
    changes: Vec<Change>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

/// The number of changes of each kind. An irreversible change counts both as its kind and as
/// irreversible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub adds: u32,
    pub changes: u32,
    pub removes: u32,
    pub irreversible: u32,
    /// The rows of all changes together.
    pub rows: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EffectError {
    #[error(
        "{count} changes are too many for one task: split it into tasks of at most \
         {EFFECT_CHANGES_MAX}"
    )]
    TooManyChanges { count: usize },
    #[error("change {index} has a summary of {bytes} bytes: at most {CHANGE_SUMMARY_MAX_BYTES}")]
    SummaryTooLong { index: usize, bytes: usize },
    #[error("change {index} adds {resource} but has a `before` value: declare it as a change")]
    AddWithBefore { index: usize, resource: ResourceRef },
    #[error("change {index} removes {resource} but has an `after` value: declare it as a change")]
    RemoveWithAfter { index: usize, resource: ResourceRef },
    #[error("{count} {list} are too many: at most {EFFECT_NOTES_MAX}")]
    TooManyNotes { list: &'static str, count: usize },
    #[error("an entry of {list} has {bytes} bytes: at most {EFFECT_NOTE_MAX_BYTES}")]
    NoteTooLong { list: &'static str, bytes: usize },
    #[error("the effect has {bytes} bytes: at most {PAYLOAD_MAX_BYTES}; report fewer values")]
    TooLarge { bytes: usize },
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Effect {
    /// Creates an effect that the preview of an executor observed.
    pub fn observed(report: Report) -> Result<Self, EffectError> {
        Self::new(Origin::Observed, report)
    }

    /// Creates an effect that the author or an agent declared.
    pub fn declared(report: Report) -> Result<Self, EffectError> {
        Self::new(Origin::Declared, report)
    }

    fn new(origin: Origin, report: Report) -> Result<Self, EffectError> {
        check_changes(&report.changes)?;
        check_notes("warnings", &report.warnings)?;
        check_notes("errors", &report.errors)?;
        let effect = Self {
            origin,
            changes: report.changes,
            warnings: report.warnings,
            errors: report.errors,
        };
        let bytes = canonical::to_bytes(&effect)?.len();
        if bytes > PAYLOAD_MAX_BYTES {
            return Err(EffectError::TooLarge { bytes });
        }
        Ok(effect)
    }

    pub fn origin(&self) -> Origin {
        self.origin
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    pub fn counts(&self) -> Counts {
        let of = |kind| count(self.changes.iter().filter(|change| change.action == kind));
        Counts {
            adds: of(ChangeKind::Add),
            changes: of(ChangeKind::Change),
            removes: of(ChangeKind::Remove),
            irreversible: count(self.changes.iter().filter(|change| change.irreversible)),
            rows: self
                .changes
                .iter()
                .filter_map(|change| change.rows)
                .fold(0, |sum, rows| sum.saturating_add(rows.count.unwrap_or(u64::MAX))),
        }
    }

    /// Returns the counts if a preview observed the whole effect. A declared effect, and a preview
    /// with errors, measure nothing.
    pub fn measured(&self) -> Option<Counts> {
        match self.origin {
            Origin::Observed if self.errors.is_empty() => Some(self.counts()),
            Origin::Observed | Origin::Declared => None,
        }
    }

    pub fn resources(&self) -> BTreeSet<&ResourceRef> {
        self.changes.iter().map(|change| &change.resource).collect()
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

fn check_changes(changes: &[Change]) -> Result<(), EffectError> {
    if changes.len() > EFFECT_CHANGES_MAX {
        let count = changes.len();
        return Err(EffectError::TooManyChanges { count });
    }
    for (index, change) in changes.iter().enumerate() {
        let bytes = change.summary.len();
        if bytes > CHANGE_SUMMARY_MAX_BYTES {
            return Err(EffectError::SummaryTooLong { index, bytes });
        }
        let resource = || change.resource.clone();
        match change.action {
            ChangeKind::Add if change.before.is_some() => {
                let resource = resource();
                return Err(EffectError::AddWithBefore { index, resource });
            }
            ChangeKind::Remove if change.after.is_some() => {
                let resource = resource();
                return Err(EffectError::RemoveWithAfter { index, resource });
            }
            ChangeKind::Add | ChangeKind::Change | ChangeKind::Remove => {}
        }
    }
    Ok(())
}

fn check_notes(list: &'static str, notes: &[String]) -> Result<(), EffectError> {
    if notes.len() > EFFECT_NOTES_MAX {
        let count = notes.len();
        return Err(EffectError::TooManyNotes { list, count });
    }
    let longest = notes.iter().map(String::len).max().unwrap_or_default();
    if longest > EFFECT_NOTE_MAX_BYTES {
        let bytes = longest;
        return Err(EffectError::NoteTooLong { list, bytes });
    }
    Ok(())
}

impl TryFrom<Stored> for Effect {
    type Error = EffectError;

    fn try_from(stored: Stored) -> Result<Self, EffectError> {
        let report =
            Report { changes: stored.changes, warnings: stored.warnings, errors: stored.errors };
        Self::new(stored.origin, report)
    }
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
