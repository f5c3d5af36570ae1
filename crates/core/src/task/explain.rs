//! Why a task is where it is: every gate between it and its apply, open or closed, with the
//! evidence and the call that would open it. Answers from the same functions that decide.

use serde::Serialize;

use super::basis;
use super::{Agreement, Facts, Rules, State, Task};
use crate::actor::Role;
use crate::approval::assignment::Assignment;
use crate::freeze::{Freeze, InstallationFreeze};
use crate::policy::Requirement;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    /// Handed in, so that rules apply to it.
    Submitted,
    /// Which policies ask for whom, and whether those people exist.
    Policy,
    /// The basis: a quorum, a clause or an override.
    Approval,
    /// How long the approval is good for.
    Window,
    Freeze,
    Locks,
    Capacity,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gate {
    pub name: GateName,
    pub is_open: bool,
    pub evidence: String,
    /// What to do about a closed gate.
    pub opens_with: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub state: State,
    pub gates: Vec<Gate>,
    pub rules: Rules,
    pub agreement: Agreement,
    /// Who may answer now, by which way, and who may not and why.
    pub assignment: Assignment,
}

impl Explanation {
    pub fn closed(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| !gate.is_open)
    }
}

pub fn explain(task: &Task, facts: &Facts<'_>, now: Timestamp) -> Explanation {
    let rules = Rules::of(task, facts, now);
    let seating = facts.seating(task, &rules, now);
    let agreement = Agreement::of(task, &seating, now);
    let assignment = seating.assign();
    let (approval, window) = approval_gates(task, facts, &agreement, now);
    let gates = vec![
        submitted_gate(task),
        policy_gate(&rules, &assignment),
        approval,
        window,
        freeze_gate(facts.installation, facts.freeze(task, now)),
        locks_gate(task, facts),
        capacity_gate(task, facts),
    ];
    Explanation { state: task.state, gates, rules, agreement, assignment }
}

fn gate(name: GateName, is_open: bool, evidence: String, opens_with: &str) -> Gate {
    let opens_with = (!is_open).then(|| opens_with.to_owned());
    Gate { name, is_open, evidence, opens_with }
}

fn submitted_gate(task: &Task) -> Gate {
    let evidence = format!("it is {} since {}", task.state, task.since);
    gate(GateName::Submitted, task.state != State::Draft, evidence, "submit the task")
}

fn policy_gate(rules: &Rules, assignment: &Assignment) -> Gate {
    let asked: Vec<String> = rules.all().iter().map(|rule| asks(rule)).collect();
    let Some(shortage) = assignment.shortages.first() else {
        return gate(GateName::Policy, true, asked.join("; and "), "");
    };
    let names: Vec<&str> = shortage.roles.iter().map(Role::as_str).collect();
    let evidence = format!(
        "a group of {} needs {}, and only {} eligible reviewer(s) exist",
        if names.is_empty() { "named people".to_owned() } else { names.join(" or ") },
        shortage.needed,
        shortage.possible,
    );
    gate(GateName::Policy, false, evidence, "give somebody the role, or ask for an override")
}

fn asks(requirement: &Requirement) -> String {
    let source = match requirement.policies.len() {
        0 => "no policy matches, so the default asks".to_owned(),
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
    let window = |is_open, evidence| {
        gate(GateName::Window, is_open, evidence, "ask the reviewers to approve again")
    };
    if task.basis.is_none() {
        let evidence = format!(
            "{} more approval(s) are needed; {} rejection(s) stand",
            agreement.missing(),
            agreement.rejections,
        );
        let opens_with = "approve it as one of the people who may answer";
        return (
            gate(GateName::Approval, false, evidence, opens_with),
            window(true, "it starts with the approval".to_owned()),
        );
    }
    match basis::check(task, facts, now) {
        Ok(until) => (
            gate(GateName::Approval, true, "the approval stands".to_owned(), ""),
            window(true, format!("the approval is good until {until}")),
        ),
        Err(basis::BasisLost::RunOut { until }) => (
            gate(GateName::Approval, true, "it was approved".to_owned(), ""),
            window(false, format!("the approval was good until {until}")),
        ),
        Err(lost) => (
            gate(GateName::Approval, false, lost.to_string(), "let it be reviewed again"),
            window(true, "it starts with the approval".to_owned()),
        ),
    }
}

fn freeze_gate(installation: Option<&InstallationFreeze>, freeze: Option<&Freeze>) -> Gate {
    if let Some(all) = installation {
        let opens_with = "wait until whoever runs the server thaws it";
        return gate(GateName::Freeze, false, all.to_string(), opens_with);
    }
    let Some(freeze) = freeze else {
        return gate(GateName::Freeze, true, "nothing is frozen here".to_owned(), "");
    };
    let end = freeze.ends_at.map_or("until it is lifted".to_owned(), |at| format!("until {at}"));
    let evidence = format!("{} stops applies {end}: {}", freeze.id, freeze.reason);
    gate(GateName::Freeze, false, evidence, "wait for its end, or ask an operator to lift it")
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
        let evidence = "no registered lock of another is in its way";
        return gate(GateName::Locks, true, evidence.to_owned(), "");
    }
    gate(GateName::Locks, false, blocked.join("; "), "wait: it keeps its place in the queue")
}

fn capacity_gate(task: &Task, facts: &Facts<'_>) -> Gate {
    if !task.state.is_before_permit() {
        return unasked(GateName::Capacity, task);
    }
    let (is_open, evidence) = if facts.apply.has_capacity {
        (true, "somebody who may run it is there and has a free slot")
    } else {
        (false, "nobody who may run it is there and has a free slot")
    };
    let opens_with = "start an agent with this capability, or raise its max_tasks";
    gate(GateName::Capacity, is_open, evidence.to_owned(), opens_with)
}

/// What it has may be its own by now, and what is free is no news of it.
fn unasked(name: GateName, task: &Task) -> Gate {
    gate(name, true, format!("it is {}: it asks for no permit now", task.state), "")
}
