//! The secrets of webhooks and inbound sources. They are not stored: each follows from a salt, and
//! the salt before it stays valid for a while.

use ade_core::time::Timestamp;

use crate::error::RowError;
use crate::timestamp::PgTimestamp;

pub type Salt = [u8; 32];

pub(crate) struct Salts {
    pub salt: Salt,
    pub old_salt: Option<(Salt, Timestamp)>,
}

impl Salts {
    /// `wrong` names the column that cannot be read.
    pub fn read(
        salt: Vec<u8>,
        (old_salt, old_until): (Option<Vec<u8>>, Option<PgTimestamp>),
        wrong: impl Fn(&'static str, String) -> RowError,
    ) -> Result<Self, RowError> {
        let read = |column, bytes: Vec<u8>| {
            Salt::try_from(bytes).map_err(|bytes| wrong(column, format!("{} bytes", bytes.len())))
        };
        let old_salt = match (old_salt, old_until) {
            (Some(bytes), Some(until)) => Some((read("old_salt", bytes)?, until.0)),
            _ => None,
        };
        Ok(Self { salt: read("salt", salt)?, old_salt })
    }
}
