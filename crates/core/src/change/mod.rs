//! The content of a revision and the digest that approvals bind to. There is one reader, one
//! canonical form and one digest: two contents have the same digest only if they are equal.

mod canonical;
mod content;
mod difference;
mod digest;
mod effect;
mod fields;
mod strict_error;
mod strict_json;
mod strict_reader;
mod versions;

pub use canonical::CanonicalError;
pub(crate) use canonical::to_bytes as canonical_bytes;
pub use content::{ContentError, content_digest, content_shape};
pub use difference::{Altered, Difference, Notes, difference};
pub use digest::{Digest, DigestError};
pub use effect::{AffectedRows, Change, ChangeKind, Counts, Effect, EffectError, Report};
pub use fields::{FieldChange, field_changes};
pub use strict_error::{JsonFault, Position, StrictError};
pub use strict_json::{StrictValue, check, read};
pub use versions::{Drift, PreviewVersions};

use serde::{Deserialize, Serialize};

/// Where an effect comes from: observed by an executor's preview, or declared by the author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Observed,
    Declared,
}
