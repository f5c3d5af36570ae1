//! A decision reads only the rows it needs, however many its tenant has, although its plans were
//! made for empty tables, as at the start of every installation.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::ids::{AgentId, ApprovalId, ExecutionId, TaskId, UserId};
use ade_core::lock::{LeasePhase, Mode, Owner, Request, RequestDraft};
use ade_core::samples::{ALICE, AUTHOR, BOB, HOLD, World, agent, user, worker, yes};
use ade_core::task::{ApplyResult, Command};
use ade_store::executions::{self, Holder};
use ade_store::locks::{self, epochs, line, many};
use ade_store::tokens::{self, Principal};
use ade_store::{
    Pool, TenantLock, Tx, agents, approvals, claimable, resources, scheduled_jobs, tallies, tasks,
};

use crate::locks::{ask, draft, lease, open, resource, session, token};
use crate::sample::{insert, rig, step};
use crate::test_database::{SOON, TestDatabase};

/// The number of rows in each table at the end.
pub const ROWS: u128 = 2_000;
/// Far more rows than any query here needs, far fewer than there are.
const READ_MAX: i64 = 100;
/// A number that is not in use.
const FREE: u128 = 1 << 40;

/// All queries with a list of names or ids that run while other requests wait.
const QUESTIONS: [&str; 25] = [
    "register",
    "register for itself",
    "taken by an agent",
    "permit",
    "next token",
    "held",
    "busy",
    "in the way",
    "open leases",
    "heartbeats",
    "break off",
    "find in line",
    "touch in line",
    "end in line",
    "entries",
    "facts",
    "history",
    "presence",
    "versions",
    "named claims",
    "next claims",
    "tasks of requests",
    "deadlines cleared",
    "handed in lately",
    "open tokens",
];

async fn put(tx: &mut Tx, question: &str) {
    let names = ["7", "8", "9"].map(resource);
    let leases = [7, 8, 9].map(lease);
    let (tasks_asked, types) = ([7, 8, 9].map(TaskId::from_u128), ["sql".to_owned()]);
    let wanted = ask(FREE, &["7", "8"].map(|name| (name, Mode::Shared)));
    match question {
        "register" => {
            let outcome = locks::register(tx, &wanted, session(1), token(1 << 20)).await;
            outcome.unwrap().unwrap();
        }
        "register for itself" => {
            let owner = Owner::Agent(session(1));
            let own = RequestDraft { owner, ..draft(FREE, &["7", "8"].map(|n| (n, Mode::Shared))) };
            let own = Request::new(own).unwrap();
            let outcome = locks::register(tx, &own, session(1), token(1 << 20)).await;
            outcome.unwrap().unwrap();
        }
        "taken by an agent" => {
            locks::taken(tx, "agent-7").await.unwrap();
        }
        "permit" => {
            let holder = Holder { agent: None, session: session(2), is_own_session: true };
            executions::register(tx, &wanted, holder, None).await.unwrap().unwrap();
        }
        "next token" => {
            let epoch = epochs::current(tx).await.unwrap().epoch;
            locks::next_token(tx, epoch, wanted.set()).await.unwrap();
        }
        "held" => drop(claimable::held(tx, &names).await.unwrap()),
        "busy" => drop(claimable::busy(tx, &names).await.unwrap()),
        "in the way" => drop(line::holding(tx, &names).await.unwrap()),
        "open leases" => drop(locks::of(tx, &leases).await.unwrap()),
        "heartbeats" => drop(many::extend(tx, &leases).await.unwrap()),
        "break off" => drop(many::break_off(tx, &leases, lease(FREE)).await.unwrap()),
        "find in line" => drop(line::find(tx, &leases).await.unwrap()),
        "touch in line" => line::touch(tx, &leases).await.unwrap(),
        "end in line" => drop(line::end(tx, lease(7), LeasePhase::TimedOut).await.unwrap()),
        "entries" => drop(resources::get_all(tx, &names).await.unwrap()),
        "facts" => drop(resources::facts(tx, &names).await.unwrap()),
        "history" => drop(tallies::history(tx, "sql", &names).await.unwrap()),
        "presence" => drop(agents::presence(tx, &[7, 8, 9].map(AgentId::from_u128)).await.unwrap()),
        "versions" => drop(tasks::versions(tx, &tasks_asked).await.unwrap()),
        "named claims" => drop(claimable::named(tx, &types, &tasks_asked, 3).await.unwrap()),
        "next claims" => drop(claimable::next(tx, &types, &tasks_asked, 3).await.unwrap()),
        "tasks of requests" => {
            let requests = [7, 8, 9].map(ApprovalId::from_u128);
            drop(approvals::tasks_of(tx, &requests).await.unwrap());
        }
        "deadlines cleared" => {
            scheduled_jobs::clear(tx, "review", tasks_asked[0].uuid()).await.unwrap();
        }
        "handed in lately" => {
            // Of another person than the author of the tasks.
            let (by, since) = ([UserId::from_u128(2)], tx.now().minus(Duration::from_hours(24)));
            drop(tasks::recent(tx, &by, since).await.unwrap());
        }
        "open tokens" => {
            let holder = Principal::Agent(AgentId::from_u128(7));
            tokens::count_open(tx, holder).await.unwrap();
        }
        other => panic!("{other} is not asked"),
    }
}

/// Runs one query and rolls back, so that the next one finds the same data.
async fn put_through(rig: &TestDatabase, pool: &Pool, question: &str) {
    let mut tx = rig.begin_through(pool, rig.tenant, TenantLock::None).await.unwrap();
    put(&mut tx, question).await;
    tx.roll_back().await;
}

/// Inserts open holds, their waiters, and entries of resources, types and agents.
async fn fill(rig: &TestDatabase) {
    let (tenant, at) = (rig.tenant.uuid(), session(1).uuid());
    let rows = (2..=ROWS).map(|number| {
        let (id, owner) = (lease(number).uuid(), session(number));
        format!("('{tenant}'::uuid, 'db:{number}', '{id}'::uuid, '{owner}', 'agent-{number}@x')")
    });
    let rows: Vec<String> = rows.collect();
    let sql = format!(
        "CREATE TEMPORARY TABLE filling (tenant_id, name, id, owner, node) AS VALUES {rows};
         INSERT INTO lock_fence (tenant_id, resource) SELECT tenant_id, name FROM filling;
         INSERT INTO lock_hold (tenant_id, resource, lease_id, session_id, mode, token, owner,
                                node, born_at, ttl, lock_delay, registered_at, deadline)
         SELECT tenant_id, name, id, '{at}', 'shared', 1::bigint << 33, owner, node, now(),
                '1 minute', '0', now(), now() + interval '1 hour' FROM filling;
         INSERT INTO lock_wait (tenant_id, lease_id, state, owner, node, born_at, ttl, lock_delay,
                                patience, boost, place, arrival, deadline, resources, modes,
                                capacities)
         SELECT tenant_id, id, 'waiting', owner, 'node-1', now(), '1 minute', '0', '30 seconds', 0,
                0, 0, now() + interval '1 hour', ARRAY[name], '{{shared}}', '{{NULL}}'
           FROM filling;
         INSERT INTO resource (tenant_id, name) SELECT tenant_id, name FROM filling;
         INSERT INTO failure_history (tenant_id, task_type, resource, failed, total)
         SELECT tenant_id, 'sql', name, 1, 2 FROM filling;
         INSERT INTO agent (tenant_id, id, name, owner_id)
         SELECT tenant_id, id, name, '{by}' FROM filling;
         SET session_replication_role = replica;
         INSERT INTO task (tenant_id, id, number, state, since, version, revision, title, task_type,
                           priority, risk, level, digest, author_id, submitter_id, basis,
                           submitted_at, created_at, updated_at)
         SELECT tenant_id, id, row_number() OVER (), 'APPROVED', now(), 1, 1, name, 'sql', 50, 10,
                'LOW', sha256(''), '{by}', '{by}', '{{}}', now(), now(), now() FROM filling;
         INSERT INTO approval (tenant_id, task_id, revision, reviewer_id, id, status, places,
                               requested_at, due_at, score)
         SELECT tenant_id, id, 1, '{by}', id, 'PENDING', '[]', now(), now(), 0 FROM filling;
         INSERT INTO token (tenant_id, key_id, agent_id, secret_hash, scopes, expires_at)
         SELECT tenant_id, name, id, sha256(''), '{{}}', now() + interval '1 day' FROM filling;
         INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT tenant_id, 'review', id, now() FROM filling;
         SELECT pg_stat_force_next_flush()",
        rows = rows.join(", "),
        by = AgentId::from_u128(1).uuid(),
    );
    rig.database.run(&sql).await;
}

pub type Reads = BTreeMap<String, i64>;

/// Returns the rows read of each table so far, by connections that are closed.
async fn reads(rig: &TestDatabase) -> Reads {
    let sql = "SELECT relname::text, seq_tup_read + coalesce(idx_tup_fetch, 0)
                 FROM pg_stat_user_tables";
    let mut connection = rig.database.connect().await;
    let rows: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
    rows.into_iter().collect()
}

/// Returns the tables of which the connection of this pool has read many rows since `before`.
async fn much(rig: &TestDatabase, pool: &Pool, before: &Reads) -> Reads {
    let connections = connected(rig).await;
    pool.close().await;
    ade_testkit::eventually("the connection is closed", SOON, async || {
        let left = connected(rig).await;
        if left < connections { Ok(()) } else { Err(format!("{left} of {connections}")) }
    })
    .await;
    let mut reads = reads(rig).await;
    for (table, count) in &mut reads {
        *count -= before.get(table).unwrap_or(&0);
    }
    reads.retain(|_, count| *count > READ_MAX);
    reads
}

async fn connected(rig: &TestDatabase) -> i64 {
    let login = &rig.login;
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{login}'");
    rig.database.number(&sql).await
}

/// Returns the queries that read many rows after `fill`, with the counts.
pub async fn outgrown<const N: usize>(
    rig: &TestDatabase,
    questions: [&'static str; N],
    put_through: impl AsyncFn(&TestDatabase, &Pool, &str),
    fill: impl AsyncFnOnce(&TestDatabase),
) -> Vec<(&'static str, Reads)> {
    // Each query has its own connection, which reports its counts when it is closed.
    let pools = questions.map(|question| (question, rig.pool(1)));
    for (question, pool) in &pools {
        put_through(rig, pool, question).await;
    }
    fill(rig).await;
    let mut found = Vec::new();
    for (question, pool) in pools {
        let before = reads(rig).await;
        put_through(rig, &pool, question).await;
        let much = much(rig, &pool, &before).await;
        if !much.is_empty() {
            found.push((question, much));
        }
    }
    found
}

#[tokio::test]
async fn decision_reads_do_not_grow_with_the_tables() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    let found = outgrown(&rig, QUESTIONS, put_through, fill).await;
    assert_eq!(found, [], "rows read, of {ROWS} in each table");
}

#[tokio::test]
async fn lookup_with_duplicate_ids_returns_each_once() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    fill(&rig).await;
    let mut tx = rig.begin().await;
    let held = locks::of(&mut tx, &[lease(7), lease(8), lease(7)]).await.unwrap();
    assert_eq!(held.len(), 2);
    let tasks = [7, 8, 7].map(TaskId::from_u128);
    let found = claimable::named(&mut tx, &["sql".to_owned()], &tasks, 9).await.unwrap();
    assert_eq!(found.len(), 2);
}

/// Creates a task, submits it, answers in several ways, applies and completes it.
async fn live(rig: &TestDatabase, world: &World, number: u128) {
    let task = insert(rig, world, number).await;
    let execution = ExecutionId::from_u128(number);
    let submit = Command::Submit { content: task.content.clone(), pins: world.pins() };
    step(rig, world, task.id, &user(AUTHOR), &submit).await;
    let task = step(rig, world, task.id, &worker(), &Command::OpenReview).await;
    let until = rig.now.plus(Duration::from_hours(6 * 24));
    let more_time = Command::Extend { until, reason: "on leave".to_owned() };
    for (actor, command) in [
        (user(ALICE), yes(&task)),
        (user(ALICE), Command::WithdrawVote),
        (user(ALICE), more_time),
        (user(AUTHOR), Command::Comment { text: "why so late?".to_owned() }),
        (user(ALICE), yes(&task)),
        (user(BOB), yes(&task)),
        (agent(), Command::StartApply { execution, hold: HOLD, gates: world.gates() }),
        (agent(), world.begin()),
        (agent(), Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded }),
    ] {
        step(rig, world, task.id, &actor, &command).await;
    }
}

/// Copies all rows of one task many times under other ids.
async fn multiply(rig: &TestDatabase, of: TaskId) {
    let tables = [
        ("task", "id", "'id', n, 'number', new.number"),
        ("task_revision", "task_id", "'task_id', n"),
        ("task_resource", "task_id", "'task_id', n"),
        ("task_tag", "task_id", "'task_id', n"),
        ("task_policy_pin", "task_id", "'task_id', n"),
        ("approval", "task_id", "'task_id', n, 'id', gen_random_uuid()"),
        ("vote", "task_id", "'task_id', n, 'id', gen_random_uuid()"),
        ("vote_withdrawal", "task_id", "'task_id', n"),
        ("execution", "task_id", "'task_id', n, 'id', n, 'lease_id', n"),
    ];
    let copies = tables.map(|(table, key, ids)| {
        format!(
            "INSERT INTO {table} OVERRIDING SYSTEM VALUE
             SELECT (jsonb_populate_record(old, jsonb_build_object({ids}))).*
               FROM {table} old
              CROSS JOIN (SELECT number, lpad(to_hex(number), 32, '0')::uuid AS n
                            FROM generate_series(1000, 1000 + {ROWS}) AS number) AS new
              WHERE old.{key} = '{id}';",
            id = of.uuid()
        )
    });
    let copies = copies.concat();
    let sql = format!(
        "SET session_replication_role = replica; {copies} SELECT pg_stat_force_next_flush()"
    );
    rig.database.run(&sql).await;
}

#[tokio::test]
async fn task_lifecycle_reads_nothing_of_other_tasks() {
    let (rig, world) = rig().await;
    Box::pin(live(&rig, &world, 1)).await;
    multiply(&rig, TaskId::from_u128(1)).await;
    let before = reads(&rig).await;
    Box::pin(live(&rig, &world, 2)).await;
    assert_eq!(much(&rig, &rig.pool, &before).await, Reads::new(), "of {ROWS} in each table");
}
