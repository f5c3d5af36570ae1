//! The hosts: how each asks, how each is answered. What a host would not understand it takes for
//! nothing and goes on, so only words that it knows are written.

use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Host {
    ClaudeCode,
    Codex,
    Generic,
}

/// A tool that is about to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub event: Event,
    pub session: String,
    pub tool: String,
    pub input: Value,
    pub folder: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Event {
    PreToolUse,
    /// Of Codex: it would ask its person now.
    PermissionRequest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow {
        reason: String,
        task: Option<String>,
    },
    Deny {
        reason: String,
        task: Option<String>,
    },
    /// The person at the host says.
    Ask {
        reason: String,
    },
    NoOpinion,
}

/// More members come with every version of a host; none of them changes what is asked.
#[derive(Debug, Deserialize)]
struct Asked {
    session_id: String,
    hook_event_name: Event,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedPlainly {
    session: String,
    tool: String,
    input: Value,
    cwd: Option<String>,
}

impl Host {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Generic => "generic",
        }
    }

    pub fn read(self, text: &str) -> Result<Call, String> {
        let wrong = |error: serde_json::Error| {
            format!("this is not what {} says before a tool runs: {error}", self.as_str())
        };
        match self {
            Self::ClaudeCode | Self::Codex => {
                let asked: Asked = serde_json::from_str(text).map_err(wrong)?;
                Ok(Call {
                    event: asked.hook_event_name,
                    session: asked.session_id,
                    tool: asked.tool_name,
                    input: asked.tool_input,
                    folder: asked.cwd,
                })
            }
            Self::Generic => {
                let AskedPlainly { session, tool, input, cwd } =
                    serde_json::from_str(text).map_err(wrong)?;
                Ok(Call { event: Event::PreToolUse, session, tool, input, folder: cwd })
            }
        }
    }

    /// Nothing is also an answer: the host does what it would have done.
    pub fn write(self, call: &Call, verdict: &Verdict) -> Option<Value> {
        match (self, call.event) {
            (Self::Generic, _) => Some(plain(verdict)),
            (Self::ClaudeCode, Event::PreToolUse) => match verdict {
                Verdict::Allow { reason, .. } => Some(before("allow", reason)),
                Verdict::Deny { reason, .. } => Some(before("deny", reason)),
                Verdict::Ask { reason } => Some(before("ask", reason)),
                Verdict::NoOpinion => None,
            },
            // It knows `deny` alone here, and goes on with whatever else it reads.
            (Self::Codex, Event::PreToolUse) => match verdict {
                Verdict::Deny { reason, .. } | Verdict::Ask { reason } => {
                    Some(before("deny", reason))
                }
                Verdict::Allow { .. } | Verdict::NoOpinion => None,
            },
            (Self::ClaudeCode | Self::Codex, Event::PermissionRequest) => match verdict {
                Verdict::Allow { .. } => Some(permission(&json!({ "behavior": "allow" }))),
                Verdict::Deny { reason, .. } => {
                    Some(permission(&json!({ "behavior": "deny", "message": reason })))
                }
                Verdict::Ask { .. } | Verdict::NoOpinion => None,
            },
        }
    }
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
        Verdict::Deny { reason, task } => {
            json!({ "decision": "deny", "reason": reason, "task": task })
        }
        Verdict::Ask { reason } => json!({ "decision": "ask", "reason": reason }),
        Verdict::NoOpinion => json!({ "decision": "none" }),
    }
}
