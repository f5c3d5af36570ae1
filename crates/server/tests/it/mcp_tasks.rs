//! Hosts with the tasks extension of the Model Context Protocol: a wait is handed over as a task of
//! the protocol, whose id is ours, and nothing is kept for it.

use serde_json::{Value, json};

use crate::executions::runner;
use crate::world::{Answer, Person, World, plan};

const VERSION: &str = "2026-07-28";

/// One call of a host without a handshake, which says with each what it can do.
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
async fn a_wait_is_a_task_of_the_protocol_until_people_have_answered() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(&world, "bot", &bob).await;
    let proposed = call(&world, &bot, "propose_task", json!({ "task": plan("Slow") }), true).await;
    let id = proposed["structuredContent"]["id"].clone();
    world.work("review_opener").await;

    let waits = call(&world, &bot, "wait_for_task", json!({ "task": id }), true).await;
    assert_eq!((&waits["resultType"], &waits["taskId"]), (&json!("task"), &id), "{waits}");
    assert_eq!(
        (&waits["status"], &waits["statusMessage"]),
        (&json!("working"), &json!("REVIEWING"))
    );
    assert_eq!(waits["pollIntervalMs"], 5_000, "{waits}");
    let looked = look(&world, &bot, &id).await.expect(200)["result"].clone();
    assert_eq!((&looked["status"], &looked["result"]), (&json!("working"), &json!(null)));

    // Nobody waits any more, which takes nothing back.
    let gone = ask(&world, &bot, "tasks/cancel", json!({ "taskId": id }), true).await.expect(200);
    assert!(gone["error"].is_null(), "{gone}");
    let task = json!({ "id": id });
    assert_eq!(world.task(&bob, &task).await["state"], "REVIEWING");

    let task = world.task(&rea, &task).await;
    let request = world.request(&rea, &task).await;
    world.approve(&rea, &task, &request).await;
    let looked = look(&world, &bot, &id).await.expect(200)["result"].clone();
    assert_eq!(looked["status"], "completed", "{looked}");
    let told = &looked["result"];
    assert_eq!(told["structuredContent"]["state"], "APPROVED", "{looked}");
    assert!(told["structuredContent"]["next_action"].is_string(), "{looked}");
    // What has ended already is answered at once.
    let ended = call(&world, &bot, "wait_for_task", json!({ "task": id }), true).await;
    assert_eq!(ended["structuredContent"]["state"], "APPROVED", "{ended}");
}

#[tokio::test]
async fn who_has_no_such_extension_or_no_such_task_gets_none() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = runner(&world, "bot", &bob).await;
    let proposed = call(&world, &bot, "propose_task", json!({ "task": plan("Slow") }), false).await;
    let id = proposed["structuredContent"]["id"].clone();
    let wait = json!({ "task": id, "seconds": 1 });
    let waits = call(&world, &bot, "wait_for_task", wait, false).await;
    assert_eq!(waits["structuredContent"]["timed_out"], true, "it waits in the call: {waits}");
    let (_, other) = world.tenant("other").await;
    let nothing = json!("task_01k9xq3vb8f2n4s6t7w8y9z0ab");
    let [theirs, none] = [look(&world, &other, &id).await, look(&world, &other, &nothing).await];
    assert!(theirs.body["error"].is_object(), "{}", theirs.body);
    assert_eq!(theirs.status, none.status);
    assert_eq!(theirs.body["error"]["code"], none.body["error"]["code"], "another tenant's");
}
