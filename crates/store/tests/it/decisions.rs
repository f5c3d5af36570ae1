//! A decision takes four round trips: the locks at its beginning, one read, one statement that
//! writes everything or nothing, and the commit.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::approval::Answer;
use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId};
use ade_core::risk::{Level, Score};
use ade_core::samples::{ALICE, AUTHOR, BOB, World, content, user, vote, worker};
use ade_core::task::{Command, CommandKind, State, Task};
use ade_store::idempotency::{self, IdempotencyKey, KeyState, StoredResponse};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use ade_store::tasks::{self, SideEffects};
use ade_store::{BeginOptions, LockTarget, StoreError, TenantLock, Tx, approvals};
use ade_testkit::eventually;

use crate::sample::{assessment, begin, body, cause, insert, load, rig, step};
use crate::test_database::{SOON, TestDatabase};

async fn review(rig: &TestDatabase, world: &World, number: u128) -> Task {
    let task = insert(rig, world, number).await;
    let submit = Command::Submit { content: task.content, pins: world.pins() };
    step(rig, world, task.id, &user(AUTHOR), &submit).await;
    step(rig, world, task.id, &worker(), &Command::OpenReview).await
}

fn key(name: &str) -> IdempotencyKey {
    let [principal, route, key] = ["usr_1", "POST /v1/tasks", name].map(ToOwned::to_owned);
    IdempotencyKey { principal, route, key }
}

async fn open(
    rig: &TestDatabase,
    actor: &Actor,
    first: BeginOptions<'_>,
) -> Result<Tx, StoreError> {
    let (tenant, actor) = (rig.tenant, actor.clone());
    Tx::begin_with(&rig.pool, tenant, actor, TenantLock::Shared, first).await
}

async fn approve(
    rig: &TestDatabase,
    world: &World,
    mut tx: Tx,
    id: TaskId,
) -> Result<Task, StoreError> {
    let task = tasks::gather(&mut tx, id, None).await?.task.unwrap();
    let actor = tx.actor().clone();
    let command = vote(&task, Answer::Approve);
    let decision = world.decide(&task, &actor, &command, rig.now).unwrap();
    let (cause, beside) = (cause(CommandKind::Approve), SideEffects::default());
    let committed = tasks::commit_decision(&mut tx, &task, &decision, None, cause, &beside).await?;
    tx.commit().await?;
    Ok(committed.task.unwrap())
}

async fn wait_for_waiters(rig: &TestDatabase, count: i64) {
    let mut admin = rig.database.connect().await;
    eventually("they wait for the row", SOON, async || {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&mut admin)
        .await
        .unwrap();
        if waiting == count { Ok(()) } else { Err(format!("{waiting} wait")) }
    })
    .await;
}

/// The second voter waits for the row while the first one's vote is written. If the row were
/// locked by the statement that reads the votes, it would read them as of before the wait.
#[tokio::test]
async fn decision_after_a_row_wait_sees_the_other_vote() {
    let (rig, world) = rig().await;
    rig.database.be_patient().await;
    let task = review(&rig, &world, 1).await;
    let (rig, world) = (std::sync::Arc::new(rig), std::sync::Arc::new(world));
    let first = BeginOptions { row: Some(LockTarget::Task(task.id)), key: None };
    let alice = open(&rig, &user(ALICE), first).await.unwrap();
    let bob = tokio::spawn({
        let (rig, world) = (rig.clone(), world.clone());
        async move {
            let tx = open(&rig, &user(BOB), first).await.unwrap();
            approve(&rig, &world, tx, task.id).await
        }
    });
    let late = tokio::spawn({
        let rig = rig.clone();
        async move {
            let mut tx = rig.begin().await;
            tasks::load(&mut tx, task.id).await.unwrap().unwrap()
        }
    });
    wait_for_waiters(&rig, 2).await;
    assert_eq!(approve(&rig, &world, alice, task.id).await.unwrap().state, State::Reviewing);
    let approved = tokio::time::timeout(SOON, bob).await.unwrap().unwrap().unwrap();
    assert_eq!((approved.state, approved.votes.len()), (State::Approved, 2));
    let seen = tokio::time::timeout(SOON, late).await.unwrap().unwrap();
    assert!(!seen.votes.is_empty(), "a load without the opening waits and then reads, too");
}

#[tokio::test]
async fn task_peek_does_not_wait_for_row_locks() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let holder =
        open(&rig, &user(ALICE), BeginOptions { row: Some(LockTarget::Task(task.id)), key: None })
            .await;
    let mut tx = rig.begin().await;
    assert_eq!(tasks::peek(&mut tx, task.id).await.unwrap(), Some(task));
    holder.unwrap().roll_back().await;
}

#[tokio::test]
async fn decision_by_request_id_locks_its_task() {
    let (rig, world) = rig().await;
    rig.database.be_patient().await;
    let task = review(&rig, &world, 1).await;
    let request = approvals::of_task(&mut rig.begin().await, task.id).await.unwrap().remove(0).id;
    let first = BeginOptions { row: Some(LockTarget::TaskOf(request)), key: None };
    let holder = open(&rig, &user(ALICE), first).await.unwrap();
    assert_eq!(holder.locked(), Some(task.id));
    let rig = std::sync::Arc::new(rig);
    let second = tokio::spawn({
        let rig = rig.clone();
        async move { open(&rig, &user(BOB), first).await.map(|tx| tx.locked()) }
    });
    wait_for_waiters(&rig, 1).await;
    holder.roll_back().await;
    let locked = tokio::time::timeout(SOON, second).await.unwrap().unwrap().unwrap();
    assert_eq!(locked, Some(task.id));
    let nothing =
        BeginOptions { row: Some(LockTarget::TaskOf(ApprovalId::from_u128(9))), key: None };
    assert_eq!(open(&rig, &user(ALICE), nothing).await.unwrap().locked(), None);
    let (tenant, actor) = (rig.other, user(ALICE));
    let foreign =
        Tx::begin_with(&rig.pool, tenant, actor, TenantLock::Shared, first).await.unwrap();
    assert_eq!(foreign.locked(), None, "a request of another tenant locks nothing");
}

#[tokio::test]
async fn idempotency_key_in_flight_is_reported_without_waiting() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let (name, body) = (key("a"), Digest::of(b"body"));
    let first = BeginOptions { row: Some(LockTarget::Task(task.id)), key: Some(&name) };
    let mut holder = open(&rig, &user(ALICE), first).await.unwrap();
    let found = tasks::gather(&mut holder, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!((found.claim, found.task.as_ref()), (KeyState::New, Some(&task)));
    let mut second = tokio::time::timeout(SOON, open(&rig, &user(ALICE), first))
        .await
        .expect("it does not wait for the row")
        .unwrap();
    let found = tasks::gather(&mut second, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!((found.claim, found.task), (KeyState::InFlight, None));
    assert_eq!(
        idempotency::reserve_key(&mut second, &name, &body).await.unwrap(),
        KeyState::InFlight,
        "however it is asked"
    );
    second.roll_back().await;
    holder.roll_back().await;
    let mut next = open(&rig, &user(ALICE), first).await.unwrap();
    let found = tasks::gather(&mut next, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!(found.claim, KeyState::New, "it ended with its transaction");
}

async fn dues(rig: &TestDatabase) -> Vec<(String, i64)> {
    let mut tx = rig.begin().await;
    let rows = sqlx::query_as::<_, (String, i64)>(
        "SELECT kind, (extract(epoch FROM at) * 1000000)::bigint FROM scheduled_job ORDER BY kind",
    );
    tx.read(rows).await.unwrap()
}

#[tokio::test]
async fn decision_writes_scheduled_jobs_and_the_response() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let (name, sent) = (key("a"), Digest::of(b"body"));
    let at = |seconds| rig.now.plus(Duration::from_secs(seconds));
    let due = |kind, seconds| ScheduledJob { kind, object: task.id.uuid(), at: at(seconds) };
    let mut tx = rig.begin().await;
    scheduled_jobs::set(&mut tx, &[due("escalate", 5), due("expire", 9), due("other", 1)])
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let answer = idempotency::IdempotentResponse { status: 200, body: "{}".to_owned() };
    let kept = StoredResponse { key: &name, body: &sent, answer: &answer, expires_at: at(60) };
    let hints = [due("expire", 30), due("remind", 3)];
    let beside = SideEffects { dues: &hints, done: &["escalate", "expire"], answer: Some(kept) };
    let first = BeginOptions { row: Some(LockTarget::Task(task.id)), key: Some(&name) };
    let mut tx = open(&rig, &user(ALICE), first).await.unwrap();
    let decision =
        world.decide(&task, &user(ALICE), &vote(&task, Answer::Approve), rig.now).unwrap();
    let cause = || cause(CommandKind::Approve);
    tasks::commit_decision(&mut tx, &task, &decision, None, cause(), &beside).await.unwrap();
    tx.commit().await.unwrap();
    let row = |kind: &str, seconds| (kind.to_owned(), at(seconds).micros());
    let expected = [row("expire", 30), row("other", 1), row("remind", 3)];
    assert_eq!(dues(&rig).await, expected);
    let mut tx = open(&rig, &user(ALICE), first).await.unwrap();
    let found = tasks::gather(&mut tx, task.id, Some((&name, &sent))).await.unwrap();
    assert_eq!(found.claim, KeyState::Answered(answer.clone()));
    let other = Digest::of(b"other");
    let found = tasks::gather(&mut tx, task.id, Some((&name, &other))).await.unwrap();
    assert_eq!(found.claim, KeyState::OtherBody);

    // A response that has not expired is not replaced, and then nothing else is written either.
    let now = found.task.unwrap();
    let again = world.decide(&now, &user(BOB), &vote(&now, Answer::Approve), rig.now).unwrap();
    let refused = tasks::commit_decision(&mut tx, &now, &again, None, cause(), &beside).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert!(matches!(tx.commit().await, Err(StoreError::Aborted)), "even if the caller looks away");
    assert_eq!(load(&rig, task.id).await, Some(now));
}

#[tokio::test]
async fn decision_with_a_failed_guard_writes_nothing() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let stale = Task { version: task.version - 1, ..task.clone() };
    let tables = "SELECT string_agg(format('%s %s', c.relname, (xpath('/row/n/text()',
            query_to_xml(format('SELECT count(*) AS n FROM %s', c.oid::regclass), false, true,
                ''), ARRAY[]::text[][]))[1]), ', ' ORDER BY c.relname)
          FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace";
    let mut admin = rig.database.connect().await;
    let before: String = sqlx::query_scalar(tables).fetch_one(&mut admin).await.unwrap();
    let name = key("a");
    let (sent, answer) = (
        Digest::of(b"body"),
        idempotency::IdempotentResponse { status: 200, body: "{}".to_owned() },
    );
    let kept =
        StoredResponse { key: &name, body: &sent, answer: &answer, expires_at: rig.now.plus(SOON) };
    let hints = [ScheduledJob { kind: "expire", object: task.id.uuid(), at: rig.now }];
    let beside = SideEffects { dues: &hints, done: &["other"], answer: Some(kept) };
    let mut other = content("third");
    other.subject.tags.insert("blue".to_owned());
    let author = user(AUTHOR);
    let commands = [
        (user(ALICE), vote(&task, Answer::Approve)),
        (author.clone(), Command::Amend { content: other }),
        (author.clone(), Command::Comment { text: "late".to_owned() }),
        (author, Command::Cancel { reason: None }),
    ];
    for (actor, command) in commands {
        let decision = world.decide(&stale, &actor, &command, rig.now).unwrap();
        let mut tx = begin(&rig, &actor, rig.now).await;
        let (body, cause) = (body(), cause(command.kind()));
        let refused =
            tasks::commit_decision(&mut tx, &stale, &decision, Some(&body), cause, &beside).await;
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
        // Read inside the transaction, before the rollback.
        let rows = sqlx::query_as::<_, (i64, i64, i64, i64)>(
            "SELECT (SELECT count(*) FROM vote), (SELECT count(*) FROM scheduled_job),
                    (SELECT count(*) FROM idempotency), (SELECT max(revision)::int8 FROM task)",
        );
        assert_eq!(tx.read(rows).await.unwrap(), [(0, 0, 0, 1)], "{command:?}");
        tx.roll_back().await;
    }
    let after: String = sqlx::query_scalar(tables).fetch_one(&mut admin).await.unwrap();
    assert_eq!(after, before);
}

#[tokio::test]
async fn revision_is_stored_with_its_risk_rating() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let author = user(AUTHOR);
    let amend = Command::Amend { content: content("second") };
    let decision = world.decide(&task, &author, &amend, rig.now).unwrap();
    let mut wrong = body();
    wrong.risk = assessment(Score::new(44), Level::Medium);
    let mut tx = begin(&rig, &author, rig.now).await;
    let (cause, beside) = (cause(CommandKind::Amend), SideEffects::default());
    let refused =
        tasks::commit_decision(&mut tx, &task, &decision, Some(&wrong), cause, &beside).await;
    assert!(matches!(refused, Err(StoreError::Unstorable { .. })), "{refused:?}");
}

#[tokio::test]
async fn task_without_its_revision_is_an_error() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    crate::test_database::run(&mut admin, "UPDATE task SET revision = 2").await;
    let mut tx = rig.begin().await;
    let error = tasks::load(&mut tx, task.id).await.unwrap_err();
    let StoreError::Row(row) = error else { panic!("{error}") };
    assert_eq!((row.table, row.column, row.row), ("task", "revision", task.id.to_string()));
    let error = tasks::view(&mut tx, task.id).await.unwrap_err();
    assert!(matches!(error, StoreError::Row(_)), "{error}");
}
