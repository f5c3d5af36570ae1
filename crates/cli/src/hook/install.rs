//! Writes the hook into the settings of a host, beside whatever stands there; once, however often
//! it is done.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_core::limits::{CLI_FILE_MAX_BYTES, RUN_ASIDE_TIMEOUT, WAIT_MAX};
use serde_json::{Map, Value, json};

use super::host::Host;
use crate::args::HookInstallArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// All tools: a host has new ones with every version, and what is not asked about runs.
const MATCHER: &str = "*";

pub fn install(args: &HookInstallArgs, cx: &Context) -> Result<Exit, Failure> {
    let path = settings_path(args.host, args.user, args.settings.as_deref())?;
    let before = read(&path)?;
    let after = with_hook(args.host, before.clone())?;
    let text = format!("{:#}\n", Value::Object(after.clone()));
    if args.dry_run {
        print!("{text}");
        return Ok(Exit::Done);
    }
    let is_there = before == after;
    if !is_there {
        write(&path, &text)?;
    }
    let told = json!({ "settings": path, "host": args.host.as_str(), "changed": !is_there });
    let what = if is_there { "The hook was there already" } else { "The hook is installed" };
    let next = format!("ade hook verify {}", args.host.as_str());
    cx.output.done(&told, &format!("{what}: {}", path.display()), &next)?;
    Ok(Exit::Done)
}

/// Where the host looks: in the project, or at home.
pub fn settings_path(host: Host, user: bool, given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let place = match host {
        Host::ClaudeCode => ".claude/settings.json",
        Host::Codex => ".codex/hooks.json",
        Host::Generic => {
            return Err(Failure::new(Exit::Usage, "a generic host has settings of its own")
                .detail("have it run `ade hook generic` before each tool, and keep to its answer")
                .or_next("ade hook generic --help"));
        }
    };
    if !user {
        return Ok(PathBuf::from(place));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.map(|home| home.join(place))
        .ok_or_else(|| Failure::new(Exit::Usage, "HOME is not set").or_next("echo $HOME"))
}

pub fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let failed = |why: String| {
        Failure::new(Exit::Failed, format!("{} cannot be used", path.display())).detail(why)
    };
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(failed(error.to_string())),
        Ok(about) if about.len() > CLI_FILE_MAX_BYTES => return Err(failed("too long".to_owned())),
        Ok(_) => fs::read_to_string(path).map_err(|error| failed(error.to_string()))?,
    };
    serde_json::from_str(&text).map_err(|error| failed(format!("it is no JSON object: {error}")))
}

/// The commands that run before a tool, as they are set up.
pub fn commands(settings: &Map<String, Value>) -> Vec<(&str, &str)> {
    let groups = settings.get("hooks").and_then(|hooks| hooks.get("PreToolUse"));
    let groups = groups.and_then(Value::as_array).into_iter().flatten();
    let mut commands = Vec::new();
    for group in groups {
        let matcher = group.get("matcher").and_then(Value::as_str).unwrap_or_default();
        let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
        let text = hooks.filter_map(|hook| hook.get("command").and_then(Value::as_str));
        commands.extend(text.map(|command| (matcher, command)));
    }
    commands
}

/// How long a host waits for the hook: the longest wait there is, and a call.
pub fn patience() -> Duration {
    WAIT_MAX + RUN_ASIDE_TIMEOUT
}

pub fn command_of(host: Host) -> String {
    format!("ade hook {}", host.as_str())
}

/// Whoever has added options keeps them.
pub fn is_ours(host: Host, command: &str) -> bool {
    let own = command_of(host);
    command == own || command.starts_with(&format!("{own} "))
}

fn with_hook(host: Host, mut settings: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    if commands(&settings).iter().any(|(_, command)| is_ours(host, command)) {
        return Ok(settings);
    }
    let odd = || {
        Failure::new(Exit::Failed, "`hooks.PreToolUse` of the settings is not what hosts write")
            .or_next("ade hook install --dry-run")
    };
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(odd)?;
    let groups = hooks.entry("PreToolUse").or_insert_with(|| json!([]));
    groups.as_array_mut().ok_or_else(odd)?.push(json!({
        "matcher": MATCHER,
        "hooks": [{
            "type": "command", "command": command_of(host), "timeout": patience().as_secs(),
        }],
    }));
    Ok(settings)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // Whole or not at all: a host that reads half of it would run without.
    let beside = path.with_extension("json.new");
    fs::write(&beside, text).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}
