//! What a revision would do, and the digest that approvals bind to. One reader, one canonical
//! form, one digest: two contents have the same digest only if they are the same content.

mod canonical;
mod digest;
mod strict_json;
mod strict_reader;

pub use canonical::CanonicalError;
pub use digest::{Digest, DigestError};
pub use strict_json::{Fault, Position, StrictError, StrictValue, read};

use serde::{Deserialize, Serialize};

/// Where an effect comes from: an executor's preview saw it, or somebody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Observed,
    Declared,
}
