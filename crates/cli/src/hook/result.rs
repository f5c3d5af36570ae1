//! How a tool ended, as its host describes it. A result that the host does not state is never
//! reported as a success.

use ade_api::executions::{Finish, FinishOutcome};
use ade_core::ids::LeaseId;
use ade_core::limits::{EXECUTION_ERROR_MAX_BYTES, HOOK_OUTPUT_MAX_BYTES};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    outcome: FinishOutcome,
    /// Present if and only if the outcome is a failure.
    error: Option<String>,
    output: Option<String>,
}

impl ToolResult {
    /// Creates a result with bounded texts.
    pub fn new(outcome: FinishOutcome, error: Option<String>, output: Option<String>) -> Self {
        let error = error.filter(|text| !text.trim().is_empty());
        let error = error.unwrap_or_else(|| "the host gave no reason".to_owned());
        Self {
            outcome,
            error: outcome.is_failure().then(|| cut(error, EXECUTION_ERROR_MAX_BYTES)),
            output: output.map(|text| cut(text, HOOK_OUTPUT_MAX_BYTES)),
        }
    }

    /// Returns the report of the call. A failed tool may have changed something.
    pub fn report(&self, lease_id: LeaseId) -> Finish {
        let Self { outcome, error, output } = self.clone();
        Finish { outcome, error, output, ..Finish::succeeded(lease_id) }
    }
}

/// Returns the result of a tool that its host reports as failed.
pub fn of_failure(error: Option<String>, is_interrupt: bool) -> ToolResult {
    let outcome = if is_interrupt { FinishOutcome::Cancelled } else { FinishOutcome::Failed };
    ToolResult::new(outcome, error, None)
}

/// Returns the result of a tool that has ended. `otherwise` is the outcome if the response has no
/// sign of success or failure.
pub fn of_response(input: &Value, response: &Value, otherwise: FinishOutcome) -> ToolResult {
    let output = output_of(response);
    let is = |names: &[&str], wanted: bool| {
        names.iter().any(|name| response.get(name) == Some(&Value::Bool(wanted)))
    };
    let exit = ["exit_code", "exitCode"].iter().find_map(|name| response.get(name)?.as_i64());
    let (outcome, error) = if is(&["interrupted"], true) {
        (FinishOutcome::Cancelled, Some("the tool was interrupted".to_owned()))
    } else if is(&["is_error", "isError"], true) || is(&["success"], false) {
        (FinishOutcome::Failed, output.clone())
    } else if let Some(code) = exit.filter(|code| *code != 0) {
        (FinishOutcome::Failed, Some(format!("the tool ended with exit code {code}")))
    } else if is_in_background(input, response) {
        (FinishOutcome::ReleasedToHost, None)
    } else if exit == Some(0) || is(&["success"], true) {
        (FinishOutcome::Succeeded, None)
    } else {
        (otherwise, None)
    };
    ToolResult::new(outcome, error, output)
}

/// Returns whether the tool has only been started and still runs.
fn is_in_background(input: &Value, response: &Value) -> bool {
    input.get("run_in_background") == Some(&Value::Bool(true))
        || response.get("backgroundTaskId").is_some_and(|id| !id.is_null())
}

/// Returns the text that the tool printed, or else the whole response.
fn output_of(response: &Value) -> Option<String> {
    match response {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => {
            let printed = ["stdout", "stderr", "output"].map(|name| other.get(name)?.as_str());
            let printed: Vec<&str> =
                printed.into_iter().flatten().filter(|text| !text.is_empty()).collect();
            if printed.is_empty() { Some(other.to_string()) } else { Some(printed.join("\n")) }
        }
    }
}

/// Shortens a text at a character boundary.
fn cut(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_result_without_a_sign_of_success_is_no_success() {
        use FinishOutcome::{Cancelled, Failed, ReleasedToHost, Succeeded};
        let (shell, background) = (json!({}), json!({ "run_in_background": true }));
        for (input, response, otherwise, outcome) in [
            (&shell, json!({ "stdout": "done", "interrupted": false }), Succeeded, Succeeded),
            (&shell, json!({ "stdout": "", "interrupted": true }), Succeeded, Cancelled),
            (&shell, json!({ "stdout": "", "backgroundTaskId": "b1" }), Succeeded, ReleasedToHost),
            (&background, json!({ "stdout": "started" }), Succeeded, ReleasedToHost),
            (&shell, json!({ "success": false }), Succeeded, Failed),
            (&shell, json!("done"), ReleasedToHost, ReleasedToHost),
            (&shell, Value::Null, ReleasedToHost, ReleasedToHost),
            (&shell, json!({ "output": "done", "exit_code": 0 }), ReleasedToHost, Succeeded),
            (&shell, json!({ "output": "no", "exit_code": 2 }), ReleasedToHost, Failed),
            (&shell, json!({ "isError": true, "content": [] }), ReleasedToHost, Failed),
        ] {
            let result = of_response(input, &response, otherwise);
            assert_eq!(result.outcome, outcome, "{response}");
            assert_eq!(result.error.is_some(), outcome.is_failure(), "{response}");
        }
        let failed = of_failure(Some("exit code 1".to_owned()), false);
        assert_eq!((failed.outcome, failed.error.as_deref()), (Failed, Some("exit code 1")));
        let stopped = of_failure(None, true);
        assert_eq!((stopped.outcome, stopped.error.is_some()), (Cancelled, true));
    }

    #[test]
    fn tool_output_is_an_excerpt_of_what_it_printed() {
        let long = "ä".repeat(HOOK_OUTPUT_MAX_BYTES);
        for (response, output) in [
            (json!({ "stdout": "one", "stderr": "two" }), "one\ntwo"),
            (json!({ "filePath": "/a" }), r#"{"filePath":"/a"}"#),
            (json!("text"), "text"),
            (json!(long), &long[..HOOK_OUTPUT_MAX_BYTES]),
        ] {
            let result = of_response(&Value::Null, &response, FinishOutcome::Succeeded);
            assert_eq!(result.output.as_deref(), Some(output));
        }
    }
}
