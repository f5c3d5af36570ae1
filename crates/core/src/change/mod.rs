//! What a revision would do, and the digest that approvals bind to.

mod digest;

pub use digest::{Digest, DigestError};

use serde::{Deserialize, Serialize};

/// Where an effect comes from: an executor's preview saw it, or somebody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Observed,
    Declared,
}
