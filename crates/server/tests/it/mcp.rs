//! The door for agents that speak the Model Context Protocol: every tool as everybody, what the
//! other tenant learns, what is refused before a tool is asked, and a whole life by tools.

use std::collections::BTreeSet;

use ade_core::access::Class;
use ade_mcp::Tool;
use ade_server::http;
use ade_server::http::routes::Door;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::executions::runner;
use crate::rig::{settings, shared};
use crate::world::{Person, World, plan};

cases! {
    a_host_lists_the_tools_and_calls_them: Happy "POST /mcp";
    who_shows_no_token_is_told_what_is_wanted:
        Denied "POST /mcp",
        Happy "GET /.well-known/oauth-protected-resource";
}

const OTHER_TASK: &str = "task_01k9xq3vb8f2n4s6t7w8y9z0ab";
const OTHER_LEASE: &str = "lease_01k9xq3vb8f2n4s6t7w8y9z0ab";
const OTHER_EXECUTION: &str = "exec_01k9xq3vb8f2n4s6t7w8y9z0ab";

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

async fn ask(world: &World, token: &str, method: &str, params: Value) -> Value {
    world.post(token, "/mcp", message(method, &params)).await.expect(200)
}

/// What a tool answered: facts, and whether it was a refusal.
struct Told {
    facts: Value,
    is_error: bool,
}

impl Told {
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

async fn call(world: &World, who: &Person, tool: Tool, arguments: Value) -> Told {
    let params = json!({ "name": tool.name(), "arguments": arguments });
    let answer = ask(world, &who.token, "tools/call", params).await;
    let result = &answer["result"];
    let facts = result["structuredContent"].clone();
    let next = facts["next_action"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(!next.is_empty(), "{answer}");
    // The last words of every answer.
    let last = result["content"].as_array().unwrap().last().unwrap();
    assert_eq!(last["text"], format!("next_action: {next}"), "{answer}");
    Told { facts, is_error: result["isError"] == true }
}

async fn a_host_lists_the_tools_and_calls_them(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }
    });
    let hello = ask(world, &bot.token, "initialize", hello).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
    let listed = ask(world, &bot.token, "tools/list", json!({})).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(name_of).collect();
    assert_eq!(names, Tool::ALL.map(Tool::name));
    let task = call(world, &bot, Tool::ProposeTask, json!({ "task": plan("By tool") })).await;
    let task = task.done();
    assert_eq!((&task["state"], &task["agent"]), (&json!("SUBMITTED"), &json!(bot.id)));
    let page = format!("https://ade.example.org/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(task["review_page"], page);
}

fn name_of(tool: &Value) -> &str {
    assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    tool["name"].as_str().unwrap()
}

async fn who_shows_no_token_is_told_what_is_wanted(world: &World) {
    let body = message("tools/list", &json!({}));
    world.post("", "/mcp", body.clone()).await.refused(401, "unauthenticated");
    // A token of another server is none here, whoever signed it.
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

/// Every call of every tool is a route whose class the tool declares, or a read; and no class
/// of a tool is one that decides.
#[tokio::test]
async fn the_class_of_a_tool_is_the_class_of_its_routes() {
    let routes = http::build(shared(&[])).unwrap().routes;
    for tool in Tool::ALL {
        let class = Class::from(tool.class());
        assert!(class.is_open_to_agents(), "{tool:?}");
        let mut classes = BTreeSet::new();
        for line in tool.calls() {
            let is_it =
                |route: &&http::routes::Route| format!("{} {}", route.method, route.path) == *line;
            let route = routes.iter().find(is_it).unwrap_or_else(|| panic!("{tool:?}: {line}"));
            let Door::Class(of_route) = route.door else { panic!("{tool:?}: {line} is open") };
            assert!(of_route == class || of_route == Class::Read, "{tool:?}: {line}");
            classes.insert(of_route);
        }
        assert!(classes.contains(&class), "{tool:?}");
    }
}

/// Who of the tenant gets an answer that is no refusal. The task is Bob's, proposed by his agent.
const TABLE: [(Tool, &str); 11] = [
    (Tool::ProposeTask, "agent author admin"),
    (Tool::GetTask, "agent author reviewer admin"),
    (Tool::WaitForTask, "agent author reviewer admin"),
    (Tool::AmendTask, "agent author admin"),
    (Tool::CancelTask, "agent author admin"),
    (Tool::AcquireLocks, "agent"),
    (Tool::Heartbeat, "agent"),
    (Tool::ReleaseLocks, "agent"),
    (Tool::ClaimPermit, "agent"),
    (Tool::ReportResult, "agent"),
    (Tool::ExplainTask, "agent author reviewer admin"),
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

/// Arguments about something of the tenant that a tool could act on.
async fn arguments(world: &World, stage: &Stage, tool: Tool, round: usize) -> Value {
    let title = format!("acme {} {round}", tool.name());
    let mut own = plan(&title);
    own["resources"] = json!([{ "resource": format!("database:acme-{round}-{}", tool.name()) }]);
    own["plan"]["changes"][0]["resource"] = own["resources"][0]["resource"].clone();
    match tool {
        Tool::ProposeTask => json!({ "task": own }),
        Tool::AcquireLocks => {
            json!({ "resources": [{ "type": "database", "id": title.replace(' ', "-") }] })
        }
        Tool::Heartbeat | Tool::ReleaseLocks => {
            let lock = json!({ "type": "database", "id": title.replace(' ', "-") });
            let asked = json!({ "resources": [lock], "ttl": "300s" });
            let lease = world.post(&stage.bot.token, "/v1/locks/acquire", asked).await.expect(200);
            match tool {
                Tool::Heartbeat => json!({ "leases": [lease["lease"]] }),
                _ => json!({ "lease": lease["lease"] }),
            }
        }
        Tool::ClaimPermit | Tool::ReportResult => {
            let task = world.post(&stage.bot.token, "/v1/tasks", own).await.expect(201);
            world.submit(&stage.bot, &task).await;
            world.work("review_opener").await;
            let task = world.task(&stage.bob, &task).await;
            let request = world.request(&stage.rea, &task).await;
            world.approve(&stage.rea, &task, &request).await;
            if tool == Tool::ClaimPermit {
                return json!({ "task": task["id"] });
            }
            let permit = call(world, &stage.bot, Tool::ClaimPermit, json!({ "task": task["id"] }));
            let permit = permit.await.done()["permit"].clone();
            let [execution, lease] = ["execution", "lease"].map(|name| permit[name].clone());
            json!({ "execution": execution, "lease": lease, "outcome": "finished" })
        }
        Tool::GetTask
        | Tool::WaitForTask
        | Tool::AmendTask
        | Tool::CancelTask
        | Tool::ExplainTask => {
            let task = world.post(&stage.bot.token, "/v1/tasks", own).await.expect(201);
            let (id, version) = (task["id"].clone(), task["version"].clone());
            match tool {
                Tool::AmendTask => {
                    json!({ "task": id, "version": version, "changes": { "tags": ["x"] } })
                }
                Tool::CancelTask => json!({ "task": id, "version": version }),
                _ => json!({ "task": id }),
            }
        }
    }
}

/// The same question about what does not exist.
fn absent(mut arguments: Value) -> Value {
    for (name, nothing) in
        [("task", OTHER_TASK), ("lease", OTHER_LEASE), ("execution", OTHER_EXECUTION)]
    {
        if arguments[name].is_string() {
            arguments[name] = json!(nothing);
        }
    }
    if arguments["leases"].is_array() {
        arguments["leases"] = json!([OTHER_LEASE]);
    }
    arguments
}

/// How often each route within the API has been called so far, tools included.
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

#[tokio::test]
async fn every_tool_obeys_the_table_and_none_decides() {
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
            let told = call(&world, person, tool, asked).await;
            let made = counted(&world).await;
            let made: Vec<&String> =
                made.iter().filter(|one| !before.contains(*one)).map(|(route, _)| route).collect();
            let is_listed = |route: &&String| tool.calls().contains(&&***route);
            assert!(!made.is_empty() && made.iter().all(is_listed), "{tool:?} calls {made:?}");
            let is_allowed = allowed.split(' ').any(|name| name == who);
            assert_eq!(!told.is_error, is_allowed, "{tool:?} as {who}: {}", told.facts);
            assert_eq!(world.database.number(VOTES).await, votes, "{tool:?} voted as {who}");
        }
    }
}

#[tokio::test]
async fn another_tenant_learns_nothing_by_any_tool() {
    let world = World::new().await;
    let stage = stage(&world).await;
    for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::ProposeTask) {
        let asked = arguments(&world, &stage, tool, 9).await;
        let nothing = absent(asked.clone());
        let told = call(&world, &stage.other, tool, asked.clone()).await;
        let of_nothing = call(&world, &stage.other, tool, nothing).await;
        let strip = |told: &Told| {
            let mut facts = told.facts.clone();
            facts.as_object_mut().unwrap().remove("request_id");
            facts.as_object_mut().unwrap().remove("lease");
            (told.is_error, facts)
        };
        assert_eq!(strip(&told), strip(&of_nothing), "{tool:?}");
        let words = told.facts.to_string();
        let asked = asked.to_string();
        for word in ["acme-bob", "acme-rea", &stage.bob.id, &stage.bot.id] {
            assert!(
                asked.contains(word) || !words.contains(word),
                "{tool:?} tells {word}: {words}"
            );
        }
    }
}

#[tokio::test]
async fn a_proposal_that_is_sent_again_is_the_same() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let asked = json!({ "task": plan("Once"), "repeat_key": "once" });
    let first = call(&world, &bot, Tool::ProposeTask, asked.clone()).await.done();
    let again = call(&world, &bot, Tool::ProposeTask, asked).await.done();
    assert_eq!(first["id"], again["id"]);
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 1);
    let other = json!({ "task": plan("Twice"), "repeat_key": "once" });
    let refused = call(&world, &bot, Tool::ProposeTask, other).await;
    refused.refused("idempotency_key_reused");
}

#[tokio::test]
async fn what_is_no_call_of_a_tool_is_refused_with_what_to_do() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    // Two readers could read two things.
    let twice = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"method\":\"ping\"}";
    let request = world.rig.json("/mcp", twice).bearer_auth(&bot.token);
    let refused: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["code"], "malformed_body", "{refused}");
    // By a name that a page has made up, and from a page that nobody allowed.
    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let list = message("tools/list", &json!({}));
        let answer = world.send("POST", &bot.token, "/mcp", Some(list), &[(name, value)]).await;
        answer.refused(403, "origin_refused");
    }
    world.get(&bot.token, "/mcp").await.refused(405, "method_not_allowed");
    let none = ask(&world, &bot.token, "tools/call", json!({ "name": "approve_task" })).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
    let guess = json!({ "task": OTHER_TASK, "force": true });
    let guess = call(&world, &bot, Tool::GetTask, guess).await.refused("invalid_body");
    assert!(guess["detail"].as_str().unwrap().contains("force"), "{guess}");
    let long = json!({ "task": OTHER_TASK, "seconds": 56 });
    call(&world, &bot, Tool::WaitForTask, long).await.refused("invalid_body");
    let found = call(&world, &bot, Tool::GetTask, json!({ "task": OTHER_TASK })).await;
    found.refused("not_found");
}

#[tokio::test]
async fn a_server_is_called_by_the_names_that_its_settings_give_it() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rig = world.beside_with(settings(&[("hosts", "ade.internal")])).await;
    let list = message("tools/list", &json!({})).to_string();
    let request = rig.json("/mcp", list).bearer_auth(&bob.token).header("host", "ade.internal");
    assert_eq!(request.send().await.unwrap().status(), 200);
}

/// The audit names the caller and where they are, not the server that passed the call on.
#[tokio::test]
async fn what_a_tool_did_is_written_down_as_the_callers_own() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let params = json!({ "name": "propose_task", "arguments": { "task": plan("Seen") } });
    let body = Some(message("tools/call", &params));
    let named = [("user-agent", "host/7")];
    let answer = world.send("POST", &bot.token, "/mcp", body, &named).await.expect(200);
    let task = answer["result"]["structuredContent"]["id"].as_str().unwrap().to_owned();
    let leaves = world.get(&world.admin.token, &format!("/v1/audit?object={task}")).await;
    let leaves = leaves.expect(200);
    let first = &leaves["items"].as_array().unwrap().last().unwrap().to_string();
    assert!(first.contains(&bot.id) && first.contains("host/7"), "{first}");
    assert!(first.contains("127.0.0.1"), "{first}");
}
