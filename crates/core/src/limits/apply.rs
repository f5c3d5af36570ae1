//! Bounds of applying: claims and attempts, executors, the client and the command line. A part of
//! [`limits`](super), by the same rules.

use std::time::Duration;

use super::PAYLOAD_MAX_BYTES;

// Applying.
pub const APPLY_TIMEOUT_DEFAULT_SECONDS: u32 = 3_600;
pub const APPLY_TIMEOUT_MAX_SECONDS: u32 = 86_400;
/// Between the permit and the first effect there is one more preview, and no more.
pub const APPLY_BEGIN_WITHIN: Duration = Duration::from_mins(2);
/// For taking back what was begun, once an attempt was told to stop; then its hold runs out.
pub const APPLY_ABORT_GRACE: Duration = Duration::from_mins(10);
/// Tasks that a round of matching reads at once, for all who wait in one tenant; and how many of
/// them may be in hand in one process, so that claimers wait in line and not for connections.
pub const CLAIM_PAGE: u32 = 64;
/// The first page has one task for each who waits, and at least so many.
pub const CLAIM_PAGE_MIN: u32 = 8;
/// Pages of one round: so many tasks that cannot be applied now hide those behind them from nobody.
pub const CLAIM_PAGES_MAX: usize = 32;
/// Holders of one resource that an explanation names: enough to see whom to ask.
pub const EXPLAIN_HOLDERS_MAX: u32 = 3;
/// Agents that an explanation asks about at once; as a rule one of the first is there.
pub const EXPLAIN_AGENTS_PAGE: usize = 100;
/// For so long a task that could not be applied is not tried again, unless something was freed.
pub const CLAIM_REST: Duration = Duration::from_millis(500);
/// How late a claimer learns of work when every hint was lost.
pub const CLAIM_POLL_PERIOD: Duration = Duration::from_millis(500);
/// Offers that fall through before a claimer gives its place to the next.
pub const CLAIM_TRIES_MAX: usize = 8;
/// Why the whole installation is frozen, or thawed: every refusal repeats it, and so does its leaf.
pub const INSTALLATION_REASON_MAX_BYTES: usize = 1024;
/// How long `ade-server freeze` waits for permits that were on their way when it was set; longer
/// than a transaction may lie idle.
pub const INSTALLATION_DRAIN_MAX: Duration = Duration::from_secs(15);
pub const ROLLBACK_STEPS_MAX_BYTES: usize = 4 * 1024;
pub const EXECUTION_ERROR_MAX_BYTES: usize = 4 * 1024;
/// Kept with the attempt; the whole is in its log.
pub const EXECUTION_OUTPUT_MAX_BYTES: usize = 64 * 1024;
pub const EXECUTION_LINES_PER_CALL: usize = 1_000;
/// A longer line is two.
pub const EXECUTION_LINE_MAX_BYTES: usize = 8 * 1024;
/// Of one attempt: what comes after is counted and dropped.
pub const EXECUTION_LOG_MAX_BYTES: u64 = 64 * 1024 * 1024;
pub const EXECUTION_LOG_PAGE: u32 = 1_000;
/// From its first line on a log stays in the record for this long, also after its end; then it is
/// looked for in the blob store.
pub const EXECUTION_LOG_KEPT: Duration = Duration::from_hours(1);
/// How often whoever follows a log has it looked at.
pub const LOG_LOOK_PERIOD: Duration = Duration::from_millis(500);
/// Logs that one activation archives.
pub const ARCHIVE_BATCH: u32 = 32;
/// One page of lines at their longest, with what JSON makes of them.
pub const BLOB_MAX_BYTES: u64 = 64 * 1024 * 1024;
pub const BLOB_TIMEOUT: Duration = Duration::from_secs(30);
/// Attempts of one task that a list shows.
pub const EXECUTIONS_SHOWN_MAX: u32 = 200;
pub const AUDIENCE_MAX_BYTES: usize = 256;

// Executors that the server runs itself.
/// A caller waits for a preview; the answer must come before the server gives up on itself.
pub const EXECUTOR_PREVIEW_DEADLINE: Duration = Duration::from_secs(10);
/// Between asking a program to end and ending it.
pub const EXECUTOR_GRACE: Duration = Duration::from_secs(5);
/// What a program that has ended may still have in its pipes.
pub const EXECUTOR_DRAIN: Duration = Duration::from_secs(1);
/// Looks for what a program left running; each ends all that the one before found.
pub const EXECUTOR_SWEEPS_MAX: usize = 50;
/// After SIGKILL a process needs only the kernel; longer than this means it hangs in a device.
pub const EXECUTOR_KILL_WAIT: Duration = Duration::from_secs(1);
/// An answer is read as strictly as a proposal, and is no longer.
pub const EXECUTOR_ANSWER_MAX_BYTES: usize = PAYLOAD_MAX_BYTES;
pub const EXECUTOR_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the signature of a request is good: no call is on its way longer, and clocks differ.
pub const EXECUTOR_SIGNATURE_TTL: Duration = Duration::from_mins(1);

/// A task that cannot be applied yet is looked at again after this; its place in line is kept
/// longer.
pub const RUNNER_RETRY: Duration = Duration::from_secs(2);
/// Before a heartbeat or a report that nobody heard is tried again.
pub const RUNNER_PAUSE: Duration = Duration::from_secs(1);
/// When its process is to end an attempt goes on for this long, and is then told to stop.
pub const RUNNER_DRAIN: Duration = Duration::from_secs(10);
/// Lines that wait for the log; a program that says more waits for it.
pub const RUNNER_LINES: usize = 1_000;

// The client and the command line.
pub const CLIENT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// On top of what a call asks the server to wait.
pub const CLIENT_CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// Of one call, the first included; all of an unsafe one carry the same key.
pub const CLIENT_TRIES: usize = 5;
pub const CLIENT_BACKOFF_BASE: Duration = Duration::from_millis(200);
/// Also the longest that a `Retry-After` is heeded for: whoever must wait longer should know.
pub const CLIENT_BACKOFF_MAX: Duration = Duration::from_secs(10);
/// Far above the largest page; more is no answer of this server.
pub const CLIENT_ANSWER_MAX_BYTES: usize = 16 * 1024 * 1024;
/// What a command is fed is kept in memory from before the review until it runs.
pub const RUN_STDIN_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Input that has not ended after so long may never end: a person is told.
pub const RUN_STDIN_PATIENCE: Duration = Duration::from_secs(3);
pub const RUN_PREVIEW_TIMEOUT: Duration = Duration::from_mins(5);
/// How long a wait outlives its server before it gives up; a restart takes less.
pub const RUN_UNREACHABLE_MAX: Duration = Duration::from_mins(2);
/// Between two claims that were refused for now.
pub const RUN_CLAIM_PAUSE: Duration = Duration::from_secs(2);
/// A lease has so many heartbeats, so that two may get lost.
pub const RUN_HEARTBEATS_PER_TTL: u32 = 3;
/// The part of a lease that is kept for ending the command: asked to stop when it begins, killed
/// well before it ends, so that nothing runs without its lock.
pub const RUN_MARGIN_PER_TTL: u32 = 6;
/// The longest such part.
pub const RUN_MARGIN_MAX: Duration = Duration::from_secs(5);
pub const RUN_LOG_BATCH_LINES: usize = 500;
pub const RUN_LOG_BATCH_BYTES: usize = 256 * 1024;
/// A line is this old at most when it is sent.
pub const RUN_LOG_PERIOD: Duration = Duration::from_millis(300);
/// Lines that wait for a slow server; what is more is counted and left out, since a change must
/// not stand still for its log.
pub const RUN_LOG_QUEUE_LINES: usize = 10_000;
/// The log is given this long after the command has ended.
pub const RUN_LOG_FLUSH: Duration = Duration::from_secs(10);
/// A pipe that something outside the command's group holds open is read this much longer.
pub const RUN_DRAIN: Duration = Duration::from_secs(2);
/// For one question of courtesy: who has to agree, why it was refused, take it back.
pub const RUN_ASIDE_TIMEOUT: Duration = Duration::from_secs(5);
/// Versions that may pass while somebody tries to cancel a task.
pub const RUN_CANCEL_TRIES: usize = 4;
/// One message of a stream; an event is some hundred bytes, a line of a log at most eight thousand.
pub const CLIENT_MESSAGE_MAX_BYTES: usize = 1024 * 1024;
/// A file that a command reads: as much as the server takes in one body.
pub const CLI_FILE_MAX_BYTES: u64 = 1024 * 1024;
/// Whoever presses Tab waits no longer than this for names that only the server knows.
pub const CLI_COMPLETION_TIMEOUT: Duration = Duration::from_millis(250);
/// The keyring of a desktop may ask its owner first, on a screen that whoever waits does not see.
pub const CLI_KEYRING_TIMEOUT: Duration = Duration::from_secs(10);
/// Names that one completion offers.
pub const CLI_COMPLETION_MAX: usize = 50;
/// A live screen is drawn anew at least this often, so that its clocks go on.
pub const CLI_SCREEN_PERIOD: Duration = Duration::from_secs(1);
/// Between two questions of a live screen while nothing is heard.
pub const CLI_SCREEN_POLL: Duration = Duration::from_secs(2);
/// Rows that a live screen asks for.
pub const CLI_SCREEN_ROWS: u32 = 200;
