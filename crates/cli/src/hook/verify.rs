//! `ade hook verify`: reads the settings of the host and runs the configured hooks: the one before
//! a tool with calls that must be blocked, the one after a tool with a test result.

use std::fmt::Write as _;
use std::process::Stdio;

use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::host::{HookEvent, Host};
use super::{BLOCKED, CANARY, install, servers};
use crate::args::HookVerifyArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// The result of one check.
struct Finding {
    what: &'static str,
    is_good: bool,
    detail: String,
}

pub async fn verify(args: &HookVerifyArgs, cx: &Context) -> Result<Exit, Failure> {
    let path = install::settings_path(args.host, args.user, args.settings.as_deref())?;
    let settings = install::read(&path)?;
    let mut findings = vec![switched_on(&settings)];
    match hook(args.host, HookEvent::PreToolUse, &settings) {
        Err(detail) => findings.push(Finding { what: "hook", is_good: false, detail }),
        Ok(command) => {
            let detail = format!("`{command}` runs before every tool");
            findings.push(Finding { what: "hook", is_good: true, detail });
            findings.push(canary(args.host, &command).await);
            findings.push(nonsense(&command).await);
        }
    }
    findings.push(server(cx).await);
    let blocks = findings.iter().all(|finding| finding.is_good);
    let (tools, results) = (tools(args.host, cx), results(args.host, &settings).await);
    let conclusion = match (blocks, tools.is_good, results.is_good) {
        (true, true, true) => "The hook blocks forbidden calls and reports results.",
        (true, true, false) => {
            "The hook blocks forbidden calls, but results of tools are not reported. Next: ade \
             hook install"
        }
        (true, false, _) => {
            "The hook blocks forbidden calls, but the host calls another program `ade`. Next: \
             remove that server from the settings of the host"
        }
        (false, ..) => "BYPASS: tools can run without approval. Next: ade hook install",
    };
    findings.extend([tools, results]);
    let holds = findings.iter().all(|finding| finding.is_good);
    let result = json!({ "holds": holds, "settings": path, "findings": listed(&findings) });
    cx.output.show(&result, || words(&findings, conclusion))?;
    Ok(if holds { Exit::Done } else { Exit::NotSo })
}

fn listed(findings: &[Finding]) -> Vec<Value> {
    let one = |it: &Finding| json!({ "what": it.what, "good": it.is_good, "detail": it.detail });
    findings.iter().map(one).collect()
}

fn words(findings: &[Finding], conclusion: &str) -> String {
    let mut out = String::new();
    for finding in findings {
        let mark = if finding.is_good { "✓" } else { "✕" };
        let _ = writeln!(out, "{mark} {:<9} {}", finding.what, finding.detail);
    }
    out.push_str(conclusion);
    out
}

fn switched_on(settings: &Map<String, Value>) -> Finding {
    let is_off = settings.get("disableAllHooks") == Some(&Value::Bool(true));
    let detail =
        if is_off { "`disableAllHooks` is set, so no hook runs" } else { "hooks are enabled" };
    Finding { what: "settings", is_good: !is_off, detail: detail.to_owned() }
}

fn hook(host: Host, event: HookEvent, settings: &Map<String, Value>) -> Result<String, String> {
    let commands = install::commands(settings, event);
    let ours = commands.iter().filter(|(_, command)| install::is_ours(host, command));
    let mut matchers = Vec::new();
    for (matcher, command) in ours {
        if matches!(*matcher, "" | "*" | ".*") {
            return Ok((*command).to_owned());
        }
        matchers.push(*matcher);
    }
    if matchers.is_empty() {
        return Err(format!("the ADE hook for {} is not configured", event.as_str()));
    }
    let matchers = matchers.join(", ");
    Err(format!("the hook for {} runs only for {matchers}, not for other tools", event.as_str()))
}

/// Checks that the hook runs after every tool, and sends it a test result.
async fn results(host: Host, settings: &Map<String, Value>) -> Finding {
    let finding = |is_good, detail| Finding { what: "results", is_good, detail };
    for event in host.events().iter().filter(|event| **event != HookEvent::PreToolUse) {
        let command = match hook(host, *event, settings) {
            Ok(command) => command,
            Err(detail) => return finding(false, detail),
        };
        let line = canary_line();
        let mut input = request(host, *event, &line);
        if let (Host::Generic, Some(input)) = (host, input.as_object_mut()) {
            input.insert("event".to_owned(), json!("after"));
        }
        let fired = fire(&command, &input.to_string()).await;
        if !matches!(&fired, Ok((Some(0), text)) if text.contains(&format!("{line} was seen"))) {
            let detail = format!("`{command}` does not take the test result ({fired:?})");
            return finding(false, detail);
        }
    }
    finding(true, "results of tools are reported".to_owned())
}

/// Runs the hook command the way a host does.
async fn fire(command: &str, input: &str) -> Result<(Option<i32>, String), String> {
    let message = |error: std::io::Error| error.to_string();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).kill_on_drop(true);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(message)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input may end early; only its exit status counts.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let ended = timeout(install::patience(), child.wait_with_output()).await;
    let ended = ended.map_err(|_| "it timed out".to_owned())?.map_err(message)?;
    let text = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok((ended.status.code(), text.concat()))
}

fn canary_line() -> String {
    format!("{CANARY} {}", std::process::id())
}

/// Returns what the host sends about a test call.
fn request(host: Host, event: HookEvent, line: &str) -> Value {
    match host {
        Host::Generic => json!({ "session": line, "tool": "Bash", "input": { "command": line } }),
        Host::ClaudeCode | Host::Codex => json!({
            "session_id": line, "hook_event_name": event.as_str(), "tool_name": "Bash",
            "tool_input": { "command": line }, "cwd": "/",
        }),
    }
}

/// Sends a test call that `ade hook` must deny.
async fn canary(host: Host, command: &str) -> Finding {
    let line = canary_line();
    let input = request(host, HookEvent::PreToolUse, &line);
    let fired = fire(command, &input.to_string()).await;
    let is_good = matches!(&fired, Ok((Some(0), text)) if text.contains("\"deny\"")
        && text.contains(&format!("{line} was seen")));
    let detail = match fired {
        _ if is_good => "a forbidden test call is denied".to_owned(),
        Ok((code, _)) => format!("a forbidden test call is not denied (exit code {code:?})"),
        Err(why) => format!("cannot run the hook: {why}"),
    };
    Finding { what: "canary", is_good, detail }
}

/// Sends invalid input, which must be blocked as well.
async fn nonsense(command: &str) -> Finding {
    let fired = fire(command, "{").await;
    let blocked = i32::from(BLOCKED.code());
    let is_good = matches!(&fired, Ok((Some(code), _)) if *code == blocked);
    let detail = if is_good {
        "invalid input is blocked".to_owned()
    } else {
        format!("invalid input is not blocked ({fired:?})")
    };
    Finding { what: "nonsense", is_good, detail }
}

/// Checks that every MCP server which the host calls `ade` is this program, because its tools run
/// without a task.
fn tools(host: Host, cx: &Context) -> Finding {
    let found = cx.client().map_err(|failure| failure.what()).and_then(|client| {
        let folder = std::env::current_dir().map_err(|error| error.to_string())?;
        servers::configured(host, &folder, client.server())
    });
    let (is_good, detail) = match &found {
        Err(why) => (false, why.clone()),
        Ok(all) => match all.iter().find_map(|one| Some((&one.file, one.why_not.as_ref()?))) {
            Some((file, why)) => {
                let file = file.display();
                (false, format!("the MCP server `ade` in {file} is not this program: {why}"))
            }
            None if all.is_empty() => (true, "no MCP server is called `ade`".to_owned()),
            None => (true, "the MCP server `ade` is this program".to_owned()),
        },
    };
    Finding { what: "tools", is_good, detail }
}

async fn server(cx: &Context) -> Finding {
    let asked = async { Ok::<_, Failure>(cx.client()?.me().await?) };
    let (is_good, detail) = match asked.await {
        Ok(me) if me.actor.get("kind").and_then(Value::as_str) == Some("agent") => {
            (true, format!("authenticated as {}", me.name))
        }
        Ok(me) => (false, format!("{} is not an agent; use an agent's token", me.name)),
        Err(failure) => (false, failure.what()),
    };
    Finding { what: "server", is_good, detail }
}
