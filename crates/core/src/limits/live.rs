//! Bounds of live events: how they are numbered, streamed and carried to whoever listens. A part
//! of [`limits`](super), by the same rules.

use std::time::Duration;

// The relay.
/// Tenants are spread over so many streams and leases. Two releases that differ here must not
/// number events at the same time.
pub const EVENT_SHARDS: u8 = 16;
/// Events that one statement numbers.
pub const RELAY_BATCH: u32 = 500;
/// Between two looks while events come in.
pub const RELAY_PAUSE_MIN: Duration = Duration::from_millis(2);
/// The same once nothing has come for a while: how late the first event after that may be.
pub const RELAY_PAUSE_MAX: Duration = Duration::from_millis(50);
/// How often leases are renewed, those of others tried for, and the board written.
pub const RELAY_LEASE_PERIOD: Duration = Duration::from_secs(1);
/// Batches that wait for a slow Redis; what is more is found in the record by whoever misses it.
pub const RELAY_QUEUE_BATCHES: usize = 64;
/// Of one stream, roughly: half a minute of a busy shard. Whoever is further behind reads the
/// record.
pub const EVENT_STREAM_LENGTH: usize = 10_000;
/// Events waiting for their number are counted so far.
pub const RELAY_WAITING_COUNTED: i32 = 10_000;
/// What has waited so long is told as a degradation.
pub const RELAY_LAG_TOLD: Duration = Duration::from_secs(5);
/// What one read of the events behind a number takes.
pub const EVENTS_PAGE_MAX: u32 = 1_000;
/// Entries that one look at a stream takes.
pub const EVENT_STREAM_PAGE: usize = 1_000;
/// Days of the outbox are kept so long after they ended, also if everybody has read them: for
/// whoever resumes, and for a person who looks.
pub const OUTBOX_KEPT: Duration = Duration::from_hours(7 * 24);
/// Each holds up whoever writes for a moment.
pub const OUTBOX_DROPPED_PER_ROUND: u32 = 4;
/// How long the shards of a relay that died stay without one.
pub const RELAY_LEASE: Duration = Duration::from_secs(3);

// Listeners.
/// A ticket is asked for and used in one breath.
pub const LIVE_TICKET_TTL: Duration = Duration::from_secs(30);
/// The newest events of a tenant that a process keeps for those who listen to it there.
pub const LIVE_RING_EVENTS: usize = 512;
/// Whoever is further behind is told to begin anew instead of being told everything.
pub const LIVE_RESUME_MAX: u64 = 10_000;
/// Events that are handed to one listener at a time.
pub const LIVE_BATCH: usize = 128;
/// How late an event is if hint and stream were lost, and how often streams are read anyway.
pub const LIVE_POLL_PERIOD: Duration = Duration::from_secs(1);
/// The same where there is no Redis, or none that answers.
pub const LIVE_POLL_PERIOD_ALONE: Duration = Duration::from_millis(50);
/// Subscriptions are made anew this often: a failover ends them without a word.
pub const LIVE_HINT_HEARTBEAT: Duration = Duration::from_millis(250);
/// How often it is asked whether those who listen still may; all are asked for at once.
pub const LIVE_CHECK_PERIOD: Duration = Duration::from_millis(400);
/// Whoever could not be asked for that long does not listen on.
pub const LIVE_UNCHECKED_MAX: Duration = Duration::from_secs(5);
/// Listeners of one person or agent in one process.
pub const LIVE_PER_PRINCIPAL_MAX: usize = 32;
/// A listener that takes nothing for so long is cut.
pub const LIVE_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two pings of a socket; also what a stream says when it has nothing to say.
pub const LIVE_PING_PERIOD: Duration = Duration::from_secs(20);
/// A socket that answers no ping for so long is gone.
pub const LIVE_IDLE_MAX: Duration = Duration::from_mins(1);
/// Nothing that a client has to say to a socket is longer.
pub const LIVE_FRAME_MAX_BYTES: usize = 4 * 1024;
/// How late a listener learns that the numbers went on over events that are not for it.
pub const LIVE_SKIP_PERIOD: Duration = Duration::from_secs(1);
/// Pieces of a stream that wait for a slow reader; each is a batch of events at most.
pub const LIVE_STREAM_CHUNKS: usize = 2;
/// A client says nothing but pongs.
pub const LIVE_SOCKET_READ_BYTES: usize = 1024;
/// Above a batch of ordinary events; one event may be larger and is sent alone.
pub const LIVE_SOCKET_WRITE_BYTES: usize = 512 * 1024;
