//! Tasks of the sample tenant of the core in the tables, and helpers that change them.

use std::collections::BTreeMap;

use ade_core::actor::Actor;
use ade_core::audit::{Where, Why};
use ade_core::change::{Effect, PreviewVersions, Report, StrictValue};
use ade_core::ids::TaskId;
use ade_core::risk::{Assessment, Level, RiskConfig, RiskFacts, Score, assess};
use ade_core::samples::{ADMIN, AUTHOR, SECOND_ADMIN, World, draft, two_dbas, user};
use ade_core::task::{Command, CommandKind, Decision, Rollback, Task, create};
use ade_core::time::Timestamp;
use ade_store::tasks::{self, Cause, Committed, RevisionContent, SideEffects, TaskMetadata};
use ade_store::{StoreError, TenantLock, Tx};

use crate::test_database::{TestDatabase, run};

pub fn heading() -> TaskMetadata {
    let [title, team, ticket] = ["Add an index", "data", "OPS-7"].map(ToOwned::to_owned);
    TaskMetadata {
        title,
        priority: 40,
        team: Some(team),
        ticket: Some(ticket),
        resubmits: None,
        timeout_seconds: 60,
        rollback: Rollback::Automatic,
    }
}

pub fn body() -> RevisionContent {
    RevisionContent {
        parameters: StrictValue::parse(br#"{"b":1.50,"a":"\u0000x"}"#).unwrap(),
        effect: Effect::observed(Report::default()).unwrap(),
        versions: PreviewVersions::default(),
        modes: BTreeMap::from([("database:prod-db-01".parse().unwrap(), "shared".to_owned())]),
        risk: assessment(Score::new(45), Level::Medium),
    }
}

/// Builds an assessment with the score and level of the sample content.
pub fn assessment(score: Score, level: Level) -> Assessment {
    let id = TaskId::from_u128(1);
    let facts = RiskFacts {
        task: id,
        author: AUTHOR,
        resources: &[],
        effect: None,
        history: None,
        recent: &[],
    };
    let at = Timestamp::from_micros(1_773_847_800_000_001);
    Assessment { score, level, ..assess(&facts, &RiskConfig::default(), at) }
}

pub fn cause(command: CommandKind) -> Cause {
    let place = Where::service("test");
    Cause { command, place, why: Why::default(), receipt: None }
}

pub async fn begin(rig: &TestDatabase, actor: &Actor, now: Timestamp) -> Tx {
    rig.set_clock(now).await;
    Tx::begin(&rig.pool, rig.tenant, actor.clone(), TenantLock::Shared).await.unwrap()
}

pub async fn rig() -> (TestDatabase, World) {
    let rig = TestDatabase::new().await;
    let world = World::new([two_dbas()]);
    let mut admin = rig.database.connect().await;
    for pin in world.pins() {
        run(
            &mut admin,
            &format!(
                "INSERT INTO policy (tenant_id, id, name) VALUES ('{0}', '{1}', 'two dbas');
                 INSERT INTO policy_version VALUES
                     ('{0}', '{1}', {2}, '{{}}', '{3}', '{4}', now())",
                rig.tenant.uuid(),
                pin.id.uuid(),
                pin.version,
                ADMIN.uuid(),
                SECOND_ADMIN.uuid(),
            ),
        )
        .await;
    }
    (rig, world)
}

pub async fn insert(rig: &TestDatabase, world: &World, number: u128) -> Task {
    let task = Task { id: TaskId::from_u128(number), since: rig.now, ..draft() };
    let author = user(AUTHOR);
    let decision = create(&task, &world.facts(&author)).unwrap();
    let mut tx = begin(rig, &author, rig.now).await;
    let created = cause(CommandKind::Create);
    tasks::insert(&mut tx, &task, &decision, &heading(), &body(), created, &SideEffects::default())
        .await
        .unwrap();
    tx.commit().await.unwrap();
    task
}

pub async fn load(rig: &TestDatabase, id: TaskId) -> Option<Task> {
    let mut tx = rig.begin().await;
    let task = tasks::load(&mut tx, id).await.unwrap();
    tx.roll_back().await;
    task
}

pub async fn commit(
    rig: &TestDatabase,
    task: &Task,
    decision: &Decision,
    (actor, kind): (&Actor, CommandKind),
    now: Timestamp,
) -> Result<Committed, StoreError> {
    let mut tx = begin(rig, actor, now).await;
    let mut body = body();
    if let Some(next) = task.after(decision, now) {
        body.risk = assessment(next.content.subject.risk, next.content.level);
    }
    let (cause, beside) = (cause(kind), SideEffects::default());
    let committed =
        tasks::commit_decision(&mut tx, task, decision, Some(&body), cause, &beside).await?;
    tx.commit().await?;
    Ok(committed)
}

/// Runs one command that must succeed, from the tables and back to them.
pub async fn step(
    rig: &TestDatabase,
    world: &World,
    id: TaskId,
    actor: &Actor,
    command: &Command,
) -> Task {
    let task = load(rig, id).await.unwrap();
    let decision = world.decide(&task, actor, command, rig.now).unwrap();
    let by = (actor, command.kind());
    commit(rig, &task, &decision, by, rig.now).await.unwrap().task.unwrap()
}
