//! All limits of the product in one place, each with the reason for its value. No limit is defined
//! anywhere else.

mod apply;
mod groups;
mod identity;
mod live;
mod models;
mod webhooks;

use std::time::Duration;

pub use apply::*;
pub use groups::*;
pub use identity::*;
pub use live::*;
pub use models::*;
pub use webhooks::*;

// Sizes of request contents.
pub const RESOURCE_TYPE_MAX_BYTES: usize = 64;
pub const RESOURCE_ID_MAX_BYTES: usize = 256;
/// A task with more resources should be split.
pub const TASK_RESOURCES_MAX: usize = 64;
pub const TASK_TAGS_MAX: usize = 32;
pub const NAME_MAX_BYTES: usize = 128;
/// The longest email address that mail servers accept.
pub const EMAIL_MAX_BYTES: usize = 254;
/// Length of an issuer, or of a subject or group at an identity provider.
pub const IDENTITY_MAX_BYTES: usize = 256;
pub const REASON_MAX_BYTES: usize = 4 * 1024;
pub const JSON_DEPTH_MAX: usize = 32;
pub const PAYLOAD_MAX_BYTES: usize = 256 * 1024;
/// Beyond 2^53, different integers share one double and therefore one canonical form.
pub const JSON_INTEGER_MAX: u64 = 1 << 53;
/// Length of a key shown in an error; a key may be as long as the payload.
pub const JSON_KEY_SHOWN_CHARS: usize = 64;
/// Reviewers cannot read more changes than this.
pub const EFFECT_CHANGES_MAX: usize = 1_000;
pub const EFFECT_NOTES_MAX: usize = 100;
pub const EFFECT_NOTE_MAX_BYTES: usize = 1024;
/// A few lines; the values are in `before` and `after`.
pub const CHANGE_SUMMARY_MAX_BYTES: usize = 512;

// People and rules.
pub const DELEGATION_DEPTH_MAX: usize = 8;
/// Delegations that one search may follow before it returns the request to its owner.
pub const DELEGATION_STEPS_MAX: usize = 256;
pub const BATCH_ITEMS_MAX: usize = 200;
/// What a vote is about is on screen for at least this time before a client sends the vote. It is
/// longer than the pause between two keys of a word that was meant for another window.
pub const CONTENT_SHOWN_MIN: Duration = Duration::from_millis(800);
pub const POLICY_GROUPS_MAX: usize = 16;
pub const POLICY_GROUP_MIN_MAX: u32 = 50;
pub const POLICY_PATTERNS_MAX: usize = 64;
pub const POLICY_ESCALATION_STEPS_MAX: usize = 8;
/// Roles or people of one group; define a role instead of a longer list.
pub const POLICY_AUDIENCE_MAX: usize = 64;
/// About a thousand lines; split larger policies.
pub const POLICY_DOCUMENT_MAX_BYTES: usize = 64 * 1024;
/// The deepest field of a document is at level five; the rest is a reserve.
pub const POLICY_DOCUMENT_DEPTH_MAX: usize = 16;
pub const POLICY_DOCUMENT_VALUES_MAX: usize = 8 * 1024;
/// Enough to fix a document in one pass.
pub const POLICY_ERRORS_MAX: usize = 32;
/// Longer than any message of the server itself; only quoted text can reach it.
pub const POLICY_ERROR_MAX_CHARS: usize = 512;
/// Escalation steps of all policies that match one task.
pub const REQUIREMENT_ESCALATION_STEPS_MAX: usize = 64;
/// As long as the longest resource id, so that every resource can be matched exactly.
pub const PATTERN_MAX_BYTES: usize = RESOURCE_TYPE_MAX_BYTES + 1 + RESOURCE_ID_MAX_BYTES;
/// A longer period is most likely a mistake.
pub const POLICY_PERIOD_MAX: Duration = Duration::from_hours(365 * 24);
pub const RESPOND_WITHIN_DEFAULT: Duration = Duration::from_hours(48);
/// Applies to every policy: a request that is open for longer is probably forgotten.
pub const APPROVAL_TIMEOUT_MAX_DEFAULT: Duration = Duration::from_hours(30 * 24);
/// A shorter time is not enough to read a change and answer.
pub const APPROVAL_TIMEOUT_MIN: Duration = Duration::from_mins(1);
pub const APPROVAL_VALID_FOR_DEFAULT: Duration = Duration::from_hours(7 * 24);
/// How far from now a reviewer or an admin can move the end of a review.
pub const REVIEW_EXTENSION_MAX: Duration = Duration::from_hours(7 * 24);
/// How long before the end people are warned, or a quarter of the review time if that is shorter.
pub const EXPIRY_WARNING: Duration = Duration::from_hours(4);
pub const OVERRIDE_CONFIRM_WITHIN: Duration = Duration::from_hours(1);
pub const OVERRIDE_VALID_FOR: Duration = Duration::from_hours(1);
pub const AFTER_REVIEW_WITHIN: Duration = Duration::from_hours(24);
/// Small tasks of one author on one resource within this window are rated as one change.
pub const CHANGE_SPLITTING_WINDOW: Duration = Duration::from_hours(1);
pub const APPLY_ATTEMPTS_MAX: u32 = 5;
pub const APPLY_BACKOFF_BASE: Duration = Duration::from_secs(5);
pub const APPLY_BACKOFF_MAX: Duration = Duration::from_mins(5);

// Risk.
/// Registry entries in one import.
pub const REGISTRY_IMPORT_MAX: usize = 1_000;
/// The sum of all factor weights, in basis points.
pub const RISK_WEIGHTS_SUM_BP: u32 = 10_000;
/// Criticality of a resource that is neither in the registry nor matched by a pattern.
pub const RISK_CRITICALITY_DEFAULT: u8 = 50;
pub const RISK_PATTERN_DEFAULTS_MAX: usize = 256;
/// An irreversible change counts as four additional changes.
pub const RISK_IRREVERSIBLE_UNITS: u64 = 4;
/// The size reaches its maximum at 2^10 − 1 changes, slightly above the largest effect.
pub const RISK_MAGNITUDE_DOUBLINGS: u32 = 10;
/// The rows reach the maximum size at 2^20 − 1, about a million.
pub const RISK_ROWS_DOUBLINGS: u32 = 20;
/// From this criticality on, a change to more of a table than [`RISK_LARGE_SHARE_PERCENT`] is at
/// least HIGH.
pub const RISK_FLOOR_CRITICALITY: u8 = 70;
pub const RISK_LARGE_SHARE_PERCENT: u8 = 10;
/// The blast radius reaches its maximum at 2^8 − 1 resources and dependents.
pub const RISK_BLAST_RADIUS_DOUBLINGS: u32 = 8;
/// Number of similar outcomes that weigh as much as the tenant's average.
pub const RISK_FAILURE_PRIOR_TASKS: u64 = 10;
/// Even odds for a tenant without history.
pub const RISK_FAILURE_RATE_DEFAULT_BP: u64 = 5_000;

// Locks.
pub const LEASE_TTL_MIN: Duration = Duration::from_secs(1);
pub const LEASE_TTL_DEFAULT: Duration = Duration::from_secs(30);
pub const LEASE_TTL_MAX: Duration = Duration::from_mins(5);
pub const HEARTBEAT_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// A promoted waiter must respond within this time, or the next one is promoted.
pub const LEASE_CLAIM_TTL: Duration = Duration::from_secs(3);
/// Ended leases are remembered this long, so that a late duplicate cannot revive one.
pub const LEASE_TOMBSTONE_TTL: Duration = Duration::from_secs(10);
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(55);
pub const LOCK_SET_MAX: usize = 66;
pub const LOCK_QUEUE_DEPTH_MAX: usize = 1_000;
/// A boost of k overtakes at most k earlier requests.
pub const LOCK_BOOST_MAX: u32 = 100;
pub const LOCK_COUNTING_CAPACITY_MAX: u32 = 10_000;
/// Resources that the leases of one agent hold or wait for at once: several of the largest sets.
/// Split larger work among several agents. Locks of applied tasks are not counted.
pub const LOCKS_PER_AGENT_MAX: usize = 256;
/// The maximum lease age; the agent can acquire the lock again behind other waiters. An apply has
/// its own timeout.
pub const LOCK_HOLD_MAX: Duration = Duration::from_hours(24);
/// The default if no setting is given. A longer delay would keep a resource locked because of one
/// dead process: make the step fenceable instead.
pub const LOCK_DELAY_DEFAULT: Duration = Duration::from_secs(10);
pub const LOCK_DELAY_MAX: Duration = Duration::from_mins(15);
/// Every call cleans up this many due entries, so that they do not pile up and no single caller
/// pays for all of them.
pub const LOCK_SWEEP_PER_CALL: usize = 4;
/// A waiter that does not poll for this long loses its place. Several poll intervals, so that a
/// slow process keeps its place.
pub const LOCK_PLACE_KEPT: Duration = Duration::from_secs(10);
/// Leases in one heartbeat request.
pub const LEASES_PER_HEARTBEAT_MAX: usize = 1_000;
/// Three heartbeat intervals of ten seconds, doubled to tolerate a pause.
pub const AGENT_SESSION_TTL: Duration = Duration::from_mins(1);
/// Holders and waiters of one resource that a response lists; it also contains their number.
pub const LOCK_QUEUE_SHOWN_MAX: usize = 200;
/// Waits from which the wait graph is built.
pub const LOCK_GRAPH_WAITS_MAX: usize = 1_000;
pub const LOCK_DEADLOCKS_SHOWN_MAX: i64 = 200;
/// Use a freeze for longer periods.
pub const LOCK_INCIDENT_MAX: Duration = Duration::from_hours(24);
/// Scan steps for one page of a list of locks.
pub const LOCK_LIST_SCANS_MAX: usize = 16;
pub const LOCK_RATE_WINDOW: Duration = Duration::from_mins(1);
/// Tenants whose locks one round of a worker processes at a time.
pub const LOCK_TENANTS_PAGE: u32 = 500;
/// Tokens and places are `epoch · 2³³ + counter` and stay below 2⁵³, the largest integer that Lua
/// numbers represent exactly.
pub const LOCK_COUNTER_BITS: u32 = 33;
pub const LOCK_EPOCH_MAX: u64 = (1 << 20) - 1;
/// Holds that one rebuild call writes, which blocks Redis for a few milliseconds.
pub const LOCK_REBUILD_PAGE: usize = 500;
/// A rebuild without progress for this long counts as dead, and another process may start again.
pub const LOCK_REBUILD_PAUSE_MAX: Duration = Duration::from_secs(3);

// Audit.
/// Ids, names, states, user agents and tickets in an audit entry; a resource name is the longest.
pub const AUDIT_TEXT_MAX_BYTES: usize = 512;
/// Above the largest audit entry that the other limits allow, with every character escaped.
pub const AUDIT_LEAF_MAX_BYTES: usize = 64 * 1024;
/// The range of a signed 64-bit column.
pub const AUDIT_LEAVES_MAX: u64 = (1 << 63) - 1;
/// Signatures of the log, its next key and witnesses; the format requires readers to accept at
/// least 16.
pub const NOTE_SIGNATURES_MAX: usize = 32;
/// Enough for `NOTE_SIGNATURES_MAX` post-quantum signatures of 5 kB, in base64.
pub const NOTE_MAX_BYTES: usize = 256 * 1024;

// The registry and the rules of a tenant.
/// Direct and indirect dependents of a resource that are counted; beyond 2^8 − 1 the blast radius
/// no longer grows.
pub const REGISTRY_DEPENDENTS_MAX: usize = 1 << RISK_BLAST_RADIUS_DOUBLINGS;
/// Lifetime of the first admin's token: long enough to paste it, too short to be found later.
pub const TOKEN_BOOTSTRAP_TTL: Duration = Duration::from_mins(15);

// The database.
/// A statement that waits longer for a row fails with a retriable error; longer waits would exhaust
/// the pool. A call may wait twice, for its task and for a table, and still respond within two
/// seconds, even on a busy machine.
pub const DATABASE_LOCK_TIMEOUT: Duration = Duration::from_millis(750);
pub const DATABASE_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client waits for the answer to one statement before it closes the connection: long
/// enough for PostgreSQL to end the statement by its own timeout and report it.
pub const DATABASE_ANSWER_TIMEOUT: Duration = Duration::from_secs(7);
/// An idle transaction holds locks unnecessarily.
pub const DATABASE_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than client timeouts, so that the client gets `busy` and not a timeout.
pub const DATABASE_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// Callers of tenants that wait for a connection of one pool; more would time out anyway. As many
/// may wait for statements that belong to no tenant.
pub const DATABASE_WAITING_MAX: usize = 1_024;
/// Idle connections older than this are closed when the next one is returned.
pub const DATABASE_CONNECTION_IDLE_MAX: Duration = Duration::from_mins(10);
/// Bounds memory growth per connection, and lets connections move away from a drained server behind
/// a load balancer.
pub const DATABASE_CONNECTION_LIFE_MAX: Duration = Duration::from_mins(30);
/// A migration that waits for a table lock blocks all later users of the table.
pub const DATABASE_MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

// Redis.
/// A reachable node answers much faster, and an unreachable one must not delay callers longer.
pub const REDIS_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A script takes well under a millisecond: a slower node is stuck or gone.
pub const REDIS_ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// Includes redirections and retries. A failover takes longer, so callers see an error.
pub const REDIS_CALL_TIMEOUT: Duration = Duration::from_secs(2);
pub const REDIS_RETRIES: u32 = 3;

// Tasks, people, agents and the registry.
pub const TASK_TITLE_MAX_BYTES: usize = 200;
pub const USER_ROLES_MAX: usize = 64;
/// Other accounts of the same person that an account is linked with directly; indirect links count
/// as well.
pub const USER_ALIASES_MAX: usize = 100;
pub const AGENT_CAPABILITIES_MAX: usize = 64;
/// Tasks that an agent applies at once by default: enough to stay busy while one waits.
pub const AGENT_TASKS_DEFAULT: u32 = 4;
/// The capacity limit of a counting lock.
pub const AGENT_TASKS_MAX: u32 = LOCK_COUNTING_CAPACITY_MAX;
/// Two heartbeats of ten seconds may be lost before an agent counts as late.
pub const AGENT_LATE_AFTER: Duration = Duration::from_secs(30);
/// Longer than the lifetime of a session, so that an offline agent must always start a new one.
pub const AGENT_OFFLINE_AFTER: Duration = Duration::from_secs(90);
pub const AGENT_CONFIG_MAX_BYTES: usize = 64 * 1024;
/// Versions of an agent's configuration that a list shows; older ones can be read by number.
pub const AGENT_CONFIG_VERSIONS_SHOWN: i64 = 200;
/// Direct dependents of one entry; indirect ones are counted as well.
pub const RESOURCE_DEPENDENTS_MAX: usize = 256;
/// A repeated request after this time is a new request.
pub const IDEMPOTENCY_KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Newest tasks considered within the change-splitting window; older ones are ignored.
pub const RECENT_TASKS_MAX: i64 = 200;

// Tokens.
pub const PEPPER_MIN_BYTES: usize = 32;
pub const TOKEN_DAYS_MAX: u16 = 90;

// Processes.
/// Items that one activation of a worker processes.
pub const WORKER_BATCH: u32 = 100;
/// Due items processed concurrently; each uses one connection.
pub const WORKER_AT_ONCE: usize = 8;
/// One part in so many of request places, database connections, the items of a worker's batch and
/// server-side applies is the share of a tenant while other tenants use them too.
pub const TENANT_SHARE_DIVISOR: usize = 4;
pub const PRUNE_PERIOD: Duration = Duration::from_mins(1);
/// Audit entries that one round of the tally aggregates; more than one transaction can write.
pub const TALLY_LEAVES: i64 = 10_000;

// HTTP.
/// The largest payload with its envelope.
pub const BODY_MAX_BYTES: usize = 1024 * 1024;
/// From accepting a connection to the end of its TLS handshake.
pub const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
pub const HEADERS_MAX: usize = 64;
pub const HEAD_MAX_BYTES: usize = 16 * 1024;
pub const IDEMPOTENCY_KEY_MAX_BYTES: usize = 256;
pub const PAGE_SIZE_DEFAULT: u32 = 50;
pub const PAGE_SIZE_MAX: u32 = 200;
/// Longer than any key of this server in base64, including an issuer with every character escaped.
pub const PAGE_TOKEN_MAX_BYTES: usize = 4 * 1024;
/// Below the minute after which proxies close an idle response.
pub const WAIT_MAX: Duration = Duration::from_secs(55);
/// Ids that one page of a list examines; the page may contain fewer tasks than requested.
pub const TASK_LIST_SCAN_MAX: u32 = 1_000;
/// Length of the text that is searched in titles.
pub const TASK_SEARCH_MAX_CHARS: usize = 200;
/// Due rows among which workers alternate between tenants; more than one round processes. If more
/// are due, each tenant is looked up on its own.
pub const DUE_WINDOW_ROWS: u32 = 4_096;

// Previews.
/// Previews of one tenant that wait for a slot in one process; further ones are refused.
pub const PREVIEWS_WAITING_MAX: usize = 8;
/// Shorter than the response timeout, so that the caller learns that all slots are taken.
pub const PREVIEW_SLOT_WAIT: Duration = Duration::from_secs(5);
/// How long a caller without a slot waits before the next try.
pub const PREVIEW_RETRY_AFTER: Duration = Duration::from_secs(1);

// SQL previews.
pub const SQL_PREVIEW_SCRIPT_MAX_BYTES: usize = PAYLOAD_MAX_BYTES;
pub const SQL_PREVIEW_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Short, because a preview waiting for a lock blocks the users of the database behind it.
pub const SQL_PREVIEW_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
pub const SQL_PREVIEW_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than it takes to run the script and read the catalogue twice.
pub const SQL_PREVIEW_DEADLINE: Duration = Duration::from_mins(1);
/// How often PostgreSQL checks during a preview whether the server is still connected.
pub const SQL_PREVIEW_CONNECTION_CHECK: Duration = Duration::from_secs(1);
/// How long an overdue preview session is signalled before an error is logged.
pub const SQL_PREVIEW_WATCH_GRACE: Duration = Duration::from_secs(30);
pub const SQL_PREVIEW_WATCH_PAUSE: Duration = Duration::from_millis(50);
/// Tables, columns, functions and other objects; read twice and held in memory.
pub const SQL_PREVIEW_OBJECTS_MAX: usize = 100_000;
/// The first parts that make a script opaque; the author corrects these first.
pub const SQL_PREVIEW_REASONS_MAX: usize = 10;
/// Length of a definition shown in an effect.
pub const SQL_PREVIEW_TEXT_MAX_BYTES: usize = 2 * 1024;

// Statistics.
pub const STATS_DAYS_DEFAULT: u32 = 7;
pub const STATS_DAYS_MAX: u32 = 90;
/// Window for the average response time.
pub const STATS_RESPONSE_WINDOW: Duration = Duration::from_hours(30 * 24);
/// Responses included in the average; the newest ones if there are more.
pub const STATS_RESPONSES_MAX: i64 = 1_000;
/// Upper bound for counts of open tasks and requests; the response says whether it was reached.
pub const STATS_COUNT_MAX: i64 = 10_000;
/// Days over which author and approver pairs are counted.
pub const PAIRS_DAYS: u32 = 30;
/// Approvals examined for the pairs; the response says whether there were more.
pub const PAIRS_APPROVALS_MAX: usize = 20_000;
/// Approvals of one reviewer examined for the pairs; the newest ones if there are more.
pub const PAIRS_OF_REVIEWER_MAX: i64 = 1_000;
pub const PAIRS_SHOWN_MAX: usize = 20;
/// Approvals of one author's tasks from which a pair is notable: about one per working day.
pub const PAIR_APPROVALS_MIN: usize = 20;
/// Percentage of the author's approved tasks from which a pair is notable; a rota of several people
/// stays below.
pub const PAIR_SHARE_MIN_PERCENT: usize = 80;
/// Minimum number of active reviewers; with fewer, the same people meet for lack of others.
pub const PAIR_REVIEWERS_MIN: usize = 3;

// Changes to the rules that wait for a second admin.
/// Open changes of one tenant.
pub const PENDING_CHANGES_MAX: usize = 200;
/// The wait of a change in a tenant with one admin.
pub const PENDING_CHANGE_WAIT: Duration = Duration::from_hours(24);
/// A change that is older must be proposed again.
pub const PENDING_CHANGE_MAX_AGE: Duration = Duration::from_hours(30 * 24);
/// Days of tasks that show what a change would have meant, and the tasks that are examined and
/// listed.
pub const CHANGE_EVIDENCE_DAYS: u32 = 14;
pub const CHANGE_EVIDENCE_TASKS: u32 = 1_000;
pub const CHANGE_EVIDENCE_SHOWN: usize = 20;
pub const CHANGE_FINDINGS_SHOWN: usize = 100;

// Policy tests and replays.
/// Cases in one file; split larger files.
pub const CASES_MAX: usize = 2_000;
pub const CASES_PEOPLE_MAX: usize = 1_000;
/// Enough for `CASES_MAX` cases of about ten lines.
pub const CASES_MAX_BYTES: usize = 1024 * 1024;
pub const CASES_VALUES_MAX: usize = 128 * 1024;
/// Versions of a policy that a list shows; older ones can be read by number.
pub const POLICY_VERSIONS_SHOWN: i64 = 200;
pub const REPLAY_DAYS_DEFAULT: u32 = 30;
pub const REPLAY_DAYS_MAX: u32 = 90;
/// Tasks that one replay examines; the response says whether there were more.
pub const REPLAY_TASKS_MAX: usize = 100_000;
/// Tasks listed in the response, newly auto-approved ones first.
pub const REPLAY_SHOWN_MAX: usize = 200;
