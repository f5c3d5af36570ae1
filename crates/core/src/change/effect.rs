//! What a revision would do. An [`Effect`] keeps its bounds whichever way it came in, and its
//! origin is said by the server alone: what an author or an executor sends is a [`Report`], which
//! has no such field. Counts are derived, never stored.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::canonical::{self, CanonicalError};
use super::{Origin, StrictValue};
use crate::limits::{
    CHANGE_SUMMARY_MAX_BYTES, EFFECT_CHANGES_MAX, EFFECT_NOTE_MAX_BYTES, EFFECT_NOTES_MAX,
    PAYLOAD_MAX_BYTES,
};
use crate::resource::ResourceRef;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Add,
    Change,
    Remove,
}

/// One thing that would become otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// One of the task's own resources; what lies inside it belongs into the summary.
    pub resource: ResourceRef,
    pub action: ChangeKind,
    /// Must be said: leaving it out would be the cheapest way to look harmless.
    pub irreversible: bool,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "present")]
    pub before: Option<StrictValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "present")]
    pub after: Option<StrictValue>,
}

/// A `null` that was sent is a value; only a field left out is absent. Otherwise an effect would
/// come back from storage with another digest.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StrictValue>, D::Error> {
    StrictValue::deserialize(deserializer).map(Some)
}

/// An effect as somebody reports it; who that was is not theirs to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub changes: Vec<Change>,
    #[serde(default)]
    pub warnings: Vec<String>,
    #[serde(default)]
    pub errors: Vec<String>,
}

/// Changes stay in the order reported: an executor that does them in another order does
/// something else.
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

/// How many of each; an irreversible change counts as what it is and as irreversible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub adds: u32,
    pub changes: u32,
    pub removes: u32,
    pub irreversible: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EffectError {
    #[error(
        "{count} changes are too many for one task: split it into parts of {EFFECT_CHANGES_MAX}"
    )]
    TooManyChanges { count: usize },
    #[error("change {index} has a summary of {bytes} bytes: at most {CHANGE_SUMMARY_MAX_BYTES}")]
    SummaryTooLong { index: usize, bytes: usize },
    #[error("change {index} adds {resource}, but says what was there before: that is a change")]
    AddWithBefore { index: usize, resource: ResourceRef },
    #[error("change {index} removes {resource}, but says what is there after: that is a change")]
    RemoveWithAfter { index: usize, resource: ResourceRef },
    #[error("{count} {list} are too many: at most {EFFECT_NOTES_MAX}")]
    TooManyNotes { list: &'static str, count: usize },
    #[error("one of the {list} has {bytes} bytes: at most {EFFECT_NOTE_MAX_BYTES}")]
    NoteTooLong { list: &'static str, bytes: usize },
    #[error(
        "the effect has {bytes} bytes: at most {PAYLOAD_MAX_BYTES}, so report less of the values"
    )]
    TooLarge { bytes: usize },
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Effect {
    /// An executor's preview saw it.
    pub fn observed(report: Report) -> Result<Self, EffectError> {
        Self::new(Origin::Observed, report)
    }

    /// The author or an agent said so.
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
        }
    }

    /// The counts, if a preview saw the whole effect. Nothing said without looking, and nothing
    /// from a preview that ran into errors, is a measure of the change.
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
