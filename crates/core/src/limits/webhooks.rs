//! Bounds of webhooks: endpoints, deliveries and the pauses between their tries. A part of
//! [`limits`](super), by the same rules.

use std::time::Duration;

// Webhooks.
/// Of one tenant. Every event is held against all of them.
pub const WEBHOOK_ENDPOINTS_MAX: usize = 50;
pub const WEBHOOK_URL_MAX_BYTES: usize = 2048;
/// Patterns of event types that one endpoint asks for.
pub const WEBHOOK_EVENTS_MAX: usize = 64;
/// How long the secret before still signs, if whoever rotates it says nothing else.
pub const WEBHOOK_OVERLAP_DEFAULT_HOURS: u32 = 24;
pub const WEBHOOK_OVERLAP_MAX_HOURS: u32 = 7 * 24;
/// From the first byte we send to the last byte we read.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
pub const WEBHOOK_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that nobody uses is closed after so long.
pub const WEBHOOK_IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// The status counts; of what follows no more than this is read.
pub const WEBHOOK_ANSWER_MAX_BYTES: usize = 64 * 1024;
/// As much of an answer as an admin is shown.
pub const WEBHOOK_EXCERPT_MAX_CHARS: usize = 256;
/// Tries of one delivery, the first included; then it is a dead letter.
pub const WEBHOOK_TRIES_MAX: u32 = 10;
/// The longest first pause; each following one may be four times as long.
pub const WEBHOOK_PAUSE_FIRST: Duration = Duration::from_secs(5);
pub const WEBHOOK_PAUSE_GROWTH: u32 = 4;
/// Also the longest that a `Retry-After` is heeded for.
pub const WEBHOOK_PAUSE_MAX: Duration = Duration::from_hours(24);
/// What could not be delivered for so long is a dead letter, whatever is left of its tries: an
/// endpoint that is left alone tries little.
pub const WEBHOOK_DELIVERY_MAX_AGE: Duration = Duration::from_hours(72);
/// A process that has taken a delivery has this long to record what became of it; well above the
/// time that one try may take.
pub const WEBHOOK_SENDING_MAX: Duration = Duration::from_secs(30);
/// Deliveries on their way at once to one endpoint.
pub const WEBHOOK_SENDING_PER_ENDPOINT: u32 = 4;
/// The same for one tenant, over all processes: one who has many slow endpoints does not use up
/// what others need.
pub const WEBHOOK_SENDING_PER_TENANT: u32 = 16;
/// The same in one process, for all tenants.
pub const WEBHOOK_SENDING_PER_PROCESS: u32 = 128;
/// Deliveries that wait for one endpoint; what comes on top is a dead letter at once.
pub const WEBHOOK_BACKLOG_MAX: u32 = 10_000;
/// Failures in a row after which an endpoint is left alone for a while.
pub const WEBHOOK_CIRCUIT_FAILURES: u32 = 5;
pub const WEBHOOK_CIRCUIT_REST_FIRST: Duration = Duration::from_secs(30);
pub const WEBHOOK_CIRCUIT_REST_MAX: Duration = Duration::from_mins(15);
/// How late an endpoint is looked at again if nothing else says when.
pub const WEBHOOK_LOOK_PERIOD: Duration = Duration::from_secs(1);
/// Endpoints for which something waits are counted so far, for the metrics.
pub const WEBHOOK_WAITING_COUNTED: u32 = 10_000;
/// Dead letters and delivered ones that can still be seen and sent again.
pub const WEBHOOK_DELIVERIES_KEPT: Duration = Duration::from_hours(30 * 24);
/// Deliveries that one call sends again.
pub const WEBHOOK_REDELIVER_MAX: u32 = 1_000;
/// Tenants without an endpoint whose events one statement passes over.
pub const WEBHOOK_PASS_OVER_BATCH: u32 = 5_000;
