//! The tool calls that the host is running: the hook before a tool and the hook after it are
//! separate processes, and a file per call connects them. The files are beside the settings, only
//! this user can read them, and their number and age are bounded.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ade_core::ids::{ExecutionId, LeaseId, TaskId};
use ade_core::limits::{CLI_FILE_MAX_BYTES, HOOK_CALLS_MAX};
use serde::{Deserialize, Serialize};

use super::host::ToolCall;
use crate::failure::Failure;
use crate::look::time;
use crate::settings;

const FOLDER: &str = "tool-calls";
const ENDING: &str = "json";
/// How long a file is kept after its time has passed, for a keeper that has died.
const KEPT_AFTER: Duration = Duration::from_hours(1);

/// A call that was allowed and has not been reported yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenCall {
    pub task: TaskId,
    pub execution: ExecutionId,
    pub lease: LeaseId,
    /// The lifetime of the lease between two heartbeats.
    pub ttl_seconds: u64,
    /// The host's own id of the call.
    pub tool_use: Option<String>,
    /// When the call is released to the host, in seconds since 1970.
    pub until: u64,
}

impl OpenCall {
    /// Returns the time until the call is released to the host.
    pub fn left(&self) -> Duration {
        Duration::from_secs(self.until.saturating_sub(now()))
    }
}

/// The open calls of this user, by name.
#[derive(Debug, Clone)]
pub struct OpenCalls(PathBuf);

impl OpenCalls {
    pub fn locate() -> Result<Self, Failure> {
        Ok(Self(settings::place()?.with_file_name(FOLDER)))
    }

    /// Stores a call under a name. Fails if too many are open.
    pub fn keep(&self, name: &str, call: &OpenCall) -> io::Result<()> {
        self.forget_old();
        if self.names().len() >= HOOK_CALLS_MAX {
            return Err(io::Error::other(format!("{HOOK_CALLS_MAX} tool calls are open")));
        }
        settings::write_private(&self.path(name), &serde_json::to_string(call)?)
    }

    /// Returns the call with this name; `None` also for a file that cannot be read.
    pub fn get(&self, name: &str) -> Option<OpenCall> {
        let path = self.path(name);
        let length = fs::metadata(&path).ok()?.len();
        if length > CLI_FILE_MAX_BYTES {
            return None;
        }
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }

    /// Returns the open call that the host has run. Another hook may have changed its input, so
    /// the host's own id is searched if the input is not found.
    pub fn find(&self, call: &ToolCall) -> Option<(String, OpenCall)> {
        let name = call.name();
        if let Some(open) = self.get(&name) {
            return Some((name, open));
        }
        let wanted = call.tool_use.as_ref()?;
        self.names().into_iter().find_map(|name| {
            let open = self.get(&name)?;
            (open.tool_use.as_ref() == Some(wanted)).then_some((name, open))
        })
    }

    pub fn contains(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub fn forget(&self, name: &str) {
        // Another process may have removed it.
        let _ = fs::remove_file(self.path(name));
    }

    fn forget_old(&self) {
        for name in self.names() {
            let is_old = |open: OpenCall| open.until.saturating_add(KEPT_AFTER.as_secs()) < now();
            if self.get(&name).is_none_or(is_old) {
                self.forget(&name);
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        let calls = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        calls.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name).with_extension(ENDING)
    }
}

/// Returns the seconds since 1970.
pub fn now() -> u64 {
    u64::try_from(time::now().micros() / 1_000_000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::hook::host::HookEvent;

    struct Scratch(OpenCalls);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = format!("ade-open-calls-{name}-{}", std::process::id());
            Self(OpenCalls(std::env::temp_dir().join(folder)))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.0);
        }
    }

    fn open(until: u64) -> OpenCall {
        OpenCall {
            task: TaskId::from_u128(1),
            execution: ExecutionId::from_u128(2),
            lease: LeaseId::from_u128(3),
            ttl_seconds: 30,
            tool_use: Some("toolu_1".to_owned()),
            until,
        }
    }

    fn call(command: &str) -> ToolCall {
        ToolCall {
            event: HookEvent::PostToolUse,
            session: "s".to_owned(),
            tool: "Bash".to_owned(),
            input: serde_json::json!({ "command": command }),
            folder: None,
            tool_use: Some("toolu_1".to_owned()),
            result: None,
        }
    }

    #[test]
    fn open_call_is_private_and_found_by_input_or_id() {
        let Scratch(calls) = &Scratch::new("find");
        let (one, kept) = (call("make"), open(now() + 60));
        let name = one.name();
        assert_eq!(calls.find(&one), None);
        calls.keep(&name, &kept).unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&calls.0), mode(&calls.path(&name))), (0o700, 0o600));
        assert_eq!(calls.find(&one), Some((name.clone(), kept.clone())));
        assert_eq!(calls.find(&call("make -j")), Some((name.clone(), kept)));
        assert_eq!(calls.find(&ToolCall { tool_use: None, ..call("make -j") }), None);
        calls.forget(&name);
        assert!(!calls.contains(&name));
        assert_eq!(calls.find(&one), None);
    }

    #[test]
    fn open_calls_are_bounded_in_number_and_age() {
        let Scratch(calls) = &Scratch::new("bound");
        for number in 0..HOOK_CALLS_MAX {
            calls.keep(&format!("hook-{number}"), &open(now() + 60)).unwrap();
        }
        let full = calls.keep("hook-more", &open(now() + 60)).unwrap_err();
        assert!(full.to_string().contains("tool calls are open"), "{full}");
        let old = now() - KEPT_AFTER.as_secs() - 1;
        let text = serde_json::to_string(&open(old)).unwrap();
        settings::write_private(&calls.path("hook-0"), &text).unwrap();
        fs::write(calls.path("hook-1"), "{").unwrap();
        calls.keep("hook-more", &open(now() + 60)).unwrap();
        assert!(!calls.contains("hook-0") && !calls.contains("hook-1"));
    }
}
