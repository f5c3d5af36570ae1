//! What a decision reads is what it asks for, however much its tenant has meanwhile, and although
//! its plans were made when there was nothing: as at the start of every installation.

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::ids::{AgentId, ApprovalId, ExecutionId, TaskId, UserId};
use ade_core::lock::{Mode, Owner, Request, RequestDraft, State};
use ade_core::samples::{ALICE, AUTHOR, BOB, HOLD, World, agent, user, worker, yes};
use ade_core::task::Command;
use ade_store::executions::{self, Holder};
use ade_store::locks::{self, epochs, line, many};
use ade_store::tokens::{self, Principal};
use ade_store::{Gate, Pool, Tx, agents, approvals, claimable, due, resources, tallies, tasks};

use crate::locks::{ask, draft, lease, open, resource, session, token};
use crate::rig::{Rig, SOON};
use crate::sample::{insert, rig, step};

/// Of each table, at the end.
pub const ROWS: u128 = 2_000;
/// Far more than anything here has to look at, far less than there is.
const READ_MAX: i64 = 100;
/// Taken by nobody.
const FREE: u128 = 1 << 40;

/// Everything that is asked of a list of names or ids while others wait.
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
        "end in line" => drop(line::end(tx, lease(7), State::TimedOut).await.unwrap()),
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
            due::clear(tx, "review", tasks_asked[0].uuid()).await.unwrap();
        }
        "handed in lately" => {
            // Of somebody else than whose tasks they are.
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

/// Rolled back: the next one finds all as it was.
async fn put_through(rig: &Rig, pool: &Pool, question: &str) {
    let mut tx = rig.begin_through(pool, rig.tenant, Gate::Unasked).await.unwrap();
    put(&mut tx, question).await;
    tx.roll_back().await;
}

/// Open holds, those who wait for them, and what is known of resources, types and agents.
async fn fill(rig: &Rig) {
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
         INSERT INTO due (tenant_id, kind, object, at)
         SELECT tenant_id, 'review', id, now() FROM filling;
         SELECT pg_stat_force_next_flush()",
        rows = rows.join(", "),
        by = AgentId::from_u128(1).uuid(),
    );
    rig.database.run(&sql).await;
}

pub type Reads = BTreeMap<String, i64>;

/// All that was read of each table so far, by those who have closed their connections.
async fn reads(rig: &Rig) -> Reads {
    let sql = "SELECT relname::text, seq_tup_read + coalesce(idx_tup_fetch, 0)
                 FROM pg_stat_user_tables";
    let mut connection = rig.database.connect().await;
    let rows: Vec<(String, i64)> = sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
    rows.into_iter().collect()
}

/// What was read since `before` by the one connection of this pool, where it is much.
async fn much(rig: &Rig, pool: &Pool, before: &Reads) -> Reads {
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

async fn connected(rig: &Rig) -> i64 {
    let login = &rig.login;
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE usename = '{login}'");
    rig.database.number(&sql).await
}

/// The questions that read much after `fill`, and what they read.
pub async fn outgrown<const N: usize>(
    rig: &Rig,
    questions: [&'static str; N],
    put_through: impl AsyncFn(&Rig, &Pool, &str),
    fill: impl AsyncFnOnce(&Rig),
) -> Vec<(&'static str, Reads)> {
    // A connection for each, which counts what it reads and says it when it is closed.
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
async fn what_a_decision_reads_does_not_grow_with_what_there_is() {
    let rig = Rig::new().await;
    open(&rig, 1).await;
    let found = outgrown(&rig, QUESTIONS, put_through, fill).await;
    assert_eq!(found, [], "rows read, of {ROWS} in each table");
}

#[tokio::test]
async fn what_is_asked_for_twice_is_told_once() {
    let rig = Rig::new().await;
    open(&rig, 1).await;
    fill(&rig).await;
    let mut tx = rig.begin().await;
    let held = locks::of(&mut tx, &[lease(7), lease(8), lease(7)]).await.unwrap();
    assert_eq!(held.len(), 2);
    let tasks = [7, 8, 7].map(TaskId::from_u128);
    let found = claimable::named(&mut tx, &["sql".to_owned()], &tasks, 9).await.unwrap();
    assert_eq!(found.len(), 2);
}

/// Created, handed in, answered in several ways, applied and completed.
async fn live(rig: &Rig, world: &World, number: u128) {
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
        (agent(), Command::StartApply { execution, hold: HOLD }),
        (agent(), Command::BeginApply { hold: HOLD }),
        (agent(), Command::FinishApply { hold: HOLD }),
    ] {
        step(rig, world, task.id, &actor, &command).await;
    }
}

/// All that is kept of one task, again and again under other ids.
async fn multiply(rig: &Rig, of: TaskId) {
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
async fn a_life_reads_nothing_of_other_lives() {
    let (rig, world) = rig().await;
    Box::pin(live(&rig, &world, 1)).await;
    multiply(&rig, TaskId::from_u128(1)).await;
    let before = reads(&rig).await;
    Box::pin(live(&rig, &world, 2)).await;
    assert_eq!(much(&rig, &rig.pool, &before).await, Reads::new(), "of {ROWS} in each table");
}
