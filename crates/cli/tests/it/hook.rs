//! `ade hook` with real inputs of each host: decisions of reviewers, blocked calls on errors,
//! results of tools, and detection of a removed hook.

use std::fs;
use std::path::PathBuf;

use ade_testkit::eventually;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::installation::{Ended, Installation, SOON, ended};

fn recorded(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/hosts");
    fs::read_to_string(folder.join(format!("{name}.json"))).unwrap()
}

/// Starts an installation whose agent may apply tool calls.
async fn installed() -> Installation {
    let one = Installation::start().await;
    one.calm().await;
    let path = format!("/v1/agents/{}", one.agent_id);
    let able = json!({ "capabilities": ["tool.*"] });
    one.call(Method::PATCH, &one.admin, &path, Some(able)).await;
    one
}

/// Runs a hook with this request of its host.
pub async fn heard(mut command: Command, input: &str) -> Ended {
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

#[track_caller]
fn assert_released(task: &Value) {
    let shown = (task["state"].as_str().unwrap(), task["sub_state"].as_str());
    assert_eq!(shown, ("COMPLETED", Some("RELEASED_TO_HOST")));
}

fn said(answer: &Value) -> (&str, &str) {
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse", "{answer}");
    let word = |name: &str| output[name].as_str().unwrap_or_else(|| panic!("{answer}"));
    (word("permissionDecision"), word("permissionDecisionReason"))
}

#[tokio::test]
async fn hook_claude_code_is_denied_until_approved_then_allowed_once() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    for _ in 0..2 {
        let answer = fire(&one, &args, &input).await;
        let (decision, reason) = said(&answer);
        assert_eq!(decision, "deny");
        assert!(reason.contains("not approved yet"), "{reason}");
        // Repeated calls use the same task.
        assert_eq!(tasks(&one).await, 1);
    }
    let task = one.answer("approve", "fine").await;
    assert_eq!(task["type"], "tool.bash");
    let answer = fire(&one, &args, &input).await;
    let (decision, reason) = said(&answer);
    assert_eq!(decision, "allow", "{reason}");
    assert!(reason.contains(task["id"].as_str().unwrap()), "{reason}");
    // The host runs the tool now. An approval covers one call.
    let id = task["id"].as_str().unwrap();
    assert_eq!(one.task(id).await["state"], "APPLYING");
    let answer = fire(&one, &args, &input).await;
    assert_eq!(said(&answer).0, "deny");
    assert!(said(&answer).1.contains("the same call is running"), "{answer}");
    assert_eq!(fire(&one, &args, &recorded("claude-code-bash-done")).await, Value::Null);
    let ended = one.task(id).await;
    assert_eq!((&ended["state"], &ended["sub_state"]), (&json!("COMPLETED"), &Value::Null));
    let execution = execution(&one, id).await;
    assert_eq!(execution["outcome"], "succeeded");
    assert_eq!(execution["output"], "ALTER TABLE");
    let answer = fire(&one, &args, &input).await;
    assert_eq!(said(&answer).0, "deny");
    assert_eq!(tasks(&one).await, 2);
    // A result that is repeated, and one of a tool without a task, change nothing.
    for again in ["claude-code-bash-done", "claude-code-bash-failed"] {
        assert_eq!(fire(&one, &args, &recorded(again)).await, Value::Null);
    }
    assert_eq!(one.task(id).await["version"], ended["version"]);
}

/// Lets the reviewer approve the first call of a host, and the host run it.
async fn allowed(one: &Installation, args: &[&str], input: &str) -> String {
    fire(one, args, input).await;
    let task = one.answer("approve", "fine").await;
    fire(one, args, input).await;
    task["id"].as_str().unwrap().to_owned()
}

async fn execution(one: &Installation, task: &str) -> Value {
    one.get(&format!("/v1/tasks/{task}/executions")).await["items"][0].clone()
}

#[tokio::test]
async fn hook_after_a_failed_tool_reports_the_failure() {
    let one = installed().await;
    let args = ["hook", "claude-code", "--wait", "1s"];
    let id = allowed(&one, &args, &recorded("claude-code-bash")).await;
    fire(&one, &args, &recorded("claude-code-bash-failed")).await;
    assert_eq!(one.task(&id).await["state"], "FAILED");
    let execution = execution(&one, &id).await;
    assert_eq!(
        (&execution["outcome"], &execution["left_behind"]),
        (&json!("failed"), &json!("changed"))
    );
    assert!(execution["error"].as_str().unwrap().contains("status code 1"), "{execution}");
}

#[tokio::test]
async fn hook_result_that_the_host_does_not_state_is_no_success() {
    let one = installed().await;
    let args = ["hook", "codex", "--wait", "1s"];
    let id = allowed(&one, &args, &recorded("codex-bash")).await;
    assert_eq!(one.task(&id).await["state"], "APPLYING");
    fire(&one, &args, &recorded("codex-bash-done")).await;
    let task = one.task(&id).await;
    assert_released(&task);
    let execution = execution(&one, &id).await;
    assert_eq!(execution["outcome"], "released_to_host");
    assert_eq!(execution["output"], "deployment.apps/shop restarted");
    ended(one.ade(&["tasks", "wait", &id])).await.with(76).prints("(released to host)");
}

#[tokio::test]
async fn hook_without_reports_releases_the_call_at_once() {
    let one = installed().await;
    let args = ["hook", "generic", "--wait", "1s", "--no-report"];
    let id = allowed(&one, &args, &recorded("generic")).await;
    let task = one.task(&id).await;
    assert_released(&task);
    assert_eq!(one.get("/v1/locks").await["items"], json!([]));
    let advice = task["next_action"]["message"].as_str().unwrap();
    assert!(advice.contains("check the result"), "{advice}");
}

#[tokio::test]
async fn hook_holds_the_locks_until_the_result_is_reported() {
    let one = installed().await;
    let args = ["hook", "generic", "--wait", "1s", "--resource", "service:shop"];
    let id = allowed(&one, &args, &recorded("generic")).await;
    let lock = async || {
        let found = one.get("/v1/locks").await;
        found["items"].as_array().unwrap().iter().any(|lock| lock["resource"] == "service:shop")
    };
    assert!(lock().await);
    // The process that keeps the locks sends heartbeats.
    let execution = execution(&one, &id).await;
    assert_eq!(execution["state"], "RUNNING");
    let log = one.home().join("log");
    eventually("a heartbeat is sent", SOON, async || {
        let text = fs::read_to_string(&log).unwrap();
        if text.contains("/v1/executions/{id}/heartbeat") { Ok(()) } else { Err("not yet") }
    })
    .await;
    // A report that cannot be sent is shown, and can be sent again.
    let result = json!({
        "event": "after", "session": "s-1", "tool": "deploy", "input": { "to": "prod" },
        "outcome": "timed_out", "error": "no answer within 10 min", "output": "waiting",
    });
    let mut away = one.ade(&args);
    away.env("ADE_SERVER", "http://127.0.0.1:9");
    heard(away, &result.to_string()).await.with(2).says("was not recorded");
    assert_eq!(one.task(&id).await["state"], "APPLYING");
    let reported = fire(&one, &args, &result.to_string()).await;
    assert_eq!(reported, json!({ "task": id, "outcome": "timed_out" }));
    assert_eq!(one.task(&id).await["state"], "FAILED");
    assert!(!lock().await);
    let again = fire(&one, &args, &result.to_string()).await;
    assert_eq!(again, json!({ "task": null, "outcome": null }));
}

#[tokio::test]
async fn hook_call_of_a_host_that_crashed_is_released_in_the_end() {
    let one = installed().await;
    let args = ["hook", "claude-code", "--wait", "1s", "--tool-timeout", "1s"];
    let id = allowed(&one, &args, &recorded("claude-code-bash")).await;
    eventually("the call is released", SOON, async || {
        let task = one.task(&id).await;
        if task["state"] == "APPLYING" { Err(task.to_string()) } else { Ok(()) }
    })
    .await;
    let task = one.task(&id).await;
    assert_released(&task);
    // A result that arrives later is ignored.
    assert_eq!(fire(&one, &args, &recorded("claude-code-bash-done")).await, Value::Null);
    assert_eq!(one.task(&id).await["version"], task["version"]);
}

#[tokio::test]
async fn hook_rejected_call_stays_rejected() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    fire(&one, &args, &input).await;
    one.answer("reject", "not today").await;
    for _ in 0..2 {
        let answer = fire(&one, &args, &input).await;
        let (_, reason) = said(&answer);
        assert!(reason.starts_with("[rejected] rejected by usr_"), "{reason}");
        assert!(reason.contains(": not today. Do not repeat the call"), "{reason}");
    }
    assert_eq!(tasks(&one).await, 1);
}

#[tokio::test]
async fn hook_call_with_changes_requested_says_which() {
    let one = installed().await;
    let input = recorded("claude-code-bash");
    let args = ["hook", "claude-code", "--wait", "1s"];
    fire(&one, &args, &input).await;
    one.answer("request-changes", "use a dry run").await;
    let answer = fire(&one, &args, &input).await;
    let (decision, reason) = said(&answer);
    assert_eq!(decision, "deny");
    assert!(reason.contains(": use a dry run. Make a different call"), "{reason}");
}

/// A task with the right tag but other content does not allow the call.
#[tokio::test]
async fn hook_approval_of_another_call_allows_nothing() {
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
async fn hook_codex_gets_its_own_denial_and_an_empty_approval() {
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
    // Codex reports no result of a permission.
    assert_released(&one.get("/v1/tasks").await["items"][0]);
    // A permission for the call that is running was approved with the call.
    let running = input.replace("PreToolUse", "PermissionRequest");
    let answer = fire(&one, &args, &running).await;
    assert_eq!(answer["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }));
    fire(&one, &args, &recorded("codex-bash-done")).await;
    let answer = fire(&one, &args, &running).await;
    assert_eq!(answer["hookSpecificOutput"]["decision"]["behavior"], "deny", "{answer}");
}

#[tokio::test]
async fn hook_generic_host_gets_a_plain_answer() {
    let one = installed().await;
    let input = recorded("generic");
    let args = ["hook", "generic", "--wait", "1s"];
    let denied = fire(&one, &args, &input).await;
    assert_eq!(denied["decision"], "deny");
    let task = one.answer("approve", "fine").await;
    assert_eq!(denied["task"], task["id"]);
    let allowed = fire(&one, &args, &input).await;
    assert_eq!((&allowed["decision"], &allowed["task"]), (&json!("allow"), &task["id"]));
    let early = input.replace("\"cwd\"", "\"outcome\": \"succeeded\", \"cwd\"");
    heard(one.ade(&args), &early).await.with(2).says("belong to the event `after`");
}

#[tokio::test]
async fn hook_errors_block_and_read_only_calls_pass() {
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
    heard(away(&[]), &input).await.with(2).says("cannot reach the server");
    let asked = heard(away(&["--unreachable", "ask"]), &input).await.with(0);
    assert_eq!(said(&serde_json::from_str(&asked.out).unwrap()).0, "ask");
    // The token of a person is rejected.
    let author = one.author().await;
    heard(one.ade_as(&author, &["hook", "claude-code"]), &input)
        .await
        .with(2)
        .says("does not belong to an agent");
}

fn with_path(mut command: Command) -> Command {
    let beside = PathBuf::from(env!("CARGO_BIN_EXE_ade"));
    let beside = beside.parent().unwrap().display().to_string();
    command.env("PATH", format!("{beside}:{}", env!("PATH")));
    command
}

#[tokio::test]
async fn hook_is_installed_once_and_verify_detects_its_removal() {
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
        let good = ended(with_path(one.ade(&verify))).await.with(0);
        good.prints("The hook blocks forbidden calls and reports results");
        // Without the hook after a tool, no result is reported.
        let mut without = settings.clone();
        without["hooks"].as_object_mut().unwrap().remove("PostToolUse");
        fs::write(&path, without.to_string()).unwrap();
        let partly = ended(with_path(one.ade(&verify))).await.with(76);
        partly.prints("hook for PostToolUse is not configured").prints("are not reported");
        // Another program with the same name does not deny the test call.
        let other = written.replace(&format!("ade hook {host}"), "true");
        fs::write(&path, other).unwrap();
        ended(with_path(one.ade(&verify))).await.with(76).prints("BYPASS");
        fs::remove_file(&path).unwrap();
        ended(with_path(one.ade(&verify))).await.with(76).prints("BYPASS");
    }
    assert_eq!(tasks(&one).await, 0);
}

fn tool_call(one: &Installation, tool: &str) -> String {
    json!({
        "session_id": "s-1", "cwd": one.home(), "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": { "command": "rm -rf /" },
    })
    .to_string()
}

#[tokio::test]
async fn hook_asks_about_tools_that_only_look_like_ours() {
    let one = installed().await;
    let hook = ["hook", "claude-code", "--wait", "1s"];
    let fired = async |tool| fire(&one, &hook, &tool_call(&one, tool)).await;
    assert_eq!(fired("mcp__ade__request_approval").await, Value::Null);
    let own = json!({ "command": env!("CARGO_BIN_EXE_ade"), "args": ["mcp"] });
    let settings = one.home().join(".mcp.json");
    fs::write(&settings, json!({ "mcpServers": { "ade": own } }).to_string()).unwrap();
    assert_eq!(fired("mcp__ade__request_approval").await, Value::Null);
    assert_eq!(tasks(&one).await, 0);
    let asked =
        ["mcp__ade__shell", "mcp__ade__x__request_approval", "WebSearch", "ReadMcpResource"];
    for (count, tool) in (1..).zip(asked) {
        assert_eq!(said(&fired(tool).await).0, "deny", "{tool}");
        assert_eq!(tasks(&one).await, count, "{tool}");
    }
    // A server of the project that takes our name, and settings that cannot be read.
    for other in [json!({ "mcpServers": { "ade": { "command": "sh" } } }).to_string(), "{".into()] {
        fs::write(&settings, other).unwrap();
        assert_eq!(said(&fired("mcp__ade__request_approval").await).0, "deny");
    }
}

#[tokio::test]
async fn hook_verify_detects_another_server_called_ade() {
    let one = installed().await;
    let own = json!({ "command": "ade", "args": ["mcp"] });
    let other = json!({ "command": "sh", "args": ["mcp"] });
    ended(one.ade(&["hook", "install", "claude-code"])).await.with(0);
    ended(one.ade(&["hook", "install", "codex"])).await.with(0);
    fs::create_dir_all(one.home().join(".codex")).unwrap();
    for (host, file) in [("claude-code", ".claude.json"), ("codex", ".codex/config.toml")] {
        let verify = ["hook", "verify", host];
        for (server, code, says) in [
            (&own, 0, "the MCP server `ade` is this program"),
            (&other, 76, "is not this program: `sh` is another program"),
        ] {
            let text = if host == "codex" {
                let command = server["command"].as_str().unwrap();
                format!("[mcp_servers.ade]\ncommand = \"{command}\"\nargs = [\"mcp\"]\n")
            } else {
                let part = json!({ "mcpServers": { "ade": server } });
                json!({ "projects": { one.home().to_str().unwrap(): part } }).to_string()
            };
            fs::write(one.home().join(file), text).unwrap();
            ended(with_path(one.ade(&verify))).await.with(code).prints(says);
        }
    }
}
