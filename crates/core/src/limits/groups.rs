//! Bounds of the groups that read events, of what they send out, and of what comes in. A part of
//! [`limits`](super), by the same rules.

use std::time::Duration;

// Groups that read events.
/// Events of one tenant that one round hands to a group.
pub const GROUP_BATCH: u32 = 500;
/// Tries of an event that a group cannot take; then it is a dead letter, and what is behind it goes
/// on. Few, since the same event fails for the same reason, and others wait behind it.
pub const GROUP_TRIES_MAX: u32 = 3;
pub const GROUP_PAUSE_FIRST: Duration = Duration::from_secs(1);
pub const GROUP_PAUSE_GROWTH: u32 = 4;
/// Until a group asks again for something that is away: a disk, a collector, PostgreSQL.
pub const GROUP_AWAY_PAUSE: Duration = Duration::from_secs(2);
/// As much of a reason as is kept.
pub const GROUP_PROBLEM_MAX_CHARS: usize = 500;
/// Dead letters that one call sends through their group again.
pub const REDRIVE_MAX: u32 = 1_000;

// Export of events.
/// What a sink has to take a batch, the last byte included.
pub const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
pub const EXPORT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of an answer no more is read.
pub const EXPORT_ANSWER_MAX_BYTES: usize = 64 * 1024;

// Messages to people.
/// Between two messages to one person on one channel, if they say nothing else.
pub const DIGEST_DEFAULT: Duration = Duration::from_mins(5);
pub const DIGEST_MAX: Duration = Duration::from_hours(24);
pub const SLACK_MEMBER_MAX_BYTES: usize = 64;
/// What one message lists; of the rest it says how much there is.
pub const MESSAGE_ITEMS_MAX: u32 = 20;
/// What waits for one person on one channel is read so far for one message, and counted so far.
pub const MESSAGE_ITEMS_WAITING_MAX: u32 = 1_000;
/// As much of a title as a message shows.
pub const MESSAGE_TITLE_MAX_CHARS: usize = 120;
/// Tries of one message; then what it tells is given up on this channel.
pub const MESSAGE_TRIES_MAX: u32 = 8;
pub const MESSAGE_PAUSE_FIRST: Duration = Duration::from_secs(30);
pub const MESSAGE_PAUSE_MAX: Duration = Duration::from_hours(1);
pub const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);
/// Whoever takes up a message has this long to say what became of it; well above the time that one
/// try may take.
pub const MESSAGE_SENDING_MAX: Duration = Duration::from_mins(1);
/// A request from Slack that is older, or from further ahead, is refused.
pub const SLACK_TOLERANCE: Duration = Duration::from_mins(5);
/// Entries of duty that are not over, of one tenant.
pub const DUTIES_MAX: usize = 1_000;

// Events of others that become drafts.
/// Of one tenant.
pub const INBOUND_SOURCES_MAX: usize = 50;
pub const INBOUND_TEMPLATE_MAX_BYTES: usize = 64 * 1024;
/// Places of a template that an event fills.
pub const INBOUND_PLACES_MAX: usize = 64;
/// What an event puts into one place.
pub const INBOUND_TEXT_MAX_CHARS: usize = 2_000;
/// A message that is older, or from further ahead, is refused; the standard's own tolerance.
pub const INBOUND_TOLERANCE: Duration = Duration::from_mins(5);
/// Drafts that one source makes in a minute.
pub const INBOUND_PER_MINUTE: u32 = 60;
pub const INBOUND_MESSAGE_ID_MAX_BYTES: usize = 128;
