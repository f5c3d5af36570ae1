//! The MCP servers that a host knows by the name `ade`. A project chooses the names of its servers,
//! so a tool is ours only if every such server is this program, or `/mcp` of the current server.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ade_core::limits::HOOK_REQUEST_MAX_BYTES;
use ade_mcp::Tool;
use serde_json::Value;

use super::host::Host;
use crate::settings::{PROFILE_VARIABLE, SERVER_VARIABLE, TOKEN_VARIABLE};

/// The name under which guides and `ade mcp --help` add this program to a host.
const NAME: &str = "ade";
/// Hosts name the tools of a server `mcp__SERVER__TOOL`.
const PREFIX: &str = "mcp__ade__";

/// Returns whether hosts give this name to one of our tools.
pub fn is_ours(tool: &str) -> bool {
    tool.strip_prefix(PREFIX).is_some_and(|name| Tool::named(name).is_some())
}

/// An MCP server called `ade` in a settings file.
#[derive(Debug, PartialEq, Eq)]
pub struct McpServer {
    pub file: PathBuf,
    /// Why it is not this program; `None` if it is.
    pub why_not: Option<String>,
}

/// Returns the servers that a host which works in this directory may start as `ade`. `url` is the
/// address of the current server of ADE.
pub fn configured(host: Host, folder: &Path, url: &str) -> Result<Vec<McpServer>, String> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let found = match host {
        Host::ClaudeCode => of_claude_code(home.as_deref(), folder)?,
        Host::Codex => of_codex(home.as_deref(), folder)?,
        // It names its tools as it likes, and has no settings that this program knows.
        Host::Generic => Vec::new(),
    };
    let judged = found.into_iter().map(|(file, entry)| {
        let why_not = why_not(&entry, folder, url);
        McpServer { file, why_not }
    });
    Ok(judged.collect())
}

type Entries = Vec<(PathBuf, Value)>;

/// Claude Code reads `.mcp.json` of the project, and `~/.claude.json` with a part per project.
fn of_claude_code(home: Option<&Path>, folder: &Path) -> Result<Entries, String> {
    let mut found = Vec::new();
    for file in folder.ancestors().map(|at| at.join(".mcp.json")) {
        let settings = read(&file, |text| serde_json::from_str(text).map_err(|e| e.to_string()))?;
        found.extend(named(&settings, "mcpServers").map(|entry| (file, entry)));
    }
    let Some(file) = home.map(|home| home.join(".claude.json")) else { return Ok(found) };
    let settings = read(&file, |text| serde_json::from_str(text).map_err(|e| e.to_string()))?;
    let projects = settings.get("projects").and_then(Value::as_object);
    let parts = projects.into_iter().flatten().filter(|(path, _)| folder.starts_with(path));
    let all = parts.map(|(_, part)| part).chain([&settings]);
    found.extend(all.filter_map(|part| Some((file.clone(), named(part, "mcpServers")?))));
    Ok(found)
}

/// Codex reads `config.toml` in `.codex` of the project and of the user.
fn of_codex(home: Option<&Path>, folder: &Path) -> Result<Entries, String> {
    let own = std::env::var_os("CODEX_HOME").map(PathBuf::from);
    let own = own.or_else(|| home.map(|home| home.join(".codex")));
    let all = folder.ancestors().map(|at| at.join(".codex")).chain(own);
    let mut found: Entries = Vec::new();
    for file in all.map(|at| at.join("config.toml")) {
        if found.iter().any(|(known, _)| *known == file) {
            continue;
        }
        let settings = read(&file, |text| toml::from_str(text).map_err(|e| e.to_string()))?;
        found.extend(named(&settings, "mcp_servers").map(|entry| (file, entry)));
    }
    Ok(found)
}

fn named(settings: &Value, member: &str) -> Option<Value> {
    settings.get(member)?.get(NAME).cloned()
}

/// Reads settings; a file that does not exist has none.
fn read(file: &Path, parse: fn(&str) -> Result<Value, String>) -> Result<Value, String> {
    let failed = |why: String| format!("cannot read {}: {why}", file.display());
    match fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Value::Null),
        Err(error) => return Err(failed(error.to_string())),
        Ok(about) if about.len() > HOOK_REQUEST_MAX_BYTES => {
            return Err(failed("the file is too large".to_owned()));
        }
        Ok(_) => {}
    }
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    parse(&text).map_err(failed)
}

fn why_not(entry: &Value, folder: &Path, url: &str) -> Option<String> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    if let Some(address) = text("url") {
        let own = format!("{url}/mcp");
        let is_own = entry.get("command").is_none() && address.trim_end_matches('/') == own;
        return (!is_own).then(|| format!("its address is {address}, not {own}"));
    }
    let Some(command) = text("command") else {
        return Some("it has neither a command nor an address".to_owned());
    };
    if !is_this_program(command, folder) {
        return Some(format!("`{command}` is another program"));
    }
    let words = entry.get("args").and_then(Value::as_array).into_iter().flatten();
    let words: Option<Vec<&str>> = words.map(Value::as_str).collect();
    if !matches!(words.as_deref(), Some(["mcp"] | ["--profile", _, "mcp"])) {
        return Some(format!("`{command}` is not started as `ade mcp`"));
    }
    let variables = entry.get("env").and_then(Value::as_object).into_iter().flatten();
    let odd = |(name, value): &(&String, &Value)| match name.as_str() {
        TOKEN_VARIABLE | PROFILE_VARIABLE => false,
        SERVER_VARIABLE => value.as_str().map(|text| text.trim_end_matches('/')) != Some(url),
        _ => true,
    };
    let mut odd = variables.filter(odd);
    odd.next().map(|(name, _)| format!("its environment sets {name}"))
}

/// Checks whether a command of the host means the file of this program.
fn is_this_program(command: &str, folder: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    let own = std::env::current_exe().ok().and_then(|path| identity(&path));
    let place = if command.contains('/') {
        Some(folder.join(command))
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|at| folder.join(at).join(command)).find(|at| at.is_file())
    };
    own.is_some() && place.and_then(|place| identity(&place)) == own
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_of_ours_is_recognized_by_its_exact_name() {
        for tool in Tool::ALL {
            assert!(is_ours(&format!("mcp__ade__{}", tool.name())), "{tool:?}");
            // Otherwise a server `ade__x` could have a tool of this name.
            assert!(!tool.name().contains("__"), "{tool:?}");
        }
        for other in [
            "mcp__ade__shell",
            "mcp__ade__",
            "mcp__ade",
            "mcp__ade__x__request_approval",
            "mcp__ade_x__request_approval",
            "mcp__Ade__request_approval",
            "request_approval",
            "mcp__ade__request_approval ",
            "mcp__ade__Request_Approval",
        ] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn mcp_server_is_ours_only_as_this_program_or_address() {
        let url = "https://ade.example.org";
        let program = std::env::current_exe().unwrap();
        let why = |entry: Value| why_not(&entry, Path::new("/"), url);
        for ours in [
            json!({ "command": program, "args": ["mcp"] }),
            json!({ "command": program, "args": ["--profile", "prod", "mcp"] }),
            json!({ "command": program, "args": ["mcp"],
                    "env": { "ADE_TOKEN": "x", "ADE_SERVER": "https://ade.example.org/" } }),
            json!({ "type": "http", "url": "https://ade.example.org/mcp" }),
        ] {
            assert_eq!(why(ours.clone()), None, "{ours}");
        }
        for (other, says) in [
            (json!({ "command": "/bin/sh", "args": ["mcp"] }), "is another program"),
            (json!({ "command": "no-such-command", "args": ["mcp"] }), "is another program"),
            (json!({ "command": program, "args": ["run"] }), "not started as `ade mcp`"),
            (json!({ "command": program }), "not started as `ade mcp`"),
            (
                json!({ "command": program, "args": ["mcp"], "env": { "LD_PRELOAD": "x" } }),
                "sets LD_PRELOAD",
            ),
            (
                json!({ "command": program, "args": ["mcp"], "env": { "ADE_SERVER": "http://x" } }),
                "sets ADE_SERVER",
            ),
            (json!({ "url": "https://evil.example.org/mcp" }), "its address is"),
            (json!({ "url": "https://ade.example.org/mcp", "command": "x" }), "its address is"),
            (json!({}), "neither a command nor an address"),
        ] {
            let said = why(other.clone()).unwrap_or_else(|| panic!("{other}"));
            assert!(said.contains(says), "{said}");
        }
    }
}
