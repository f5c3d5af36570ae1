//! `ade mcp` as a host meets it that we did not write: the official SDK of another language over
//! standard input and output. A person approves while it waits.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::installation::{Installation, ended};

const HOST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/it/programs/mcp_client.py");
/// The vote comes after this many waits in vain.
const PATIENCE: u64 = 2;

/// CI has it; whoever has not is told.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("ADE_TOOLS").map(|tools| PathBuf::from(tools).join("python"));
    if python.is_none() {
        eprintln!("ADE_TOOLS is not set: no other SDK has spoken with this program");
    }
    python
}

fn proposal() -> Value {
    json!({
        "title": "By a host", "type": "command.run", "parameters": { "n": 1 },
        "resources": [{ "resource": "host:a", "mode": "shared" }],
        "plan": { "changes": [{
            "resource": "host:a", "action": "add", "irreversible": false, "summary": "a file"
        }] }
    })
}

async fn host(one: &Installation, python: PathBuf, mode: &str) -> Vec<Value> {
    let mut command = Command::new(python);
    command.arg(HOST).arg(env!("CARGO_BIN_EXE_ade")).arg(mode).arg(proposal().to_string());
    command.env("ADE_SERVER", &one.url).env("ADE_TOKEN", &one.agent).env("OPENS_PAGES", "yes");
    command.env("HOME", one.home()).current_dir(one.home()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["polled"] == PATIENCE {
            one.answer("approve", "fine").await;
        }
        if line["proposed"].is_string() || line["polled"].is_u64() {
            input.write_all(b"\n").await.unwrap();
        }
        said.push(line);
    }
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{said:?}\n{error}");
    said
}

async fn lived(mode: &str) {
    let Some(python) = python() else { return };
    let one = Installation::start().await;
    one.calm().await;
    let said = host(&one, python, mode).await;
    assert_eq!(said[0], json!({ "listed": 11, "version": mode_version(mode) }));
    let task = said.iter().find_map(|line| line["proposed"].as_str()).unwrap();
    let pages: Vec<&str> = said.iter().filter_map(|line| line["page"].as_str()).collect();
    assert_eq!(pages, [format!("{}/tasks/{task}", one.url)], "{said:?}");
    let ended = said.last().unwrap();
    assert_eq!(ended["ended"], "COMPLETED", "{said:?}");
    assert!(ended["polls"].as_u64().unwrap() > PATIENCE, "{said:?}");
}

fn mode_version(mode: &str) -> &str {
    if mode == "legacy" { "2025-11-25" } else { mode }
}

#[tokio::test]
async fn a_host_with_a_handshake_lives_a_task_over_standard_input() {
    lived("legacy").await;
}

#[tokio::test]
async fn a_host_without_a_handshake_lives_a_task_over_standard_input() {
    lived("2026-07-28").await;
}

#[tokio::test]
async fn a_host_that_speaks_something_else_is_told() {
    let one = Installation::start().await;
    let mut command = one.ade(&["mcp"]);
    command.stdin(Stdio::null());
    let done = ended(command).await.with(1);
    done.says("ade mcp --help");
}
