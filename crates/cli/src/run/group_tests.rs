//! Groups of real processes: signals reach all of them, and none survives.

use std::process::Stdio;
use std::time::Instant;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::*;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

fn shell(script: &str) -> Group {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    Group::spawn(&mut command).unwrap()
}

/// Started, and past the line that says so; its output is open while anybody of it lives.
async fn ready(script: &str) -> (Group, BufReader<ChildStdout>) {
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
async fn who_ends_when_asked_is_not_killed() {
    let (mut group, output) =
        ready("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done").await;
    let status = group.end(LONG).await.unwrap();
    assert_eq!(status.code(), Some(7));
    all_gone(output).await;
}

#[tokio::test]
async fn who_ignores_the_question_is_killed_when_the_grace_is_over() {
    let (mut group, output) = ready("trap '' TERM; echo ready; while :; do sleep 1; done").await;
    let began = Instant::now();
    let status = group.end(SHORT).await.unwrap();
    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    all_gone(output).await;
}

#[tokio::test]
async fn children_of_the_command_end_with_it() {
    let script = "(trap '' TERM; sleep 300) & (trap '' TERM; sleep 300) & echo ready; wait";
    let (mut group, output) = ready(script).await;
    group.end(SHORT).await.unwrap();
    all_gone(output).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_and_told() {
    let (mut group, output) = ready("sleep 300 & echo ready").await;
    assert!(group.wait().await.unwrap().success());
    assert!(group.clear(LONG).await, "there was somebody");
    all_gone(output).await;
    let (mut group, output) = ready("echo ready").await;
    group.wait().await.unwrap();
    assert!(!group.clear(LONG).await, "there was nobody");
    all_gone(output).await;
}

#[tokio::test]
async fn a_stopped_command_can_still_be_ended() {
    let (mut group, output) = ready("echo ready; while :; do sleep 0.05; done").await;
    group.signal(Signal::STOP);
    let began = Instant::now();
    group.end(LONG).await.unwrap();
    assert!(began.elapsed() < LONG);
    all_gone(output).await;
}

#[tokio::test]
async fn nothing_outlives_the_handle() {
    let (group, output) = ready("(sleep 300) & echo ready; wait").await;
    drop(group);
    all_gone(output).await;
}

#[tokio::test]
async fn a_signal_reaches_the_whole_group_and_nobody_else() {
    let script = "trap 'echo heard; exit 0' INT; echo ready; while :; do sleep 0.05; done";
    let (mut group, mut output) = ready(script).await;
    group.signal(Signal::INT);
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    assert_eq!(line, "heard\n");
    assert!(group.wait().await.unwrap().success());
}
