//! Limits of the read models in Redis and of degradation reports. Part of [`limits`](super);
//! the same rules apply.

use std::time::Duration;

// Read models.
/// How long a value is kept after its last write, minus a jitter so that not all expire at once.
pub const MODEL_KEPT_MAX: Duration = Duration::from_hours(24);
/// The maximum jitter of `MODEL_KEPT_MAX`.
pub const MODEL_KEPT_JITTER: Duration = Duration::from_hours(4);
/// How long a deletion is remembered; longer than any write can be delayed.
pub const MODEL_TOMBSTONE_KEPT: Duration = Duration::from_hours(1);
/// Larger tasks are read from the database.
pub const MODEL_VALUE_MAX_BYTES: usize = 256 * 1024;
/// Longer queues are read from the database.
pub const MODEL_QUEUE_MAX: usize = 500;
/// Approval requests of one task that one script writes; more are written in parts.
pub const MODEL_REQUESTS_PER_CALL: usize = 200;
/// Tasks that a rebuild reads at a time before it renews its claim.
pub const MODEL_REBUILD_PAGE: u32 = 50;

// Degradations.
/// Row conflicts within one minute from which contention is reported.
pub const CONTENTION_MIN: usize = 50;
/// Number of overdue requests from which the inbox is sorted by risk instead of age.
pub const BACKLOG_OVERDUE: u32 = 100;
