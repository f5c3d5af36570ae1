//! Every error as RFC 9457 `application/problem+json`: what happened, whether to retry, what to do
//! next, and the facts of the case. It never contains internals of the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::code::Code;

pub const MEDIA_TYPE: &str = "application/problem+json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The URL of the explanation of the code, relative to the server.
    #[serde(rename = "type")]
    #[schema(example = "/docs#stale_revision")]
    pub kind: String,
    /// The stable code for programs.
    pub code: Code,
    pub title: String,
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened, in words.
    pub detail: String,
    /// Whether the same call, unchanged, may succeed later although its caller does nothing else.
    pub retriable: bool,
    pub next_action: NextAction,
    /// The id of this call in the server's logs.
    pub request_id: String,
    /// The facts of the case: `state`, `expected_version`, `holder` and so on.
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

/// What to do next, in words and, if available, as an API call and as a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextAction {
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "GET /v1/tasks/{id}")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl NextAction {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), call: None, command: None }
    }

    #[must_use]
    pub fn with_call(self, call: impl Into<String>) -> Self {
        Self { call: Some(call.into()), ..self }
    }

    #[must_use]
    pub fn with_command(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

impl Problem {
    /// Creates a problem with the texts of the code. The server sets the request id later.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/docs#{}", code.as_str()),
            code,
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            retriable: code.is_retriable(),
            next_action: NextAction::new(code.next_action()),
            request_id: String::new(),
            facts: BTreeMap::new(),
        }
    }

    /// Adds a fact. A value that cannot be serialized is omitted.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.facts.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds a fact if it has a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Replaces the code's description of the next action.
    #[must_use]
    pub fn next(mut self, message: impl Into<String>) -> Self {
        self.next_action.message = message.into();
        self
    }

    #[must_use]
    pub fn call(mut self, call: impl Into<String>) -> Self {
        self.next_action.call = Some(call.into());
        self
    }

    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.next_action.command = Some(command.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problem_body_is_flat_with_code_status_and_facts() {
        let problem = Problem::new(Code::StaleRevision, "it is now revision 3")
            .with("current_revision", 3)
            .next("Look again.")
            .call("GET /v1/tasks/task_1");
        let expected = json!({
            "type": "/docs#stale_revision",
            "code": "stale_revision",
            "title": Code::StaleRevision.title(),
            "status": 409,
            "detail": "it is now revision 3",
            "retriable": false,
            "next_action": {"message": "Look again.", "call": "GET /v1/tasks/task_1"},
            "request_id": "",
            "current_revision": 3,
        });
        assert_eq!(serde_json::to_value(&problem).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Problem>(expected).unwrap(), problem);
    }
}
