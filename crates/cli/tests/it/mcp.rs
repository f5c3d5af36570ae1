//! `ade mcp` with an independent host: the official SDK of another language over standard input and
//! output, without a model. A person approves while it waits.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use ade_testkit::eventually;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::installation::{Installation, SOON, ended};

const HOST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/it/programs/mcp_client.py");
/// The number of waits that time out before the vote.
const PATIENCE: usize = 2;

/// The Python SDK, which CI installs; without it the test reports that it was skipped.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("ADE_TOOLS").map(|tools| PathBuf::from(tools).join("python"));
    if python.is_none() {
        eprintln!("ADE_TOOLS is not set: no other SDK has spoken with this program");
    }
    python
}

fn request() -> Value {
    json!({
        "title": "By a host", "type": "command.run", "parameters": { "n": 1 },
        "resources": [{ "resource": "host:a", "mode": "shared" }],
        "changes": [{
            "resource": "host:a", "action": "add", "irreversible": false, "summary": "a file"
        }]
    })
}

struct Host {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(one: &Installation, python: PathBuf, mode: &str) -> Self {
        let own = json!({
            "wait_for_decision": { "wait_seconds": 1 },
            "start_change": { "wait_seconds": 5 },
            "finish_change": { "outcome": "succeeded", "output": "done" },
        });
        let mut command = Command::new(python);
        command.arg(HOST).arg(env!("CARGO_BIN_EXE_ade")).arg(mode);
        command.arg(request().to_string()).arg(own.to_string());
        command.env("ADE_SERVER", &one.url).env("ADE_TOKEN", &one.agent).env("OPENS_PAGES", "yes");
        command.env("HOME", one.home()).current_dir(one.home()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    async fn line(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn go_on(&mut self) {
        self.input.write_all(b"\n").await.unwrap();
    }

    /// Lets the host work until it has called this tool, and approves its request meanwhile.
    /// Returns everything that it said.
    async fn until(&mut self, one: &Installation, tool: &str) -> Vec<Value> {
        let mut said: Vec<Value> = Vec::new();
        while let Some(line) = self.line().await {
            said.push(line);
            let waits = said.iter().filter(|line| line["called"] == "wait_for_decision").count();
            let last = &said[said.len() - 1];
            if last["called"] == tool {
                return said;
            }
            if waits == PATIENCE && last["facts"]["timed_out"] == true {
                one.answer("approve", "fine").await;
            }
            if last["page"].is_null() {
                self.go_on().await;
            }
        }
        panic!("{said:?}\n{}", self.error().await);
    }

    async fn ended(mut self) {
        self.go_on().await;
        let error = self.error().await;
        assert!(self.child.wait().await.unwrap().success(), "{error}");
    }

    async fn error(&mut self) -> String {
        let mut error = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut error).await.unwrap();
        error
    }
}

async fn lived(mode: &str) {
    let Some(python) = python() else { return };
    let one = Installation::start().await;
    one.calm().await;
    let mut host = Host::start(&one, python, mode);
    let said = host.until(&one, "finish_change").await;
    host.ended().await;
    assert_eq!(said[0]["version"], mode_version(mode));
    let finished = &said[said.len() - 1]["facts"];
    let task = finished["task_id"].as_str().unwrap();
    let pages: Vec<&str> = said.iter().filter_map(|line| line["page"].as_str()).collect();
    assert_eq!(pages, [format!("{}/tasks/{task}", one.url)], "{said:?}");
    assert_eq!(one.task(task).await["state"], "COMPLETED", "{said:?}");
}

fn mode_version(mode: &str) -> &str {
    if mode == "legacy" { "2025-11-25" } else { mode }
}

#[tokio::test]
async fn mcp_with_a_handshake_runs_a_task_over_stdio() {
    lived("legacy").await;
}

#[tokio::test]
async fn mcp_without_a_handshake_runs_a_task_over_stdio() {
    lived("2026-07-28").await;
}

/// The host does nothing while it works, and its attempt stays alive.
#[tokio::test]
async fn mcp_over_stdio_keeps_a_started_change_alive() {
    let Some(python) = python() else { return };
    let one = Installation::start().await;
    one.calm().await;
    // A lease of nine seconds gets a heartbeat every three seconds.
    let short = "lock: {default_ttl_seconds: 9, max_ttl_seconds: 300, \
                 heartbeat_interval_seconds: 3}\n";
    fs::write(one.home().join("timeouts.yaml"), short).unwrap();
    let set = ["timeouts", "set", "-f", "timeouts.yaml", "--reason", "quick"];
    ended(one.ade_as(&one.admin, &set)).await.with(0);
    let mut host = Host::start(&one, python, "2026-07-28");
    let said = host.until(&one, "start_change").await;
    let permit = &said[said.len() - 1]["facts"]["permit"];
    assert!(permit.get("extend_within_seconds").is_none(), "{permit}");
    let expiry = async || {
        let leases = one.get("/v1/leases").await;
        let lease = leases["items"].as_array().unwrap().first().cloned();
        lease.map(|lease| lease["expires_at"].as_str().unwrap().to_owned())
    };
    let mut last = expiry().await.unwrap();
    for _ in 0..2 {
        last = eventually("the lease is extended", SOON, async || {
            expiry().await.filter(|now| *now > last).ok_or_else(|| last.clone())
        })
        .await;
    }
    host.go_on().await;
    let finished = host.line().await.unwrap();
    assert_eq!(finished["facts"]["outcome"], "succeeded", "{finished}");
    host.ended().await;
}

#[tokio::test]
async fn mcp_without_input_names_the_help() {
    let one = Installation::start().await;
    let mut command = one.ade(&["mcp"]);
    command.stdin(Stdio::null());
    let done = ended(command).await.with(1);
    done.says("ade mcp --help");
}
