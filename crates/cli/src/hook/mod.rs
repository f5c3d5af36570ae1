//! `ade hook`: answers the requests that an agent host makes before it runs a tool, and takes the
//! result of the tool afterwards. Before the tool, every error blocks the call, so that the hook
//! fails closed.

mod host;
mod install;
mod judge;
mod keeper;
mod open_calls;
mod report;
mod result;
mod servers;
mod verify;

use std::io::Read as _;

use ade_api::code::Code;
use ade_core::limits::HOOK_REQUEST_MAX_BYTES;
use serde_json::json;

use crate::args::{HookArgs, HookCommand, Unreachable};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::outcome;
pub use host::Host;
use host::{ToolCall, Verdict};
use result::ToolResult;

/// The exit code with which hosts show standard error to the model. Before a tool, it also denies
/// the call.
const BLOCKED: Exit = Exit::Command(2);
/// The command of a test call that is always denied; `ade hook verify` appends a random number.
const CANARY: &str = "ade-hook-canary";

pub async fn run(command: HookCommand, cx: &Context) -> Result<Exit, Failure> {
    match command {
        HookCommand::ClaudeCode(args) => Ok(answer(Host::ClaudeCode, &args, cx).await),
        HookCommand::Codex(args) => Ok(answer(Host::Codex, &args, cx).await),
        HookCommand::Generic(args) => Ok(answer(Host::Generic, &args, cx).await),
        HookCommand::Install(args) => install::install(&args, cx),
        HookCommand::Verify(args) => verify::verify(&args, cx).await,
        HookCommand::Keep { name } => keeper::keep(&name, cx).await,
    }
}

async fn answer(host: Host, args: &HookArgs, cx: &Context) -> Exit {
    let blocked = |why: &str| {
        eprintln!("tool call blocked: {why}");
        BLOCKED
    };
    let call = match heard().and_then(|text| host.read(&text)) {
        Ok(call) => call,
        Err(why) => return blocked(&why),
    };
    if let Some(result) = &call.result {
        return take(host, &call, result, cx).await;
    }
    let verdict = if let Some(number) = canary(&call) {
        let reason = format!("{CANARY} {number} was seen");
        Verdict::Deny { code: "canary", reason, task: None }
    } else {
        match judge::judge(host, &call, args, cx).await {
            Ok(verdict) => verdict,
            Err(failure)
                if args.unreachable == Unreachable::Ask && failure.exit == Exit::Unreachable =>
            {
                Verdict::Ask { reason: failure.for_model() }
            }
            Err(failure) if failure.exit == Exit::Unreachable => {
                let advice = "Repeat the call when the server can be reached again.";
                return blocked(&failure.advice(advice).for_model());
            }
            Err(failure) => return blocked(&failure.for_model()),
        }
    };
    if let Some(written) = host.write(&call, &verdict) {
        println!("{written}");
    }
    Exit::Done
}

/// Takes the result of a tool that has run. Hosts show an error to the model; it blocks nothing.
async fn take(host: Host, call: &ToolCall, result: &ToolResult, cx: &Context) -> Exit {
    if let Some(number) = canary(call) {
        println!("{}", json!({ "systemMessage": format!("{CANARY} {number} was seen") }));
        return Exit::Done;
    }
    match report::report(call, result, cx).await {
        Ok(reported) => {
            let reported = reported.as_ref();
            if host == Host::Generic {
                let (task, outcome) =
                    (reported.map(|one| one.task), reported.map(|one| one.outcome));
                println!("{}", json!({ "task": task, "outcome": outcome }));
            }
            let Some(abort) = reported.and_then(|one| one.abort.as_ref()) else {
                return Exit::Done;
            };
            eprintln!(
                "[{}] the task was cancelled while the tool ran, {}. If the change must not stay, \
                 undo what the tool did.",
                Code::AbortRequested.as_str(),
                outcome::cancelled_by(abort)
            );
            BLOCKED
        }
        Err(failure) => {
            eprintln!("the result of the tool was not recorded: {}", failure.for_model());
            BLOCKED
        }
    }
}

fn heard() -> Result<String, String> {
    let mut text = String::new();
    let bound = HOOK_REQUEST_MAX_BYTES + 1;
    let read = std::io::stdin().lock().take(bound).read_to_string(&mut text);
    read.map_err(|error| format!("cannot read the request of the host: {error}"))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > HOOK_REQUEST_MAX_BYTES {
        return Err(format!(
            "the request of the host is larger than {HOOK_REQUEST_MAX_BYTES} bytes"
        ));
    }
    Ok(text)
}

fn canary(call: &ToolCall) -> Option<&str> {
    let command = call.input.get("command")?.as_str()?;
    command.strip_prefix(CANARY)?.strip_prefix(' ')
}
