//! `ade run` up to the start of its command: the proposal, the wait for approval, and the ways it
//! ends without running the command.

use ade_core::change::Digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;

use crate::installation::{Ended, Installation, SOON, ended};
use crate::terminal::{CTRL_C, Terminal};

pub fn run<'a>(options: &[&'a str], command: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["run", "--resource", "host:a"];
    args.extend(options);
    args.push("--");
    args.extend(command);
    args
}

pub async fn finish(child: Child) -> Ended {
    let output = tokio::time::timeout(SOON, child.wait_with_output()).await;
    output.expect("the command does not end").unwrap().into()
}

/// Reads what the command prints about its progress, up to this text.
async fn progress_until(child: &mut Child, text: &str) -> String {
    let stderr = child.stderr.as_mut().unwrap();
    let mut printed = Vec::new();
    let reading = async {
        while !printed.ends_with(text.as_bytes()) {
            printed.push(stderr.read_u8().await.unwrap());
        }
    };
    tokio::time::timeout(SOON, reading).await.expect("the text is not printed");
    String::from_utf8(printed).unwrap()
}

pub fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn run_proposes_the_exact_command_without_secrets() {
    let at = Installation::start().await;
    let options = ["--title", "Say it", "--ticket", "OPS-1", "--priority", "70"];
    let options = [&options[..], &["--env", "DATABASE_PASSWORD"]].concat();
    std::fs::write(at.home().join("a b"), "a file").unwrap();
    let args = run(&options, &["cat", "a b"]);
    let mut command = at.ade(&args);
    command.env("DATABASE_PASSWORD", "hunter2").stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"what it reads").await.unwrap();
    drop(stdin);
    let task = at.task_in("REVIEWING").await;
    let task = at.task(text(&task["id"])).await;
    assert_eq!((&task["title"], &task["type"]), (&json!("Say it"), &json!("command.run")));
    assert_eq!((&task["priority"], &task["ticket"]), (&json!(70), &json!("OPS-1")));
    let parameters = &task["parameters"];
    assert_eq!(parameters["argv"], json!(["cat", "a b"]));
    assert_eq!(parameters["directory"], json!(at.home()));
    assert_eq!(parameters["stdin"]["digest"], json!(Digest::of(b"what it reads")));
    let variables = parameters["environment"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, ["DATABASE_PASSWORD", "HOME", "PATH"]);
    assert_eq!((&variables[0]["bytes"], &variables[0]["value"]), (&json!(7), &Value::Null));
    assert_eq!(variables[2]["value"], json!(env!("PATH")));
    let file = json!({ "path": "a b", "digest": Digest::of(b"a file"), "bytes": 6 });
    assert_eq!(parameters["files"], json!([file]));
    let program = &parameters["program"][0];
    let path = text(&program["path"]);
    assert!(path.ends_with("/cat") && path.starts_with('/'), "{path}");
    assert_eq!(program["digest"], json!(Digest::of(&std::fs::read(path).unwrap())));
    for secret in ["hunter2", &at.agent] {
        assert!(!task.to_string().contains(secret), "{task}");
    }
    let change = &task["effect"]["changes"][0];
    assert_eq!((&change["summary"], &change["irreversible"]), (&json!("cat 'a b'"), &json!(true)));
    signal(&child, Signal::INT);
    finish(child).await.with(130);
}

#[tokio::test]
async fn run_rejected_ends_with_the_reviewers_reason() {
    let at = Installation::start().await;
    let mut child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    let progress = progress_until(&mut child, "[ade] reviewing  waiting for 1 approval").await;
    assert!(progress.starts_with("[ade] proposed  task_"), "{progress}");
    at.answer("reject", "not on a \u{7}Friday").await;
    let output = finish(child).await.with(65);
    assert_eq!(output.out, "", "nothing was run");
    output
        .says("rejected by reviewers")
        .says("not on a ‹U+0007›Friday")
        .says("advice   do not repeat the request unchanged")
        .says("next     ade tasks get task_");
}

#[tokio::test]
async fn run_with_changes_requested_ends() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    at.answer("request-changes", "smaller").await;
    let output = finish(child).await.with(65);
    output.says("reviewers requested changes").says("smaller").says("advice   amend the task");
    let task = at.task_in("DRAFT").await;
    let shown = ended(at.ade(&["tasks", "get", text(&task["id"])])).await.with(0);
    assert!(shown.out.contains("decision changes requested by usr_"), "{}", shown.out);
    ended(at.ade(&["tasks", "wait", text(&task["id"])])).await.with(65);
}

#[tokio::test]
async fn run_cancelled_by_another_user_ends() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    let task = at.task_in("REVIEWING").await;
    ended(at.ade(&["tasks", "cancel", text(&task["id"])])).await.with(0);
    finish(child).await.with(66).says("the task was cancelled");
}

#[tokio::test]
async fn run_that_times_out_cancels_its_task() {
    let at = Installation::start().await;
    let output = ended(at.ade(&run(&["--timeout", "1s"], &["false"]))).await.with(75);
    output.says("timed out: task_").says("[ade] cancelled  task_");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn run_interrupted_before_the_start_cancels_the_task() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    at.task_in("REVIEWING").await;
    signal(&child, Signal::INT);
    finish(child).await.with(130).says("[ade] cancelled  task_").says("the command did not run");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn run_on_a_terminal_names_reviewers_and_ctrl_c_cancels() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade(&run(&["--title", "T\u{1b}[2J"], &["false"])));
    terminal.until("✓").await;
    terminal.until("2 people can approve (role admin, role reviewer)").await;
    terminal.until("show it: ade tasks get task_").await;
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(130), "{screen}");
    assert!(screen.contains("the command did not run"), "{screen}");
    assert!(!screen.contains("\u{1b}[2J"), "{screen:?}");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn run_preview_shows_the_plan() {
    let at = Installation::start().await;
    let change =
        r#"{"resource":"host:a","action":"add","irreversible":false,"summary":"one file"}"#;
    let plan = format!("echo '{{\"changes\":[{change}],\"warnings\":[\"slow\"]}}'");
    // The preview fails if the token is in its environment.
    let preview = format!("test -z \"$ADE_TOKEN\" && {plan}");
    let child = at.ade(&run(&["--preview", &preview], &["false"])).spawn().unwrap();
    let task = at.task_in("REVIEWING").await;
    let task = at.task(text(&task["id"])).await;
    assert_eq!(task["effect"]["changes"][0]["summary"], "one file");
    assert_eq!(task["effect"]["warnings"], json!(["slow"]));
    assert_eq!(task["parameters"]["preview"], json!(preview));
    signal(&child, Signal::INT);
    finish(child).await.with(130);
    let broken = ended(at.ade(&run(&["--preview", "exit 3"], &["false"]))).await.with(1);
    broken.says("the preview failed").says("next     sh -c 'exit 3'");
}

#[tokio::test]
async fn run_usage_error_has_its_own_exit_code() {
    let at = Installation::start().await;
    ended(at.ade(&["run", "--", "true"])).await.with(64).says("--resource");
    ended(at.ade(&["run", "--resource", "orders", "--", "true"])).await.with(64).says("type:id");
    ended(at.ade(&["run", "--resource", "host:a"])).await.with(64);
    ended(at.ade(&["nothing"])).await.with(64);
    ended(at.ade(&["--help"])).await.with(0).prints("Exit codes:");
    ended(at.ade(&["run", "--help"])).await.with(0).prints("ADE_FENCE_<TYPE>_<ID>");
}
