//! Bounds of the read models in Redis and of what is told when something works less well. A part
//! of [`limits`](super), by the same rules.

use std::time::Duration;

// Read models.
/// How long a value is kept after its last write; each a little less, so that not all go at once.
pub const MODEL_KEPT_MAX: Duration = Duration::from_hours(24);
/// By how much less at most.
pub const MODEL_KEPT_JITTER: Duration = Duration::from_hours(4);
/// Longer than any write can be late: until then a deleted thing is known to be gone.
pub const MODEL_TOMBSTONE_KEPT: Duration = Duration::from_hours(1);
/// A larger task is read from the record.
pub const MODEL_VALUE_MAX_BYTES: usize = 256 * 1024;
/// A longer queue of one person is read from the record.
pub const MODEL_QUEUE_MAX: usize = 500;
/// Requests of one task that one script writes; those of a larger one come in parts.
pub const MODEL_REQUESTS_PER_CALL: usize = 200;
/// A model that has not answered by then is left alone, and the record is asked.
pub const MODEL_READ_BUDGET: Duration = Duration::from_millis(50);
/// For so long nobody in this process asks a Redis that did not answer.
pub const MODEL_REST: Duration = Duration::from_secs(1);
/// Between two looks for events that no model has seen, where no hint came.
pub const MODEL_PERIOD: Duration = Duration::from_millis(250);
/// Events of one tenant that one step brings into its models.
pub const MODEL_EVENTS_BATCH: u32 = 200;
/// Tasks that a rebuild reads at a time, and then says that it is still at it.
pub const MODEL_REBUILD_PAGE: u32 = 50;
/// Above what a page takes on a busy machine; whoever rebuilds and is silent for longer is dead.
pub const MODEL_REBUILD_SILENCE: Duration = Duration::from_secs(10);
/// Models that are on their way to Redis at once.
pub const MODEL_WRITES_AT_ONCE: usize = 16;
/// Tenants that one step of a walk over all of them takes.
pub const MODEL_TENANTS_PAGE: u32 = 500;
/// How often it is asked whether the models of all tenants are still there.
pub const MODEL_CHECK_PERIOD: Duration = Duration::from_secs(2);
/// Tasks and queues of a tenant that one round of the checker looks at.
pub const MODEL_SAMPLE: u32 = 20;
/// Tenants whose samples one round takes.
pub const MODEL_SAMPLED_TENANTS: usize = 20;
/// Reads that found no model and wait for it to be written; more are forgotten.
pub const MODEL_MISSED_MAX: usize = 1_000;
/// A wait is looked after this often even if no event comes: the relay may stand still.
pub const WATCH_NET_PERIOD: Duration = Duration::from_secs(2);

// Degradations.
/// Figures of what works less well are renewed this often.
pub const DEGRADATION_PERIOD: Duration = Duration::from_secs(5);
/// A queue that turned somebody away is told so long afterwards.
pub const QUEUE_FULL_TOLD: Duration = Duration::from_mins(1);
/// Calls that met somebody else on the same row within the time below are told as contention.
pub const CONTENTION_TOLD: usize = 50;
pub const CONTENTION_WINDOW: Duration = Duration::from_mins(1);
/// Callers whose rate a process counts alone while Redis does not answer.
pub const RATES_ALONE_MAX: usize = 100_000;
/// From so many overdue requests on, a person is shown the riskiest first and not the oldest.
pub const BACKLOG_OVERDUE: u32 = 100;
