//! Limits of applying: claims and attempts, executors, the client and the command line. Part of
//! [`limits`](super); the same rules apply.

use std::time::Duration;

use super::PAYLOAD_MAX_BYTES;

// Applying.
pub const APPLY_TIMEOUT_DEFAULT_SECONDS: u32 = 3_600;
pub const APPLY_TIMEOUT_MAX_SECONDS: u32 = 86_400;
/// Only one more preview happens between the permit and the first effect.
pub const APPLY_BEGIN_WITHIN: Duration = Duration::from_mins(2);
/// Time to roll back after a cancellation; then the hold expires.
pub const APPLY_ABORT_GRACE: Duration = Duration::from_mins(10);
/// Tasks that a matching round reads at once for all waiting claimers of a tenant, and the maximum
/// number in progress in one process, so that claimers do not wait for connections.
pub const CLAIM_PAGE: u32 = 64;
/// Holders of one resource that an explanation lists.
pub const EXPLAIN_HOLDERS_MAX: u32 = 3;
/// The maximum delay until a claimer sees a task if every hint was lost.
pub const CLAIM_POLL_PERIOD: Duration = Duration::from_millis(500);
/// The reason of an installation freeze; every refusal and its audit entry repeat it.
pub const INSTALLATION_REASON_MAX_BYTES: usize = 1024;
/// How long `ade-server freeze` waits for permits in progress; longer than a transaction may be
/// idle.
pub const INSTALLATION_DRAIN_MAX: Duration = Duration::from_secs(15);
pub const ROLLBACK_STEPS_MAX_BYTES: usize = 4 * 1024;
pub const EXECUTION_ERROR_MAX_BYTES: usize = 4 * 1024;
/// Length of the output that is stored with the attempt; the log contains all of it.
pub const EXECUTION_OUTPUT_MAX_BYTES: usize = 64 * 1024;
pub const EXECUTION_LINES_PER_CALL: usize = 1_000;
/// A longer line is split.
pub const EXECUTION_LINE_MAX_BYTES: usize = 8 * 1024;
/// Length of the log of one attempt; further output is counted and dropped.
pub const EXECUTION_LOG_MAX_BYTES: u64 = 64 * 1024 * 1024;
pub const EXECUTION_LOG_PAGE: u32 = 1_000;
/// How long a log stays in the database, from its first line; afterwards it is read from the blob
/// store.
pub const EXECUTION_LOG_KEPT: Duration = Duration::from_hours(1);
/// One page of lines at maximum length, as JSON.
pub const BLOB_MAX_BYTES: u64 = 64 * 1024 * 1024;
pub const BLOB_TIMEOUT: Duration = Duration::from_secs(30);
/// Attempts of one task that a list shows.
pub const EXECUTIONS_SHOWN_MAX: u32 = 200;
pub const AUDIENCE_MAX_BYTES: usize = 256;

// Executors run by the server.
/// A caller waits for the preview, so it must finish before the request times out.
pub const EXECUTOR_PREVIEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between asking a program to stop and killing it.
pub const EXECUTOR_GRACE: Duration = Duration::from_secs(5);
/// Time to read the remaining output of a program that has ended.
pub const EXECUTOR_DRAIN: Duration = Duration::from_secs(1);
/// After SIGKILL only the kernel is involved; longer means that the process hangs in a device.
pub const EXECUTOR_KILL_WAIT: Duration = Duration::from_secs(1);
/// The same limit as for a proposal, which is parsed with the same strictness.
pub const EXECUTOR_ANSWER_MAX_BYTES: usize = PAYLOAD_MAX_BYTES;
pub const EXECUTOR_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Lifetime of a request signature: longer than any call, plus clock differences.
pub const EXECUTOR_SIGNATURE_TTL: Duration = Duration::from_mins(1);

/// How long an attempt may continue at shutdown before it is asked to stop.
pub const RUNNER_DRAIN: Duration = Duration::from_secs(10);

// The client and the command line.
pub const CLIENT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Added to the wait that a call requests from the server.
pub const CLIENT_CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// Attempts of one call, including the first; unsafe calls repeat the same idempotency key.
pub const CLIENT_TRIES: usize = 5;
pub const CLIENT_BACKOFF_BASE: Duration = Duration::from_millis(200);
/// Also the longest `Retry-After` that is followed; a longer one is reported to the caller.
pub const CLIENT_BACKOFF_MAX: Duration = Duration::from_secs(10);
/// Far above the largest page.
pub const CLIENT_ANSWER_MAX_BYTES: usize = 16 * 1024 * 1024;
/// The input of a command is held in memory from before the review until it runs.
pub const RUN_STDIN_MAX_BYTES: usize = 16 * 1024 * 1024;
/// After this time a warning says that the input has not ended.
pub const RUN_STDIN_PATIENCE: Duration = Duration::from_secs(3);
pub const RUN_PREVIEW_TIMEOUT: Duration = Duration::from_mins(5);
/// Files that a command names, which are hashed before the review and before the command starts.
pub const RUN_FILES_MAX: usize = 256;
/// Length of all hashed files of a command together. The hash is computed under the locks as well.
pub const RUN_FILES_MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// Length of a script, which is executed from a copy in memory.
pub const RUN_SCRIPT_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Length of the first line of a script that names its interpreter: the limit of Linux.
pub const RUN_SHEBANG_MAX_BYTES: usize = 255;
/// Interpreters of a script, each of which may be a script itself: the limit of Linux.
pub const RUN_INTERPRETERS_MAX: usize = 4;
/// How long a wait survives an unreachable server; a restart takes less.
pub const RUN_UNREACHABLE_MAX: Duration = Duration::from_mins(2);
/// Delay between two refused claims.
pub const RUN_CLAIM_PAUSE: Duration = Duration::from_secs(2);
/// Heartbeats per lease lifetime, so that two may be lost.
pub const RUN_HEARTBEATS_PER_TTL: u32 = 3;
/// This fraction of a lease is reserved for stopping the command: it is asked to stop when that
/// time begins and killed well before it ends, so that nothing runs without its lock.
pub const RUN_MARGIN_PER_TTL: u32 = 6;
/// The longest time that is reserved for stopping the command.
pub const RUN_MARGIN_MAX: Duration = Duration::from_secs(5);
pub const RUN_LOG_BATCH_LINES: usize = 500;
pub const RUN_LOG_BATCH_BYTES: usize = 256 * 1024;
/// The maximum age of a line when it is sent.
pub const RUN_LOG_PERIOD: Duration = Duration::from_millis(300);
/// Lines buffered for a slow server; further lines are counted and dropped, because a change must
/// not wait for its log.
pub const RUN_LOG_QUEUE_LINES: usize = 10_000;
/// How long the log may be flushed after the command has ended.
pub const RUN_LOG_FLUSH: Duration = Duration::from_secs(10);
/// How long a pipe held open by a process outside the command's group is still read.
pub const RUN_DRAIN: Duration = Duration::from_secs(2);
/// Timeout of an informational request, such as who must approve or why the task was refused.
pub const RUN_ASIDE_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of one stream message; an event has a few hundred bytes, a log line at most 8 KiB.
pub const CLIENT_MESSAGE_MAX_BYTES: usize = 1024 * 1024;
/// How long `ade mcp` keeps locks alive that a model acquired without a time limit. A model may
/// forget to release them.
pub const MCP_LOCK_TIMEOUT_DEFAULT_SECONDS: u32 = 600;
/// Size of a file that a command reads: the largest request body of the server.
pub const CLI_FILE_MAX_BYTES: u64 = 1024 * 1024;
/// Tool calls of agent hosts that are held open at once; further ones are released to the host.
pub const HOOK_CALLS_MAX: usize = 64;
/// Length of the request of a host, which after a tool contains all of its output.
pub const HOOK_REQUEST_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// Length of the output of a tool that is reported.
pub const HOOK_OUTPUT_MAX_BYTES: usize = 8 * 1024;
/// How often the process that keeps the locks of a tool call checks whether its result was
/// reported.
pub const HOOK_KEEPER_PERIOD: Duration = Duration::from_secs(1);
/// The desktop keyring may ask its owner first, on a screen that the caller may not see.
pub const CLI_KEYRING_TIMEOUT: Duration = Duration::from_secs(10);
/// Rows that a live screen requests.
pub const CLI_SCREEN_ROWS: u32 = 200;
