//! A change to a real database from the proposal to the result, with three processes: the API
//! server, the workers, and the agent that applies the tasks it gets a permit for.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ade_testkit::{Database, leak};
use serde_json::{Value, json};

use crate::executions::runner;
use crate::previews::{change, target};
use crate::world::{Person, World, path_of, seen};

const SOON: Duration = Duration::from_mins(1);
const POLICY: &str = "name: two-of-us
match: {task_types: [\"sql.*\"]}
require:
  - {roles: [dba], min: 2}";

/// A child process that ends with the test, however the test ends.
struct Process {
    child: Child,
    log: Option<leak::Reader>,
}

impl Process {
    fn of(mut child: Child) -> Self {
        let log = child.stderr.take().map(leak::Reader::of);
        Self { child, log }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(log) = self.log.take() {
            log.end();
        }
    }
}

/// Starts the workers in a separate process.
fn worker(world: &World) -> Process {
    let pepper = std::env::temp_dir().join(format!("{}.pepper", world.database.name()));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let [url, worker_url] = ["app", "work"].map(|login| world.database.url_as(login));
    let child = Command::new(env!("CARGO_BIN_EXE_ade-server"))
        .arg("worker")
        .env_clear()
        .env("ADE__DATABASE__URL", url)
        .env("ADE__DATABASE__WORKER_URL", worker_url)
        .env("ADE__AUTH__PEPPER_FILE", &pepper)
        .env("ADE__LOCKS__BACKEND", "postgres")
        .env("ADE__LOCKS__DELAY_S", "1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Process::of(child)
}

/// Starts this test binary again, as the agent below.
fn agent(world: &World, bot: &Person, target: &Database) -> Process {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["applying::agent_process", "--exact", "--ignored", "--nocapture"])
        .env("ADE_TEST_URL", format!("http://{}", world.rig.address))
        .env("ADE_TEST_TOKEN", &bot.token)
        .env("ADE_TEST_AGENT", &bot.id)
        .env("ADE_TEST_TARGET", target.url())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Process::of(child)
}

/// The agent process: claims, applies and reports in a loop until it is killed.
#[tokio::test]
#[ignore = "child process of the test below"]
async fn agent_process() {
    // This process ends with the test, however the test ends.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let setting = |name: &str| std::env::var(format!("ADE_TEST_{name}")).unwrap();
    let (url, token, target) = (setting("URL"), setting("TOKEN"), setting("TARGET"));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = async |path: String, body: Value| -> Value {
        let asked = client.post(format!("{url}{path}")).bearer_auth(&token);
        let asked = asked.header("content-type", "application/json").body(body.to_string());
        asked.send().await.unwrap().json().await.unwrap()
    };
    let claim = format!("/v1/agents/{}/claim?wait=5s", setting("AGENT"));
    loop {
        let claimed = post(claim.clone(), json!({ "ttl_seconds": 60 })).await;
        let permit = &claimed["permit"];
        let Some(execution) = permit["execution_id"].as_str() else { continue };
        let report = async |verb: &str, mut body: Value| {
            body["lease_id"] = permit["lease_id"].clone();
            post(format!("/v1/executions/{execution}/{verb}"), body).await
        };
        if report("begin", json!({})).await["state"] != "RUNNING" {
            continue;
        }
        let sql = permit["task"]["parameters"]["sql"].as_str().unwrap();
        let applied = Command::new("psql")
            .args([&target, "--single-transaction", "-v", "ON_ERROR_STOP=1", "-c"])
            .arg(format!("SET search_path = shop; {sql}"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&applied.stderr).into_owned();
        if applied.status.success() {
            report("finish", json!({ "output": "applied" })).await;
        } else {
            let failed =
                json!({ "outcome": "failed", "left_behind": "rolled_back", "error": stderr });
            report("finish", failed).await;
        }
    }
}

async fn approved_by_two(world: &World, bob: &Person, dbas: &[Person; 2], sql: &str) -> Value {
    let mut wanted = change("orders", sql);
    wanted["rollback"] = json!({ "strategy": "automatic" });
    let task = world.post(&bob.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(bob, &task).await;
    let task = until(world, bob, &task, "REVIEWING").await;
    let path = format!("{}/approve", path_of(&task));
    for dba in dbas {
        world.post(&dba.token, &path, seen(&task)).await.expect(200);
    }
    task
}

async fn until(world: &World, who: &Person, task: &Value, state: &str) -> Value {
    let began = Instant::now();
    loop {
        let now = world.task(who, task).await;
        if now["state"] == state {
            return now;
        }
        assert!(began.elapsed() < SOON, "not {state}: {now}");
        let path = format!("{}?wait=5s&since_version={}", path_of(task), now["version"]);
        world.get(&who.token, &path).await.expect(200);
    }
}

#[tokio::test]
async fn migration_is_applied_and_a_failing_one_is_rolled_back() {
    let world = World::new().await;
    world.policy(POLICY).await;
    let target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let dbas = [world.person("Ann", &["dba"]).await, world.person("Dan", &["dba"]).await];
    let bot = runner(&world, "migrator", &bob).await;
    let watching = ade_engine::workers::Driver::watch(&world.app);
    let _worker = worker(&world);
    let _agent = agent(&world, &bot, &target);

    let sql = "ALTER TABLE sale ADD COLUMN currency text NOT NULL DEFAULT 'EUR'";
    let task = approved_by_two(&world, &bob, &dbas, sql).await;
    let effect = task["effect"].to_string();
    assert!(effect.contains("currency") && task["effect"]["origin"] == "observed", "{effect}");
    until(&world, &bob, &task, "COMPLETED").await;
    let added = "SELECT count(*) FROM information_schema.columns
                  WHERE table_name = 'sale' AND column_name = 'currency'";
    assert_eq!(target.number(added).await, 1);

    // This change fails for the agent but not for the preview, so the failure is not foreseeable.
    let preview = format!("{}_preview", world.database.name());
    target
        .run(&format!(
            "CREATE FUNCTION spoil() RETURNS event_trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF session_user <> '{preview}' THEN RAISE 'the disk is full'; END IF;
             END $$;
             CREATE EVENT TRIGGER spoil ON ddl_command_end WHEN TAG IN ('ALTER TABLE')
                 EXECUTE FUNCTION spoil()"
        ))
        .await;
    let sql = "CREATE TABLE sold (id int); ALTER TABLE sale ADD COLUMN sold int";
    let task = approved_by_two(&world, &bob, &dbas, sql).await;
    let tried = until_tried(&world, &bob, &task).await;
    assert_eq!(
        (&tried["outcome"], &tried["left_behind"]),
        (&json!("failed"), &json!("rolled_back"))
    );
    assert!(tried["error"].as_str().unwrap().contains("the disk is full"), "{tried}");
    let sold = "SELECT count(*) FROM information_schema.tables WHERE table_name = 'sold'";
    assert_eq!(target.number(sold).await, 0, "its first statement was rolled back");
    assert_eq!(world.task(&bob, &task).await["state"], "APPROVED", "the task is tried again");
    watching.stop().await;
}

/// Waits until the first attempt has ended and returns it.
async fn until_tried(world: &World, who: &Person, task: &Value) -> Value {
    let began = Instant::now();
    loop {
        let path = format!("{}/executions", path_of(task));
        let tries = world.get(&who.token, &path).await.expect(200);
        let first = &tries["items"][0];
        if first["state"] == "ENDED" {
            return first.clone();
        }
        assert!(began.elapsed() < SOON, "{tries}");
        tokio::task::yield_now().await;
    }
}
