//! Hosts that ask before a tool runs: each with inputs as it sends them, through to what people
//! answer; what is blocked when something is wrong; and whether a removed hook is noticed.

use std::fs;
use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::installation::{Ended, Installation, ended};

fn recorded(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/hosts");
    fs::read_to_string(folder.join(format!("{name}.json"))).unwrap()
}

/// Its agent may apply what hosts ask for.
async fn installed() -> Installation {
    let one = Installation::start().await;
    one.calm().await;
    let path = format!("/v1/agents/{}", one.agent_id);
    let able = json!({ "capabilities": ["tool.*"] });
    one.call(Method::PATCH, &one.admin, &path, Some(able)).await;
    one
}

async fn heard(mut command: Command, input: &str) -> Ended {
    let file = std::env::temp_dir().join(format!("ade-hook-{}", uuid::Uuid::now_v7()));
    fs::write(&file, input).unwrap();
    command.stdin(fs::File::open(&file).unwrap());
    let done = ended(command).await;
    fs::remove_file(&file).unwrap();
    done
}

async fn fire(one: &Installation, args: &[&str], input: &str) -> Value {
    let done = heard(one.ade(args), input).await.with(0);
    if done.out.is_empty() { Value::Null } else { serde_json::from_str(&done.out).unwrap() }
}

async fn tasks(one: &Installation) -> usize {
    one.get("/v1/tasks").await["items"].as_array().unwrap().len()
}

fn said(answer: &Value) -> (&str, &str) {
    let told = &answer["hookSpecificOutput"];
    assert_eq!(told["hookEventName"], "PreToolUse", "{answer}");
    let word = |name: &str| told[name].as_str().unwrap_or_else(|| panic!("{answer}"));
    (word("permissionDecision"), word("permissionDecisionReason"))
}

#[tokio::test]
async fn claude_code_is_denied_until_people_agree_then_allowed_once() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    for _ in 0..2 {
        let answer = fire(&one, &args, &input).await;
        let (decision, reason) = said(&answer);
        assert_eq!(decision, "deny");
        assert!(reason.contains("not agreed yet"), "{reason}");
        // However often it is tried, it is one task.
        assert_eq!(tasks(&one).await, 1);
    }
    let task = one.answer("approve", "fine").await;
    assert_eq!(task["type"], "tool.bash");
    let answer = fire(&one, &args, &input).await;
    let (decision, reason) = said(&answer);
    assert_eq!(decision, "allow", "{reason}");
    assert!(reason.contains(task["id"].as_str().unwrap()), "{reason}");
    assert_eq!(one.task(task["id"].as_str().unwrap()).await["state"], "COMPLETED");
    // A yes is for one call.
    let answer = fire(&one, &args, &input).await;
    assert_eq!(said(&answer).0, "deny");
    assert_eq!(tasks(&one).await, 2);
}

#[tokio::test]
async fn a_no_stays_a_no_for_the_same_call() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    fire(&one, &args, &input).await;
    one.answer("reject", "not today").await;
    for _ in 0..2 {
        let answer = fire(&one, &args, &input).await;
        assert!(said(&answer).1.contains("people said no"), "{answer}");
    }
    assert_eq!(tasks(&one).await, 1);
}

/// A tag is a hint: what people agreed to must be the call that is made.
#[tokio::test]
async fn an_agreement_to_something_else_lets_nothing_through() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    fire(&one, &args, &input).await;
    let first = one.task_in("REVIEWING").await;
    let first = one.task(first["id"].as_str().unwrap()).await;
    let harmless = json!({
        "title": "harmless", "type": first["type"], "parameters": { "tool": "Bash" },
        "resources": first["resources"], "tags": first["tags"],
        "plan": { "changes": first["effect"]["changes"] }
    });
    let other = one.post(&one.agent, "/v1/tasks", harmless).await;
    let version = other["version"].to_string();
    let path = format!("/v1/tasks/{}/submit", other["id"].as_str().unwrap());
    ended(one.ade(&["api", "POST", &path, "--if-match", &version])).await.with(0);
    one.answer("approve", "harmless").await;
    let answer = fire(&one, &args, &input).await;
    assert_eq!(said(&answer).0, "deny", "{answer}");
}

#[tokio::test]
async fn codex_is_told_no_in_its_words_and_yes_by_silence() {
    let one = installed().await;
    let input = recorded("codex-bash");
    let args = ["hook", "codex", "--wait", "1s"];
    assert_eq!(said(&fire(&one, &args, &input).await).0, "deny");
    one.answer("approve", "fine").await;
    assert_eq!(fire(&one, &args, &input).await, Value::Null);
    let asked = recorded("codex-permission");
    let answer = fire(&one, &args, &asked).await;
    assert_eq!(answer["hookSpecificOutput"]["decision"]["behavior"], "deny", "{answer}");
    one.answer("approve", "fine").await;
    let answer = fire(&one, &args, &asked).await;
    assert_eq!(answer["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }));
}

#[tokio::test]
async fn any_other_host_gets_a_plain_answer() {
    let one = installed().await;
    let input = recorded("generic");
    let args = ["hook", "generic", "--wait", "1s"];
    let denied = fire(&one, &args, &input).await;
    assert_eq!(denied["decision"], "deny");
    let task = one.answer("approve", "fine").await;
    assert_eq!(denied["task"], task["id"]);
    let allowed = fire(&one, &args, &input).await;
    assert_eq!((&allowed["decision"], &allowed["task"]), (&json!("allow"), &task["id"]));
}

#[tokio::test]
async fn what_goes_wrong_blocks_and_what_only_looks_is_let_be() {
    let one = installed().await;
    let look = recorded("claude-code-read");
    assert_eq!(fire(&one, &["hook", "claude-code"], &look).await, Value::Null);
    assert_eq!(tasks(&one).await, 0);
    for wrong in ["", "{", "[]", "{\"session_id\": \"x\"}"] {
        heard(one.ade(&["hook", "claude-code"]), wrong).await.with(2).says("blocked");
    }
    let input = recorded("claude-code-bash");
    let away = |more: &[&str]| {
        let mut command = one.ade(&[&["hook", "claude-code"], more].concat());
        command.env("ADE_SERVER", "http://127.0.0.1:9");
        command
    };
    heard(away(&[]), &input).await.with(2).says("cannot be reached");
    let asked = heard(away(&["--unreachable", "ask"]), &input).await.with(0);
    assert_eq!(said(&serde_json::from_str(&asked.out).unwrap()).0, "ask");
    // A person's token proposes for nobody.
    let author = one.author().await;
    heard(one.ade_as(&author, &["hook", "claude-code"]), &input).await.with(2).says("no agent");
}

fn with_path(mut command: Command) -> Command {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_ade"));
    let beside = beside.parent().unwrap().display().to_string();
    command.env("PATH", format!("{beside}:{}", env!("PATH")));
    command
}

#[tokio::test]
async fn a_hook_is_installed_once_and_verify_notices_when_it_is_gone() {
    let one = installed().await;
    for (host, place) in [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")]
    {
        let path = one.home().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let own = json!({ "model": "x", "hooks": { "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] }
        ] } });
        fs::write(&path, own.to_string()).unwrap();
        let verify = ["hook", "verify", host];
        ended(with_path(one.ade(&verify))).await.with(76).prints("BYPASS");
        ended(one.ade(&["hook", "install", host, "--dry-run"])).await.with(0).prints("ade hook");
        assert_eq!(fs::read_to_string(&path).unwrap(), own.to_string());
        ended(one.ade(&["hook", "install", host])).await.with(0);
        let written = fs::read_to_string(&path).unwrap();
        ended(one.ade(&["hook", "install", host])).await.with(0);
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
        let settings: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(settings["model"], "x");
        assert_eq!(settings["hooks"]["PreToolUse"][0], own["hooks"]["PreToolUse"][0]);
        ended(with_path(one.ade(&verify))).await.with(0).prints("The boundary holds");
        // Another program under the same name answers nothing.
        let other = written.replace(&format!("ade hook {host}"), "true");
        fs::write(&path, other).unwrap();
        ended(with_path(one.ade(&verify))).await.with(76).prints("BYPASS");
        fs::remove_file(&path).unwrap();
        ended(with_path(one.ade(&verify))).await.with(76).prints("BYPASS");
    }
    assert_eq!(tasks(&one).await, 0);
}
