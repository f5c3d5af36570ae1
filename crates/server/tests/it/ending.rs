//! Shutdown of the server: requests in progress complete, new ones are refused, and the time is
//! limited.

use std::time::{Duration, Instant};

use ade_engine::workers::Driver;
use ade_server::serve::ShutdownOutcome;
use serde_json::{Value, json};

use crate::locks::{ACQUIRE, bots, want, with};
use crate::test_server::TestServer;
use crate::world::{World, path_of};

#[tokio::test]
async fn shutdown_completes_open_requests_and_refuses_new_ones() {
    let mut rig = TestServer::start().await;
    let held = tokio::spawn(rig.get("/test/held").send());
    rig.gate.entered.notified().await;
    rig.stop();
    // A refused connection shows that the listener is closed.
    let refused = tokio::time::timeout(Duration::from_secs(30), async {
        while tokio::net::TcpStream::connect(rig.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    assert!(refused.await.is_ok(), "the server still listens");
    assert!(!held.is_finished());
    rig.gate.leave.notify_one();
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
    assert_eq!(rig.ended().await, ShutdownOutcome::Drained);
}

#[tokio::test]
async fn shutdown_does_not_wait_for_an_idle_connection() {
    let mut rig = TestServer::start().await;
    let _idle = rig.connect().await;
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
    rig.stop();
    let ended = tokio::time::timeout(Duration::from_secs(30), rig.ended()).await;
    assert_eq!(ended.unwrap(), ShutdownOutcome::Drained);
}

#[tokio::test]
async fn shutdown_time_is_limited() {
    let mut rig = TestServer::with(&[("drain_s", "1")]).await;
    let held = tokio::spawn(rig.get("/test/held").send());
    rig.gate.entered.notified().await;
    rig.stop();
    let ended = tokio::time::timeout(Duration::from_secs(30), rig.ended()).await;
    assert_eq!(ended.unwrap(), ShutdownOutcome::Cut);
    held.abort();
}

#[tokio::test]
async fn shutdown_waits_for_a_change_whose_caller_timed_out() {
    let mut rig = TestServer::with(&[("answer_timeout_s", "1"), ("drain_s", "20")]).await;
    let response = rig.post("/test/held").send().await.unwrap();
    assert_eq!(response.status(), 503);
    let gate = rig.gate.clone();
    rig.stop();
    let ended = tokio::spawn(rig.ended());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!ended.is_finished(), "the server ended before the change");
    gate.leave.notify_one();
    assert_eq!(ended.await.unwrap(), ShutdownOutcome::Drained);
}

/// Far below the waits of the requests.
const AT_ONCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn shutdown_ends_waits_for_tasks_and_permits() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let task = world.draft(&bob, "x").await;
    let watching = Driver::watch(&world.app);
    let began = Instant::now();
    let poll = async |query: &str| {
        let path = format!("{}?wait=55s&{query}", path_of(&task));
        world.get(&bob.token, &path).await.expect(200)
    };
    let claim = async {
        let path = format!("/v1/agents/{}/claim?wait=55s", bot.id);
        world.post(&bot.token, &path, json!({})).await.expect(200)
    };
    let stop = async {
        while world.app.watch.wanted().is_empty() || world.app.claims.tenants().is_empty() {
            tokio::task::yield_now().await;
        }
        world.rig.shared.begin_draining();
    };
    let (changed, decided, claimed, ()) =
        tokio::join!(poll("since_version=1"), poll("until=decided"), claim, stop);
    for answer in [&changed, &decided] {
        assert_eq!((&answer["timed_out"], &answer["state"]), (&json!(true), &json!("DRAFT")));
    }
    assert_eq!((&claimed["timed_out"], &claimed["permit"]), (&json!(true), &Value::Null));
    // A wait that begins during the shutdown is answered, too.
    assert_eq!(poll("until=ended").await["timed_out"], true);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    watching.stop().await;
}

#[tokio::test]
async fn shutdown_ends_waits_for_locks_and_keeps_the_place() {
    let world = World::new().await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let patient = with(want(&["a"]), &json!({ "wait": "50s" }));
    world.post(&one.token, ACQUIRE, patient.clone()).await.expect(200);
    let began = Instant::now();
    let wait = async { world.post(&other.token, ACQUIRE, patient).await.refused(423, "lock_held") };
    let stop = async {
        while world.get(&one.token, "/v1/locks/db/a").await.expect(200)["waiting"] != 1 {
            tokio::task::yield_now().await;
        }
        world.rig.shared.begin_draining();
    };
    let (held, ()) = tokio::join!(wait, stop);
    assert_eq!(held["position"], 1, "{held}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn shutdown_ends_the_wait_of_an_mcp_tool() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let task = world.draft(&bob, "x").await;
    world.submit(&bob, &task).await;
    let watching = Driver::watch(&world.app);
    let began = Instant::now();
    let wait = async {
        let arguments = json!({ "task_id": task["id"], "wait_seconds": 50 });
        let params = json!({ "name": "wait_for_decision", "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        world.post(&bot.token, "/mcp", message).await.expect(200)
    };
    let stop = async {
        while world.app.watch.wanted().is_empty() {
            tokio::task::yield_now().await;
        }
        world.rig.shared.begin_draining();
    };
    let (answer, ()) = tokio::join!(wait, stop);
    assert_eq!(answer["result"]["structuredContent"]["timed_out"], true, "{answer}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    watching.stop().await;
}
