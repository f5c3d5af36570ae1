//! Tests of the leases that a process keeps alive, with a paused clock: when heartbeats end, and
//! what the next response reports.

use std::sync::atomic::{AtomicUsize, Ordering};

use ade_client::Client;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::tool::Tool;
use crate::work::Tools;

use super::*;

const LEASE: &str = "lease_01k9xq3vb8f2n4s6t7w8y9z0ab";
const EXECUTION: &str = "exec_01k9xq3vb8f2n4s6t7w8y9z0ab";
const TASK: &str = "task_01k9xq3vb8f2n4s6t7w8y9z0ab";
const PROCESS: &str = "ags_01k9xq3vb8f2n4s6t7w8y9z0ab";
const AT: &str = "2026-03-18T15:30:00Z";

/// A server that grants everything, counts heartbeats and responds to them as set.
#[derive(Default)]
struct FakeServer {
    heartbeats: AtomicUsize,
    reply: Mutex<(u16, Value)>,
}

impl FakeServer {
    fn new(reply: Value) -> Arc<Self> {
        let server = Arc::<Self>::default();
        server.replies(200, reply);
        server
    }

    fn replies(&self, status: u16, reply: Value) {
        *self.reply.lock().unwrap() = (status, reply);
    }

    fn heartbeats(&self) -> usize {
        self.heartbeats.load(Ordering::SeqCst)
    }

    fn answer(&self, path: &str) -> (u16, Value) {
        if path.ends_with("/heartbeat") {
            self.heartbeats.fetch_add(1, Ordering::SeqCst);
            return self.reply.lock().unwrap().clone();
        }
        if path.ends_with("/acquire") {
            let lease = json!({
                "lease_id": LEASE, "lease_hash": format!("sha256:{}", "0".repeat(64)),
                "process_id": PROCESS, "fenced": false, "fence": 7, "resources": ["database:a"],
                "expires_at": AT, "ttl_seconds": 30,
            });
            return (200, lease);
        }
        (404, problem("not_found", "task not found"))
    }
}

fn problem(code: &str, detail: &str) -> Value {
    json!({
        "type": "about:blank", "code": code, "title": code, "status": 409, "detail": detail,
        "retriable": false, "next_action": { "message": "stop" }, "request_id": "r",
    })
}

fn tools(server: &Arc<FakeServer>) -> Tools {
    let server = server.clone();
    let answering: ade_client::Answering = Arc::new(move |call| {
        let (status, body) = server.answer(call.url().path());
        let response = http::Response::builder().status(status);
        let response = response.header("content-type", "application/json");
        let response = response.body(body.to_string()).unwrap();
        Box::pin(async move { response.into() })
    });
    let client = Client::within("http://127.0.0.1", "token", answering).unwrap();
    Tools::keeping_leases_alive(client, "http://127.0.0.1")
}

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Makes a call that names no lease, and returns its alerts.
async fn alerts_of_another_call(tools: &Tools) -> Value {
    let arguments = members(&json!({ "task_id": TASK }));
    tools.call(Tool::GetRequest, arguments).await.data()["alerts"].clone()
}

/// Lets time pass. The clock moves only while all tasks wait.
async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

fn granted() -> Value {
    beat("GRANTED", &Value::Null)
}

fn beat(state: &str, broken: &Value) -> Value {
    let beat = json!({
        "lease_id": LEASE, "state": state, "fence": 7, "expires_at": AT, "position": null,
        "refused": null, "broken": broken,
    });
    json!({ "process_expires_at": AT, "leases": [beat] })
}

fn alive(abort: &Value) -> Value {
    json!({
        "abort_requested": !abort.is_null(), "abort": abort, "expires_at": AT, "ttl_seconds": 30,
    })
}

async fn acquire(tools: &Tools, seconds: u64) {
    let wanted = json!({ "resources": ["database:a"], "timeout_seconds": seconds });
    let held = tools.call(Tool::AcquireLocks, members(&wanted)).await;
    assert!(!held.is_error, "{}", held.text());
    assert!(held.data().get("extend_within_seconds").is_none(), "nothing has to be called");
}

fn keep_attempt(tools: &Tools, timeout_seconds: u64) {
    let (execution, lease) = (EXECUTION.parse().unwrap(), LEASE.parse().unwrap());
    let (api, kept) = (tools.api.clone(), tools.kept.clone().unwrap());
    let beats = api.clone();
    let keep_alive = LeaseKeepAlive::start(Duration::from_secs(30), move |_| {
        let api = beats.clone();
        async move { api.extend_attempt(execution, lease).await }
    });
    let time = Duration::from_secs(timeout_seconds);
    kept.keep(lease, Some(execution), keep_alive, time);
}

#[tokio::test(start_paused = true)]
async fn locks_are_kept_alive_until_their_time_limit() {
    let server = FakeServer::new(granted());
    let tools = tools(&server);
    acquire(&tools, 90).await;
    pass(85).await;
    assert!(server.heartbeats() >= 8, "{} heartbeats in 85 s", server.heartbeats());
    assert_eq!(alerts_of_another_call(&tools).await, Value::Null);
    pass(10).await;
    let sent = server.heartbeats();
    pass(600).await;
    assert_eq!(server.heartbeats(), sent, "heartbeats after the time limit");
    let alerts = alerts_of_another_call(&tools).await;
    assert_eq!(alerts[0]["code"], "lease_lost", "{alerts}");
    assert_eq!(alerts[0]["next_action"]["tool"], "acquire_locks", "{alerts}");
    assert_eq!(alerts_of_another_call(&tools).await, Value::Null, "it is reported once");
}

#[tokio::test(start_paused = true)]
async fn locks_that_are_released_get_no_more_heartbeats() {
    let server = FakeServer::new(granted());
    let tools = tools(&server);
    acquire(&tools, 600).await;
    pass(30).await;
    tools.kept.as_ref().unwrap().drop_lease(LEASE.parse().unwrap());
    let sent = server.heartbeats();
    assert!(sent > 0);
    pass(60).await;
    assert_eq!(server.heartbeats(), sent);
}

#[tokio::test(start_paused = true)]
async fn locks_that_were_broken_alert_the_next_response() {
    let server = FakeServer::new(granted());
    let tools = tools(&server);
    acquire(&tools, 600).await;
    pass(30).await;
    let cause = json!({ "by": "usr_1", "reason": "incident 7", "at": AT });
    server.replies(200, beat("BROKEN", &cause));
    pass(30).await;
    let alerts = alerts_of_another_call(&tools).await;
    assert_eq!(alerts[0]["code"], "lease_lost", "{alerts}");
    assert!(alerts[0]["reason"].as_str().unwrap().contains("incident 7"), "{alerts}");
}

#[tokio::test(start_paused = true)]
async fn attempt_that_must_stop_alerts_until_it_is_finished() {
    let server = FakeServer::new(alive(&Value::Null));
    let tools = tools(&server);
    keep_attempt(&tools, 600);
    pass(30).await;
    assert_eq!(alerts_of_another_call(&tools).await, Value::Null);
    let cause = json!({ "by": "usr_1", "reason": "customer called", "at": AT });
    server.replies(200, alive(&cause));
    pass(30).await;
    for _ in 0..2 {
        let alerts = alerts_of_another_call(&tools).await;
        assert_eq!(alerts[0]["code"], "abort_requested", "{alerts}");
        assert!(alerts[0]["reason"].as_str().unwrap().contains("customer called"), "{alerts}");
        assert_eq!(alerts[0]["next_action"]["tool"], "finish_change", "{alerts}");
    }
    tools.kept.as_ref().unwrap().drop_lease(LEASE.parse().unwrap());
    assert_eq!(alerts_of_another_call(&tools).await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn attempt_that_was_lost_alerts_the_next_response() {
    let server = FakeServer::new(alive(&Value::Null));
    let tools = tools(&server);
    keep_attempt(&tools, 600);
    pass(30).await;
    server.replies(409, problem("lease_lost", "this lease is expired"));
    pass(30).await;
    let alerts = alerts_of_another_call(&tools).await;
    assert_eq!(
        (&alerts[0]["code"], &alerts[0]["execution_id"]),
        (&json!("lease_lost"), &json!(EXECUTION)),
        "{alerts}"
    );
    assert!(alerts[0]["reason"].as_str().unwrap().contains("expired"), "{alerts}");
    assert_eq!(alerts_of_another_call(&tools).await, Value::Null, "it is reported once");
}
