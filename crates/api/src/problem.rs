//! Every error as RFC 9457 `application/problem+json`: what happened, whether to try again, and
//! what to do next, with the facts of the case beside it. Nothing of the server's inside is in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::code::Code;

pub const MEDIA_TYPE: &str = "application/problem+json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where the code is explained, relative to the server.
    #[serde(rename = "type")]
    #[schema(example = "/docs#stale_revision")]
    pub kind: String,
    /// Stable: programs decide by it.
    pub code: Code,
    pub title: String,
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened this time, in words.
    pub detail: String,
    /// Whether the same call may succeed later with nothing else changed.
    pub retriable: bool,
    pub next_action: NextAction,
    /// Names this call in the server's logs.
    pub request_id: String,
    /// The values of the case: `state`, `expected_version`, `holder` and so on.
    #[serde(flatten)]
    pub facts: BTreeMap<String, Value>,
}

/// What to do about it, in words and, where there is one, as a call and as a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextAction {
    pub says: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "GET /v1/tasks/{id}")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Problem {
    /// With the words that belong to the code; the server fills in the request id at the door.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/docs#{}", code.as_str()),
            code,
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            retriable: code.is_retriable(),
            next_action: NextAction {
                says: code.next_action().to_owned(),
                call: None,
                command: None,
            },
            request_id: String::new(),
            facts: BTreeMap::new(),
        }
    }

    /// A fact that cannot be written as JSON is left out: an answer without it is still true.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.facts.insert(name.to_owned(), value);
        }
        self
    }

    /// A fact that there may be none of.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Something better to say than the code's own words.
    #[must_use]
    pub fn next(mut self, says: impl Into<String>) -> Self {
        self.next_action.says = says.into();
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
    fn a_problem_is_flat_and_carries_its_code_status_and_facts() {
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
            "next_action": {"says": "Look again.", "call": "GET /v1/tasks/task_1"},
            "request_id": "",
            "current_revision": 3,
        });
        assert_eq!(serde_json::to_value(&problem).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Problem>(expected).unwrap(), problem);
    }
}
