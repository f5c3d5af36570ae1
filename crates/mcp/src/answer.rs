//! What a tool answers: the facts, and at the end what to do next, in words of tools. A refusal
//! is an answer too: a model can do something about it, and about a broken protocol it cannot.

use ade_api::code::Code;
use ade_api::problem::NextAction;
use ade_client::{Error, Refusal};
use ade_core::ids::TaskId;
use ade_core::task::State;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub const NEXT_ACTION: &str = "next_action";

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// With `next_action` among them.
    pub facts: Map<String, Value>,
    pub next_action: String,
    pub is_error: bool,
    /// A task that people must look at now.
    pub to_review: Option<TaskId>,
}

impl Answer {
    /// What is no object has no place among the facts; none of our answers is one.
    pub fn new(facts: &impl Serialize, next_action: impl Into<String>) -> Self {
        let facts = serde_json::to_value(facts).ok();
        let facts = facts.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        let answer =
            Self { facts, next_action: next_action.into(), is_error: false, to_review: None };
        answer.sealed()
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// Arguments that cannot be used, before anybody was asked.
    pub fn misread(why: &str) -> Self {
        let facts = json!({
            "code": Code::InvalidBody.as_str(), "title": Code::InvalidBody.title(), "detail": why,
        });
        let next = "correct the arguments and call again; tools/list has their schema";
        Self { is_error: true, ..Self::new(&facts, next) }
    }

    pub fn refused(error: &Error) -> Self {
        let (facts, next_action) = match error.refusal() {
            Some(refusal) => (told(refusal), next_of(refusal)),
            None => unheard(error),
        };
        Self { is_error: true, ..Self::new(&facts, next_action) }
    }

    fn sealed(mut self) -> Self {
        self.facts.insert(NEXT_ACTION.to_owned(), json!(self.next_action));
        self
    }
}

fn told(refusal: &Refusal) -> Value {
    let mut facts: Map<String, Value> = refusal.facts.clone().into_iter().collect();
    let own = [
        ("code", json!(refusal.code)),
        ("title", json!(refusal.title)),
        ("status", json!(refusal.status)),
        ("detail", json!(refusal.detail)),
        ("retriable", json!(refusal.retriable)),
        ("request_id", json!(refusal.request_id)),
    ];
    facts.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(facts)
}

fn next_of(refusal: &Refusal) -> String {
    if refusal.is(Code::LockHeld) {
        return "call acquire_locks again with the same lease and some seconds: it keeps its place"
            .to_owned();
    }
    if refusal.is(Code::VersionMismatch) {
        return "read the task with get_task, then call again with its version".to_owned();
    }
    let NextAction { says, call, .. } = &refusal.next_action;
    match call {
        Some(call) => format!("{says}: {call}"),
        None => says.clone(),
    }
}

fn unheard(error: &Error) -> (Value, String) {
    let next = match error {
        Error::Unreachable { .. } | Error::Unreadable { .. } => {
            "call again in a moment; tell the person at the host if it stays like this"
        }
        Error::Refused(_)
        | Error::Address { .. }
        | Error::Unusable { .. }
        | Error::LeaseOver { .. } => "tell the person at the host: this door is not set up well",
    };
    (json!({ "detail": error.to_string(), "retriable": error.is_passing() }), next.to_owned())
}

/// What an agent can do about a task in this state.
pub const fn next_for(state: State) -> &'static str {
    match state {
        State::Draft => {
            "read comments and errors of its effect, then change and submit it with amend_task"
        }
        State::Submitted | State::Reviewing => {
            "call wait_for_task; meanwhile explain_task says who may still answer"
        }
        State::Approved => {
            "call claim_permit with this task if you are the one who applies it, else \
             wait_for_task says no more until somebody has"
        }
        State::Applying => "call wait_for_task until the attempt is over",
        State::Completed => "nothing: it was applied",
        State::Rejected => {
            "do not apply it; if the reasons can be met, propose something else with propose_task"
        }
        State::Cancelled => "nothing: it was taken back",
        State::Expired => "nobody agreed in time; propose_task again if it is still wanted",
        State::Failed => "tell the person you work for: they decide whether it is tried again",
        State::Unknown => {
            "do not repeat it; tell the person you work for: somebody must look whether it happened"
        }
    }
}

/// Whether others must do their part before an agent can go on.
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
