//! The request and response formats of agent hosts. A host ignores a response it does not
//! understand and runs the tool, so only documented values are written.

use std::fmt::Write as _;

use ade_api::executions::FinishOutcome;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::result::{self, ToolResult};

const NAME_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Host {
    ClaudeCode,
    Codex,
    Generic,
}

/// A tool that is about to run, or that has run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub event: HookEvent,
    pub session: String,
    pub tool: String,
    pub input: Value,
    pub folder: Option<String>,
    /// The host's own id of this call.
    pub tool_use: Option<String>,
    /// How the tool ended, if it has run.
    pub result: Option<ToolResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum HookEvent {
    PreToolUse,
    /// Codex is about to ask its user for permission.
    PermissionRequest,
    /// The tool has ended. Claude Code sends this only after a success, Codex always.
    PostToolUse,
    PostToolUseFailure,
}

impl ToolCall {
    /// Returns the name that identifies a call by session, tool and input.
    pub fn name(&self) -> String {
        let whole = json!([self.session, self.tool, self.input]).to_string();
        let digest = Sha256::digest(whole.as_bytes());
        let mut name = "hook-".to_owned();
        for byte in digest.iter().take(NAME_BYTES) {
            let _ = write!(name, "{byte:02x}");
        }
        name
    }
}

impl HookEvent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow {
        reason: String,
        task: Option<String>,
    },
    Deny {
        /// The cause for programs.
        code: &'static str,
        reason: String,
        task: Option<String>,
    },
    /// The user of the host decides.
    Ask {
        reason: String,
    },
    NoOpinion,
}

/// The request of a host. Unknown members are ignored, because new host versions add some.
#[derive(Debug, Deserialize)]
struct Asked {
    session_id: String,
    hook_event_name: HookEvent,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    cwd: Option<String>,
    tool_use_id: Option<String>,
    #[serde(default)]
    tool_response: Value,
    error: Option<String>,
    #[serde(default)]
    is_interrupt: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Moment {
    #[default]
    Before,
    After,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedPlainly {
    #[serde(default)]
    event: Moment,
    session: String,
    tool: String,
    input: Value,
    cwd: Option<String>,
    outcome: Option<FinishOutcome>,
    output: Option<String>,
    error: Option<String>,
}

impl Host {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Generic => "generic",
        }
    }

    /// Returns the events that the hook must be installed for, the one before a tool first.
    pub const fn events(self) -> &'static [HookEvent] {
        match self {
            Self::ClaudeCode => {
                &[HookEvent::PreToolUse, HookEvent::PostToolUse, HookEvent::PostToolUseFailure]
            }
            Self::Codex | Self::Generic => &[HookEvent::PreToolUse, HookEvent::PostToolUse],
        }
    }

    pub fn read(self, text: &str) -> Result<ToolCall, String> {
        let wrong = |error: serde_json::Error| {
            format!("this is not a valid {} hook request: {error}", self.as_str())
        };
        match self {
            Self::ClaudeCode | Self::Codex => {
                let asked: Asked = serde_json::from_str(text).map_err(wrong)?;
                let result = match asked.hook_event_name {
                    HookEvent::PreToolUse | HookEvent::PermissionRequest => None,
                    HookEvent::PostToolUse => {
                        // Claude Code sends this event only for a tool that succeeded.
                        let otherwise = match self {
                            Self::ClaudeCode => FinishOutcome::Succeeded,
                            Self::Codex | Self::Generic => FinishOutcome::ReleasedToHost,
                        };
                        let (input, response) = (&asked.tool_input, &asked.tool_response);
                        Some(result::of_response(input, response, otherwise))
                    }
                    HookEvent::PostToolUseFailure => {
                        Some(result::of_failure(asked.error, asked.is_interrupt))
                    }
                };
                Ok(ToolCall {
                    event: asked.hook_event_name,
                    session: asked.session_id,
                    tool: asked.tool_name,
                    input: asked.tool_input,
                    folder: asked.cwd,
                    tool_use: asked.tool_use_id,
                    result,
                })
            }
            Self::Generic => read_plain(serde_json::from_str(text).map_err(wrong)?),
        }
    }

    /// Formats the verdict for the host. `None` means that the host continues as without a hook.
    pub fn write(self, call: &ToolCall, verdict: &Verdict) -> Option<Value> {
        match (self, call.event) {
            (Self::Generic, _) => Some(plain(verdict)),
            (Self::ClaudeCode, HookEvent::PreToolUse) => match verdict {
                Verdict::Allow { reason, .. } => Some(before("allow", reason)),
                Verdict::Deny { code, reason, .. } => {
                    Some(before("deny", &with_code(code, reason)))
                }
                Verdict::Ask { reason } => Some(before("ask", reason)),
                Verdict::NoOpinion => None,
            },
            // Codex accepts only `deny` here and ignores every other value.
            (Self::Codex, HookEvent::PreToolUse) => match verdict {
                Verdict::Deny { code, reason, .. } => {
                    Some(before("deny", &with_code(code, reason)))
                }
                Verdict::Ask { reason } => Some(before("deny", reason)),
                Verdict::Allow { .. } | Verdict::NoOpinion => None,
            },
            (Self::ClaudeCode | Self::Codex, HookEvent::PermissionRequest) => match verdict {
                Verdict::Allow { .. } => Some(permission(&json!({ "behavior": "allow" }))),
                Verdict::Deny { code, reason, .. } => {
                    let message = with_code(code, reason);
                    Some(permission(&json!({ "behavior": "deny", "message": message })))
                }
                Verdict::Ask { .. } | Verdict::NoOpinion => None,
            },
            // The tool has run, so there is nothing to decide.
            (
                Self::ClaudeCode | Self::Codex,
                HookEvent::PostToolUse | HookEvent::PostToolUseFailure,
            ) => None,
        }
    }
}

fn read_plain(asked: AskedPlainly) -> Result<ToolCall, String> {
    let AskedPlainly { event, session, tool, input, cwd, outcome, output, error } = asked;
    let (event, result) = match event {
        Moment::Before if outcome.is_some() || output.is_some() || error.is_some() => {
            return Err("`outcome`, `output` and `error` belong to the event `after`".to_owned());
        }
        Moment::Before => (HookEvent::PreToolUse, None),
        Moment::After => {
            let outcome = outcome.unwrap_or(FinishOutcome::ReleasedToHost);
            (HookEvent::PostToolUse, Some(ToolResult::new(outcome, error, output)))
        }
    };
    Ok(ToolCall { event, session, tool, input, folder: cwd, tool_use: None, result })
}

/// Returns the text for a model, which sees nothing else of the decision.
fn with_code(code: &str, reason: &str) -> String {
    format!("[{code}] {reason}")
}

fn before(decision: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    } })
}

fn permission(decision: &Value) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PermissionRequest", "decision": decision,
    } })
}

fn plain(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Allow { reason, task } => {
            json!({ "decision": "allow", "reason": reason, "task": task })
        }
        Verdict::Deny { code, reason, task } => {
            json!({ "decision": "deny", "code": code, "reason": reason, "task": task })
        }
        Verdict::Ask { reason } => json!({ "decision": "ask", "reason": reason }),
        Verdict::NoOpinion => json!({ "decision": "none" }),
    }
}
