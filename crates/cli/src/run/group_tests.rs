//! Tests with real process groups: signals reach all processes, and none survives.

use std::process::Stdio;
use std::time::Instant;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::*;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

fn shell(script: &str) -> ProcessGroup {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    ProcessGroup::spawn(&mut command).unwrap()
}

/// Starts a script and waits for its first line. The output stays open while a process lives.
async fn ready(script: &str) -> (ProcessGroup, BufReader<ChildStdout>) {
    let mut group = shell(script);
    let mut output = BufReader::new(group.streams().1.unwrap());
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    (group, output)
}

/// Returns once every process that holds the output has ended.
async fn all_gone(mut output: BufReader<ChildStdout>) {
    let mut rest = Vec::new();
    tokio::time::timeout(LONG, output.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn group_that_ends_on_sigterm_is_not_killed() {
    let (mut group, output) =
        ready("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done").await;
    let status = group.end(LONG).await.unwrap();
    assert_eq!(status.code(), Some(7));
    all_gone(output).await;
}

#[tokio::test]
async fn group_that_ignores_sigterm_is_killed_after_the_grace() {
    let (mut group, output) = ready("trap '' TERM; echo ready; while :; do sleep 1; done").await;
    let began = Instant::now();
    let status = group.end(SHORT).await.unwrap();
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    all_gone(output).await;
}

#[tokio::test]
async fn group_children_end_with_the_command() {
    let script = "(trap '' TERM; sleep 300) & (trap '' TERM; sleep 300) & echo ready; wait";
    let (mut group, output) = ready(script).await;
    group.end(SHORT).await.unwrap();
    all_gone(output).await;
}

#[tokio::test]
async fn group_leftover_processes_are_ended_and_reported() {
    let (mut group, output) = ready("sleep 300 & echo ready").await;
    assert!(group.wait().await.unwrap().success());
    assert!(group.clear(LONG).await, "a process was left");
    all_gone(output).await;
    let (mut group, output) = ready("echo ready").await;
    group.wait().await.unwrap();
    assert!(!group.clear(LONG).await, "no process was left");
    all_gone(output).await;
}

#[tokio::test]
async fn group_that_is_stopped_can_still_be_ended() {
    let (mut group, output) = ready("echo ready; while :; do sleep 0.05; done").await;
    group.signal(Signal::STOP);
    let began = Instant::now();
    group.end(LONG).await.unwrap();
    assert!(began.elapsed() < LONG);
    all_gone(output).await;
}

#[tokio::test]
async fn group_is_killed_when_its_handle_is_dropped() {
    let (group, output) = ready("(sleep 300) & echo ready; wait").await;
    drop(group);
    all_gone(output).await;
}

#[tokio::test]
async fn group_signal_reaches_all_members_and_no_other_process() {
    let script = "trap 'echo heard; exit 0' INT; echo ready; while :; do sleep 0.05; done";
    let (mut group, mut output) = ready(script).await;
    group.signal(Signal::INT);
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    assert_eq!(line, "heard\n");
    assert!(group.wait().await.unwrap().success());
}
