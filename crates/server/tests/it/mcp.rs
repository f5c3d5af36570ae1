//! The endpoint for agents that use the Model Context Protocol: every tool as every kind of caller,
//! isolation of tenants, and requests that are refused before a tool runs.

use std::collections::BTreeSet;

use ade_core::access::Scope;
use ade_mcp::Tool;
use ade_server::http;
use ade_server::http::routes::RouteAuth;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::executions::runner;
use crate::test_server::{settings, shared};
use crate::world::{Person, World, path_of, plan, seen};

cases! {
    mcp_host_lists_and_calls_tools: Happy "POST /mcp";
    mcp_without_a_token_names_the_required_authorization:
        Denied "POST /mcp",
        Happy "GET /.well-known/oauth-protected-resource";
}

/// What a model reads before its first call, half of it schemas of results.
const LISTED_MAX_BYTES: usize = 35_000;
const OTHER_TASK: &str = "task_01k9xq3vb8f2n4s6t7w8y9z0ab";
const OTHER_LEASE: &str = "lease_01k9xq3vb8f2n4s6t7w8y9z0ab";
const OTHER_EXECUTION: &str = "exec_01k9xq3vb8f2n4s6t7w8y9z0ab";

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

async fn ask(world: &World, token: &str, method: &str, params: Value) -> Value {
    world.post(token, "/mcp", message(method, &params)).await.expect(200)
}

/// The result of a tool: facts, and whether it is an error.
struct ToolResult {
    facts: Value,
    is_error: bool,
}

impl ToolResult {
    #[track_caller]
    fn done(self) -> Value {
        assert!(!self.is_error, "{}", self.facts);
        self.facts
    }

    #[track_caller]
    fn refused(self, code: &str) -> Value {
        assert!(self.is_error, "{}", self.facts);
        assert_eq!(self.facts["code"], code, "{}", self.facts);
        self.facts
    }
}

async fn call(world: &World, who: &Person, tool: Tool, arguments: Value) -> ToolResult {
    let params = json!({ "name": tool.name(), "arguments": arguments });
    let answer = ask(world, &who.token, "tools/call", params).await;
    let result = &answer["result"];
    let facts = result["structuredContent"].clone();
    let next = facts["next_action"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(!next.is_empty(), "{answer}");
    // The text has the next action, and does not repeat the data.
    let content = result["content"].as_array().unwrap();
    let text = content[0]["text"].as_str().unwrap();
    assert!(content.len() == 1 && text.contains(next) && !text.contains('{'), "{answer}");
    ToolResult { facts, is_error: result["isError"] == true }
}

async fn mcp_host_lists_and_calls_tools(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }
    });
    let hello = ask(world, &bot.token, "initialize", hello).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
    let listed = ask(world, &bot.token, "tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(name_of).collect::<Vec<_>>(), Tool::ALL.map(Tool::name));
    let size = listed["result"].to_string().len();
    assert!(size < LISTED_MAX_BYTES, "a model reads {size} bytes before its first call");
    let task = call(world, &bot, Tool::RequestApproval, request_of("By tool")).await.done();
    assert_eq!(task["state"], "SUBMITTED", "{task}");
    let page = format!("https://ade.example.org/tasks/{}", task["task_id"].as_str().unwrap());
    assert_eq!(task["review_page"], page);
    assert_eq!(task["next_action"]["tool"], "wait_for_decision");
    let task = world.task(&bob, &json!({ "id": task["task_id"] })).await;
    assert_eq!(task["agent_id"], json!(bot.id));
}

/// Checks what a host shows and validates, and returns the name.
fn name_of(tool: &Value) -> &str {
    for text in ["title", "description"] {
        assert!(tool[text].is_string(), "{tool}");
    }
    for schema in ["inputSchema", "outputSchema"] {
        assert_eq!(tool[schema]["type"], "object", "{tool}");
        assert_references_resolve(&tool[schema], &tool[schema]);
    }
    assert!(tool["inputSchema"]["properties"].as_object().is_some_and(|all| !all.is_empty()));
    assert_eq!(tool["outputSchema"]["required"], json!(["next_action"]), "{tool}");
    for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
        assert!(tool["annotations"][hint].is_boolean(), "{tool}");
    }
    tool["name"].as_str().unwrap()
}

fn assert_references_resolve(schema: &Value, whole: &Value) {
    match schema {
        Value::Object(members) => {
            if let Some(to) = members.get("$ref").and_then(Value::as_str) {
                let path = to.strip_prefix('#').unwrap();
                assert!(whole.pointer(path).is_some(), "{to} is missing in {whole}");
            }
            members.values().for_each(|member| assert_references_resolve(member, whole));
        }
        Value::Array(items) => items.iter().for_each(|it| assert_references_resolve(it, whole)),
        _ => {}
    }
}

/// Returns the arguments of a request: the changes of a plan are on the first level.
pub fn request_of(title: &str) -> Value {
    let mut request = plan(title);
    let plan = request.as_object_mut().unwrap().remove("plan").unwrap();
    request["changes"] = plan["changes"].clone();
    request
}

async fn mcp_without_a_token_names_the_required_authorization(world: &World) {
    let body = message("tools/list", &json!({}));
    world.post("", "/mcp", body.clone()).await.refused(401, "unauthenticated");
    // A token of another server is not valid here.
    let foreign = "eyJhbGciOiJFZERTQSJ9.eyJhdWQiOiJvdGhlciJ9.c2ln";
    world.post(foreign, "/mcp", body.clone()).await.refused(401, "unauthenticated");
    let response = world.rig.json("/mcp", body.to_string()).send().await.unwrap();
    let wanted = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
    let path = "/.well-known/oauth-protected-resource";
    assert_eq!(wanted, format!("Bearer resource_metadata=\"https://ade.example.org{path}\""));
    let about = world.get("", path).await.expect(200);
    assert_eq!(about["resource"], "https://ade.example.org");
    assert_eq!(about["scopes_supported"], json!(["read", "propose", "execute"]));
    assert_eq!(about["bearer_methods_supported"], json!(["header"]));
}

/// Every call of a tool goes to a route of the class that the tool declares, to a read, or extends
/// what the caller holds. No tool has a class that can decide.
#[tokio::test]
async fn mcp_tool_class_matches_the_class_of_its_routes() {
    let routes = http::build(shared(&[])).unwrap().routes;
    for tool in Tool::ALL {
        let class = Scope::from(tool.class());
        assert!(class.is_open_to_agents(), "{tool:?}");
        let mut classes = BTreeSet::new();
        for line in tool.calls() {
            let is_it =
                |route: &&http::routes::Route| format!("{} {}", route.method, route.path) == *line;
            let route = routes.iter().find(is_it).unwrap_or_else(|| panic!("{tool:?}: {line}"));
            let RouteAuth::Scope(of_route) = route.door else { panic!("{tool:?}: {line} is open") };
            assert!(of_route == class || of_route == Scope::Read, "{tool:?}: {line}");
            classes.insert(of_route);
        }
        assert!(classes.contains(&class), "{tool:?}");
    }
    for line in Tool::EXTENDING_CALLS {
        let route = routes.iter().find(|it| format!("{} {}", it.method, it.path) == line);
        assert_eq!(route.expect(line).door, RouteAuth::Scope(Scope::Execute), "{line}");
    }
}

/// The callers of the tenant that each tool allows. The task is Bob's, proposed by his agent.
const TABLE: [(Tool, &str); 9] = [
    (Tool::RequestApproval, "agent author admin"),
    (Tool::WaitForDecision, "agent author reviewer admin"),
    (Tool::ReviseRequest, "agent author admin"),
    (Tool::WithdrawRequest, "agent author admin"),
    (Tool::StartChange, "agent"),
    (Tool::FinishChange, "agent"),
    (Tool::GetRequest, "agent author reviewer admin"),
    (Tool::AcquireLocks, "agent"),
    (Tool::ReleaseLocks, "agent"),
];

struct Stage {
    bob: Person,
    rea: Person,
    bot: Person,
    other: Person,
}

async fn stage(world: &World) -> Stage {
    let bob = world.person("acme-bob", &["author"]).await;
    let rea = world.person("acme-rea", &["reviewer"]).await;
    let bot = runner(world, "acme-bot", &bob).await;
    let path = format!("/v1/agents/{}", bot.id);
    let able = json!({ "max_tasks": 1000 });
    world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
    let (_, other) = world.tenant("other").await;
    Stage { bob, rea, bot, other }
}

/// Arguments with an object of the tenant that the tool can act on.
async fn arguments(world: &World, stage: &Stage, tool: Tool, round: usize) -> Value {
    let database = format!("database:acme-{round}-{}", tool.name());
    let mut own = request_of(&format!("acme {} {round}", tool.name()));
    own["resources"] = json!([database]);
    own["changes"][0]["resource"] = json!(database);
    match tool {
        Tool::RequestApproval => own,
        Tool::AcquireLocks => json!({ "resources": [database] }),
        Tool::ReleaseLocks => {
            let asked = json!({ "resources": [database], "ttl_seconds": 300 });
            let lease = world.post(&stage.bot.token, "/v1/locks/acquire", asked).await.expect(200);
            json!({ "lease_id": lease["lease_id"] })
        }
        Tool::StartChange | Tool::FinishChange => {
            let task = call(world, &stage.bot, Tool::RequestApproval, own).await.done();
            let task = json!({ "task_id": task["task_id"] });
            approve(world, stage, &task).await;
            if tool == Tool::StartChange {
                return task;
            }
            let started = call(world, &stage.bot, Tool::StartChange, task).await.done();
            let mut report = ids_of(&started);
            report["outcome"] = json!("succeeded");
            report
        }
        Tool::GetRequest | Tool::WaitForDecision | Tool::ReviseRequest | Tool::WithdrawRequest => {
            let changes = own.as_object_mut().unwrap().remove("changes").unwrap();
            own["plan"] = json!({ "changes": changes });
            let task = world.post(&stage.bot.token, "/v1/tasks", own).await.expect(201);
            let (id, version) = (&task["id"], &task["version"]);
            match tool {
                Tool::ReviseRequest => json!({ "task_id": id, "version": version, "tags": ["x"] }),
                _ => json!({ "task_id": id }),
            }
        }
    }
}

async fn approve(world: &World, stage: &Stage, task: &Value) {
    world.work("review_opener").await;
    let task = world.task(&stage.rea, &json!({ "id": task["task_id"] })).await;
    world.approve(&stage.rea, &task).await;
}

/// The ids that later calls about a started change need.
fn ids_of(started: &Value) -> Value {
    let permit = &started["permit"];
    json!({ "execution_id": permit["execution_id"], "lease_id": permit["lease_id"] })
}

/// The same arguments with ids that do not exist.
fn absent(mut arguments: Value) -> Value {
    for (name, nothing) in
        [("task_id", OTHER_TASK), ("lease_id", OTHER_LEASE), ("execution_id", OTHER_EXECUTION)]
    {
        if arguments[name].is_string() {
            arguments[name] = json!(nothing);
        }
    }
    arguments
}

/// The request counters of all API routes so far, including calls by tools.
async fn counted(world: &World) -> BTreeSet<(String, String)> {
    let page = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
    let mut counted = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with(COUNTER)) {
        let label = |name: &str| {
            let (_, rest) = line.split_once(&format!("{name}=\"")).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        let route = format!("{} {}", label("method"), label("route"));
        if route.contains(" /v1/") {
            counted.insert((route, line.to_owned()));
        }
    }
    counted
}

const COUNTER: &str = "ade_http_request_duration_seconds_count";
const VOTES: &str = "SELECT count(*) FROM vote";
const ENDS: &str = "SELECT max(extract(epoch FROM deadline) * 1000)::bigint FROM lock_hold";

#[tokio::test]
async fn mcp_tools_allow_only_listed_callers_and_never_decide() {
    let world = World::new().await;
    let stage = stage(&world).await;
    for (tool, allowed) in TABLE {
        let mut round = 0;
        for (who, person) in [
            ("agent", &stage.bot),
            ("author", &stage.bob),
            ("reviewer", &stage.rea),
            ("admin", &world.admin),
        ] {
            round += 1;
            let asked = arguments(&world, &stage, tool, round).await;
            let votes = world.database.number(VOTES).await;
            let before = counted(&world).await;
            let result = call(&world, person, tool, asked).await;
            let made = counted(&world).await;
            let made: Vec<&String> =
                made.iter().filter(|one| !before.contains(*one)).map(|(route, _)| route).collect();
            let is_listed = |route: &&String| tool.calls().contains(&&***route);
            assert!(!made.is_empty() && made.iter().all(is_listed), "{tool:?} calls {made:?}");
            let is_allowed = allowed.split(' ').any(|name| name == who);
            assert_eq!(!result.is_error, is_allowed, "{tool:?} as {who}: {}", result.facts);
            assert_eq!(world.database.number(VOTES).await, votes, "{tool:?} voted as {who}");
        }
    }
}

#[tokio::test]
async fn mcp_tools_reveal_nothing_to_another_tenant() {
    let world = World::new().await;
    let stage = stage(&world).await;
    for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::RequestApproval) {
        let asked = arguments(&world, &stage, tool, 9).await;
        let nothing = absent(asked.clone());
        let foreign = call(&world, &stage.other, tool, asked.clone()).await;
        let of_nothing = call(&world, &stage.other, tool, nothing).await;
        let strip = |result: &ToolResult| {
            let mut facts = result.facts.clone();
            for own in ["request_id", "lease_id"] {
                facts.as_object_mut().unwrap().remove(own);
            }
            (result.is_error, facts)
        };
        assert_eq!(strip(&foreign), strip(&of_nothing), "{tool:?}");
        let words = foreign.facts.to_string();
        let asked = asked.to_string();
        for word in ["acme-bob", "acme-rea", &stage.bob.id, &stage.bot.id] {
            assert!(
                asked.contains(word) || !words.contains(word),
                "{tool:?} reveals {word}: {words}"
            );
        }
    }
}

#[tokio::test]
async fn mcp_request_that_is_repeated_creates_one_task() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let keyed = |title: &str| {
        let mut request = request_of(title);
        request["idempotency_key"] = json!("once");
        request
    };
    let first = call(&world, &bot, Tool::RequestApproval, keyed("Once")).await.done();
    let again = call(&world, &bot, Tool::RequestApproval, keyed("Once")).await.done();
    assert_eq!(first["task_id"], again["task_id"]);
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 1);
    let refused = call(&world, &bot, Tool::RequestApproval, keyed("Twice")).await;
    refused.refused("idempotency_key_reused");
}

#[tokio::test]
async fn mcp_request_that_is_invalid_is_refused_with_a_reason() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    // Parsers could read this body in two ways.
    let twice = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"method\":\"ping\"}";
    let request = world.rig.json("/mcp", twice).bearer_auth(&bot.token);
    let refused: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["code"], "malformed_body", "{refused}");
    // The host name or the origin is unknown.
    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let list = message("tools/list", &json!({}));
        let answer = world.send("POST", &bot.token, "/mcp", Some(list), &[(name, value)]).await;
        answer.refused(403, "origin_refused");
    }
    world.get(&bot.token, "/mcp").await.refused(405, "method_not_allowed");
    let none = ask(&world, &bot.token, "tools/call", json!({ "name": "approve_task" })).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
    let guess = json!({ "task_id": OTHER_TASK, "force": true });
    let guess = call(&world, &bot, Tool::GetRequest, guess).await.refused("invalid_body");
    assert!(guess["detail"].as_str().unwrap().contains("force"), "{guess}");
    let long = json!({ "task_id": OTHER_TASK, "wait_seconds": 56 });
    call(&world, &bot, Tool::WaitForDecision, long).await.refused("invalid_body");
    let half = json!({ "task_id": OTHER_TASK, "execution_id": OTHER_EXECUTION });
    call(&world, &bot, Tool::GetRequest, half).await.refused("invalid_body");
    let failed = json!({
        "execution_id": OTHER_EXECUTION, "lease_id": OTHER_LEASE, "outcome": "failed"
    });
    call(&world, &bot, Tool::FinishChange, failed).await.refused("invalid_body");
    let found = call(&world, &bot, Tool::GetRequest, json!({ "task_id": OTHER_TASK })).await;
    found.refused("not_found");
}

#[tokio::test]
async fn mcp_host_name_from_the_settings_is_accepted() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rig = world.beside_with(settings(&[("hosts", "ade.internal")])).await;
    let list = message("tools/list", &json!({})).to_string();
    let request = rig.json("/mcp", list).bearer_auth(&bob.token).header("host", "ade.internal");
    assert_eq!(request.send().await.unwrap().status(), 200);
}

/// The audit log has the caller and their address, not the server that passed the call on.
#[tokio::test]
async fn mcp_tool_call_is_audited_as_the_callers_own() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let params = json!({ "name": "request_approval", "arguments": request_of("Seen") });
    let body = Some(message("tools/call", &params));
    let named = [("user-agent", "host/7")];
    let answer = world.send("POST", &bot.token, "/mcp", body, &named).await.expect(200);
    let task = answer["result"]["structuredContent"]["task_id"].as_str().unwrap().to_owned();
    let leaves = world.get(&world.admin.token, &format!("/v1/audit?object={task}")).await;
    let leaves = leaves.expect(200);
    let first = &leaves["items"].as_array().unwrap().last().unwrap().to_string();
    assert!(first.contains(&bot.id) && first.contains("host/7"), "{first}");
    assert!(first.contains("127.0.0.1"), "{first}");
}

/// A change over HTTP: nothing sends heartbeats, so the lease gets the longest lifetime, and calls
/// that name it extend it.
#[tokio::test]
async fn mcp_change_over_http_is_extended_by_calls_that_name_it() {
    let world = World::new().await;
    let stage = stage(&world).await;
    let task = arguments(&world, &stage, Tool::StartChange, 0).await;
    let started = call(&world, &stage.bot, Tool::StartChange, task.clone()).await.done();
    assert_eq!(started["permit"]["extend_within_seconds"], 300, "{started}");
    assert!(started["permit"].get("receipt").is_none(), "no target asked for one");
    assert_eq!(started["permit"]["parameters"], json!({ "for": "acme start_change 0" }));
    let before = world.database.number(ENDS).await;
    let mut named = ids_of(&started);
    named["task_id"] = task["task_id"].clone();
    let read = call(&world, &stage.bot, Tool::GetRequest, task.clone()).await.done();
    assert_eq!(read["next_action"]["tool"], "wait_for_decision", "{read}");
    assert_eq!(world.database.number(ENDS).await, before, "a call that names no lease");
    let read = call(&world, &stage.bot, Tool::GetRequest, named.clone()).await.done();
    assert_eq!(read["extend_within_seconds"], 300, "{read}");
    assert_eq!(read["next_action"]["tool"], "finish_change", "{read}");
    assert!(world.database.number(ENDS).await > before);
    // No one else can extend it.
    for who in [&stage.bob, &stage.other] {
        assert!(call(&world, who, Tool::GetRequest, named.clone()).await.is_error);
    }

    let cancel = format!("/v1/tasks/{}/cancel", task["task_id"].as_str().unwrap());
    let why = json!({ "reason": "customer called" });
    world.post(&stage.bob.token, &cancel, why).await.expect(202);
    let read = call(&world, &stage.bot, Tool::GetRequest, named.clone()).await.done();
    let alert = &read["alerts"][0];
    assert_eq!(alert["code"], "abort_requested", "{read}");
    assert!(alert["reason"].as_str().unwrap().contains("customer called"), "{alert}");
    assert_eq!(read["next_action"]["tool"], "finish_change", "{read}");

    let mut report = ids_of(&started);
    report["outcome"] = json!("cancelled");
    report["error"] = json!("stopped as asked");
    report["left_behind"] = json!("nothing");
    let finished = call(&world, &stage.bot, Tool::FinishChange, report).await.done();
    assert_eq!(finished["outcome"], "cancelled", "{finished}");
    let read = call(&world, &stage.bot, Tool::GetRequest, named).await.done();
    assert_eq!(read["alerts"][0]["code"], "lease_lost", "{read}");
}

#[tokio::test]
async fn mcp_locks_over_http_are_extended_and_report_a_break() {
    let world = World::new().await;
    let stage = stage(&world).await;
    let wanted = json!({ "resources": ["database:acme"], "timeout_seconds": 120 });
    let held = call(&world, &stage.bot, Tool::AcquireLocks, wanted.clone()).await.done();
    assert_eq!(held["extend_within_seconds"], 120, "{held}");
    let mut again = wanted;
    again["lease_id"] = held["lease_id"].clone();
    let extended = call(&world, &stage.bot, Tool::AcquireLocks, again.clone()).await.done();
    assert_eq!(extended["fence"], held["fence"], "the same lease: {extended}");
    assert!(extended.get("alerts").is_none(), "{extended}");
    let path = "/v1/locks/database/acme/break";
    world.post(&world.admin.token, path, json!({ "reason": "incident 7" })).await.expect(200);
    let lost = call(&world, &stage.bot, Tool::AcquireLocks, again).await;
    let words = lost.facts.to_string();
    assert!(lost.is_error && words.contains("lease_lost"), "{words}");
}

#[tokio::test]
async fn mcp_change_of_a_rejected_request_is_refused_with_its_reason() {
    let world = World::new().await;
    let stage = stage(&world).await;
    let asked = call(&world, &stage.bot, Tool::RequestApproval, request_of("No")).await.done();
    world.work("review_opener").await;
    let task = world.task(&stage.rea, &json!({ "id": asked["task_id"] })).await;
    let mut vote = seen(&task);
    vote["reason"] = json!("not on a Friday");
    let path = format!("{}/reject", path_of(&task));
    world.post(&stage.rea.token, &path, vote).await.expect(200);
    let named = json!({ "task_id": asked["task_id"] });
    let refused = call(&world, &stage.bot, Tool::StartChange, named.clone()).await;
    let refused = refused.refused("wrong_state");
    assert_eq!(refused["decision"]["reason"], "not on a Friday", "{refused}");
    let read = call(&world, &stage.bot, Tool::GetRequest, named).await.done();
    assert_eq!(read["decision"]["reason"], "not on a Friday", "{read}");
    assert!(read["next_action"].get("tool").is_none(), "{read}");
}

#[tokio::test]
async fn mcp_request_under_review_says_what_blocks_it() {
    let world = World::new().await;
    let stage = stage(&world).await;
    let asked = call(&world, &stage.bot, Tool::RequestApproval, request_of("Soon")).await.done();
    world.work("review_opener").await;
    let named = json!({ "task_id": asked["task_id"] });
    let read = call(&world, &stage.bot, Tool::GetRequest, named.clone()).await.done();
    assert_eq!(read["blocked_by"][0]["code"], "approvals_missing", "{read}");
    assert_eq!(read["changes"][0]["summary"], "one column", "{read}");
    let early = call(&world, &stage.bot, Tool::StartChange, named.clone()).await.done();
    assert_eq!(
        (&early["permit"], &early["next_action"]["tool"]),
        (&Value::Null, &json!("wait_for_decision")),
        "{early}"
    );
    let withdrawn = call(&world, &stage.bot, Tool::WithdrawRequest, named).await.done();
    assert_eq!(withdrawn["state"], "CANCELLED", "{withdrawn}");
    assert!(withdrawn["next_action"].get("tool").is_none(), "{withdrawn}");
}

/// The text for models is true: it names every tool, and only calls and pages that exist.
#[tokio::test]
async fn llms_text_names_every_tool_and_only_real_routes() {
    let world = World::new().await;
    let response = world.rig.get("/llms.txt").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    let text = response.text().await.unwrap();
    for tool in Tool::ALL {
        assert!(text.contains(&format!("`{}`", tool.name())), "{tool:?} is missing");
    }
    let routes = http::build(shared(&[])).unwrap().routes;
    let calls = text.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(" /"));
    let links = text.split("](/").skip(1).filter_map(|link| link.split(')').next());
    let named: Vec<(&str, String)> = calls
        .chain(links.map(|path| ("GET", path)))
        .map(|(method, path)| (method, format!("/{}", path.split('?').next().unwrap())))
        .collect();
    assert!(named.len() >= 8, "{named:?}");
    for (method, path) in named {
        let is_it = |route: &http::routes::Route| route.method == method && route.path == path;
        assert!(routes.iter().any(is_it), "{method} {path} does not exist");
    }
}

/// Votes are bound to a digest; a reviewer who reads a request with a tool sees all that it covers.
#[tokio::test]
async fn mcp_read_by_a_reviewer_has_all_that_the_digest_covers() {
    let world = World::new().await;
    let stage = stage(&world).await;
    let samples: Vec<[String; 2]> =
        serde_json::from_str(include_str!("../../../core/samples/spoofing.json")).unwrap();
    let texts: Vec<&String> =
        samples.iter().map(|[text, _]| text).filter(|text| !text.contains('\0')).collect();
    let change = |text: &&String| {
        json!({
            "resource": "database:acme", "action": "change", "irreversible": false,
            "summary": text, "before": text, "after": { "value": text }
        })
    };
    let body = json!({
        "title": "Hide something", "type": "acme.hide", "submit": true,
        "parameters": { "texts": texts, "long": "x".repeat(20_000) },
        "resources": [{ "resource": "database:acme", "mode": "shared" }],
        "plan": { "changes": texts.iter().map(change).collect::<Vec<_>>(), "warnings": ["slow"] }
    });
    let task = world.post(&stage.bot.token, "/v1/tasks", body).await.expect(201);
    let read = json!({ "task_id": task["id"] });
    let read = call(&world, &stage.rea, Tool::GetRequest, read).await.done();
    let effect = &task["effect"];
    for (name, covered) in [
        ("type", &task["type"]),
        ("digest", &task["digest"]),
        ("revision", &task["revision"]),
        ("parameters", &task["parameters"]),
        ("resources", &task["resources"]),
        ("origin", &effect["origin"]),
        ("changes", &effect["changes"]),
    ] {
        assert!(!covered.is_null() && read[name] == *covered, "{name} of {read}");
    }
    for warning in effect["warnings"].as_array().unwrap() {
        assert!(read["warnings"].as_array().unwrap().contains(warning), "{read}");
    }
    assert_eq!(read["parameters"]["texts"].as_array().unwrap().len(), texts.len());
}
