//! The check that makes a fence one: a target remembers, per resource, how far it has come, and
//! takes nothing from behind that.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::receipt::{Fenced, Mode};

/// How far one resource has come. Kept by the target with the resource itself, and written in the
/// same step as what the fence protects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// Of any holder.
    seen: u64,
    /// Of the last who held it alone.
    exclusive: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("fence {fence} has been overtaken: {at} was here before")]
pub struct Overtaken {
    pub fence: u64,
    pub at: u64,
}

impl Watermark {
    /// Takes what is not behind. Whoever holds it alone must have come after everybody; those who
    /// share it, after the last who held it alone.
    pub fn admit(self, fenced: &Fenced) -> Result<Self, Overtaken> {
        let fence = fenced.fence;
        let at = match fenced.mode {
            Mode::Exclusive => self.seen,
            Mode::Shared => self.exclusive,
        };
        if fence < at {
            return Err(Overtaken { fence, at });
        }
        let exclusive = match fenced.mode {
            Mode::Exclusive => fence,
            Mode::Shared => self.exclusive,
        };
        Ok(Self { seen: self.seen.max(fence), exclusive })
    }
}
