//! Why an agent that claims a task gets no permit, and when to try again. It adds the facts about
//! the claiming agent to the explanation of the task.

use std::time::Duration;

use super::gate::{Gate, GateCode, GateName};
use super::{Explanation, State};
use crate::agent::OrderKind;
use crate::time::Timestamp;

/// The shortest and the longest advised pause before the next claim, and the one without a known
/// time.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(55);
const RETRY_DEFAULT: Duration = Duration::from_secs(5);

/// The facts about the claiming agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimant<'a> {
    pub order: Option<OrderKind>,
    /// The reason that was given for the order.
    pub order_reason: Option<&'a str>,
    pub has_free_slot: bool,
}

/// The facts about a task that a claim names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedTask<'a> {
    pub explanation: &'a Explanation,
    /// The capabilities of the agent cover the type of the task.
    pub is_capable: bool,
    /// The server applies tasks of this type itself.
    pub is_applied_by_server: bool,
    /// The next attempt begins no earlier than this.
    pub not_before: Option<Timestamp>,
}

/// Returns whether a task in this state can get a permit without another request of its author or
/// of a person. If not, waiting for the permit is pointless.
pub const fn may_get_permit(state: State) -> bool {
    match state {
        State::Submitted | State::Reviewing | State::Approved | State::Applying => true,
        State::Draft
        | State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Failed
        | State::Unknown
        | State::Expired => false,
    }
}

/// Returns the closed gates of a claim, those of the agent first. Never empty: without a named
/// task, the queue has nothing for the agent.
pub fn blocked_claim(
    claimant: Claimant<'_>,
    task: Option<ClaimedTask<'_>>,
    now: Timestamp,
) -> Vec<Gate> {
    let mut closed: Vec<Gate> = agent_gate(claimant).into_iter().collect();
    if let Some(task) = task {
        closed.extend(task_gates(&task, now));
        let gates = task.explanation.closed();
        // The claiming agent is there; whether others are does not matter to it.
        closed.extend(gates.filter(|gate| gate.name != GateName::Capacity).cloned());
    }
    if closed.is_empty() {
        let evidence = match task {
            Some(_) => "the task is ready, but another claim was faster",
            None => "no approved task that this agent can run is ready",
        };
        let how_to_pass = "claim again, and wait for a task";
        closed.push(Gate::closed(GateName::Queue, GateCode::NoTaskReady, evidence, how_to_pass));
    }
    closed
}

fn agent_gate(claimant: Claimant<'_>) -> Option<Gate> {
    let why = claimant.order_reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let gate = |code, evidence: &str, how_to_pass| {
        Some(Gate::closed(GateName::Agent, code, format!("{evidence}{why}"), how_to_pass))
    };
    match claimant.order {
        Some(OrderKind::Pause) => gate(
            GateCode::AgentPaused,
            "an operator has paused this agent",
            "wait until an operator resumes the agent",
        ),
        Some(OrderKind::Drain) => gate(
            GateCode::AgentDraining,
            "an operator has asked this agent to finish its work and end",
            "end the agent's process",
        ),
        None if !claimant.has_free_slot => gate(
            GateCode::NoFreeSlot,
            "the agent already applies as many tasks as its max_tasks allows",
            "finish a running attempt first",
        ),
        None => None,
    }
}

fn task_gates(task: &ClaimedTask<'_>, now: Timestamp) -> Vec<Gate> {
    let mut closed = Vec::new();
    if task.is_applied_by_server {
        closed.push(Gate::closed(
            GateName::Agent,
            GateCode::AppliedByServer,
            "the server applies tasks of this type itself",
            "wait for the task to end instead of claiming it",
        ));
    } else if !task.is_capable {
        closed.push(Gate::closed(
            GateName::Agent,
            GateCode::NotCapable,
            "the capabilities of this agent do not cover the type of the task",
            "ask an admin to add the capability to the agent",
        ));
    }
    if task.explanation.state == State::Applying {
        closed.push(Gate::closed(
            GateName::Queue,
            GateCode::InProgress,
            "another attempt is applying the task",
            "wait until that attempt has ended",
        ));
    }
    if let Some(at) = task.not_before.filter(|at| now < *at) {
        let evidence = format!("the last attempt failed; the next one begins no earlier than {at}");
        let gate = Gate::closed(GateName::Queue, GateCode::BackingOff, evidence, "wait until then");
        closed.push(gate.until(Some(at)));
    }
    closed
}

/// Returns the advised pause before the next claim: until the last gate opens that opens without
/// any action.
pub fn retry_after(blocked: &[Gate], now: Timestamp) -> Duration {
    let last = blocked.iter().filter_map(|gate| gate.until).max();
    last.map_or(RETRY_DEFAULT, |until| until.since(now).clamp(RETRY_MIN, RETRY_MAX))
}
