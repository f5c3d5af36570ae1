//! `ade hook`: the host of an agent asks before a tool runs, and this answers. Whatever goes wrong
//! here blocks the call: a boundary that opens when it breaks is none.

mod host;
mod install;
mod judge;
mod verify;

use std::io::Read as _;

use ade_core::limits::CLI_FILE_MAX_BYTES;

use crate::args::{HookArgs, HookCommand, Unreachable};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
pub use host::Host;
use host::{Call, Verdict};

/// Hosts take this as a no, and show standard error as the reason.
const BLOCKED: Exit = Exit::Command(2);
/// A call that is never let through; `ade hook verify` makes it, with a number of its own.
const CANARY: &str = "ade-hook-canary";

pub async fn run(command: HookCommand, cx: &Context) -> Result<Exit, Failure> {
    match command {
        HookCommand::ClaudeCode(args) => Ok(answer(Host::ClaudeCode, &args, cx).await),
        HookCommand::Codex(args) => Ok(answer(Host::Codex, &args, cx).await),
        HookCommand::Generic(args) => Ok(answer(Host::Generic, &args, cx).await),
        HookCommand::Install(args) => install::install(&args, cx),
        HookCommand::Verify(args) => verify::verify(&args, cx).await,
    }
}

async fn answer(host: Host, args: &HookArgs, cx: &Context) -> Exit {
    let blocked = |why: &str| {
        eprintln!("the call is blocked: {why}");
        BLOCKED
    };
    let call = match heard().and_then(|text| host.read(&text)) {
        Ok(call) => call,
        Err(why) => return blocked(&why),
    };
    let verdict = if let Some(number) = canary(&call) {
        Verdict::Deny { reason: format!("{CANARY} {number} was seen"), task: None }
    } else {
        match judge::judge(&call, args, cx).await {
            Ok(verdict) => verdict,
            Err(failure)
                if args.unreachable == Unreachable::Ask && failure.exit == Exit::Unreachable =>
            {
                Verdict::Ask { reason: failure.what() }
            }
            Err(failure) => return blocked(&failure.what()),
        }
    };
    if let Some(written) = host.write(&call, &verdict) {
        println!("{written}");
    }
    Exit::Done
}

fn heard() -> Result<String, String> {
    let mut text = String::new();
    let bound = CLI_FILE_MAX_BYTES + 1;
    let read = std::io::stdin().lock().take(bound).read_to_string(&mut text);
    read.map_err(|error| format!("what the host says cannot be read: {error}"))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > CLI_FILE_MAX_BYTES {
        return Err(format!("the host says more than {CLI_FILE_MAX_BYTES} bytes"));
    }
    Ok(text)
}

fn canary(call: &Call) -> Option<&str> {
    let command = call.input.get("command")?.as_str()?;
    command.strip_prefix(CANARY)?.strip_prefix(' ')
}
