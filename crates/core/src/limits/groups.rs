//! Limits of consumer groups, event export, notifications and inbound events. Part of
//! [`limits`](super); the same rules apply.

use std::time::Duration;

// Consumer groups.
/// Events of one tenant that one round passes to a consumer group.
pub const GROUP_BATCH: u32 = 500;
/// Attempts to process an event before it is dead-lettered. Few, because the same event usually
/// fails for the same reason, and later events wait.
pub const GROUP_TRIES_MAX: u32 = 3;
pub const GROUP_PAUSE_FIRST: Duration = Duration::from_secs(1);
pub const GROUP_PAUSE_GROWTH: u32 = 4;
/// Delay before retrying when a dependency is unavailable: a disk, a collector, PostgreSQL.
pub const GROUP_AWAY_PAUSE: Duration = Duration::from_secs(2);
/// Length of the stored error.
pub const GROUP_PROBLEM_MAX_CHARS: usize = 500;
/// Dead events that one call redrives.
pub const REDRIVE_MAX: u32 = 1_000;

// Export of events.
/// Time for a sink to accept a batch completely.
pub const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
pub const EXPORT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes read of a response.
pub const EXPORT_ANSWER_MAX_BYTES: usize = 64 * 1024;

// Notifications.
/// Minimum time between two messages to one person on one channel, by default.
pub const DIGEST_DEFAULT: Duration = Duration::from_mins(5);
pub const DIGEST_MAX: Duration = Duration::from_hours(24);
pub const SLACK_MEMBER_MAX_BYTES: usize = 64;
/// Items listed in one message; the rest is counted.
pub const MESSAGE_ITEMS_MAX: u32 = 20;
/// Pending items of one person on one channel that are read and counted for one message.
pub const MESSAGE_ITEMS_WAITING_MAX: u32 = 1_000;
/// Length of a title in a message.
pub const MESSAGE_TITLE_MAX_CHARS: usize = 120;
/// Attempts to send a message on one channel before giving up.
pub const MESSAGE_TRIES_MAX: u32 = 8;
pub const MESSAGE_PAUSE_FIRST: Duration = Duration::from_secs(30);
pub const MESSAGE_PAUSE_MAX: Duration = Duration::from_hours(1);
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);
/// Slack requests with an older or a further future timestamp are refused.
pub const SLACK_TOLERANCE: Duration = Duration::from_mins(5);
/// Duties of one tenant that have not ended.
pub const DUTIES_MAX: usize = 1_000;

// Inbound events.
/// Inbound sources of one tenant.
pub const INBOUND_SOURCES_MAX: usize = 50;
pub const INBOUND_TEMPLATE_MAX_BYTES: usize = 64 * 1024;
/// Placeholders in a template.
pub const INBOUND_PLACES_MAX: usize = 64;
/// Length of one value that an event fills in.
pub const INBOUND_TEXT_MAX_CHARS: usize = 2_000;
/// Messages with an older or a further future timestamp are refused; the tolerance of Standard
/// Webhooks.
pub const INBOUND_TOLERANCE: Duration = Duration::from_mins(5);
/// Drafts per source and minute.
pub const INBOUND_PER_MINUTE: u32 = 60;
pub const INBOUND_MESSAGE_ID_MAX_BYTES: usize = 128;
