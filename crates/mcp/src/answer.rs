//! The result of a tool: facts, and the next action in terms of tools. A refusal is a result too,
//! because a model can react to it, but not to a protocol error.

use ade_api::code::Code;
use ade_client::{Error, ProblemDetails};
use ade_core::ids::TaskId;
use ade_core::task::{GateCode, State, SubState};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::output::{ALERTS, ClosedGate, LeaseAlert, NEXT_ACTION, NextStep};
use crate::tool::Tool;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResponse {
    /// What the tool returns, without the next action and the alerts.
    facts: Map<String, Value>,
    /// What happened, in a few words, with the ids that the next call needs.
    summary: String,
    next: NextStep,
    alerts: Vec<LeaseAlert>,
    pub is_error: bool,
    /// A task that needs a review now.
    pub to_review: Option<TaskId>,
}

impl ToolResponse {
    pub fn new(facts: &impl Serialize, summary: impl Into<String>, next: NextStep) -> Self {
        let (summary, alerts) = (summary.into(), Vec::new());
        Self { facts: members(facts), summary, next, alerts, is_error: false, to_review: None }
    }

    /// Adds the members of more facts.
    pub fn and(mut self, facts: &impl Serialize) -> Self {
        self.facts.extend(members(facts));
        self
    }

    pub fn with_alerts(mut self, alerts: Vec<LeaseAlert>) -> Self {
        for alert in alerts {
            if !self.alerts.contains(&alert) {
                self.alerts.push(alert);
            }
        }
        self
    }

    pub fn with_next(self, next: NextStep) -> Self {
        Self { next, ..self }
    }

    /// Creates the result for invalid arguments, before any call is made.
    pub fn misread(why: &str) -> Self {
        let code = Code::InvalidBody;
        let facts = json!({ "code": code.as_str(), "detail": why, "retriable": false });
        let next = only("correct the arguments and call again; tools/list has the schema");
        Self { is_error: true, ..Self::new(&facts, format!("Refused: {why}"), next) }
    }

    pub fn refused(error: &Error) -> Self {
        let (facts, next) = match error.refusal() {
            Some(refusal) => (refusal_body(refusal), next_of(refusal)),
            None => unheard(error),
        };
        let decided = facts.pointer("/decision/reason").and_then(Value::as_str);
        let decided = decided.map(|reason| format!(" ({reason})")).unwrap_or_default();
        Self { is_error: true, ..Self::new(&facts, format!("Refused: {error}{decided}"), next) }
    }

    /// Returns all facts as data.
    pub fn data(&self) -> Value {
        let mut data = self.facts.clone();
        data.insert(NEXT_ACTION.to_owned(), json!(self.next));
        if !self.alerts.is_empty() {
            data.insert(ALERTS.to_owned(), json!(self.alerts));
        }
        Value::Object(data)
    }

    /// Returns the outcome and the next step as text, for hosts that show a model only text.
    pub fn text(&self) -> String {
        let alerts = self.alerts.iter().map(|alert| {
            format!(
                "Attention: {}. {}\n",
                alert.reason.trim_end_matches('.'),
                sentence(&alert.next_action)
            )
        });
        let summary = self.summary.trim_end_matches('.');
        format!("{}{summary}. {}", alerts.collect::<String>(), sentence(&self.next))
    }
}

/// Returns the members of a JSON object. Every result is one.
fn members(facts: &impl Serialize) -> Map<String, Value> {
    let facts = serde_json::to_value(facts).ok();
    facts.and_then(|value| value.as_object().cloned()).unwrap_or_default()
}

fn sentence(next: &NextStep) -> String {
    match next.tool {
        Some(tool) => format!("Next, {tool}: {}.", next.message),
        None => format!("Next: {}.", next.message),
    }
}

/// Returns a next step that is a call.
pub fn then(tool: Tool, message: impl Into<String>) -> NextStep {
    NextStep { message: message.into(), tool: Some(tool.name()) }
}

/// Returns a next step without a call.
pub fn only(message: impl Into<String>) -> NextStep {
    NextStep { message: message.into(), tool: None }
}

fn refusal_body(refusal: &ProblemDetails) -> Value {
    let mut facts: Map<String, Value> = refusal.facts.clone().into_iter().collect();
    let own = [
        ("code", json!(refusal.code)),
        ("detail", json!(refusal.detail)),
        ("retriable", json!(refusal.retriable)),
        ("request_id", json!(refusal.request_id)),
    ];
    facts.extend(own.map(|(name, value)| (name.to_owned(), value)));
    // The kind of problem is a page for people, and the code says the same.
    facts.remove("type");
    Value::Object(facts)
}

fn next_of(refusal: &ProblemDetails) -> NextStep {
    if refusal.is(Code::LockHeld) {
        let message = "call again with the same lease_id and wait_seconds: the request keeps its \
                       place in the queue";
        return then(Tool::AcquireLocks, message);
    }
    if refusal.is(Code::VersionMismatch) {
        return then(Tool::GetRequest, "read the request, then call again with its version");
    }
    let next = &refusal.next_action;
    let tool = next.call.as_deref().and_then(Tool::that_makes).map(Tool::name);
    NextStep { message: next.message.trim_end_matches('.').to_owned(), tool }
}

fn unheard(error: &Error) -> (Value, NextStep) {
    let next = match error {
        Error::Unreachable { .. } | Error::Unreadable { .. } => {
            "call again in a moment; inform the person who runs this host if the problem persists"
        }
        Error::Refused(_)
        | Error::Address { .. }
        | Error::Unusable { .. }
        | Error::LeaseOver { .. }
        | Error::LeaseSpent
        | Error::LeaseSilent { .. } => {
            "inform the person who runs this host: the MCP server is not configured correctly"
        }
    };
    let facts = json!({
        "code": error.code(), "detail": error.to_string(), "retriable": error.is_passing(),
    });
    (facts, only(next))
}

/// Returns what an agent can do about a request in this state.
pub fn next_for(state: State, sub_state: Option<SubState>) -> NextStep {
    match sub_state {
        Some(SubState::ChangesRequested) => {
            let message =
                "do what decision.reason asks: pass what differs, and it is handed in again";
            return then(Tool::ReviseRequest, message);
        }
        Some(SubState::ReleasedToHost) => {
            return only("check the result at the host: it made the change and reported no result");
        }
        None => {}
    }
    match state {
        State::Draft => {
            then(Tool::ReviseRequest, "correct the content: its errors are in `errors`")
        }
        State::Submitted | State::Reviewing => {
            let message = "wait until people decide; if that takes long, give review_page to the \
                           person you work for";
            then(Tool::WaitForDecision, message)
        }
        State::Approved => then(Tool::StartChange, "start the change, and act only with a permit"),
        State::Applying => then(
            Tool::WaitForDecision,
            "wait until the attempt has ended; if it is yours, report it with finish_change",
        ),
        State::Completed => only("nothing: the change was made"),
        State::Rejected => only(
            "do not make the change and do not ask for the same one again; decision.reason says \
             what a different request would have to change",
        ),
        State::Cancelled => only("nothing: the request was withdrawn"),
        State::Expired => then(
            Tool::RequestApproval,
            "people did not decide in time: ask again if the change is still wanted",
        ),
        State::Failed => only("inform the person you work for: they decide whether to try again"),
        State::Unknown => only(
            "do not repeat the change; inform the person you work for: someone must find out \
             whether it was made",
        ),
    }
}

/// Returns what an agent can do about a change that may not start. The first gate is the one to
/// pass first.
pub fn next_for_blocked(blocked: &[ClosedGate]) -> NextStep {
    let Some(first) = blocked.first() else {
        return then(Tool::StartChange, "do not act; call again with wait_seconds");
    };
    let advice = first.how_to_pass.trim_end_matches('.');
    let Some(code) = first.code else {
        return then(Tool::GetRequest, format!("do not act: {advice}"));
    };
    match code {
        GateCode::NotSubmitted | GateCode::ChangesRequested => {
            then(Tool::ReviseRequest, format!("do not act: {advice}"))
        }
        GateCode::ReviewersMissing
        | GateCode::ApprovalsMissing
        | GateCode::ApprovalLost
        | GateCode::ApprovalExpired => then(Tool::WaitForDecision, format!("do not act: {advice}")),
        GateCode::InProgress | GateCode::AppliedByServer => {
            then(Tool::GetRequest, format!("do not act: {advice}"))
        }
        GateCode::NotCapable => {
            only(format!("do not act: {advice}; inform the person you work for"))
        }
        GateCode::Frozen
        | GateCode::InstallationFrozen
        | GateCode::LockHeld
        | GateCode::NoAgent
        | GateCode::AgentPaused
        | GateCode::AgentDraining
        | GateCode::NoFreeSlot
        | GateCode::BackingOff
        | GateCode::NoTaskReady => {
            let message = format!("do not act: {advice}; then call again with wait_seconds");
            then(Tool::StartChange, message)
        }
    }
}

/// Returns whether other people or the server must act before the agent can continue.
pub const fn is_with_others(state: State) -> bool {
    match state {
        State::Submitted | State::Reviewing | State::Applying => true,
        State::Draft
        | State::Approved
        | State::Completed
        | State::Rejected
        | State::Cancelled
        | State::Expired
        | State::Failed
        | State::Unknown => false,
    }
}
