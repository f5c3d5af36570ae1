//! Explains why a task has not been applied: every gate before its apply, open or closed, with the
//! evidence and the call that would open it. It uses the same functions as the decisions.

use super::basis;
use super::gate::{Gate, GateCode, GateName};
use super::{
    Agreement, BasisLost, Facts, LoadedGates, State, SubState, Task, TaskDecision, TaskRules,
};
use crate::actor::Role;
use crate::approval::assignment::AssignmentPlan;
use crate::freeze::{Freeze, InstallationFreeze};
use crate::policy::Requirement;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub state: State,
    pub sub_state: Option<SubState>,
    pub decision: Option<TaskDecision>,
    pub gates: Vec<Gate>,
    pub rules: TaskRules,
    pub agreement: Agreement,
    /// Who may answer now and by which route, and who may not and why.
    pub assignment: AssignmentPlan,
}

impl Explanation {
    pub fn closed(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| !gate.passed)
    }
}

pub fn explain(task: &Task, gates: &LoadedGates, facts: &Facts<'_>, now: Timestamp) -> Explanation {
    let rules = TaskRules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    let agreement = Agreement::of(task, &seating, now);
    let assignment = seating.assign();
    let (approval, window) = approval_gates(task, facts, &agreement, now);
    let freeze = freeze_gate(gates.installation(), gates.freeze(facts.freezes, task, now));
    let gates = vec![
        submitted_gate(task),
        policy_gate(&rules, &assignment),
        approval,
        window,
        freeze,
        locks_gate(task, facts),
        capacity_gate(task, facts),
    ];
    let (sub_state, decision) = (task.sub_state(), task.decision.clone());
    Explanation { state: task.state, sub_state, decision, gates, rules, agreement, assignment }
}

fn submitted_gate(task: &Task) -> Gate {
    let evidence = format!("the task has been {} since {}", task.state, task.since);
    if task.state != State::Draft {
        return Gate::open(GateName::Submitted, evidence);
    }
    let (code, how_to_pass) = match task.sub_state() {
        Some(SubState::ChangesRequested) => {
            (GateCode::ChangesRequested, "amend the task as the decision asks, then submit it")
        }
        Some(SubState::ReleasedToHost) | None => (GateCode::NotSubmitted, "submit the task"),
    };
    Gate::closed(GateName::Submitted, code, evidence, how_to_pass)
}

fn policy_gate(rules: &TaskRules, assignment: &AssignmentPlan) -> Gate {
    let asked: Vec<String> = rules.all().iter().map(|rule| asks(rule)).collect();
    let Some(shortage) = assignment.shortages.first() else {
        return Gate::open(GateName::Policy, asked.join("; and "));
    };
    let names: Vec<&str> = shortage.roles.iter().map(Role::as_str).collect();
    let evidence = format!(
        "not enough eligible reviewers for {}: {} needed, {} available",
        if names.is_empty() { "named people".to_owned() } else { names.join(" or ") },
        shortage.needed,
        shortage.possible,
    );
    let how_to_pass = "grant someone the role, or request an override";
    Gate::closed(GateName::Policy, GateCode::ReviewersMissing, evidence, how_to_pass)
}

fn asks(requirement: &Requirement) -> String {
    let source = match requirement.policies.len() {
        0 => "no policy matches, so the default applies and asks".to_owned(),
        1 => "1 policy asks".to_owned(),
        count => format!("{count} policies ask"),
    };
    format!("{source} for {}", requirement.in_words())
}

fn approval_gates(
    task: &Task,
    facts: &Facts<'_>,
    agreement: &Agreement,
    now: Timestamp,
) -> (Gate, Gate) {
    let no_window = || Gate::open(GateName::Window, "the window starts with the approval");
    if task.basis.is_none() {
        let evidence = format!(
            "approvals missing: {}; rejections: {}",
            agreement.missing(),
            agreement.rejections,
        );
        let how_to_pass = "one of the people who may answer must approve";
        let code = GateCode::ApprovalsMissing;
        return (Gate::closed(GateName::Approval, code, evidence, how_to_pass), no_window());
    }
    match basis::check(task, facts, now) {
        Ok(until) => (
            Gate::open(GateName::Approval, "the approval is valid"),
            Gate::open(GateName::Window, format!("the approval is valid until {until}")),
        ),
        Err(BasisLost::RunOut { until }) => (
            Gate::open(GateName::Approval, "the task was approved"),
            Gate::closed(
                GateName::Window,
                GateCode::ApprovalExpired,
                format!("the approval was valid until {until}"),
                "ask the reviewers to approve again",
            ),
        ),
        Err(lost) => {
            let (code, how_to_pass) = (GateCode::ApprovalLost, "have the task reviewed again");
            (Gate::closed(GateName::Approval, code, lost.to_string(), how_to_pass), no_window())
        }
    }
}

fn freeze_gate(installation: Option<&InstallationFreeze>, freeze: Option<&Freeze>) -> Gate {
    if let Some(all) = installation {
        let how_to_pass = "wait until an operator of the server lifts the freeze";
        let code = GateCode::InstallationFrozen;
        return Gate::closed(GateName::Freeze, code, all.to_string(), how_to_pass);
    }
    let Some(freeze) = freeze else {
        return Gate::open(GateName::Freeze, "no freeze applies");
    };
    let end = freeze.ends_at.map_or("until it is lifted".to_owned(), |at| format!("until {at}"));
    let evidence = format!("freeze {} stops applies {end}: {}", freeze.id, freeze.reason);
    let how_to_pass = "wait until the freeze ends, or ask an operator to lift it";
    let gate = Gate::closed(GateName::Freeze, GateCode::Frozen, evidence, how_to_pass);
    gate.until(freeze.ends_at)
}

fn locks_gate(task: &Task, facts: &Facts<'_>) -> Gate {
    if !task.state.is_before_permit() {
        return unasked(GateName::Locks, task);
    }
    let blocked: Vec<String> = facts
        .apply
        .blocked
        .iter()
        .map(|blocked| format!("{} is held by {}", blocked.resource, blocked.by))
        .collect();
    if blocked.is_empty() {
        return Gate::open(GateName::Locks, "no registered lock is in the way");
    }
    let how_to_pass = "wait: the task keeps its place in the queue";
    Gate::closed(GateName::Locks, GateCode::LockHeld, blocked.join("; "), how_to_pass)
}

fn capacity_gate(task: &Task, facts: &Facts<'_>) -> Gate {
    if !task.state.is_before_permit() {
        return unasked(GateName::Capacity, task);
    }
    if facts.apply.has_capacity {
        let evidence = "an agent that can run the task is online and has a free slot";
        return Gate::open(GateName::Capacity, evidence);
    }
    let evidence = "no agent that can run the task is online and has a free slot";
    let how_to_pass = "start an agent with this capability, or raise its max_tasks";
    Gate::closed(GateName::Capacity, GateCode::NoAgent, evidence, how_to_pass)
}

/// Returns an open gate without evaluating it: the task requests no permit in this state, and it
/// may hold the locks itself.
fn unasked(name: GateName, task: &Task) -> Gate {
    Gate::open(name, format!("the task is {}: it does not request a permit now", task.state))
}
