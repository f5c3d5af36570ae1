//! `ade hook install`: adds the hooks before and after a tool to the settings of a host and keeps
//! all other settings. It can be repeated without effect.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ade_core::limits::{CLI_FILE_MAX_BYTES, RUN_ASIDE_TIMEOUT, WAIT_MAX};
use serde_json::{Map, Value, json};

use super::host::{HookEvent, Host};
use crate::args::HookInstallArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Matches all tools, because hosts add tools and run unmatched ones without asking.
const MATCHER: &str = "*";

pub fn install(args: &HookInstallArgs, cx: &Context) -> Result<Exit, Failure> {
    let path = settings_path(args.host, args.user, args.settings.as_deref())?;
    let before = read(&path)?;
    let after = with_hooks(args.host, before.clone())?;
    let text = format!("{:#}\n", Value::Object(after.clone()));
    if args.dry_run {
        print!("{text}");
        return Ok(Exit::Done);
    }
    let is_there = before == after;
    if !is_there {
        write(&path, &text)?;
    }
    let result = json!({ "settings": path, "host": args.host.as_str(), "changed": !is_there });
    let what = if is_there { "The hooks are already installed" } else { "Installed the hooks" };
    let next = format!("ade hook verify {}", args.host.as_str());
    cx.output.done(&result, &format!("{what} in {}", path.display()), &next)?;
    Ok(Exit::Done)
}

/// Returns the settings file of the host, in the project or in the home directory.
pub fn settings_path(host: Host, user: bool, given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let place = match host {
        Host::ClaudeCode => ".claude/settings.json",
        Host::Codex => ".codex/hooks.json",
        Host::Generic => {
            return Err(Failure::new(
                Exit::Usage,
                "the hook cannot be installed for a generic host",
            )
            .detail(
                "let the host run `ade hook generic` before each tool, obey its decision, and run \
                 it again with the result",
            )
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
        Failure::new(Exit::Failed, format!("cannot use {}", path.display())).detail(why)
    };
    let text = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(failed(error.to_string())),
        Ok(about) if about.len() > CLI_FILE_MAX_BYTES => {
            return Err(failed("the file is too large".to_owned()));
        }
        Ok(_) => fs::read_to_string(path).map_err(|error| failed(error.to_string()))?,
    };
    serde_json::from_str(&text).map_err(|error| failed(format!("not a JSON object: {error}")))
}

/// Returns the commands that are configured for an event, with their matchers.
pub fn commands(settings: &Map<String, Value>, event: HookEvent) -> Vec<(&str, &str)> {
    let groups = settings.get("hooks").and_then(|hooks| hooks.get(event.as_str()));
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

/// Returns the hook timeout for the host: the longest wait plus one API call.
pub fn patience() -> Duration {
    WAIT_MAX + RUN_ASIDE_TIMEOUT
}

pub fn command_of(host: Host) -> String {
    format!("ade hook {}", host.as_str())
}

/// Checks whether a command is this hook, with or without options.
pub fn is_ours(host: Host, command: &str) -> bool {
    let own = command_of(host);
    command == own || command.starts_with(&format!("{own} "))
}

fn with_hooks(host: Host, mut settings: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    for event in host.events() {
        add(host, *event, &mut settings)?;
    }
    Ok(settings)
}

fn add(host: Host, event: HookEvent, settings: &mut Map<String, Value>) -> Result<(), Failure> {
    if commands(settings, event).iter().any(|(_, command)| is_ours(host, command)) {
        return Ok(());
    }
    let odd = || {
        let what = format!("`hooks.{}` in the settings has an unexpected format", event.as_str());
        Failure::new(Exit::Failed, what).or_next("ade hook install --dry-run")
    };
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(odd)?;
    let groups = hooks.entry(event.as_str()).or_insert_with(|| json!([]));
    groups.as_array_mut().ok_or_else(odd)?.push(json!({
        "matcher": MATCHER,
        "hooks": [{
            "type": "command", "command": command_of(host), "timeout": patience().as_secs(),
        }],
    }));
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Failed, format!("cannot write {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // The file is replaced atomically: a host that reads half of it would run without the hook.
    let beside = path.with_extension("json.new");
    fs::write(&beside, text).map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}
