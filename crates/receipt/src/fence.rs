//! The check that makes fencing effective: a target stores the highest fence of each resource and
//! refuses older ones.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::receipt::{Fenced, LockMode};

/// The highest fences of one resource. The target stores it with the resource itself, and updates
/// it in the same step as the protected write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// The highest fence of any holder.
    seen: u64,
    /// The fence of the last exclusive holder.
    exclusive: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("fence {fence} is stale: {at} was seen before")]
pub struct Overtaken {
    pub fence: u64,
    pub at: u64,
}

impl Watermark {
    /// Accepts a fence that is not behind. An exclusive holder must come after all others; a shared
    /// holder after the last exclusive one.
    pub fn admit(self, fenced: &Fenced) -> Result<Self, Overtaken> {
        let fence = fenced.fence;
        let at = match fenced.mode {
            LockMode::Exclusive => self.seen,
            LockMode::Shared => self.exclusive,
        };
        if fence < at {
            return Err(Overtaken { fence, at });
        }
        let exclusive = match fenced.mode {
            LockMode::Exclusive => fence,
            LockMode::Shared => self.exclusive,
        };
        Ok(Self { seen: self.seen.max(fence), exclusive })
    }
}
