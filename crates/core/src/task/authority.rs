//! The age that roles and passkeys must have for tasks of high and critical risk, whatever the
//! policies require. In a tenant in setup new ones count, and the vote is marked.

use std::time::Duration;

use super::command::Content;
use super::refusal::Refusal;
use crate::approval::VoteMark;
use crate::risk::{Level, Thresholds};
use crate::time::Timestamp;

/// The age that roles, and passkeys enrolled after a reset, must have to count for tasks of high
/// and critical risk, whatever the policies require.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuthorityAge {
    /// The minimum age; zero if everything counts at once.
    pub min: Duration,
    /// The thresholds of the installation: a tenant cannot rate a task as less risky than they do.
    pub installation: Thresholds,
    /// Whether the tenant is in setup. Everything counts at once then, and the vote is marked.
    pub is_in_setup: bool,
}

impl AuthorityAge {
    /// Returns the age that a role must have to count for a task with this content.
    pub fn required(&self, content: &Content) -> Option<Duration> {
        let is_risky = content.level_at_least(self.installation) >= Level::High;
        (is_risky && !self.min.is_zero() && !self.is_in_setup).then_some(self.min)
    }

    /// Judges the passkey that confirmed a decision about a task of high risk. `counts_from` is set
    /// for a passkey that was enrolled after a reset.
    pub fn judge_passkey(
        &self,
        counts_from: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<VoteMark>, Refusal> {
        match counts_from.filter(|from| now < *from) {
            None => Ok(None),
            Some(_) if self.is_in_setup => Ok(Some(VoteMark::NewPasskey)),
            Some(counts_from) => Err(Refusal::PasskeyTooNew { counts_from }),
        }
    }
}
