//! Hosts with the tasks extension of the Model Context Protocol. A wait becomes a protocol task
//! with the id of the product's task, and the server stores nothing for it.

use serde_json::{Value, json};

use crate::executions::runner;
use crate::mcp::request_of;
use crate::world::{Answer, Person, World, path_of, seen};

const VERSION: &str = "2026-07-28";

/// Makes one call of a host without a handshake, which sends its capabilities with every call.
async fn ask(world: &World, who: &Person, method: &str, mut params: Value, able: bool) -> Answer {
    let extensions = if able { json!({ "io.modelcontextprotocol/tasks": {} }) } else { json!({}) };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" }
    });
    let name = [&params["name"], &params["taskId"]].into_iter().find_map(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let headers =
        [("mcp-protocol-version", VERSION), ("mcp-method", method), ("mcp-name", name.as_str())];
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    world.send("POST", &who.token, "/mcp", Some(body), &headers).await
}

async fn call(world: &World, who: &Person, tool: &str, arguments: Value, able: bool) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    ask(world, who, "tools/call", params, able).await.expect(200)["result"].clone()
}

async fn look(world: &World, who: &Person, task: &Value) -> Answer {
    ask(world, who, "tasks/get", json!({ "taskId": task }), true).await
}

#[tokio::test]
async fn mcp_wait_is_a_protocol_task_until_the_review_ends() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(&world, "bot", &bob).await;
    let proposed = call(&world, &bot, "request_approval", request_of("Slow"), true).await;
    let id = proposed["structuredContent"]["task_id"].clone();
    world.work("review_opener").await;

    let waits = call(&world, &bot, "wait_for_decision", json!({ "task_id": id }), true).await;
    assert_eq!((&waits["resultType"], &waits["taskId"]), (&json!("task"), &id), "{waits}");
    assert_eq!(
        (&waits["status"], &waits["statusMessage"]),
        (&json!("working"), &json!("REVIEWING"))
    );
    assert_eq!(waits["pollIntervalMs"], 5_000, "{waits}");
    let looked = look(&world, &bot, &id).await.expect(200)["result"].clone();
    assert_eq!((&looked["status"], &looked["result"]), (&json!("working"), &json!(null)));

    // Cancelling the wait does not cancel the task.
    let gone = ask(&world, &bot, "tasks/cancel", json!({ "taskId": id }), true).await.expect(200);
    assert!(gone["error"].is_null(), "{gone}");
    let task = json!({ "id": id });
    assert_eq!(world.task(&bob, &task).await["state"], "REVIEWING");

    let task = world.task(&rea, &task).await;
    world.approve(&rea, &task).await;
    let looked = look(&world, &bot, &id).await.expect(200)["result"].clone();
    assert_eq!(looked["status"], "completed", "{looked}");
    let result = &looked["result"];
    assert_eq!(result["structuredContent"]["state"], "APPROVED", "{looked}");
    assert!(result["structuredContent"]["next_action"]["message"].is_string(), "{looked}");
    // A wait for a finished review returns at once.
    let ended = call(&world, &bot, "wait_for_decision", json!({ "task_id": id }), true).await;
    assert_eq!(ended["structuredContent"]["state"], "APPROVED", "{ended}");
}

#[tokio::test]
async fn mcp_wait_returns_the_reason_of_the_decision() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(&world, "bot", &bob).await;
    for (answer, outcome, next) in [
        ("reject", "rejected", "do not ask for the same one again"),
        ("request-changes", "changes_requested", "do what decision.reason asks"),
    ] {
        let proposed = call(&world, &bot, "request_approval", request_of(answer), false).await;
        let id = proposed["structuredContent"]["task_id"].clone();
        world.work("review_opener").await;
        let task = world.task(&rea, &json!({ "id": id })).await;
        let mut vote = seen(&task);
        vote["reason"] = json!("use a batch");
        let path = format!("{}/{answer}", path_of(&task));
        world.post(&rea.token, &path, vote).await.expect(200);
        let ended = call(&world, &bot, "wait_for_decision", json!({ "task_id": id }), false).await;
        let ended = &ended["structuredContent"];
        assert_eq!(ended["decision"]["outcome"], outcome, "{ended}");
        assert_eq!(ended["decision"]["reason"], "use a batch", "{ended}");
        assert!(ended["next_action"]["message"].as_str().unwrap().contains(next), "{ended}");
    }
}

#[tokio::test]
async fn mcp_wait_without_the_extension_is_no_protocol_task() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = runner(&world, "bot", &bob).await;
    let proposed = call(&world, &bot, "request_approval", request_of("Slow"), false).await;
    let id = proposed["structuredContent"]["task_id"].clone();
    let wait = json!({ "task_id": id, "wait_seconds": 1 });
    let waits = call(&world, &bot, "wait_for_decision", wait, false).await;
    assert_eq!(waits["structuredContent"]["timed_out"], true, "the call itself waits: {waits}");
    let (_, other) = world.tenant("other").await;
    let nothing = json!("task_01k9xq3vb8f2n4s6t7w8y9z0ab");
    let [theirs, none] = [look(&world, &other, &id).await, look(&world, &other, &nothing).await];
    assert!(theirs.body["error"].is_object(), "{}", theirs.body);
    assert_eq!(theirs.status, none.status);
    assert_eq!(
        theirs.body["error"]["code"], none.body["error"]["code"],
        "a task of another tenant"
    );
}
