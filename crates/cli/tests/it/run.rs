//! `ade run` up to the moment when its command may begin: what it proposes, whom it waits for,
//! and how it ends without having run anything.

use ade_core::change::Digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
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
    output.expect("it does not end").unwrap().into()
}

pub fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[tokio::test]
async fn it_proposes_the_command_to_the_letter_and_no_secret() {
    let at = Installation::start().await;
    let args =
        run(&["--title", "Say it", "--ticket", "OPS-1", "--priority", "70"], &["cat", "a b"]);
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
    let told = &task["parameters"];
    assert_eq!(told["argv"], json!(["cat", "a b"]));
    assert_eq!(told["directory"], json!(at.home()));
    assert_eq!(told["stdin"]["digest"], json!(Digest::of(b"what it reads")));
    let names: Vec<&str> = told["environment"].as_array().unwrap().iter().map(text).collect();
    assert!(names.contains(&"DATABASE_PASSWORD") && !names.contains(&"ADE_TOKEN"), "{names:?}");
    for secret in ["hunter2", &at.agent] {
        assert!(!task.to_string().contains(secret), "{task}");
    }
    let change = &task["effect"]["changes"][0];
    assert_eq!((&change["summary"], &change["irreversible"]), (&json!("cat 'a b'"), &json!(true)));
    signal(&child, Signal::INT);
    finish(child).await.with(130);
}

#[tokio::test]
async fn a_rejection_ends_it_with_the_reviewers_words() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    at.answer("reject", "not on a \u{7}Friday").await;
    let told = finish(child).await.with(65);
    assert_eq!(told.out, "", "nothing was run");
    told.says("[ade] proposed  task_").says("[ade] reviewing  waits for one approval");
    told.says("reviewers rejected it")
        .says("not on a ‹U+0007›Friday")
        .says("next     ade tasks get task_");
}

#[tokio::test]
async fn a_wish_for_changes_ends_it_too() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    at.answer("request-changes", "smaller").await;
    finish(child).await.with(65).says("reviewers ask for changes").says("smaller");
}

#[tokio::test]
async fn somebody_elses_cancel_ends_it() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    let task = at.task_in("REVIEWING").await;
    ended(at.ade(&["tasks", "cancel", text(&task["id"])])).await.with(0);
    finish(child).await.with(66).says("somebody cancelled it");
}

#[tokio::test]
async fn whoever_waits_too_long_gives_up_and_takes_the_task_back() {
    let at = Installation::start().await;
    let told = ended(at.ade(&run(&["--timeout", "1s"], &["false"]))).await.with(75);
    told.says("the time to wait is over").says("[ade] cancelled  task_");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn an_interrupt_before_the_command_runs_cancels_the_task() {
    let at = Installation::start().await;
    let child = at.ade(&run(&[], &["false"])).spawn().unwrap();
    at.task_in("REVIEWING").await;
    signal(&child, Signal::INT);
    finish(child).await.with(130).says("[ade] cancelled  task_").says("nothing was run");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn on_a_terminal_it_says_who_is_awaited_and_ctrl_c_takes_it_back() {
    let at = Installation::start().await;
    let mut terminal = Terminal::start(&at.ade(&run(&["--title", "T\u{1b}[2J"], &["false"])));
    terminal.until("✓").await;
    terminal.until("2 people may give it (role admin, role reviewer)").await;
    terminal.until("look at it: ade tasks get task_").await;
    terminal.press(CTRL_C).await;
    let (status, screen) = terminal.end().await;
    assert_eq!(status.code(), Some(130), "{screen}");
    assert!(screen.contains("nothing was run"), "{screen}");
    assert!(!screen.contains("\u{1b}[2J"), "{screen:?}");
    at.task_in("CANCELLED").await;
}

#[tokio::test]
async fn a_preview_says_what_would_change() {
    let at = Installation::start().await;
    let change =
        r#"{"resource":"host:a","action":"add","irreversible":false,"summary":"one file"}"#;
    let plan = format!("echo '{{\"changes\":[{change}],\"warnings\":[\"slow\"]}}'");
    // It fails if it is shown the token.
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
async fn a_wrong_use_is_told_with_its_own_code() {
    let at = Installation::start().await;
    ended(at.ade(&["run", "--", "true"])).await.with(64).says("--resource");
    ended(at.ade(&["run", "--resource", "orders", "--", "true"])).await.with(64).says("type:id");
    ended(at.ade(&["run", "--resource", "host:a"])).await.with(64);
    ended(at.ade(&["nothing"])).await.with(64);
    ended(at.ade(&["--help"])).await.with(0).prints("Exit codes:");
    ended(at.ade(&["run", "--help"])).await.with(0).prints("ADE_FENCE_<TYPE>_<ID>");
}
