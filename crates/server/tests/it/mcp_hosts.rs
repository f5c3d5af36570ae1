//! `/mcp` as a host meets it that we did not write: the official SDK of another language, in the
//! protocol with a handshake and in the one without. A person approves while it waits.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::executions::runner;
use crate::world::{Person, World, plan};

const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/mcp_client.py");
/// The vote comes after this many waits in vain.
const PATIENCE: u64 = 2;

/// CI has it; whoever has not is told.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("ADE_TOOLS").map(|tools| PathBuf::from(tools).join("python"));
    if python.is_none() {
        eprintln!("ADE_TOOLS is not set: no other SDK has spoken with this server");
    }
    python
}

/// Plays the person for a host that lives the life of one task; what the host said.
async fn host(world: &World, python: PathBuf, mode: &str, opens_pages: bool) -> Vec<Value> {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(world, "bot", &bob).await;
    let mut command = Command::new(python);
    command.arg(HOST).arg(world.rig.url("/mcp")).arg(mode).arg(plan("By a host").to_string());
    command.env("ADE_TOKEN", &bot.token).env_remove("OPENS_PAGES");
    if opens_pages {
        command.env("OPENS_PAGES", "yes");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    let mut task = Value::Null;
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        said.push(line.clone());
        if line["proposed"].is_string() {
            task = json!({ "id": line["proposed"] });
            world.work("review_opener").await;
            input.write_all(b"\n").await.unwrap();
        } else if let Some(polls) = line["polled"].as_u64() {
            if polls == PATIENCE {
                approve(world, &rea, &task).await;
            }
            input.write_all(b"\n").await.unwrap();
        }
    }
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{said:?}\n{error}");
    said
}

async fn approve(world: &World, reviewer: &Person, task: &Value) {
    let task = world.task(reviewer, task).await;
    let request = world.request(reviewer, &task).await;
    world.approve(reviewer, &task, &request).await;
}

async fn lived(mode: &str, version: &str) {
    let Some(python) = python() else { return };
    let world = World::new().await;
    let said = host(&world, python, mode, false).await;
    assert_eq!(said[0], json!({ "listed": 11, "version": version }));
    let waits: Vec<&Value> = said.iter().filter(|line| line["polled"].is_u64()).collect();
    assert_eq!(waits.len(), 3, "{said:?}");
    for wait in &waits[..2] {
        assert_eq!((&wait["state"], &wait["timed_out"]), (&json!("REVIEWING"), &json!(true)));
    }
    assert_eq!(waits[2]["state"], "APPROVED");
    assert_eq!(said.last().unwrap(), &json!({ "ended": "COMPLETED", "polls": 3 }));
}

#[tokio::test]
async fn a_host_with_a_handshake_lives_a_task_across_three_waits() {
    lived("legacy", "2025-11-25").await;
}

#[tokio::test]
async fn a_host_without_a_handshake_lives_a_task_across_three_waits() {
    lived("2026-07-28", "2026-07-28").await;
}

#[tokio::test]
async fn a_host_that_opens_pages_is_handed_the_review_page_and_proposes_once() {
    let Some(python) = python() else { return };
    let world = World::new().await;
    let said = host(&world, python, "2026-07-28", true).await;
    let page = said.iter().find_map(|line| line["page"].as_str()).unwrap();
    let task = said.iter().find_map(|line| line["proposed"].as_str()).unwrap();
    assert!(page.ends_with(&format!("/tasks/{task}")), "{page}");
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 1);
    assert_eq!(said.last().unwrap()["ended"], "COMPLETED");
}
