//! `ade run` after the permit: the environment of the command, its limits, and how it ends when a
//! person, the lease or the server stops it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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

/// The lease TTL. The next heartbeat comes after a third of it, and a busy machine may be late
/// with one.
const TTL: &str = "9s";
/// A short TTL, for a test that waits for its end.
const SHORT: &str = "2s";
/// A command that runs until it is stopped.
pub const ENDLESS: &str = "echo $$ > pid; while :; do sleep 0.05; done";
/// A command that ignores SIGTERM and SIGINT.
const STUBBORN: &str = "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 0.05; done";

fn shell<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let all = [&["--ttl", TTL], options].concat();
    run(&all, &["sh", "-c", script])
}

fn shell_for<'a>(ttl: &'a str, script: &'a str) -> Vec<&'a str> {
    run(&["--ttl", ttl], &["sh", "-c", script])
}

/// Checks that the process whose ID is in the file has ended.
async fn is_gone(home: &Path) {
    let pid = has_begun(home).await;
    eventually("the command is gone", SOON, async || match Process::of(pid) {
        None => Ok(()),
        Some(process) => Err(format!("{process:?} runs on")),
    })
    .await;
}

/// Approves the task and waits until the command runs.
pub async fn running(at: &Installation, mut command: Command) -> (Child, Value) {
    let child = command.spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    has_begun(at.home()).await;
    (child, task)
}

/// Waits until the command has written its process ID with a line end.
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

/// Checks the state of the task and the result of its only execution.
async fn one_attempt(at: &Installation, task: &Value, state: &str) -> Value {
    let id = text(&task["id"]);
    assert_eq!(at.task(id).await["state"], state);
    let attempts = attempts(at, task).await;
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    attempts[0].clone()
}

#[tokio::test]
async fn apply_runs_after_approval_with_fence_variables() {
    let at = Installation::start().await;
    let script =
        "env | sort; echo receipt=$(cat /proc/self/fd/$ADE_RECEIPT_FD); cat; echo aside >&2";
    let options = ["--resource", "database:a-b=shared", "--env", "PASSWORD"];
    let mut command = at.ade(&shell(&options, script));
    command.env("PASSWORD", "hunter2").env("UNNAMED", "value");
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
    let fence: u64 = value("ADE_TOKEN_FENCE").parse().unwrap();
    let fences: Value = serde_json::from_str(value("ADE_FENCES")).unwrap();
    assert_eq!(fences["host:a"].to_string(), value("ADE_FENCE_HOST_A"));
    assert_eq!(fences["database:a-b"].to_string(), value("ADE_FENCE_DATABASE_A_B"));
    let receipt = value("receipt");
    assert_eq!(receipt.split('.').count(), 3, "a compact JWS");
    assert_eq!(ended.out.matches(receipt).count(), 1, "the receipt is in no variable");
    assert_eq!(value("PASSWORD"), "hunter2");
    assert!(value("ADE_PROGRAM").ends_with("/sh") && !ended.out.contains("UNNAMED"));
    assert!(!ended.out.contains("ADE_FENCE_HOST_OLD"), "left over from another run");
    assert!(!ended.out.contains("lease_") && !ended.out.contains(&at.agent), "{}", ended.out);
    assert_eq!(printed.last(), Some(&"what it was fed"));
    ended.says("aside\n").says("[ade] approved").says("[ade] applying");
    ended.says("[ade] completed  task_");

    let attempt = one_attempt(&at, &task, "COMPLETED").await;
    assert_eq!((&attempt["outcome"], &attempt["fence"]), (&json!("succeeded"), &json!(fence)));
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
async fn apply_failure_passes_its_exit_code_on() {
    let at = Installation::start().await;
    let child = at.ade(&shell(&[], "echo half; exit 3")).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child)
        .await
        .with(3)
        .prints("half\n")
        .says("[ade] failed  the command exited with code 3");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(
        (&attempt["outcome"], &attempt["left_behind"]),
        (&json!("failed"), &json!("changed"))
    );
    assert_eq!(attempt["details"], json!({ "exit_code": 3 }));
}

#[tokio::test]
async fn apply_that_cannot_start_reports_no_effect() {
    let at = Installation::start().await;
    let program = at.home().join("no-program");
    fs::write(&program, "\x7fELF of no machine").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let child = at.ade(&run(&["--ttl", TTL], &["./no-program"])).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(126).says("cannot start");
    // The execution had begun, so it is not retried.
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["left_behind"], "nothing");
    let missing = at.ade(&run(&[], &["no-such-command"])).spawn().unwrap();
    finish(missing).await.with(127).says("command not found: `no-such-command`");
    assert_eq!(
        at.get("/v1/tasks").await["items"].as_array().unwrap().len(),
        1,
        "no task was created"
    );
}

#[tokio::test]
async fn apply_interrupt_is_passed_on_and_fails_the_task() {
    let at = Installation::start().await;
    let script = "trap 'echo tidied; exit 5' INT; echo $$ > pid; while :; do sleep 0.05; done";
    let (child, task) = running(&at, at.ade(&shell(&[], script))).await;
    signal(&child, Signal::INT);
    finish(child).await.with(5).prints("tidied\n").says("interrupted by SIGINT");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["left_behind"], "changed");
}

#[tokio::test]
async fn apply_second_ctrl_c_on_a_terminal_kills_the_command() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade(&shell(&[], STUBBORN)));
    terminal.until("can approve").await;
    let task = at.answer("approve", "go on").await;
    let pid = has_begun(at.home()).await;
    terminal.press(CTRL_C).await;
    terminal.until("repeat to kill it").await;
    // The grace period for a command that is being stopped.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(Process::of(pid).is_some(), "the first Ctrl-C does not kill it");
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(137), "{screen}");
    assert!(screen.contains("✓") && screen.contains("approved"), "{screen}");
    is_gone(at.home()).await;
    one_attempt(&at, &task, "FAILED").await;
}

#[tokio::test]
async fn apply_ended_by_ctrl_c_on_a_terminal_exits_with_130() {
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
async fn apply_whose_lock_is_broken_ends_all_its_processes() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell(&[], STUBBORN))).await;
    at.post(&at.admin, "/v1/locks/host/a/break", json!({ "reason": "an incident" })).await;
    let ended = finish(child).await.with(70);
    ended
        .says("the lease was lost, and the command was stopped")
        .says("next     ade tasks get task_");
    is_gone(at.home()).await;
    assert_ne!(at.task(text(&task["id"])).await["state"], "COMPLETED");
}

#[tokio::test]
async fn apply_without_a_server_ends_the_command_in_time() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&shell_for("12s", STUBBORN));
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let (child, task) = running(&at, command).await;
    proxy.cut().await;
    let cut = std::time::Instant::now();
    is_gone(at.home()).await;
    // The last heartbeat was sent before the cut, so the lease ends twelve seconds after it.
    assert!(cut.elapsed() <= Duration::from_secs(12), "{:?}", cut.elapsed());
    finish(child).await.with(70).says("no heartbeat was answered");
    let id = text(&task["id"]);
    eventually("the task becomes UNKNOWN", SOON, async || {
        let state = at.task(id).await["state"].clone();
        if state == "UNKNOWN" { Ok(()) } else { Err(state.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn apply_survives_a_short_server_outage() {
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
async fn apply_waits_for_a_server_that_is_down_during_review() {
    let at = Installation::start().await;
    let mut proxy = Proxy::to_port(at.port(), 1);
    let mut command = at.ade(&shell(&[], "echo done"));
    command.env("ADE_SERVER", format!("http://{}", proxy.address()));
    let child = command.spawn().unwrap();
    at.task_in("REVIEWING").await;
    proxy.cut().await;
    let task = at.answer("approve", "go on").await;
    // Longer than all attempts of one call.
    tokio::time::sleep(Duration::from_secs(6)).await;
    proxy.heal();
    finish(child).await.with(0).prints("done\n");
    one_attempt(&at, &task, "COMPLETED").await;
}

#[tokio::test]
async fn apply_stopped_past_its_lease_ends_the_command_on_resume() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell_for(SHORT, STUBBORN))).await;
    signal(&child, Signal::STOP);
    let id = text(&task["id"]);
    eventually("the server marks the task UNKNOWN", SOON, async || {
        let state = at.task(id).await["state"].clone();
        if state == "UNKNOWN" { Ok(()) } else { Err(state.to_string()) }
    })
    .await;
    signal(&child, Signal::CONT);
    finish(child).await.with(70);
    is_gone(at.home()).await;
    assert_eq!(at.task(id).await["state"], "UNKNOWN", "a late report changes nothing");
}

#[tokio::test]
async fn apply_cancelled_while_running_stops_the_command() {
    let at = Installation::start().await;
    let script = "trap 'echo tidied; exit 0' TERM; echo $$ > pid; while :; do sleep 0.05; done";
    let (child, task) = running(&at, at.ade(&shell(&[], script))).await;
    let cancel: Ended =
        crate::installation::ended(at.ade(&["tasks", "cancel", text(&task["id"])])).await;
    cancel.with(0).prints("was asked to stop");
    finish(child).await.with(66).prints("tidied\n").says("cancelled: ");
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["outcome"], "cancelled");
}

#[tokio::test]
async fn apply_that_exceeds_its_timeout_is_stopped() {
    let at = Installation::start().await;
    let (child, task) = running(&at, at.ade(&shell(&["--apply-timeout", "1s"], ENDLESS))).await;
    finish(child).await.with(75).says("timed out: ");
    is_gone(at.home()).await;
    let attempt = one_attempt(&at, &task, "FAILED").await;
    assert_eq!(attempt["outcome"], "timed_out");
}

#[tokio::test]
async fn apply_with_a_changed_preview_does_not_start() {
    let at = Installation::start().await;
    let change = r#""resource":"host:a","action":"add","irreversible":false"#;
    let preview = format!("echo '{{\"changes\":[{{{change},\"summary\":\"'$(cat n)'\"}}]}}'");
    fs::write(at.home().join("n"), "one").unwrap();
    let mut command = at.ade(&shell(&["--preview", &preview], "echo run > ran"));
    let child = command.spawn().unwrap();
    at.task_in("REVIEWING").await;
    fs::write(at.home().join("n"), "two").unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(67).says("the effect of the command differs from what was approved");
    assert!(!at.home().join("ran").exists(), "nothing was run");
    let now = at.task(text(&task["id"])).await;
    assert!(["SUBMITTED", "REVIEWING"].contains(&text(&now["state"])), "{now}");
    assert_eq!(now["effect"]["changes"][0]["summary"], "two");
}

#[tokio::test]
async fn apply_ends_leftover_processes() {
    let at = Installation::start().await;
    let child = at.ade(&shell(&[], "sleep 300 & echo $! > pid")).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    finish(child).await.with(0).says("processes left behind by the command");
    is_gone(at.home()).await;
    one_attempt(&at, &task, "COMPLETED").await;
}

#[tokio::test]
async fn apply_frozen_after_the_permit_waits_for_the_thaw() {
    let at = Installation::start().await;
    let change = r#""resource":"host:a","action":"add","irreversible":false,"summary":"one""#;
    let plan = format!("echo '{{\"changes\":[{{{change}}}]}}'");
    // The second preview runs under the locks, and waits there until the applies are frozen.
    let waits = "if [ -e one ]; then touch two; while [ ! -e go ]; do sleep 0.05; done; fi";
    let preview = format!("{waits}; touch one; {plan}");
    let mut command = at.ade(&shell(&["--preview", &preview], "echo done"));
    let mut child = command.spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    eventually("the locks are held", SOON, async || {
        if at.home().join("two").exists() { Ok(()) } else { Err("not yet") }
    })
    .await;
    let reason = json!({ "scope": "tenant", "reason": "launch day" });
    let freeze = at.post(&at.admin, "/v1/freezes", reason).await;
    fs::write(at.home().join("go"), "").unwrap();
    let id = text(&task["id"]);
    let ended = eventually("the permit is withdrawn", SOON, async || {
        let attempts = attempts(&at, &task).await;
        let ended = attempts.first().filter(|one| !one["ended_at"].is_null()).cloned();
        ended.ok_or_else(|| json!(attempts))
    })
    .await;
    assert_eq!((&ended["outcome"], &ended["left_behind"]), (&json!("lost"), &json!("nothing")));
    assert!(text(&ended["error"]).contains("launch day"), "{ended}");
    assert_eq!(at.task(id).await["state"], "APPROVED");
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    let path = format!("/v1/freezes/{}", text(&freeze["id"]));
    at.call(reqwest::Method::DELETE, &at.admin, &path, None).await;
    let ended = finish(child).await.with(0);
    ended.prints("done\n").says("launch day").says("[ade] completed");
}
