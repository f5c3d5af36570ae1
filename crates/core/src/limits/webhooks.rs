//! Limits of webhooks: endpoints, deliveries and the delays between attempts. Part of
//! [`limits`](super); the same rules apply.

use std::time::Duration;

// Webhooks.
/// Endpoints of one tenant. Every event is matched against all of them.
pub const WEBHOOK_ENDPOINTS_MAX: usize = 50;
pub const WEBHOOK_URL_MAX_BYTES: usize = 2048;
/// Event type patterns of one endpoint.
pub const WEBHOOK_EVENTS_MAX: usize = 64;
/// How long the previous secret still signs by default.
pub const WEBHOOK_OVERLAP_DEFAULT: Duration = Duration::from_hours(24);
pub const WEBHOOK_OVERLAP_MAX: Duration = Duration::from_hours(7 * 24);
/// From the first byte sent to the last byte read.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
pub const WEBHOOK_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle connections are closed after this time.
pub const WEBHOOK_IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Only the status matters; at most this much of the body is read.
pub const WEBHOOK_ANSWER_MAX_BYTES: usize = 64 * 1024;
/// Length of the response excerpt shown to admins.
pub const WEBHOOK_EXCERPT_MAX_CHARS: usize = 256;
/// Attempts of one delivery, including the first, before it is dead-lettered.
pub const WEBHOOK_TRIES_MAX: u32 = 10;
/// The longest first delay; each further one may be four times as long.
pub const WEBHOOK_PAUSE_FIRST: Duration = Duration::from_secs(5);
pub const WEBHOOK_PAUSE_GROWTH: u32 = 4;
/// Also the longest `Retry-After` that is followed.
pub const WEBHOOK_PAUSE_MAX: Duration = Duration::from_hours(24);
/// Deliveries older than this are dead-lettered even if attempts are left, because a paused
/// endpoint makes few attempts.
pub const WEBHOOK_DELIVERY_MAX_AGE: Duration = Duration::from_hours(72);
/// Time for a process to record the result of a delivery; well above the time of one attempt.
pub const WEBHOOK_SENDING_MAX: Duration = Duration::from_secs(30);
/// Concurrent deliveries to one endpoint.
pub const WEBHOOK_SENDING_PER_ENDPOINT: u32 = 4;
/// Concurrent deliveries of one tenant over all processes, so that slow endpoints of one tenant do
/// not delay others.
pub const WEBHOOK_SENDING_PER_TENANT: u32 = 16;
/// Pending deliveries of one endpoint; further ones are dead-lettered immediately.
pub const WEBHOOK_BACKLOG_MAX: u32 = 10_000;
/// Consecutive failures after which sending to an endpoint pauses.
pub const WEBHOOK_CIRCUIT_FAILURES: u32 = 5;
pub const WEBHOOK_CIRCUIT_REST_FIRST: Duration = Duration::from_secs(30);
pub const WEBHOOK_CIRCUIT_REST_MAX: Duration = Duration::from_mins(15);
/// How long delivered and dead deliveries can be listed and sent again.
pub const WEBHOOK_DELIVERIES_KEPT: Duration = Duration::from_hours(30 * 24);
/// Deliveries that one call sends again.
pub const WEBHOOK_REDELIVER_MAX: u32 = 1_000;
