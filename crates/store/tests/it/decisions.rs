//! A decision in four round trips: what it locks while it begins, what it reads at once, and what
//! it writes in one statement or not at all.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::approval::Answer;
use ade_core::change::Digest;
use ade_core::ids::{ApprovalId, TaskId};
use ade_core::risk::{Level, Score};
use ade_core::samples::{ALICE, AUTHOR, BOB, World, content, user, vote, worker};
use ade_core::task::{Command, CommandKind, State, Task};
use ade_store::due::{self, Due};
use ade_store::idempotency::{self, Claim, Kept, Key};
use ade_store::tasks::{self, Beside};
use ade_store::{Error, Gate, Opening, Row, Tx, approvals};
use ade_testkit::eventually;

use crate::rig::{Rig, SOON};
use crate::sample::{assessment, begin, body, cause, insert, load, rig, step};

async fn review(rig: &Rig, world: &World, number: u128) -> Task {
    let task = insert(rig, world, number).await;
    let submit = Command::Submit { content: task.content, pins: world.pins() };
    step(rig, world, task.id, &user(AUTHOR), &submit).await;
    step(rig, world, task.id, &worker(), &Command::OpenReview).await
}

fn key(name: &str) -> Key {
    let [principal, route, key] = ["usr_1", "POST /v1/tasks", name].map(ToOwned::to_owned);
    Key { principal, route, key }
}

async fn open(rig: &Rig, actor: &Actor, first: Opening<'_>) -> Result<Tx, Error> {
    let (tenant, actor) = (rig.tenant, actor.clone());
    Tx::begin_with(&rig.pool, tenant, actor, Gate::Shared, first).await
}

async fn approve(rig: &Rig, world: &World, mut tx: Tx, id: TaskId) -> Result<Task, Error> {
    let task = tasks::gather(&mut tx, id, None).await?.task.unwrap();
    let actor = tx.actor().clone();
    let command = vote(&task, Answer::Approve);
    let decision = world.decide(&task, &actor, &command, rig.now).unwrap();
    let (cause, beside) = (cause(CommandKind::Approve), Beside::default());
    let committed = tasks::commit_decision(&mut tx, &task, &decision, None, cause, &beside).await?;
    tx.commit().await?;
    Ok(committed.task.unwrap())
}

async fn wait_for_waiters(rig: &Rig, count: i64) {
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
async fn who_waited_for_the_row_sees_the_vote_it_waited_for() {
    let (rig, world) = rig().await;
    rig.database.be_patient().await;
    let task = review(&rig, &world, 1).await;
    let (rig, world) = (std::sync::Arc::new(rig), std::sync::Arc::new(world));
    let first = Opening { row: Some(Row::Task(task.id)), key: None };
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
async fn looking_at_a_task_waits_for_nobody() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let holder =
        open(&rig, &user(ALICE), Opening { row: Some(Row::Task(task.id)), key: None }).await;
    let mut tx = rig.begin().await;
    assert_eq!(tasks::peek(&mut tx, task.id).await.unwrap(), Some(task));
    holder.unwrap().roll_back().await;
}

#[tokio::test]
async fn a_request_leads_to_its_task_and_locks_it() {
    let (rig, world) = rig().await;
    rig.database.be_patient().await;
    let task = review(&rig, &world, 1).await;
    let request = approvals::of_task(&mut rig.begin().await, task.id).await.unwrap().remove(0).id;
    let first = Opening { row: Some(Row::TaskOf(request)), key: None };
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
    let nothing = Opening { row: Some(Row::TaskOf(ApprovalId::from_u128(9))), key: None };
    assert_eq!(open(&rig, &user(ALICE), nothing).await.unwrap().locked(), None);
    let (tenant, actor) = (rig.other, user(ALICE));
    let foreign = Tx::begin_with(&rig.pool, tenant, actor, Gate::Shared, first).await.unwrap();
    assert_eq!(foreign.locked(), None, "a request of another tenant leads nowhere");
}

#[tokio::test]
async fn a_key_in_flight_is_told_at_once_and_holds_up_nobody() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let (name, body) = (key("a"), Digest::of(b"body"));
    let first = Opening { row: Some(Row::Task(task.id)), key: Some(&name) };
    let mut holder = open(&rig, &user(ALICE), first).await.unwrap();
    let found = tasks::gather(&mut holder, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!((found.claim, found.task.as_ref()), (Claim::Fresh, Some(&task)));
    let mut second = tokio::time::timeout(SOON, open(&rig, &user(ALICE), first))
        .await
        .expect("it does not wait for the row")
        .unwrap();
    let found = tasks::gather(&mut second, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!((found.claim, found.task), (Claim::InFlight, None));
    assert_eq!(
        idempotency::claim(&mut second, &name, &body).await.unwrap(),
        Claim::InFlight,
        "however it is asked"
    );
    second.roll_back().await;
    holder.roll_back().await;
    let mut next = open(&rig, &user(ALICE), first).await.unwrap();
    let found = tasks::gather(&mut next, task.id, Some((&name, &body))).await.unwrap();
    assert_eq!(found.claim, Claim::Fresh, "it ended with its transaction");
}

async fn dues(rig: &Rig) -> Vec<(String, i64)> {
    let mut tx = rig.begin().await;
    let rows = sqlx::query_as::<_, (String, i64)>(
        "SELECT kind, (extract(epoch FROM at) * 1000000)::bigint FROM due ORDER BY kind",
    );
    tx.read(rows).await.unwrap()
}

#[tokio::test]
async fn hints_and_the_answer_are_written_with_the_decision() {
    let (rig, world) = rig().await;
    let task = review(&rig, &world, 1).await;
    let (name, sent) = (key("a"), Digest::of(b"body"));
    let at = |seconds| rig.now.plus(Duration::from_secs(seconds));
    let due = |kind, seconds| Due { kind, object: task.id.uuid(), at: at(seconds) };
    let mut tx = rig.begin().await;
    due::set(&mut tx, &[due("escalate", 5), due("expire", 9), due("other", 1)]).await.unwrap();
    tx.commit().await.unwrap();
    let answer = idempotency::Answer { status: 200, body: "{}".to_owned() };
    let kept = Kept { key: &name, body: &sent, answer: &answer, expires_at: at(60) };
    let hints = [due("expire", 30), due("remind", 3)];
    let beside = Beside { dues: &hints, done: &["escalate", "expire"], answer: Some(kept) };
    let first = Opening { row: Some(Row::Task(task.id)), key: Some(&name) };
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
    assert_eq!(found.claim, Claim::Answered(answer.clone()));
    let other = Digest::of(b"other");
    let found = tasks::gather(&mut tx, task.id, Some((&name, &other))).await.unwrap();
    assert_eq!(found.claim, Claim::OtherBody);

    // An answer that stands is not replaced, and then nothing else is written either.
    let now = found.task.unwrap();
    let again = world.decide(&now, &user(BOB), &vote(&now, Answer::Approve), rig.now).unwrap();
    let refused = tasks::commit_decision(&mut tx, &now, &again, None, cause(), &beside).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    assert!(matches!(tx.commit().await, Err(Error::Aborted)), "even if the caller looks away");
    assert_eq!(load(&rig, task.id).await, Some(now));
}

#[tokio::test]
async fn nothing_at_all_is_written_behind_a_guard_that_fails() {
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
    let (sent, answer) =
        (Digest::of(b"body"), idempotency::Answer { status: 200, body: "{}".to_owned() });
    let kept = Kept { key: &name, body: &sent, answer: &answer, expires_at: rig.now.plus(SOON) };
    let hints = [Due { kind: "expire", object: task.id.uuid(), at: rig.now }];
    let beside = Beside { dues: &hints, done: &["other"], answer: Some(kept) };
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
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
        // Seen from within: not even rolled back yet.
        let rows = sqlx::query_as::<_, (i64, i64, i64, i64)>(
            "SELECT (SELECT count(*) FROM vote), (SELECT count(*) FROM due),
                    (SELECT count(*) FROM idempotency), (SELECT max(revision)::int8 FROM task)",
        );
        assert_eq!(tx.read(rows).await.unwrap(), [(0, 0, 0, 1)], "{command:?}");
        tx.roll_back().await;
    }
    let after: String = sqlx::query_scalar(tables).fetch_one(&mut admin).await.unwrap();
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_revision_is_kept_with_the_rating_that_the_rules_saw() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let author = user(AUTHOR);
    let amend = Command::Amend { content: content("second") };
    let decision = world.decide(&task, &author, &amend, rig.now).unwrap();
    let mut wrong = body();
    wrong.risk = assessment(Score::new(44), Level::Medium);
    let mut tx = begin(&rig, &author, rig.now).await;
    let (cause, beside) = (cause(CommandKind::Amend), Beside::default());
    let refused =
        tasks::commit_decision(&mut tx, &task, &decision, Some(&wrong), cause, &beside).await;
    assert!(matches!(refused, Err(Error::Unstorable { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_task_without_its_revision_is_told_and_not_passed_on() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    crate::rig::run(&mut admin, "UPDATE task SET revision = 2").await;
    let mut tx = rig.begin().await;
    let told = tasks::load(&mut tx, task.id).await.unwrap_err();
    let Error::Row(row) = told else { panic!("{told}") };
    assert_eq!((row.table, row.column, row.row), ("task", "revision", task.id.to_string()));
    let told = tasks::view(&mut tx, task.id).await.unwrap_err();
    assert!(matches!(told, Error::Row(_)), "{told}");
}
