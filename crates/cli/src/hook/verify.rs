//! Whether the boundary holds: the settings of the host are read, and what they would run is run,
//! with calls that must not get through.

use std::fmt::Write as _;
use std::process::Stdio;

use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::host::Host;
use super::{BLOCKED, CANARY, install};
use crate::args::HookVerifyArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Something that was looked at.
struct Finding {
    what: &'static str,
    is_good: bool,
    told: String,
}

pub async fn verify(args: &HookVerifyArgs, cx: &Context) -> Result<Exit, Failure> {
    let path = install::settings_path(args.host, args.user, args.settings.as_deref())?;
    let settings = install::read(&path)?;
    let mut findings = vec![switched_on(&settings)];
    match hook(args.host, &settings) {
        Err(told) => findings.push(Finding { what: "hook", is_good: false, told }),
        Ok(command) => {
            let told = format!("`{command}` runs before every tool");
            findings.push(Finding { what: "hook", is_good: true, told });
            findings.push(canary(args.host, &command).await);
            findings.push(nonsense(&command).await);
        }
    }
    findings.push(server(cx).await);
    let holds = findings.iter().all(|finding| finding.is_good);
    let told = json!({ "holds": holds, "settings": path, "findings": listed(&findings) });
    cx.output.show(&told, || words(&findings, holds))?;
    Ok(if holds { Exit::Done } else { Exit::NotSo })
}

fn listed(findings: &[Finding]) -> Vec<Value> {
    let one = |it: &Finding| json!({ "what": it.what, "good": it.is_good, "told": it.told });
    findings.iter().map(one).collect()
}

fn words(findings: &[Finding], holds: bool) -> String {
    let mut out = String::new();
    for finding in findings {
        let mark = if finding.is_good { "✓" } else { "✕" };
        let _ = writeln!(out, "{mark} {:<9} {}", finding.what, finding.told);
    }
    out.push_str(if holds {
        "The boundary holds."
    } else {
        "BYPASS: tools can run without anybody being asked. Next: ade hook install"
    });
    out
}

fn switched_on(settings: &Map<String, Value>) -> Finding {
    let is_off = settings.get("disableAllHooks") == Some(&Value::Bool(true));
    let told = if is_off { "`disableAllHooks` is set: no hook runs" } else { "hooks are not off" };
    Finding { what: "settings", is_good: !is_off, told: told.to_owned() }
}

fn hook(host: Host, settings: &Map<String, Value>) -> Result<String, String> {
    let commands = install::commands(settings);
    let ours = commands.iter().filter(|(_, command)| install::is_ours(host, command));
    let mut matchers = Vec::new();
    for (matcher, command) in ours {
        if matches!(*matcher, "" | "*" | ".*") {
            return Ok((*command).to_owned());
        }
        matchers.push(*matcher);
    }
    if matchers.is_empty() {
        return Err("nothing of ours runs before a tool".to_owned());
    }
    Err(format!("it is asked about {} only; other tools run freely", matchers.join(", ")))
}

/// As the host would start it.
async fn fire(command: &str, input: &str) -> Result<(Option<i32>, String), String> {
    let told = |error: std::io::Error| error.to_string();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).kill_on_drop(true);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(told)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read ends before; how it ended is what counts.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let ended = timeout(install::patience(), child.wait_with_output()).await;
    let ended = ended.map_err(|_| "it does not end".to_owned())?.map_err(told)?;
    let text = [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Ok((ended.status.code(), text.concat()))
}

/// Must be denied, by the program that knows what a canary is.
async fn canary(host: Host, command: &str) -> Finding {
    let number = std::process::id().to_string();
    let line = format!("{CANARY} {number}");
    let input = match host {
        Host::Generic => json!({ "session": line, "tool": "Bash", "input": { "command": line } }),
        Host::ClaudeCode | Host::Codex => json!({
            "session_id": line, "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": line }, "cwd": "/",
        }),
    };
    let fired = fire(command, &input.to_string()).await;
    let is_good = matches!(&fired, Ok((Some(0), text)) if text.contains("\"deny\"")
        && text.contains(&format!("{line} was seen")));
    let told = match fired {
        _ if is_good => "a call that must not run is denied".to_owned(),
        Ok((code, _)) => format!("a call that must not run is not denied (it ended with {code:?})"),
        Err(why) => format!("the hook cannot be run: {why}"),
    };
    Finding { what: "canary", is_good, told }
}

/// What cannot be read must not get through either.
async fn nonsense(command: &str) -> Finding {
    let fired = fire(command, "{").await;
    let blocked = i32::from(BLOCKED.code());
    let is_good = matches!(&fired, Ok((Some(code), _)) if *code == blocked);
    let told = if is_good {
        "what cannot be read is blocked".to_owned()
    } else {
        format!("what cannot be read is not blocked ({fired:?})")
    };
    Finding { what: "nonsense", is_good, told }
}

async fn server(cx: &Context) -> Finding {
    let asked = async { Ok::<_, Failure>(cx.client()?.me().await?) };
    let (is_good, told) = match asked.await {
        Ok(me) if me.actor.get("kind").and_then(Value::as_str) == Some("agent") => {
            (true, format!("answers {}", me.name))
        }
        Ok(me) => (false, format!("{} is no agent: use an agent's token", me.name)),
        Err(failure) => (false, failure.what()),
    };
    Finding { what: "server", is_good, told }
}
