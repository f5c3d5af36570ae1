//! `/mcp` with a third-party host: the official Python SDK, with the protocol version that has a
//! handshake and with the one that has none. The host has no model: it follows what the results
//! say, from the request to its end, while people decide.

use std::path::PathBuf;
use std::process::Stdio;

use ade_mcp::Tool;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::executions::runner;
use crate::mcp::request_of;
use crate::world::{Person, World, path_of, seen};

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/mcp_client.py");
const MODERN: &str = "2026-07-28";

/// The Python of CI. Without it, the tests print a note and are skipped.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("ADE_TOOLS").map(|tools| PathBuf::from(tools).join("python"));
    if python.is_none() {
        eprintln!("ADE_TOOLS is not set: the server is not tested with another SDK");
    }
    python
}

/// A running host, and the people who decide on its request.
struct Host {
    world: World,
    rea: Person,
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// The pages that the host was asked to open.
    pages: Vec<String>,
}

impl Host {
    /// Starts a host for a request, and returns it with what it says first.
    async fn start(python: PathBuf, mode: &str, opens_pages: bool) -> (Self, Value) {
        let world = World::new().await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let bot = runner(&world, "bot", &bob).await;
        let own = json!({
            "wait_for_decision": { "wait_seconds": 1 },
            "revise_request": { "parameters": { "batch": 100 } },
            "finish_change": { "outcome": "succeeded", "output": "done" },
        });
        let mut command = Command::new(python);
        command.arg(HOST).arg(world.rig.url("/mcp")).arg(mode);
        command.arg(request_of("By a host").to_string()).arg(own.to_string());
        command.env("ADE_TOKEN", &bot.token).env_remove("OPENS_PAGES");
        if opens_pages {
            command.env("OPENS_PAGES", "yes");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut host = Self { world, rea, child, input, lines, pages: Vec::new() };
        let first = host.line().await.expect("the host lists the tools");
        (host, first)
    }

    async fn line(&mut self) -> Option<Value> {
        loop {
            let line = self.lines.next_line().await.unwrap()?;
            let line: Value = serde_json::from_str(&line).unwrap();
            match line["page"].as_str() {
                Some(page) => self.pages.push(page.to_owned()),
                None => return Some(line),
            }
        }
    }

    /// Lets the host make its next call, and returns the result of this tool.
    async fn next(&mut self, tool: Tool) -> Value {
        self.input.write_all(b"\n").await.unwrap();
        let Some(line) = self.line().await else { panic!("{}", self.error().await) };
        assert_eq!(line["called"], tool.name(), "{line}");
        line["facts"].clone()
    }

    async fn error(&mut self) -> String {
        let mut error = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut error).await.unwrap();
        error
    }

    /// Asks for approval, and lets people decide after a wait without a decision.
    async fn decided(&mut self, answer: &str) -> Value {
        let asked = self.next(Tool::RequestApproval).await;
        assert_eq!(asked["next_action"]["tool"], "wait_for_decision", "{asked}");
        self.reviewed(&asked, answer).await
    }

    /// Waits without a decision, votes, and returns the result of the wait for it.
    async fn reviewed(&mut self, request: &Value, answer: &str) -> Value {
        self.world.work("review_opener").await;
        let waits = self.next(Tool::WaitForDecision).await;
        assert_eq!((&waits["state"], &waits["timed_out"]), (&json!("REVIEWING"), &json!(true)));
        let page = waits["review_page"].as_str().unwrap();
        assert!(page.ends_with(request["task_id"].as_str().unwrap()), "{waits}");
        let task = self.world.task(&self.rea, &json!({ "id": request["task_id"] })).await;
        let mut vote = seen(&task);
        vote["reason"] = json!("use a batch");
        let path = format!("{}/{answer}", path_of(&task));
        self.world.post(&self.rea.token, &path, vote).await.expect(200);
        let ended = self.next(Tool::WaitForDecision).await;
        assert_eq!(ended["timed_out"], false, "{ended}");
        if answer != "approve" {
            assert_eq!(ended["decision"]["reason"], "use a batch", "{ended}");
        }
        ended
    }

    /// Starts and finishes the change, and asserts that it ended well.
    async fn changed(&mut self) {
        let started = self.next(Tool::StartChange).await;
        assert!(started["permit"]["execution_id"].is_string(), "{started}");
        let finished = self.next(Tool::FinishChange).await;
        assert_eq!(finished["outcome"], "succeeded", "{finished}");
        let task = self.world.task(&self.rea, &json!({ "id": finished["task_id"] })).await;
        assert_eq!(task["state"], "COMPLETED");
    }

    /// Asserts that the host has nothing more to call.
    async fn ended(mut self) -> World {
        self.input.write_all(b"\n").await.unwrap();
        let more = self.line().await;
        let error = self.error().await;
        assert!(self.child.wait().await.unwrap().success(), "{error}");
        assert_eq!(more, None);
        self.world
    }
}

async fn assert_completes_a_change(mode: &str, version: &str) {
    let Some(python) = python() else { return };
    let (mut host, first) = Host::start(python, mode, false).await;
    assert_eq!(first, json!({ "listed": Tool::ALL.map(Tool::name), "version": version }));
    let decided = host.decided("approve").await;
    assert_eq!(decided["state"], "APPROVED", "{decided}");
    host.changed().await;
    host.ended().await;
}

#[tokio::test]
async fn mcp_host_with_a_handshake_completes_a_change() {
    assert_completes_a_change("legacy", "2025-11-25").await;
}

#[tokio::test]
async fn mcp_host_without_a_handshake_completes_a_change() {
    assert_completes_a_change(MODERN, MODERN).await;
}

#[tokio::test]
async fn mcp_host_ends_after_a_rejection() {
    let Some(python) = python() else { return };
    let (mut host, _) = Host::start(python, MODERN, false).await;
    let decided = host.decided("reject").await;
    assert_eq!(decided["state"], "REJECTED", "{decided}");
    let message = decided["next_action"]["message"].as_str().unwrap();
    assert!(message.contains("do not ask for the same one again"), "{message}");
    let world = host.ended().await;
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 1);
}

#[tokio::test]
async fn mcp_host_revises_a_request_and_completes_it() {
    let Some(python) = python() else { return };
    let (mut host, _) = Host::start(python, MODERN, false).await;
    let decided = host.decided("request-changes").await;
    assert_eq!(decided["sub_state"], "CHANGES_REQUESTED", "{decided}");
    let revised = host.next(Tool::ReviseRequest).await;
    assert!(revised["version"].as_u64() > decided["version"].as_u64(), "{revised}");
    let decided = host.reviewed(&revised, "approve").await;
    assert_eq!(decided["state"], "APPROVED", "{decided}");
    host.changed().await;
    host.ended().await;
}

#[tokio::test]
async fn mcp_host_does_not_act_during_a_freeze() {
    let Some(python) = python() else { return };
    let (mut host, _) = Host::start(python, MODERN, false).await;
    let admin = host.world.admin.token.clone();
    let freeze = json!({ "scope": "tenant", "reason": "launch day" });
    let freeze = host.world.post(&admin, "/v1/freezes", freeze).await.expect(201);
    host.decided("approve").await;
    for _ in 0..2 {
        let blocked = host.next(Tool::StartChange).await;
        assert_eq!(blocked["permit"], Value::Null, "{blocked}");
        let gate = &blocked["blocked_by"][0];
        assert_eq!(gate["code"], "frozen", "{blocked}");
        assert!(gate["reason"].as_str().unwrap().contains("launch day"), "{blocked}");
        let message = blocked["next_action"]["message"].as_str().unwrap();
        assert!(message.starts_with("do not act"), "{message}");
    }
    let lift = format!("/v1/freezes/{}", freeze["id"].as_str().unwrap());
    host.world.send("DELETE", &admin, &lift, None, &[]).await.expect(200);
    host.changed().await;
    host.ended().await;
}

#[tokio::test]
async fn mcp_host_that_opens_pages_gets_the_review_page() {
    let Some(python) = python() else { return };
    let (mut host, _) = Host::start(python, MODERN, true).await;
    let decided = host.decided("approve").await;
    let task = decided["task_id"].as_str().unwrap();
    assert!(host.pages[0].ends_with(&format!("/tasks/{task}")), "{:?}", host.pages);
    host.changed().await;
    let world = host.ended().await;
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 1);
}
