//! Tasks that the server applies itself, by a program or an HTTP endpoint. The worker runs as in
//! its own process, and the results are checked in the target.

use std::sync::Arc;
use std::time::Duration;

use ade_engine::App;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::workers::{Driver, WorkerPlan};
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::executions::{claim, permit, runner};
use crate::executors::{Subject, assert_gone};
use crate::explaining::gate;
use crate::test_server::TestServer;
use crate::world::{
    LockBackend, Person, TestServerOptions, World, path_of, plan, without_request_id,
};

const SOON: Duration = Duration::from_mins(1);
const TYPE: &str = "value.set";

struct Stage {
    world: World,
    subject: Subject,
    bob: Person,
    rea: Person,
}

impl Stage {
    async fn new(subject: Subject, line: LockBackend) -> Self {
        Self::bound_to(TenantBinding::Every, subject, line).await
    }

    /// A stage whose executor serves these tenants.
    async fn bound_to(tenants: TenantBinding, subject: Subject, line: LockBackend) -> Self {
        let executors = vec![subject.entry("value.*", tenants)];
        let options = TestServerOptions { executors, key: subject.key(), ..line.into() };
        let world = World::fitted(options).await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        Self { world, subject, bob, rea }
    }

    async fn on_rows(subject: Subject) -> Self {
        Self::new(subject, LockBackend::Rows(LockBackend::SETTINGS)).await
    }

    /// Creates an approved task that is not applied yet.
    async fn task(&self, value: &str, behave: &str, rollback: &str) -> Value {
        let asked = json!({
            "title": "Set the value",
            "type": TYPE,
            "parameters": { "value": value, "behave": behave },
            "resources": [{ "resource": "database:orders" }],
            "rollback": { "strategy": rollback },
        });
        let task = self.world.post(&self.bob.token, "/v1/tasks", asked).await.expect(201);
        self.world.submit(&self.bob, &task).await;
        self.world.work("review_opener").await;
        let task = self.world.task(&self.bob, &task).await;
        self.world.approve(&self.rea, &task).await;
        task
    }

    async fn until(&self, task: &Value, state: &str) {
        eventually("the task moves", SOON, async || {
            let now = self.world.task(&self.bob, task).await["state"].clone();
            if now == state { Ok(()) } else { Err(now.to_string()) }
        })
        .await;
    }

    async fn attempts(&self, task: &Value) -> Vec<Value> {
        let path = format!("{}/executions", path_of(task));
        let found = self.world.get(&self.bob.token, &path).await.expect(200);
        found["items"].as_array().unwrap().clone()
    }

    /// The newest attempt, once it has ended.
    async fn ended(&self, task: &Value) -> Value {
        eventually("the attempt ends", SOON, async || {
            let last = self.attempts(task).await.into_iter().next().unwrap_or_default();
            if last["outcome"].is_string() { Ok(last) } else { Err(last.to_string()) }
        })
        .await
    }

    async fn cancel(&self, task: &Value) {
        let (now, path) = (self.world.task(&self.bob, task).await, path_of(task));
        let path = format!("{path}/cancel");
        let cancelling = self.world.matching("POST", &self.bob.token, &path, Some(json!({})), &now);
        cancelling.await.expect(202);
    }
}

pub fn working(app: &Arc<App>) -> Driver {
    let plan = WorkerPlan {
        run: vec!["apply_runner".to_owned()],
        period: Duration::from_secs(1),
        lease: Duration::from_secs(30),
    };
    Driver::start(app, &plan)
}

/// To this tenant the task type is like one without an executor: the author declares the changes,
/// and an agent applies them.
#[tokio::test]
async fn executor_of_another_tenant_applies_nothing() {
    let tenants = TenantBinding::Listed(vec!["other".to_owned()]);
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let stage = Stage::bound_to(tenants, Subject::command(), line).await;
    let (world, bob) = (&stage.world, &stage.bob);
    let bot = runner(world, "infra-bot", bob).await;
    let mut wanted = plan("Set the value");
    wanted["type"] = json!(TYPE);
    wanted["parameters"] = json!({ "value": "two" });
    let mut without = wanted.clone();
    without.as_object_mut().unwrap().remove("plan");
    let refused = world.post(&bob.token, "/v1/tasks", without.clone()).await;
    without["type"] = json!("unknown.set");
    let unknown = world.post(&bob.token, "/v1/tasks", without).await;
    assert_eq!(refused.status, unknown.status);
    let [refused, unknown] =
        [refused.body, unknown.body].map(|body| without_request_id(body).to_string());
    assert_eq!(refused, unknown.replace("unknown.set", TYPE));

    let driver = working(&world.app);
    let task = world.post(&bob.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(bob, &task).await;
    world.work("review_opener").await;
    world.approve(&stage.rea, &world.task(bob, &task).await).await;
    let permit = permit(world, &bot).await;
    assert_eq!(permit["task"]["id"], task["id"]);
    driver.stop().await;
    assert_eq!((stage.subject.value().as_str(), stage.subject.applied().as_str()), ("one", ""));
}

/// The processes keep running and are not notified.
#[tokio::test]
async fn unbound_executor_is_disabled_by_a_second_tenant() {
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let stage = Stage::bound_to(TenantBinding::Sole, Subject::command(), line).await;
    let (world, bob) = (&stage.world, &stage.bob);
    let elsewhere = world.beside().await;
    let task = stage.task("two", "", "none").await;
    let evaluate = async |rig: &TestServer, token: &str| {
        let wanted = json!({
            "title": "Set the value", "type": TYPE, "parameters": { "value": "three" },
            "resources": [{ "resource": "database:orders" }],
        });
        let asked = rig.json("/v1/tasks/evaluate", wanted.to_string()).bearer_auth(token);
        asked.send().await.unwrap().status().as_u16()
    };
    for rig in [&world.rig, &elsewhere] {
        assert_eq!(evaluate(rig, &bob.token).await, 200, "the only tenant may use it");
    }
    let (_, other) = world.tenant("other").await;
    for rig in [&world.rig, &elsewhere] {
        for token in [&bob.token, &other.token] {
            assert_eq!(evaluate(rig, token).await, 422);
        }
    }
    let bot = runner(world, "infra-bot", bob).await;
    let driver = working(&world.app);
    assert_eq!(permit(world, &bot).await["task"]["id"], task["id"], "it is left to agents");
    driver.stop().await;
    assert_eq!((stage.subject.value().as_str(), stage.subject.applied().as_str()), ("one", ""));
}

#[tokio::test]
async fn server_executor_applies_its_tasks_instead_of_agents() {
    let redis = LockBackend::redis(LockBackend::SETTINGS).await;
    let endpoint = Subject::http().await;
    for (subject, line) in
        [(Subject::command(), redis), (endpoint, LockBackend::Rows(LockBackend::SETTINGS))]
    {
        let stage = Stage::new(subject, line).await;
        let bot = runner(&stage.world, "infra-bot", &stage.bob).await;
        let task = stage.task("two", "", "automatic").await;
        let claimed = claim(&stage.world, &bot, json!({})).await.expect(200);
        assert_eq!(claimed["permit"], Value::Null, "an agent could report a false result");
        let capacity = gate(&stage.world, &stage.bob, &task, "capacity").await;
        assert_eq!(capacity["passed"], true, "no agent is needed: {capacity}");
        let driver = working(&stage.world.app);
        stage.until(&task, "COMPLETED").await;
        assert_eq!(stage.subject.value(), "two");
        let ended = stage.ended(&task).await;
        assert_eq!((&ended["outcome"], &ended["agent_id"]), (&json!("succeeded"), &Value::Null));
        assert_eq!(ended["details"]["set"], "two");
        driver.stop().await;
    }
}

#[tokio::test]
async fn partial_apply_is_rolled_back_and_retried() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "half", "automatic").await;
    let driver = working(&stage.world.app);
    let ended = stage.ended(&task).await;
    assert_eq!(
        (&ended["outcome"], &ended["left_behind"]),
        (&json!("failed"), &json!("rolled_back"))
    );
    // The worker stops before the next attempt is due.
    driver.stop().await;
    assert_eq!(stage.subject.value(), "one");
    assert_eq!(stage.world.task(&stage.bob, &task).await["state"], "APPROVED");
    stage.world.pass(Duration::from_mins(5)).await;
    let driver = working(&stage.world.app);
    eventually("the task is retried", SOON, async || match stage.attempts(&task).await.len() {
        0 | 1 => Err("one attempt"),
        _ => Ok(()),
    })
    .await;
    driver.stop().await;
    let path = format!("/v1/executions/{}/log", ended["id"].as_str().unwrap());
    let log = stage.world.get(&stage.bob.token, &path).await.expect(200);
    assert_eq!(log["lines"][0]["text"], "half way");
    assert_eq!(ended["output"], "half way\n");
}

#[tokio::test]
async fn unknown_outcome_blocks_the_resources_of_the_task() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "killed", "none").await;
    let driver = working(&stage.world.app);
    stage.until(&task, "UNKNOWN").await;
    let ended = stage.attempts(&task).await.remove(0);
    assert_eq!(ended["outcome"], "unknown");
    assert!(ended["error"].as_str().unwrap().contains("signal 9"), "{ended}");
    let next = stage.task("three", "", "none").await;
    eventually("the task was examined and skipped", SOON, async || {
        let sql = "SELECT count(*) FROM scheduled_job WHERE kind = 'run' AND at > moment()";
        if stage.world.database.number(sql).await == 1 { Ok(()) } else { Err("not yet") }
    })
    .await;
    assert_eq!(stage.world.task(&stage.bob, &next).await["state"], "APPROVED");
    driver.stop().await;
    assert_eq!(stage.subject.value(), "one");
}

#[tokio::test]
async fn effect_that_was_not_approved_is_not_applied() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "", "none").await;
    stage.subject.set("meanwhile");
    let driver = working(&stage.world.app);
    stage.until(&task, "SUBMITTED").await;
    driver.stop().await;
    assert_eq!(stage.subject.value(), "meanwhile");
    assert_eq!(stage.attempts(&task).await[0]["outcome"], "drifted");
}

#[tokio::test]
async fn apply_frozen_before_it_begins_is_made_after_the_thaw() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "slow_stash", "automatic").await;
    let driver = working(&stage.world.app);
    stage.subject.stashing().await;
    let admin = &stage.world.admin.token;
    let freeze = json!({ "scope": "tenant", "reason": "INC-7" });
    let freeze = stage.world.post(admin, "/v1/freezes", freeze).await.expect(201);
    stage.subject.stashed();
    let ended = stage.ended(&task).await;
    assert_eq!((&ended["outcome"], &ended["begun_at"]), (&json!("lost"), &Value::Null));
    assert_eq!(stage.subject.value(), "one", "nothing is applied during the freeze");
    assert_eq!(stage.world.task(&stage.bob, &task).await["state"], "APPROVED");
    let path = format!("/v1/freezes/{}", freeze["id"].as_str().unwrap());
    stage.world.send("DELETE", admin, &path, None, &[]).await.expect(200);
    stage.until(&task, "COMPLETED").await;
    driver.stop().await;
    assert_eq!(stage.subject.value(), "two");
}

#[tokio::test]
async fn cancelled_apply_stops_and_rolls_back() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "hang", "automatic").await;
    let driver = working(&stage.world.app);
    let processes = stage.subject.processes(3).await;
    stage.cancel(&task).await;
    stage.until(&task, "FAILED").await;
    let ended = stage.ended(&task).await;
    assert_eq!(
        (&ended["outcome"], &ended["left_behind"]),
        (&json!("cancelled"), &json!("rolled_back"))
    );
    assert_gone(&processes).await;
    driver.stop().await;
}

#[tokio::test]
async fn stopping_process_rolls_back_its_apply() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "hang", "automatic").await;
    let driver = working(&stage.world.app);
    let processes = stage.subject.processes(3).await;
    driver.stop().await;
    let ended = stage.ended(&task).await;
    assert_eq!(
        (&ended["outcome"], &ended["left_behind"]),
        (&json!("cancelled"), &json!("rolled_back"))
    );
    assert_gone(&processes).await;
    assert_eq!(
        stage.world.task(&stage.bob, &task).await["state"],
        "APPROVED",
        "another process can apply it"
    );
}

#[tokio::test]
async fn apply_that_loses_its_lock_ends_at_once() {
    let stage = Stage::on_rows(Subject::command()).await;
    stage.task("two", "hang", "automatic").await;
    let driver = working(&stage.world.app);
    let processes = stage.subject.processes(3).await;
    let path = "/v1/locks/database/orders/break";
    let why = json!({ "reason": "an incident" });
    stage.world.post(&stage.world.admin.token, path, why).await.expect(200);
    assert_gone(&processes).await;
    assert_eq!(stage.subject.value(), "one");
    driver.stop().await;
}

#[tokio::test]
async fn task_is_applied_once_by_several_processes() {
    let stage = Stage::on_rows(Subject::command()).await;
    let mut tasks = Vec::new();
    // Each task is approved after the previous one was applied; otherwise its effect would differ.
    let both = [working(&stage.world.app), working(&stage.world.another_app())];
    for number in 0..12 {
        let task = stage.task(&format!("v{number}"), "", "none").await;
        stage.until(&task, "COMPLETED").await;
        tasks.push(task);
    }
    for driver in both {
        driver.stop().await;
    }
    let mut wanted: Vec<&str> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
    let applied = stage.subject.applied();
    let mut applied: Vec<&str> = applied.lines().collect();
    wanted.sort_unstable();
    applied.sort_unstable();
    assert_eq!(applied, wanted);
}
