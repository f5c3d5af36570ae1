//! Limits of live events: sequencing, streaming and delivery to listeners. Part of
//! [`limits`](super); the same rules apply.

use std::time::Duration;

// The relay.
/// Number of streams and leases that tenants are spread over. Two releases with different values
/// must not sequence events at the same time.
pub const EVENT_SHARDS: u8 = 16;
/// Approximate length of one stream: half a minute of a busy shard. Slower readers use the
/// database.
pub const EVENT_STREAM_LENGTH: usize = 10_000;
/// The relay delay from which a degradation is reported.
pub const RELAY_LAG_REPORT_MIN: Duration = Duration::from_secs(5);
/// Events that one read after a sequence number returns.
pub const EVENTS_PAGE_MAX: u32 = 1_000;
/// How long each day of the outbox is kept after its end, even if all consumers have read it.
pub const OUTBOX_KEPT: Duration = Duration::from_hours(7 * 24);
/// How long the shards of a failed relay stay without a relay.
pub const RELAY_LEASE: Duration = Duration::from_secs(3);

// Listeners.
/// Short, because a ticket is used right after it was requested.
pub const LIVE_TICKET_TTL: Duration = Duration::from_secs(30);
/// The newest events of a tenant that a process caches for its listeners.
pub const LIVE_RING_EVENTS: usize = 512;
/// A listener that is further behind is asked to reload instead of getting all events.
pub const LIVE_RESUME_MAX: u64 = 10_000;
/// Listeners of one person or agent in one process.
pub const LIVE_PER_PRINCIPAL_MAX: usize = 32;
/// A listener that does not read for this long is disconnected.
pub const LIVE_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval of socket pings and of keep-alive comments in streams.
pub const LIVE_PING_PERIOD: Duration = Duration::from_secs(20);
/// A socket that answers no ping for this long is closed.
pub const LIVE_IDLE_MAX: Duration = Duration::from_mins(1);
/// Longest message that a client may send.
pub const LIVE_FRAME_MAX_BYTES: usize = 4 * 1024;
/// Chunks buffered for a slow stream reader; each is at most one batch.
pub const LIVE_STREAM_CHUNKS: usize = 2;
