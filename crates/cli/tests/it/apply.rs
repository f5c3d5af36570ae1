//! `ade run` from the permit on: what its command is given, how it is kept in bounds, and what
//! becomes of it when a person, the lock or the server ends it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ade_testkit::process::Process;
use ade_testkit::{Proxy, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::installation::{Ended, Installation, SOON};
use crate::run::{finish, run, signal, text};
use crate::terminal::{CTRL_C, Terminal};

/// A third of it passes until the next heartbeat tells what has happened, and a starved machine
/// may be late with one.
const TTL: &str = "9s";
/// Short, for a test that waits for its end.
const SHORT: &str = "2s";
/// Goes on until it is ended.
const ENDLESS: &str = "echo $$ > pid; while :; do sleep 0.05; done";
/// The same, and neither a question nor a key moves it.
const STUBBORN: &str = "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done";

fn shell<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let all = [&["--ttl", TTL], options].concat();
    run(&all, &["sh", "-c", script])
}

fn shell_for<'a>(ttl: &'a str, script: &'a str) -> Vec<&'a str> {
    run(&["--ttl", ttl], &["sh", "-c", script])
}

/// The command that wrote its number there, and that must be gone.
async fn is_gone(home: &Path) {
    let pid = has_begun(home).await;
    eventually("the command is gone", SOON, async || match Process::of(pid) {
        None => Ok(()),
        Some(process) => Err(format!("{process:?} runs on")),
    })
    .await;
}

/// Approved, and the command has said that it runs.
async fn running(at: &Installation, mut command: Command) -> (Child, Value) {
    let child = command.spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    has_begun(at.home()).await;
    (child, task)
}

/// The command has written its number; it is whole once there is a line's end.
async fn has_begun(home: &Path) -> i32 {
    eventually("the command runs", SOON, async || {
        let text = fs::read_to_string(home.join("pid")).unwrap_or_default();
        text.strip_suffix('\n').and_then(|pid| pid.parse().ok()).ok_or("no pid yet")
    })
    .await
}

async fn attempts(at: &Installation, task: &Value) -> Vec<Value> {
    let path = format!("/v1/tasks/{}/executions", text(&task["id"]));
    at.get(&path).await["items"].as_array().unwrap().clone()
}

/// The task came to this state after one attempt, which ended so.
async fn one_attempt(at: &Installation, task: &Value, state: &str) -> Value {
    let id = text(&task["id"]);
    assert_eq!(at.task(id).await["state"], state);
    let attempts = attempts(at, task).await;
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    attempts[0].clone()
}

#[tokio::test]
async fn a_command_runs_once_people_have_agreed_and_knows_its_fences() {
    let at = Installation::start().await;
    let script = "env | grep ^ADE_ | sort; cat; echo aside >&2";
    let mut command = at.ade(&shell(&["--resource", "database:a-b=shared"], script));
    command.env("ADE_FENCE_HOST_OLD", "1").stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"what it was fed\n").await.unwrap();
    let task = at.answer("approve", "go on").await;
    let ended = finish(child).await.with(0);
    let printed: Vec<&str> = ended.out.lines().collect();
    let value = |name: &str| {
        let line = printed.iter().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("{name} is not in {printed:?}"))
    };
    assert_eq!(value("ADE_TASK"), text(&task["id"]));
    let token: u64 = value("ADE_TOKEN_FENCE").parse().unwrap();
    let fences: Value = serde_json::from_str(value("ADE_FENCES")).unwrap();
    assert_eq!(fences["host:a"].to_string(), value("ADE_FENCE_HOST_A"));
    assert_eq!(fences["database:a-b"].to_string(), value("ADE_FENCE_DATABASE_A_B"));
    assert_eq!(value("ADE_RECEIPT").split('.').count(), 3, "a compact JWS");
    assert!(!ended.out.contains("ADE_FENCE_HOST_OLD"), "left over from another run");
    assert!(!ended.out.contains("lease_") && !ended.out.contains(&at.agent), "{}", ended.out);
    assert_eq!(printed.last(), Some(&"what it was fed"));
    ended.says("aside\n").says("[ade] approved").says("[ade] applying");
    ended.says("[ade] completed  task_");

    let attempt = one_attempt(&at, &task, "COMPLETED").await;
    assert_eq!((&attempt["result"], &attempt["token"]), (&json!("success"), &json!(token)));
    assert_eq!(attempt["id"], value("ADE_EXECUTION"));
    assert_eq!(attempt["details"], json!({ "exit_code": 0 }));
    assert!(attempt["output"].as_str().unwrap().contains("what it was fed\n"), "{attempt}");
    let log = at.get(&format!("/v1/executions/{}/log", text(&attempt["id"]))).await;
    let lines: Vec<(&str, &str)> = log["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (text(&line["stream"]), text(&line["text"])))
        .collect();
    assert!(lines.contains(&("stdout", "what it was fed")), "{lines:?}");
    assert!(lines.contains(&("stderr", "aside")), "{lines:?}");
    assert_eq!(lines.last().unwrap().0, "note", "{lines:?}");
}

#[tokio::test]
async fn a_command_that_fails_passes_its_code_on_and_leaves_something_behind() {
    let at = Installation::start().await;
    let child = at.ade(&shell(&[], "echo half; exit 3")).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(3).prints("half\n").says("[ade] failed  the command ended with 3");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!((&attempt["result"], &attempt["left"]), (&json!("failure"), &json!("changed")));
    assert_eq!(attempt["details"], json!({ "exit_code": 3 }));
}

#[tokio::test]
async fn a_command_that_cannot_be_started_has_changed_nothing() {
    let at = Installation::start().await;
    fs::write(at.home().join("no-program"), "").unwrap();
    let child = at.ade(&run(&["--ttl", TTL], &["./no-program"])).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(126).says("cannot be started");
    // It had begun; nobody will try it again.
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["left"], "nothing");
    let missing = at.ade(&run(&[], &["no-such-command"])).spawn().unwrap();
    finish(missing).await.with(127).says("there is no `no-such-command` here");
    assert_eq!(at.get("/v1/tasks").await["items"].as_array().unwrap().len(), 1, "nobody was asked");
}

#[tokio::test]
async fn one_interrupt_is_handed_to_the_command_and_the_task_has_failed() {
    let at = Installation::start().await;
    let script = "trap 'echo tidied; exit 5' INT; echo $$ > pid; while :; do sleep 0.05; done";
    let (child, task) = running(&at, at.ade(&shell(&[], script))).await;
    signal(&child, Signal::INT);
    finish(child).await.with(5).prints("tidied\n").says("interrupted by SIGINT");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["left"], "changed");
}

#[tokio::test]
async fn on_a_terminal_ctrl_c_once_is_the_commands_and_twice_kills_it() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade(&shell(&[], STUBBORN)));
    terminal.until("may give it").await;
    let task = at.answer("approve", "go on").await;
    let pid = has_begun(at.home()).await;
    terminal.press(CTRL_C).await;
    terminal.until("once more kills it").await;
    // As long as a command is let tidy up that is to be ended.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(Process::of(pid).is_some(), "one is not enough for it");
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(137), "{screen}");
    assert!(screen.contains("✓") && screen.contains("approved"), "{screen}");
    is_gone(at.home()).await;
    one_attempt(&at, &task, "FAILED").await;
}

#[tokio::test]
async fn on_a_terminal_a_command_that_ends_at_ctrl_c_ends_with_130() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade(&shell(&[], ENDLESS)));
    let task = at.answer("approve", "go on").await;
    has_begun(at.home()).await;
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(130), "{screen}");
    one_attempt(&at, &task, "FAILED").await;
}

#[tokio::test]
async fn a_lock_that_an_operator_breaks_ends_the_command_and_all_it_started() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell(&[], STUBBORN))).await;
    at.post(&at.admin, "/v1/locks/host/a/break", json!({ "reason": "an incident" })).await;
    let ended = finish(child).await.with(70);
    ended.says("the lock was lost, and the command was ended").says("next     ade tasks get task_");
    is_gone(at.home()).await;
    assert_ne!(at.task(text(&task["id"])).await["state"], "COMPLETED");
}

#[tokio::test]
async fn a_server_that_is_gone_ends_the_command_in_time() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&shell_for("12s", STUBBORN));
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let (child, task) = running(&at, command).await;
    proxy.cut().await;
    let cut = std::time::Instant::now();
    is_gone(at.home()).await;
    // The last heartbeat was sent before the cut, so its lease is over twelve seconds after it.
    assert!(cut.elapsed() <= Duration::from_secs(12), "{:?}", cut.elapsed());
    finish(child).await.with(70).says("the server has answered no heartbeat");
    let id = text(&task["id"]);
    eventually("nobody knows what it did", SOON, async || {
        let state = at.task(id).await["state"].clone();
        if state == "UNKNOWN" { Ok(()) } else { Err(state.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_away_for_a_moment_is_not_missed() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let mut command = at.ade(&run(&["--ttl", "10s"], &["sh", "-c", script]));
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let (child, task) = running(&at, command).await;
    proxy.cut().await;
    fs::write(at.home().join("go"), "").unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    proxy.heal();
    finish(child).await.with(0).prints("done\n");
    one_attempt(&at, &task, "COMPLETED").await;
}

#[tokio::test]
async fn a_server_that_is_away_while_people_think_is_waited_for() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&shell(&[], "echo done"));
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let child = command.spawn().unwrap();
    at.task_in("REVIEWING").await;
    proxy.cut().await;
    let task = at.answer("approve", "go on").await;
    // Longer than all tries of one call.
    tokio::time::sleep(Duration::from_secs(6)).await;
    proxy.heal();
    finish(child).await.with(0).prints("done\n");
    one_attempt(&at, &task, "COMPLETED").await;
}

#[tokio::test]
async fn whoever_is_stopped_for_longer_than_its_lease_ends_the_command_when_it_goes_on() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell_for(SHORT, STUBBORN))).await;
    signal(&child, Signal::STOP);
    let id = text(&task["id"]);
    eventually("the server has given it up", SOON, async || {
        let state = at.task(id).await["state"].clone();
        if state == "UNKNOWN" { Ok(()) } else { Err(state.to_string()) }
    })
    .await;
    signal(&child, Signal::CONT);
    finish(child).await.with(70);
    is_gone(at.home()).await;
    assert_eq!(at.task(id).await["state"], "UNKNOWN", "a late word changes nothing");
}

#[tokio::test]
async fn a_cancel_while_it_runs_stops_the_command() {
    let at = Installation::start().await;
    let script = "trap 'echo tidied; exit 0' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let (child, task) = running(&at, at.ade(&shell(&[], script))).await;
    let cancel: Ended =
        crate::installation::ended(at.ade(&["tasks", "cancel", text(&task["id"])])).await;
    cancel.with(0).prints("was asked to stop");
    finish(child).await.with(66).prints("tidied\n").says("somebody asked to stop it");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["result"], "cancelled");
}

#[tokio::test]
async fn a_command_that_takes_longer_than_it_may_is_stopped() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell(&["--apply-timeout", "1s"], ENDLESS))).await;
    finish(child).await.with(75).says("it took too long");
    is_gone(at.home()).await;
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["result"], "timeout");
}

#[tokio::test]
async fn an_effect_that_has_changed_since_ends_it_before_it_begins() {
    let at = Installation::start().await;
    let change = r#""resource":"host:a","action":"add","irreversible":false"#;
    let preview = format!("echo '{{\"changes\":[{{{change},\"summary\":\"'$(cat n)'\"}}]}}'");
    fs::write(at.home().join("n"), "one").unwrap();
    let mut command = at.ade(&shell(&["--preview", &preview], "echo run > ran"));
    let child = command.spawn().unwrap();
    at.task_in("REVIEWING").await;
    fs::write(at.home().join("n"), "two").unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(67).says("it would no longer do what people agreed to");
    assert!(!at.home().join("ran").exists(), "nothing was run");
    let now = at.task(text(&task["id"])).await;
    assert!(["SUBMITTED", "REVIEWING"].contains(&text(&now["state"])), "{now}");
    assert_eq!(now["effect"]["changes"][0]["summary"], "two");
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_with_it() {
    let at = Installation::start().await;
    let child = at.ade(&shell(&[], "sleep 300 & echo $! > pid")).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(0).says("processes that the command had left behind");
    is_gone(at.home()).await;
    one_attempt(&at, &task, "COMPLETED").await;
}
