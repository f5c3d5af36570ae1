//! The gates between a task and its permit: what each is called, why it is closed, and what opens
//! it. Explanations and claims show the same gates.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    /// The task is submitted, so that rules apply to it.
    Submitted,
    /// The policies that require approvals, and whether the required people exist.
    Policy,
    /// The basis of the approval: a quorum, a clause or an override.
    Approval,
    /// How long the approval is valid.
    Window,
    Freeze,
    Locks,
    Capacity,
    /// The agent that claims the task.
    Agent,
    /// The place of the task among those that wait to be applied.
    Queue,
}

macro_rules! gate_codes {
    ($($(#[$about:meta])* $code:ident = $name:literal;)+) => {
        /// Why a gate is closed, for programs.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum GateCode {
            $($(#[$about])* $code,)+
        }

        impl GateCode {
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $name,)+ }
            }
        }
    };
}

gate_codes! {
    NotSubmitted = "not_submitted";
    /// A reviewer has returned the task to its author.
    ChangesRequested = "changes_requested";
    /// Too few people are eligible, so that the approvals cannot be collected.
    ReviewersMissing = "reviewers_missing";
    ApprovalsMissing = "approvals_missing";
    /// The approval no longer holds, for example because a role was revoked.
    ApprovalLost = "approval_lost";
    ApprovalExpired = "approval_expired";
    Frozen = "frozen";
    InstallationFrozen = "installation_frozen";
    LockHeld = "lock_held";
    /// No agent that can run the task is online and has a free slot.
    NoAgent = "no_agent";
    AgentPaused = "agent_paused";
    AgentDraining = "agent_draining";
    /// The capabilities of the agent do not cover the type of the task.
    NotCapable = "not_capable";
    NoFreeSlot = "no_free_slot";
    /// The server applies tasks of this type itself.
    AppliedByServer = "applied_by_server";
    /// Another attempt is running.
    InProgress = "in_progress";
    /// The last attempt failed, and the next one may not begin yet.
    BackingOff = "backing_off";
    /// No task that the agent could run is approved and free.
    NoTaskReady = "no_task_ready";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gate {
    pub name: GateName,
    pub passed: bool,
    /// Why the gate is closed; `None` if it is open.
    pub code: Option<GateCode>,
    pub evidence: String,
    /// The action that opens a closed gate.
    pub how_to_pass: Option<String>,
    /// When a closed gate opens without any action, if that is known.
    pub until: Option<Timestamp>,
}

impl Gate {
    pub(super) fn open(name: GateName, evidence: impl Into<String>) -> Self {
        let evidence = evidence.into();
        Self { name, passed: true, code: None, evidence, how_to_pass: None, until: None }
    }

    pub(super) fn closed(
        name: GateName,
        code: GateCode,
        evidence: impl Into<String>,
        how_to_pass: &str,
    ) -> Self {
        Self {
            name,
            passed: false,
            code: Some(code),
            evidence: evidence.into(),
            how_to_pass: Some(how_to_pass.to_owned()),
            until: None,
        }
    }

    pub(super) fn until(self, until: Option<Timestamp>) -> Self {
        Self { until, ..self }
    }
}
