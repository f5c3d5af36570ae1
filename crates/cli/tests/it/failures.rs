//! The installation in which the failures of `ade hook` and `ade run` are brought about.

use std::fs;
use std::time::Duration;

use ade_testkit::eventually;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::installation::{Installation, SOON, ended};

/// Long enough for a lease to expire.
pub const SILENT: Duration = Duration::from_hours(1);
/// Long enough for a review to expire that was opened after that.
pub const OVERDUE: Duration = Duration::from_hours(3 * 24 + 2);

/// The calls that one agent may make to the endpoint that each command calls first. No other agent
/// makes as many.
const CALLS: usize = 100;
const HEARTBEAT: &str = "/v1/executions/{id}/heartbeat";
/// The heartbeats of a lease of nine seconds are three seconds apart.
const SHORT: &str = "lock: {default_ttl_seconds: 9, max_ttl_seconds: 300, \
                     heartbeat_interval_seconds: 3}\n";

/// Starts an installation whose agent may apply many tasks of these types at once.
pub async fn stage(capabilities: Value) -> Installation {
    let calls = CALLS.to_string();
    let one = Installation::start_with(&[
        ("ADE__RATES__ENDPOINTS__me_get__PER_MINUTE", "1"),
        ("ADE__RATES__ENDPOINTS__me_get__BURST", &calls),
    ])
    .await;
    one.calm().await;
    let able = json!({ "capabilities": capabilities, "max_tasks": 20 });
    let path = format!("/v1/agents/{}", one.agent_id);
    one.call(Method::PATCH, &one.admin, &path, Some(able)).await;
    fs::write(one.home().join("timeouts.yaml"), SHORT).unwrap();
    let set = ["timeouts", "set", "-f", "timeouts.yaml", "--reason", "quick"];
    ended(one.ade_as(&one.admin, &set)).await.with(0);
    one
}

/// Creates a token of the agent with these scopes, and returns it with its id.
pub async fn token(one: &Installation, scopes: &[&str]) -> (String, String) {
    token_of(one, &one.agent_id, scopes).await
}

async fn token_of(one: &Installation, agent: &str, scopes: &[&str]) -> (String, String) {
    let asked = json!({ "agent_id": agent, "scopes": scopes });
    let token = one.post(&one.admin, "/v1/tokens", asked).await;
    let word = |name: &str| token[name].as_str().unwrap().to_owned();
    (word("token"), word("key_id"))
}

/// Returns the token of another agent, which has made all the calls that it may make.
pub async fn limited(one: &Installation, capabilities: Value) -> String {
    let agent = one.get(&format!("/v1/agents/{}", one.agent_id)).await;
    let asked = json!({
        "name": "busy-bot", "owner_id": agent["owner_id"], "capabilities": capabilities
    });
    let agent = one.post(&one.admin, "/v1/agents", asked).await;
    let (token, _) =
        token_of(one, agent["id"].as_str().unwrap(), &["read", "propose", "execute"]).await;
    for _ in 0..CALLS {
        one.call(Method::GET, &token, "/v1/me", None).await;
    }
    token
}

/// Waits until a heartbeat was refused.
pub async fn is_noticed(one: &Installation) {
    let log = one.home().join("log");
    eventually("a heartbeat is refused", SOON, async || {
        let text = fs::read_to_string(&log).unwrap();
        let is_refusal = |line: &&str| line.contains(HEARTBEAT) && line.contains("409");
        text.lines().find(is_refusal).map(|_| ()).ok_or("no heartbeat was refused")
    })
    .await;
}

/// Stops the server, and waits until no process listens at its address.
pub async fn stopped(one: &Installation) {
    one.stop().await;
    eventually("the server has stopped", SOON, async || {
        match TcpStream::connect(("127.0.0.1", one.port())).await {
            Ok(_) => Err("it accepts connections"),
            Err(_) => Ok(()),
        }
    })
    .await;
}
