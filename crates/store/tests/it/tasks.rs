//! Whole lifecycles of tasks in the tables: after each decision the loaded task equals the result
//! of the core, and a decision on a stale task is refused.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::approval::Answer;
use ade_core::change::StrictValue;
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::samples::{
    ADMIN, ALICE, AUTHOR, BOB, CAROL, HOLD, SECOND_ADMIN, World, agent, content, seen, user, vote,
    worker,
};
use ade_core::task::{
    ApplyResult, Command, CommandKind, Escalation, ReconcileFinding, Remains, Reopen, Task,
    find_move,
};
use ade_store::StoreError;
use ade_store::tasks::{self, SideEffects};

use crate::sample::{begin, body, cause, commit, insert, load, rig};
use crate::test_database::{run, try_run};

const LIVES: u64 = 30;
/// Made by `create`, or needs other policies than these histories have.
const UNTRIED: [&str; 3] = ["create", "auto_approve", "escalate"];

fn missing(seen: &BTreeSet<CommandKind>) -> Vec<&'static str> {
    let missing = CommandKind::ALL.iter().filter(|kind| !seen.contains(kind));
    missing.map(|kind| kind.as_str()).collect()
}

/// Every command that could be tried, sensible or not; the core refuses the invalid ones.
fn moves(task: &Task, world: &World, seed: u64) -> Vec<(Actor, Command)> {
    let next = {
        let mut next = content(if seed.is_multiple_of(3) { "first" } else { "second" });
        next.subject.tags = BTreeSet::from([format!("tag{seed}")]);
        next
    };
    let reason = || "found by looking".to_owned();
    let opened_at = task.review_opened_at.unwrap_or(task.since);
    let until = opened_at.plus(Duration::from_hours(6 * 24));
    let execution = ExecutionId::from_u128(seed.into());
    let mut moves = vec![
        (user(AUTHOR), Command::Amend { content: next.clone() }),
        (user(AUTHOR), Command::Submit { content: task.content.clone(), pins: world.pins() }),
        (user(AUTHOR), Command::Comment { text: "why so late?".to_owned() }),
        (user(AUTHOR), Command::Cancel { reason: None }),
        (user(AUTHOR), Command::Retry),
        (user(AUTHOR), Command::Resubmit),
        (user(AUTHOR), Command::Delete),
        (worker(), Command::OpenReview),
        (worker(), Command::Escalate(Escalation::Step)),
        (worker(), Command::WarnExpiry),
        (worker(), Command::Expire),
        (worker(), Command::ReopenReview(Reopen::EffectDrifted { content: next.clone() })),
        (worker(), Command::RequeueApply),
        (worker(), Command::LoseApply),
        (worker(), Command::LapseOverride),
        (agent(), Command::StartApply { execution, hold: HOLD, gates: world.gates() }),
        (agent(), world.begin()),
        (agent(), Command::DriftApply { hold: HOLD, content: next, moved: Vec::new() }),
        (agent(), Command::WithdrawPermit { hold: HOLD, gates: World::closed_gates() }),
        (agent(), Command::FinishApply { hold: HOLD, result: ApplyResult::Succeeded }),
        (user(ALICE), Command::WithdrawVote),
        (user(ALICE), Command::Extend { until, reason: reason() }),
        (user(ALICE), Command::Delegate { to: BOB, reason: None }),
        (user(ADMIN), Command::Override { ticket: "INC-1".to_owned(), reason: reason() }),
        (user(SECOND_ADMIN), Command::ConfirmOverride { seen: seen(task) }),
    ];
    for voter in [ALICE, BOB, CAROL] {
        moves.push((user(voter), vote(task, Answer::Approve)));
    }
    moves.push((user(BOB), vote(task, Answer::Reject)));
    moves.push((user(ALICE), vote(task, Answer::RequestChanges)));
    for remains in [Remains::Nothing, Remains::RolledBack, Remains::Changed] {
        moves.push((agent(), Command::FailApply { hold: HOLD, remains }));
    }
    for found in
        [ReconcileFinding::Completed, ReconcileFinding::Failed, ReconcileFinding::NotApplied]
    {
        moves.push((user(ADMIN), Command::Reconcile { found, reason: reason() }));
    }
    moves
}

/// A small generator with the same numbers in every run.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Picks a command that the state allows, and often one that has not occurred yet. Those that send
/// a task back or end it are picked rarely.
fn pick(
    task: &Task,
    world: &World,
    tried: &BTreeSet<CommandKind>,
    state: &mut u64,
) -> (Actor, Command) {
    let seed = draw(state);
    let throws_back = |kind: CommandKind| {
        matches!(
            kind,
            CommandKind::Delete
                | CommandKind::Cancel
                | CommandKind::Amend
                | CommandKind::Reject
                | CommandKind::RequestChanges
                | CommandKind::Comment
                | CommandKind::Extend
                | CommandKind::WarnExpiry
                | CommandKind::Expire
                | CommandKind::ReopenReview
                | CommandKind::DriftApply
                | CommandKind::WithdrawPermit
                | CommandKind::Resubmit
        )
    };
    let mut all = moves(task, world, seed);
    let is_setback = draw(state).is_multiple_of(6);
    all.retain(|(_, command)| {
        let kind = command.kind();
        find_move(kind, task.state).is_some() && (is_setback || !throws_back(kind))
    });
    let is_new = |(_, command): &(Actor, Command)| !tried.contains(&command.kind());
    if draw(state).is_multiple_of(2) && all.iter().any(is_new) {
        all.retain(is_new);
    }
    let place = usize::try_from(seed).unwrap() % all.len().max(1);
    let nothing = (user(AUTHOR), Command::Create);
    all.into_iter().nth(place).unwrap_or(nothing)
}

#[tokio::test]
async fn task_loaded_equals_the_state_of_the_core() {
    let (rig, world) = rig().await;
    let mut seen_commands = BTreeSet::new();
    for life in 1..=LIVES {
        let mut task = insert(&rig, &world, life.into()).await;
        assert_eq!(load(&rig, task.id).await.as_ref(), Some(&task));
        let mut state = life;
        let mut now = rig.now;
        for _ in 0..150 {
            let seed = draw(&mut state);
            let pause = if seed.is_multiple_of(40) { 3 * 24 * 3_600 } else { seed % 1_200 };
            now = now.plus(Duration::from_secs(pause));
            let (actor, command) = pick(&task, &world, &seen_commands, &mut state);
            let Ok(decision) = world.decide(&task, &actor, &command, now) else { continue };
            let expected = task.after(&decision, now);
            let by = (&actor, command.kind());
            let committed = commit(&rig, &task, &decision, by, now).await;
            let committed = committed.unwrap_or_else(|error| panic!("{command:?}: {error}"));
            seen_commands.insert(command.kind());
            assert_eq!(committed.task, expected);
            assert_eq!(load(&rig, task.id).await, expected, "{command:?} on {task:?}");
            match expected {
                Some(next) => task = next,
                None => break,
            }
        }
    }
    assert_eq!(missing(&seen_commands), UNTRIED, "the histories miss commands");
}

#[tokio::test]
async fn task_decision_on_a_stale_version_is_refused() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let author = user(AUTHOR);
    let submit = Command::Submit { content: task.content.clone(), pins: world.pins() };
    let decision = world.decide(&task, &author, &submit, rig.now).unwrap();
    let by = (&author, CommandKind::Submit);
    let submitted = commit(&rig, &task, &decision, by, rig.now).await.unwrap().task.unwrap();
    let again = commit(&rig, &task, &decision, by, rig.now).await.unwrap_err();
    assert!(matches!(&again, StoreError::Conflict { object } if *object == task.id.to_string()));
    let delete = world.decide(&task, &author, &Command::Delete, rig.now).unwrap();
    let again = commit(&rig, &task, &delete, (&author, CommandKind::Delete), rig.now).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    // The same state with another version is stale too.
    let stale = Task { version: task.version, ..submitted.clone() };
    let cancel = Command::Cancel { reason: None };
    let decision = world.decide(&stale, &author, &cancel, rig.now).unwrap();
    let again = commit(&rig, &stale, &decision, (&author, CommandKind::Cancel), rig.now).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
    assert_eq!(load(&rig, task.id).await, Some(submitted));
    let mut admin = rig.database.connect().await;
    let found: (i64, i64) =
        sqlx::query_as("SELECT (SELECT count(*) FROM audit_entry), (SELECT count(*) FROM outbox)")
            .fetch_one(&mut admin)
            .await
            .unwrap();
    assert_eq!(found, (2, 2), "created and submitted, and nothing of what was refused");
}

#[tokio::test]
async fn task_revision_without_its_content_is_refused() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let author = user(AUTHOR);
    let amend = Command::Amend { content: content("second") };
    let decision = world.decide(&task, &author, &amend, rig.now).unwrap();
    let mut tx = begin(&rig, &author, rig.now).await;
    let cause = cause(CommandKind::Amend);
    let refused =
        tasks::commit_decision(&mut tx, &task, &decision, None, cause, &SideEffects::default())
            .await;
    assert!(matches!(refused, Err(StoreError::Unstorable { .. })), "{refused:?}");
    tx.roll_back().await;
    assert_eq!(load(&rig, task.id).await, Some(task));
}

#[tokio::test]
async fn vote_of_an_involved_person_is_refused_by_the_table() {
    let (rig, world) = rig().await;
    insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    let cast = |voter: ade_core::ids::UserId| {
        format!(
            "INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round,
                 places, at, effectual)
             VALUES ('{}', '{}', '{}', 'approve', 1, decode(repeat('00', 32), 'hex'), 0, '{{}}',
                 now(), true)",
            rig.tenant.uuid(),
            TaskId::from_u128(1).uuid(),
            voter.uuid()
        )
    };
    run(&mut admin, &cast(ALICE)).await;
    let part = "UPDATE task SET submitter_id = $1, editors = ARRAY[$2]";
    sqlx::query(part).bind(BOB.uuid()).bind(CAROL.uuid()).execute(&mut admin).await.unwrap();
    for involved in [AUTHOR, BOB, CAROL] {
        let refused = StoreError::from(try_run(&mut admin, &cast(involved)).await.unwrap_err());
        let StoreError::Constraint { table, constraint } = refused else { panic!("{refused}") };
        let found = (table.as_str(), constraint.as_str());
        assert_eq!(found, ("vote", "vote_is_not_of_the_involved"));
    }
}

#[tokio::test]
async fn task_row_that_is_invalid_names_table_column_and_row() {
    let (rig, world) = rig().await;
    let task = insert(&rig, &world, 1).await;
    let mut admin = rig.database.connect().await;
    run(
        &mut admin,
        "ALTER TABLE task_revision DROP CONSTRAINT task_revision_level_is_known;
         UPDATE task_revision SET level = 'SEVERE'",
    )
    .await;
    let mut tx = rig.begin().await;
    let found = tasks::load(&mut tx, task.id).await.unwrap_err();
    let StoreError::Row(row) = found else { panic!("{found}") };
    assert_eq!((row.table, row.column, row.row), ("task_revision", "level", task.id.to_string()));
    let missing = tasks::load(&mut tx, TaskId::from_u128(2)).await.unwrap();
    assert_eq!(missing, None);
}

#[tokio::test]
async fn task_is_stored_with_number_metadata_and_content() {
    let (rig, world) = rig().await;
    for number in [5, 3] {
        insert(&rig, &world, number).await;
    }
    let mut admin = rig.database.connect().await;
    let rows: Vec<(i64, String, i16, String, String, String, String)> = sqlx::query_as(
        "SELECT number, title, priority, team, ticket, parameters::text, mode
           FROM task t JOIN task_revision r ON r.task_id = t.id
           JOIN task_resource n ON n.task_id = t.id ORDER BY number",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    let numbers: Vec<i64> = rows.iter().map(|row| row.0).collect();
    assert_eq!(numbers, [1, 2]);
    let (_, title, priority, team, ticket, parameters, mode) = &rows[0];
    assert_eq!((title.as_str(), *priority), ("Add an index", 40));
    assert_eq!((team.as_str(), ticket.as_str(), mode.as_str()), ("data", "OPS-7", "shared"));
    let parameters = StrictValue::parse(parameters.as_bytes()).unwrap();
    assert_eq!(parameters, body().parameters, "including escapes");
    let leaf: (String, String, Option<String>, Option<String>) =
        sqlx::query_as("SELECT object, action, from_state, to_state FROM audit_entry LIMIT 1")
            .fetch_one(&mut admin)
            .await
            .unwrap();
    let created = ("task.create".to_owned(), None, Some("DRAFT".to_owned()));
    assert_eq!((leaf.1, leaf.2, leaf.3), created);
    assert!(leaf.0.starts_with("task_"));
}

#[tokio::test]
async fn vote_withdrawn_is_the_latest_one() {
    let (rig, world) = rig().await;
    let mut task = insert(&rig, &world, 1).await;
    let submit = Command::Submit { content: task.content.clone(), pins: world.pins() };
    let mut steps = vec![(user(AUTHOR), submit), (worker(), Command::OpenReview)];
    let yes = |task: &Task| vote(task, Answer::Approve);
    for _ in 0..2 {
        steps.push((user(ALICE), yes(&task)));
        steps.push((user(ALICE), Command::WithdrawVote));
    }
    steps.push((user(ALICE), yes(&task)));
    for (actor, command) in steps {
        let decision = world.decide(&task, &actor, &command, rig.now).unwrap();
        let by = (&actor, command.kind());
        task = commit(&rig, &task, &decision, by, rig.now).await.unwrap().task.unwrap();
        assert_eq!(load(&rig, task.id).await.as_ref(), Some(&task), "{command:?}");
    }
    let withdrawn: Vec<bool> = task.votes.iter().map(|vote| vote.withdrawn).collect();
    assert_eq!(withdrawn, [true, true, false]);
}
