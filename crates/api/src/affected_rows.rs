//! The rows of a table that a change touches.

use ade_core::change;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Rows that a change touches. An absent number is unknown and is rated as all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AffectedRows {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The share of the table in percent, rounded up to 1, 2, 5, 10, 20, 50 or 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 100)]
    pub percent: Option<u8>,
}

impl From<change::AffectedRows> for AffectedRows {
    fn from(rows: change::AffectedRows) -> Self {
        Self { count: rows.count, percent: rows.percent }
    }
}

impl From<AffectedRows> for change::AffectedRows {
    fn from(rows: AffectedRows) -> Self {
        Self { count: rows.count, percent: rows.percent }
    }
}
