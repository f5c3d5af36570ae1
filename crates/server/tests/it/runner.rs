//! Tasks that the server applies itself, by a program and by an endpoint: the worker runs as it
//! does in its own process, and what came of it is looked at in the target.

use std::sync::Arc;
use std::time::Duration;

use ade_engine::App;
use ade_engine::work::{Driver, Plan};
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::executions::{claim, runner};
use crate::executors::{Subject, assert_gone};
use crate::explaining::gate;
use crate::world::{Fittings, Line, Person, World, path_of};

const SOON: Duration = Duration::from_secs(30);
const TYPE: &str = "value.set";

struct Stage {
    world: World,
    subject: Subject,
    bob: Person,
    rea: Person,
}

impl Stage {
    async fn new(subject: Subject, line: Line) -> Self {
        let executors = vec![("value.*".parse().unwrap(), Arc::clone(&subject.executor))];
        let world = World::fitted(Fittings { executors, key: subject.key(), ..line.into() }).await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        Self { world, subject, bob, rea }
    }

    async fn on_rows(subject: Subject) -> Self {
        Self::new(subject, Line::Rows(Line::SETTINGS)).await
    }

    /// Approved, and nobody applies it yet.
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
        let request = self.world.request(&self.rea, &task).await;
        self.world.approve(&self.rea, &task, &request).await;
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
            if last["result"].is_string() { Ok(last) } else { Err(last.to_string()) }
        })
        .await
    }

    async fn cancel(&self, task: &Value) {
        let (now, path) = (self.world.task(&self.bob, task).await, path_of(task));
        let path = format!("{path}/cancel");
        let told = self.world.matching("POST", &self.bob.token, &path, Some(json!({})), &now);
        told.await.expect(202);
    }
}

fn working(app: &Arc<App>) -> Driver {
    let plan = Plan {
        run: vec!["apply_runner".to_owned()],
        period: Duration::from_secs(1),
        lease: Duration::from_secs(30),
    };
    Driver::start(app, &plan)
}

#[tokio::test]
async fn what_the_server_has_an_executor_for_it_applies_and_no_agent_does() {
    let redis = Line::redis(Line::SETTINGS).await;
    let endpoint = Subject::http().await;
    for (subject, line) in [(Subject::command(), redis), (endpoint, Line::Rows(Line::SETTINGS))] {
        let stage = Stage::new(subject, line).await;
        let bot = runner(&stage.world, "infra-bot", &stage.bob).await;
        let task = stage.task("two", "", "automatic").await;
        let claimed = claim(&stage.world, &bot, json!({})).await.expect(200);
        assert_eq!(claimed["permit"], Value::Null, "it could say that it was done");
        let capacity = gate(&stage.world, &stage.bob, &task, "capacity").await;
        assert_eq!(capacity["is_open"], true, "no agent is needed: {capacity}");
        let driver = working(&stage.world.app);
        stage.until(&task, "COMPLETED").await;
        assert_eq!(stage.subject.value(), "two");
        let ended = stage.ended(&task).await;
        assert_eq!((&ended["result"], &ended["agent"]), (&json!("success"), &Value::Null));
        assert_eq!(ended["details"]["set"], "two");
        driver.stop().await;
    }
}

#[tokio::test]
async fn what_was_changed_half_way_is_taken_back_and_tried_again() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "half", "automatic").await;
    let driver = working(&stage.world.app);
    let ended = stage.ended(&task).await;
    assert_eq!((&ended["result"], &ended["left"]), (&json!("failure"), &json!("rolled_back")));
    // Before its time comes again.
    driver.stop().await;
    assert_eq!(stage.subject.value(), "one");
    assert_eq!(stage.world.task(&stage.bob, &task).await["state"], "APPROVED");
    stage.world.pass(Duration::from_mins(5)).await;
    let driver = working(&stage.world.app);
    eventually("it is tried again", SOON, async || match stage.attempts(&task).await.len() {
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
async fn what_nobody_can_say_is_unknown_and_blocks_what_it_touched() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "killed", "none").await;
    let driver = working(&stage.world.app);
    stage.until(&task, "UNKNOWN").await;
    let ended = stage.attempts(&task).await.remove(0);
    assert_eq!(ended["result"], "unknown");
    assert!(ended["error"].as_str().unwrap().contains("signal 9"), "{ended}");
    let next = stage.task("three", "", "none").await;
    eventually("it was looked at and left", SOON, async || {
        let sql = "SELECT count(*) FROM due WHERE kind = 'run' AND at > moment()";
        if stage.world.database.number(sql).await == 1 { Ok(()) } else { Err("not yet") }
    })
    .await;
    assert_eq!(stage.world.task(&stage.bob, &next).await["state"], "APPROVED");
    driver.stop().await;
    assert_eq!(stage.subject.value(), "one");
}

#[tokio::test]
async fn another_effect_than_the_approved_one_is_not_applied() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "", "none").await;
    stage.subject.set("meanwhile");
    let driver = working(&stage.world.app);
    stage.until(&task, "SUBMITTED").await;
    driver.stop().await;
    assert_eq!(stage.subject.value(), "meanwhile");
    assert_eq!(stage.attempts(&task).await[0]["result"], "drifted");
}

#[tokio::test]
async fn who_is_told_to_stop_stops() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "hang", "automatic").await;
    let driver = working(&stage.world.app);
    let processes = stage.subject.processes(3).await;
    stage.cancel(&task).await;
    stage.until(&task, "FAILED").await;
    let ended = stage.ended(&task).await;
    assert_eq!((&ended["result"], &ended["left"]), (&json!("cancelled"), &json!("rolled_back")));
    assert_gone(&processes).await;
    driver.stop().await;
}

#[tokio::test]
async fn a_process_that_ends_takes_back_what_it_began() {
    let stage = Stage::on_rows(Subject::command()).await;
    let task = stage.task("two", "hang", "automatic").await;
    let driver = working(&stage.world.app);
    let processes = stage.subject.processes(3).await;
    driver.stop().await;
    let ended = stage.ended(&task).await;
    assert_eq!((&ended["result"], &ended["left"]), (&json!("cancelled"), &json!("rolled_back")));
    assert_gone(&processes).await;
    assert_eq!(stage.world.task(&stage.bob, &task).await["state"], "APPROVED", "for another");
}

#[tokio::test]
async fn who_loses_its_lock_ends_at_once() {
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
async fn of_several_processes_one_applies_each_task() {
    let stage = Stage::on_rows(Subject::command()).await;
    let mut tasks = Vec::new();
    // Each sees what the one before left: approved together they would drift.
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
