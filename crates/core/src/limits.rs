//! Every bound of the product, once, with the reason for its value. A bound that is not here
//! does not exist; a rule that needs one takes it from here.

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

// Sizes of what a caller sends.
pub const RESOURCE_TYPE_MAX_BYTES: usize = 64;
pub const RESOURCE_ID_MAX_BYTES: usize = 256;
/// More resources than this in one task is a campaign, not a change; split it.
pub const TASK_RESOURCES_MAX: usize = 64;
pub const TASK_TAGS_MAX: usize = 32;
pub const NAME_MAX_BYTES: usize = 128;
/// An e-mail address, as long as mail servers take one.
pub const EMAIL_MAX_BYTES: usize = 254;
/// An identity provider, or somebody's name there.
pub const IDENTITY_MAX_BYTES: usize = 256;
pub const REASON_MAX_BYTES: usize = 4 * 1024;
pub const JSON_DEPTH_MAX: usize = 32;
pub const PAYLOAD_MAX_BYTES: usize = 256 * 1024;
/// Beyond 2^53 two integers share one double, and so one canonical form.
pub const JSON_INTEGER_MAX: u64 = 1 << 53;
/// As much of a key as an error repeats; a key may be as long as the payload.
pub const JSON_KEY_SHOWN_CHARS: usize = 64;
/// Nobody reads more changes than this before saying yes.
pub const EFFECT_CHANGES_MAX: usize = 1_000;
pub const EFFECT_NOTES_MAX: usize = 100;
pub const EFFECT_NOTE_MAX_BYTES: usize = 1024;
/// A line or three; the values themselves are in `before` and `after`.
pub const CHANGE_SUMMARY_MAX_BYTES: usize = 512;

// People and rules.
pub const DELEGATION_DEPTH_MAX: usize = 8;
/// Edges one search for a delegate may walk before it gives the request back to its owner.
pub const DELEGATION_STEPS_MAX: usize = 256;
pub const BATCH_ITEMS_MAX: usize = 200;
pub const POLICY_GROUPS_MAX: usize = 16;
pub const POLICY_GROUP_MIN_MAX: u32 = 50;
pub const POLICY_PATTERNS_MAX: usize = 64;
pub const POLICY_ESCALATION_STEPS_MAX: usize = 8;
/// Roles or people of one group; a longer list is a role that nobody has named yet.
pub const POLICY_AUDIENCE_MAX: usize = 64;
/// A thousand lines; whoever needs more is writing several policies.
pub const POLICY_DOCUMENT_MAX_BYTES: usize = 64 * 1024;
/// The deepest field of a document is five levels down; the rest is room, not need.
pub const POLICY_DOCUMENT_DEPTH_MAX: usize = 16;
pub const POLICY_DOCUMENT_VALUES_MAX: usize = 8 * 1024;
/// Enough to mend a document in one go; past this the answer is longer than the question.
pub const POLICY_ERRORS_MAX: usize = 32;
/// Longer than any message of our own; only what a message quotes can reach it.
pub const POLICY_ERROR_MAX_CHARS: usize = 512;
/// Steps of all the policies that match one task.
pub const REQUIREMENT_ESCALATION_STEPS_MAX: usize = 64;
/// As long as the longest resource id, so that every resource can be named exactly.
pub const PATTERN_MAX_BYTES: usize = RESOURCE_TYPE_MAX_BYTES + 1 + RESOURCE_ID_MAX_BYTES;
/// A policy that asks nobody for a year has been forgotten, not written.
pub const POLICY_PERIOD_MAX: Duration = Duration::from_hours(365 * 24);
pub const RESPOND_WITHIN_DEFAULT: Duration = Duration::from_hours(48);
/// Whatever a policy asks for: a request that is open for longer has been forgotten.
pub const APPROVAL_TIMEOUT_MAX_DEFAULT: Duration = Duration::from_hours(30 * 24);
/// Nobody reads a change and answers in less.
pub const APPROVAL_TIMEOUT_MIN: Duration = Duration::from_mins(1);
pub const APPROVAL_VALID_FOR_DEFAULT: Duration = Duration::from_hours(7 * 24);
/// How much later than now a review may be made to end, by one word of a reviewer or an admin.
pub const REVIEW_EXTENSION_MAX: Duration = Duration::from_hours(7 * 24);
/// How long before the end people are warned, or a quarter of the wait if that is shorter.
pub const EXPIRY_WARNING: Duration = Duration::from_hours(4);
pub const OVERRIDE_CONFIRM_WITHIN: Duration = Duration::from_hours(1);
pub const OVERRIDE_VALID_FOR: Duration = Duration::from_hours(1);
pub const AFTER_REVIEW_WITHIN: Duration = Duration::from_hours(24);
/// Small tasks of one author on one resource inside this window are judged as one change.
pub const CHANGE_SPLITTING_WINDOW: Duration = Duration::from_hours(1);
pub const APPLY_ATTEMPTS_MAX: u32 = 5;
pub const APPLY_BACKOFF_BASE: Duration = Duration::from_secs(5);
pub const APPLY_BACKOFF_MAX: Duration = Duration::from_mins(5);

// Risk.
/// Entries of the registry that come in with one call.
pub const REGISTRY_IMPORT_MAX: usize = 1_000;
/// The weights of the factors make one whole, in basis points.
pub const RISK_WEIGHTS_SUM_BP: u32 = 10_000;
/// Points of a resource that neither the registry nor a pattern rates.
pub const RISK_CRITICALITY_DEFAULT: u8 = 50;
pub const RISK_PATTERN_DEFAULTS_MAX: usize = 256;
/// What cannot be undone weighs as much as four changes more.
pub const RISK_IRREVERSIBLE_UNITS: u64 = 4;
/// 2^10 − 1 changes are as large as it gets, a little above what one effect may hold.
pub const RISK_MAGNITUDE_DOUBLINGS: u32 = 10;
/// 2^8 − 1 resources and dependents are as wide as it gets.
pub const RISK_BLAST_RADIUS_DOUBLINGS: u32 = 8;
/// As many outcomes of like tasks as weigh the same as the tenant's mean.
pub const RISK_FAILURE_PRIOR_TASKS: u64 = 10;
/// Even odds, for a tenant of which nothing is known yet.
pub const RISK_FAILURE_RATE_DEFAULT_BP: u64 = 5_000;

// Locks.
pub const LEASE_TTL_MIN: Duration = Duration::from_secs(1);
pub const LEASE_TTL_DEFAULT: Duration = Duration::from_secs(30);
pub const LEASE_TTL_MAX: Duration = Duration::from_mins(5);
pub const HEARTBEAT_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// A promoted waiter must show life within this, or the next one is tried.
pub const LEASE_CLAIM_TTL: Duration = Duration::from_secs(3);
/// Terminal records stay this long, so that a late duplicate cannot resurrect a lease.
pub const LEASE_TOMBSTONE_TTL: Duration = Duration::from_secs(10);
pub const LOCK_WAIT_MAX: Duration = Duration::from_secs(55);
pub const LOCK_SET_MAX: usize = 66;
pub const LOCK_QUEUE_DEPTH_MAX: usize = 1_000;
/// A boost of k overtakes at most k arrivals.
pub const LOCK_BOOST_MAX: u32 = 100;
pub const LOCK_COUNTING_CAPACITY_MAX: u32 = 10_000;
/// Resources that the leases of one agent hold or wait for at once. Several of the largest sets:
/// whoever needs more works on several things, and can be several agents. What an agent applies
/// is not counted, it has slots.
pub const LOCKS_PER_AGENT_MAX: usize = 256;
/// A lease that an agent keeps for longer has been forgotten, not used: it can ask again, behind
/// whoever has waited meanwhile. An apply ends by its own timeout.
pub const LOCK_HOLD_MAX: Duration = Duration::from_hours(24);
/// Longer would keep a resource hostage to one dead process: make the step fenceable instead.
/// Where no setting says another.
pub const LOCK_DELAY_DEFAULT: Duration = Duration::from_secs(10);
pub const LOCK_DELAY_MAX: Duration = Duration::from_mins(15);
/// Every call tidies up this many due records, so a space in use never piles them up, and no
/// single caller pays for all of them.
pub const LOCK_SWEEP_PER_CALL: usize = 4;
/// A wait is heard of this often by whoever waits for it; one that is silent for longer has lost
/// its place. Several polls, so that a slow process keeps it.
pub const LOCK_PLACE_KEPT: Duration = Duration::from_secs(10);
/// How late a waiter learns of its grant if the hint is lost: well within the claim window.
pub const LOCK_POLL_PERIOD: Duration = Duration::from_secs(1);
/// The subscription is made anew this often: a failover ends it without a word.
pub const LOCK_HINT_HEARTBEAT: Duration = Duration::from_millis(250);
/// Leases one call to the queue renews; longer calls would keep others waiting.
pub const LOCK_RENEW_BATCH: usize = 200;
/// Leases one heartbeat of a caller names.
pub const LEASES_PER_HEARTBEAT_MAX: usize = 1_000;
/// Three heartbeats of ten seconds, and as much again for a pause.
pub const AGENT_SESSION_TTL: Duration = Duration::from_mins(1);
/// Tries to register one grant: each failure teaches the queue, and it seldom has two lessons.
pub const LOCK_REGISTER_TRIES: usize = 4;
/// Holders and waiters of one resource that an answer lists; it says how many there are.
pub const LOCK_QUEUE_SHOWN_MAX: usize = 200;
/// Waits that the graph of who waits for whom is drawn from.
pub const LOCK_GRAPH_WAITS_MAX: usize = 1_000;
pub const LOCK_DEADLOCKS_SHOWN_MAX: i64 = 200;
/// Longer is not an incident but a freeze.
pub const LOCK_INCIDENT_MAX: Duration = Duration::from_hours(24);
/// Steps over what is used that one page of a list of locks takes at most.
pub const LOCK_LIST_SCANS_MAX: usize = 16;
/// How long a rate is remembered once nobody is limited by it any more.
/// Whether an agent may have locks is asked anew after this, for leases that nothing protects.
pub const LOCK_ADMITTED_FOR: Duration = Duration::from_millis(800);
pub const LOCK_ADMITTED_MAX: u64 = 50_000;
pub const LOCK_RATE_WINDOW: Duration = Duration::from_mins(1);
/// Tenants whose locks one round of a worker takes at a time.
pub const LOCK_TENANTS_PAGE: u32 = 500;
pub const LOCK_SWEEP_PERIOD: Duration = Duration::from_secs(1);
/// Due records that one round takes of one tenant.
pub const LOCK_SWEEP_BATCH: usize = 500;
/// Detection may be late, safety does not depend on it; advisory leases are told apart by it.
pub const LOCK_EPOCH_PERIOD: Duration = Duration::from_secs(1);
/// Tokens and places are `epoch · 2³³ + counter` and stay below 2⁵³, the last number that a
/// script's floating point keeps exact.
pub const LOCK_COUNTER_BITS: u32 = 33;
pub const LOCK_EPOCH_MAX: u64 = (1 << 20) - 1;
/// Holds that one call of a rebuild brings: a few milliseconds in which Redis does nothing else.
pub const LOCK_REBUILD_PAGE: usize = 500;
/// Whoever rebuilds and says nothing for so long has died: another may begin again.
pub const LOCK_REBUILD_PAUSE_MAX: Duration = Duration::from_secs(3);

// Audit.
/// Ids, names, states, user agents and tickets in a leaf; a resource's name is the longest.
pub const AUDIT_TEXT_MAX_BYTES: usize = 512;
/// Above the largest leaf the other bounds allow, with every character escaped.
pub const AUDIT_LEAF_MAX_BYTES: usize = 64 * 1024;
/// What a signed 64-bit column counts.
pub const AUDIT_LEAVES_MAX: u64 = (1 << 63) - 1;
/// The log, its next key, and witnesses; the format asks readers to take at least 16.
pub const NOTE_SIGNATURES_MAX: usize = 32;
/// Room for that many post-quantum signatures of 5 kB, in base64.
pub const NOTE_MAX_BYTES: usize = 256 * 1024;

// The registry and the rules of a tenant.
/// What hangs on one resource, over any number of steps: past 2^8 − 1 the radius of a blast is
/// as wide as it gets.
pub const REGISTRY_DEPENDENTS_MAX: usize = 1 << RISK_BLAST_RADIUS_DOUBLINGS;
/// Rules that are over leave the rulebook this long after, so that no two clocks disagree on it.
pub const RULEBOOK_CLOCK_SLACK: Duration = Duration::from_hours(1);
/// The first admin's way in: long enough to paste it, too short to be found later.
pub const TOKEN_BOOTSTRAP_TTL: Duration = Duration::from_mins(15);

// The database.
/// Whoever waits longer for a row is told to come back; a queue of them would starve the pool.
/// A call may wait twice, for its task and for a table, and still answer within two seconds.
/// The rest is for a machine that is busy with other things.
pub const DATABASE_LOCK_TIMEOUT: Duration = Duration::from_millis(750);
pub const DATABASE_STATEMENT_TIMEOUT: Duration = Duration::from_secs(5);
/// A transaction nobody speaks to holds locks for nothing.
pub const DATABASE_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than a client's patience, so that it hears "busy" rather than nothing.
pub const DATABASE_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// What lies unused for longer is closed when the next one comes back.
pub const DATABASE_CONNECTION_IDLE_MAX: Duration = Duration::from_mins(10);
/// A connection gathers memory; behind a balancer it also stays with a server that should rest.
pub const DATABASE_CONNECTION_LIFE_MAX: Duration = Duration::from_mins(30);
/// A migration that waits in front of a table stops everybody behind it.
pub const DATABASE_MIGRATION_LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Weeks without a worker pass before a row finds no partition.
pub const DATABASE_PARTITIONS_AHEAD: Duration = Duration::from_hours(60 * 24);

// Redis.
/// A node that is there is reached in far less; one that is not must not cost a caller more.
pub const REDIS_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A script takes well under a millisecond: whoever is this late is stuck or gone.
pub const REDIS_ANSWER_TIMEOUT: Duration = Duration::from_millis(500);
/// With all redirections and repetitions. A failover takes longer: callers hear of it.
pub const REDIS_CALL_TIMEOUT: Duration = Duration::from_secs(2);
pub const REDIS_RETRIES: u32 = 3;
/// Keys that one step of a scan looks at.
pub const REDIS_SCAN_PAGE: usize = 500;
/// So many failures in a row are no accident: nobody else should wait for this key.
pub const REDIS_CIRCUIT_FAILURES: u32 = 5;
/// How long a key that fails is left alone before one call looks again.
pub const REDIS_CIRCUIT_PAUSE: Duration = Duration::from_millis(250);
/// Failing keys that a process remembers; beyond that it begins to count again.
pub const REDIS_CIRCUITS_MAX: usize = 10_000;
/// Epochs one call goes through before it gives up: its own, the next, and one more for whoever
/// was quicker.
pub const LOCK_EPOCH_TRIES: usize = 4;
/// Spaces whose epoch a process remembers; every script checks it again.
pub const LOCK_EPOCHS_CACHED_MAX: u64 = 10_000;

// Tasks, people and registry, as the API takes them.
pub const TASK_TITLE_MAX_BYTES: usize = 200;
pub const USER_ROLES_MAX: usize = 64;
/// Other accounts of the same human that one account is joined with by itself; what those are
/// joined with counts for it too.
pub const USER_ALIASES_MAX: usize = 100;
pub const AGENT_CAPABILITIES_MAX: usize = 64;
/// What an agent applies at once until somebody says otherwise: enough to be busy while one waits.
pub const AGENT_TASKS_DEFAULT: u32 = 4;
/// As many as one lock can count.
pub const AGENT_TASKS_MAX: u32 = LOCK_COUNTING_CAPACITY_MAX;
/// Two heartbeats of ten seconds may be lost, the third is missed.
pub const AGENT_LATE_AFTER: Duration = Duration::from_secs(30);
/// Longer than a session lives: whoever is silent so long must begin anew anyway.
pub const AGENT_OFFLINE_AFTER: Duration = Duration::from_secs(90);
/// Agents that one transaction of the watcher settles.
pub const AGENT_WATCH_BATCH: u32 = 500;
pub const AGENT_CONFIG_MAX_BYTES: usize = 64 * 1024;
/// Versions of one agent's configuration that a list shows; older ones are found by their number.
pub const AGENT_CONFIG_VERSIONS_SHOWN: i64 = 200;
/// Direct ones of one entry; what hangs on those is counted through.
pub const RESOURCE_DEPENDENTS_MAX: usize = 256;
/// A repetition that comes later is a new request.
pub const IDEMPOTENCY_KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Handed in within the window of change splitting; whoever has more is rated by these.
pub const RECENT_TASKS_MAX: i64 = 200;

// Tokens.
pub const PEPPER_MIN_BYTES: usize = 32;
pub const TOKEN_DAYS_MAX: u16 = 90;
/// Revoking a token takes hold everywhere within a second.
pub const TOKEN_CACHED_FOR: Duration = Duration::from_millis(800);
pub const TOKENS_CACHED_MAX: u64 = 50_000;

// Processes.
/// Rulebooks in memory; each is checked by its version before it is used.
pub const RULEBOOKS_CACHED_MAX: u64 = 1_000;
pub const RULEBOOK_IDLE: Duration = Duration::from_mins(10);
/// What one activation of a worker takes up.
pub const WORKER_BATCH: u32 = 100;
/// Of what is due at the same time; each takes one connection.
pub const WORKER_AT_ONCE: usize = 4;
pub const WORKER_BACKOFF: Duration = Duration::from_secs(2);
/// Between two writes of what a worker did, unless it failed: the board is for people.
pub const WORKER_TOLD_EVERY: Duration = Duration::from_secs(1);
/// Of a failure that the board shows; up to four bytes each.
pub const WORKER_FAILURE_MAX_CHARS: usize = 256;
pub const PRUNE_PERIOD: Duration = Duration::from_mins(1);
/// What one round of the tally folds; more than one transaction can write.
pub const TALLY_LEAVES: i64 = 10_000;
pub const TALLY_PERIOD: Duration = Duration::from_secs(5);
/// Above the longest transaction and the worst clock: no leaf comes in that much late.
pub const TALLY_CLOCK_SLACK: Duration = Duration::from_hours(1);
pub const PARTITION_PERIOD: Duration = Duration::from_hours(1);
/// A probe that waits longer has its answer.
pub const HEALTH_TIMEOUT: Duration = Duration::from_secs(1);
/// How late a waiting caller learns of what another process did.
pub const WATCH_PERIOD: Duration = Duration::from_millis(200);
// HTTP.
/// Room for a payload of the largest size with everything around it.
pub const BODY_MAX_BYTES: usize = 1024 * 1024;
/// From a connection to the end of its TLS handshake.
pub const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
pub const HEADERS_MAX: usize = 64;
pub const HEAD_MAX_BYTES: usize = 16 * 1024;
pub const IDEMPOTENCY_KEY_MAX_BYTES: usize = 256;
pub const PAGE_SIZE_DEFAULT: u32 = 50;
pub const PAGE_SIZE_MAX: u32 = 200;
/// Longer than any key of ours in base64, the issuer of a provider with every character escaped
/// included; what is longer was not made here.
pub const PAGE_TOKEN_MAX_BYTES: usize = 4 * 1024;
/// Below the minute after which proxies give up on a silent answer.
pub const WAIT_MAX: Duration = Duration::from_secs(55);
/// Ids one page of a list may look at: fewer tasks than asked for may match among them.
pub const TASK_LIST_SCAN_MAX: u32 = 1_000;
/// Rows among which workers take turns between tenants; more than one round of any worker.
pub const DUE_WINDOW_ROWS: u32 = 4_096;

// Rehearsals of scripts on other databases.
pub const REHEARSAL_SCRIPT_MAX_BYTES: usize = PAYLOAD_MAX_BYTES;
pub const REHEARSAL_STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Whoever works on that database goes first: a rehearsal in the queue stops those behind it.
pub const REHEARSAL_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
pub const REHEARSAL_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Above the time of the script and both looks at the catalogue.
pub const REHEARSAL_DEADLINE: Duration = Duration::from_mins(1);
/// Tables, columns, functions and the rest; read twice and held in memory.
pub const REHEARSAL_OBJECTS_MAX: usize = 100_000;
/// As much of a definition as an effect shows of it.
pub const REHEARSAL_TEXT_MAX_BYTES: usize = 2 * 1024;

// Figures about work.
pub const STATS_DAYS_DEFAULT: u32 = 7;
pub const STATS_DAYS_MAX: u32 = 90;
/// Over which the time to answer is averaged.
pub const STATS_RESPONSE_WINDOW: Duration = Duration::from_hours(30 * 24);
/// The newest of them, if somebody answered more.
pub const STATS_RESPONSES_MAX: i64 = 1_000;
/// Open tasks of one state, and requests, are counted so far; then the answer says that there
/// are more.
pub const STATS_COUNT_MAX: i64 = 10_000;
/// Days over which is counted who agrees with whom.
pub const PAIRS_DAYS: u32 = 30;
/// Approvals that are looked at for it; the answer says so if there were more.
pub const PAIRS_APPROVALS_MAX: usize = 20_000;
/// Of one reviewer, the newest.
pub const PAIRS_OF_REVIEWER_MAX: i64 = 1_000;
pub const PAIRS_SHOWN_MAX: usize = 20;
/// A pair stands out that met at so many tasks of one author: about one on each working day.
pub const PAIR_APPROVALS_TOLD: usize = 20;
/// And at so many of a hundred: what a rota of several people does not give.
pub const PAIR_SHARE_TOLD_PERCENT: usize = 80;
/// While so many people review; of fewer, the same two meet for want of others.
pub const PAIR_REVIEWERS_MIN: usize = 3;

// Trying rules out.
/// Cases of one file; more are two files.
pub const CASES_MAX: usize = 2_000;
pub const CASES_PEOPLE_MAX: usize = 1_000;
/// Room for that many cases of some ten lines.
pub const CASES_MAX_BYTES: usize = 1024 * 1024;
pub const CASES_VALUES_MAX: usize = 128 * 1024;
/// Versions of one policy that a list shows; older ones are found by their number.
pub const POLICY_VERSIONS_SHOWN: i64 = 200;
pub const REPLAY_DAYS_DEFAULT: u32 = 30;
pub const REPLAY_DAYS_MAX: u32 = 90;
/// Tasks one replay looks at; it says so if there were more.
pub const REPLAY_TASKS_MAX: usize = 100_000;
pub const REPLAY_PAGE: u32 = 2_000;
/// Tasks named in the answer, those that would pass without a person first.
pub const REPLAY_SHOWN_MAX: usize = 200;
