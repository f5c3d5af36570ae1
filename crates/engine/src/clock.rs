//! The one place that reads the machine's clock. What must hold across machines (leases,
//! partitions, tokens) is judged by PostgreSQL's clock instead.

use std::time::{SystemTime, UNIX_EPOCH};

use ade_core::time::Timestamp;

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}
