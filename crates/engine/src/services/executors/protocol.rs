//! The JSON protocol of programs and endpoints: one request and one response for each verb. If a
//! response cannot be read, the state of the target is unknown.

use std::collections::BTreeMap;

use ade_api::executions::FinishOutcome;
use ade_api::tasks::Change as ReportedChange;
use ade_core::change::{self, PreviewVersions, Report, StrictValue};
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::limits::EXECUTION_ERROR_MAX_BYTES;
use ade_core::resource::ResourceRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::job::{ExecutorOutcome, Leash, Left, PermittedAttempt, Stash, Unstashed};
use super::plan;
use super::{Preview, PreviewError, Proposal, observed};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    Preview,
    Stash,
    Apply,
    RollBack,
}

impl Verb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Stash => "stash",
            Self::Apply => "apply",
            Self::RollBack => "roll_back",
        }
    }
}

#[derive(Debug, Serialize)]
pub struct ExecutorCall<'a> {
    pub verb: Verb,
    task_type: &'a str,
    parameters: &'a StrictValue,
    resources: Vec<Touched<'a>>,
    #[serde(flatten)]
    attempt: Option<Attempt<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stash: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
struct Touched<'a> {
    resource: &'a ResourceRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Attempt<'a> {
    task: TaskId,
    execution: ExecutionId,
    revision: u32,
    digest: String,
    receipt: &'a str,
    /// How long the verb may still take.
    time_ms: u64,
}

impl<'a> ExecutorCall<'a> {
    pub fn preview(proposal: &'a Proposal) -> Self {
        let touched = proposal.resources.iter().map(|(resource, mode)| Touched {
            resource,
            mode: mode.as_deref(),
            fence: None,
        });
        Self {
            verb: Verb::Preview,
            task_type: &proposal.task_type,
            parameters: &proposal.parameters,
            resources: touched.collect(),
            attempt: None,
            stash: None,
        }
    }

    pub fn of(
        verb: Verb,
        work: &'a PermittedAttempt,
        stash: Option<&'a Stash>,
        leash: &Leash,
    ) -> Self {
        let touched = work.resources.iter().map(|fenced| Touched {
            resource: &fenced.resource,
            mode: Some(fenced.mode.as_str()),
            fence: Some(fenced.fence),
        });
        let left = leash.deadline.saturating_duration_since(Instant::now());
        Self {
            verb,
            task_type: &work.task_type,
            parameters: &work.parameters,
            resources: touched.collect(),
            attempt: Some(Attempt {
                task: work.task,
                execution: work.execution,
                revision: work.revision,
                digest: work.digest.to_string(),
                receipt: &work.receipt,
                time_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            }),
            stash: stash.map(|stash| &stash.0),
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub kind: FinishOutcome,
    pub error: String,
    /// What the missing response implies for the state of the target.
    pub left: Left,
}

impl Silence {
    pub fn new(kind: FinishOutcome, error: impl Into<String>, left: Left) -> Self {
        Self { kind, error: error.into(), left }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    #[serde(default)]
    changes: Vec<ReportedChange>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    versions: BTreeMap<ResourceRef, String>,
    /// What is wrong with the parameters. If it is set, everything else is ignored.
    #[serde(default)]
    refused: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stashed {
    stash: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    Success,
    Failure,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyResponse {
    result: Ending,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    left: Option<Left>,
    #[serde(default)]
    details: Option<Value>,
}

/// Refuses a declared plan, because the server previews the change itself.
pub fn require_no_plan(proposal: &Proposal) -> Result<(), PreviewError> {
    if proposal.plan.is_some() {
        let problem = "the server previews this task type itself: remove the plan";
        return Err(PreviewError::invalid("plan", problem));
    }
    Ok(())
}

pub fn preview(
    proposal: &Proposal,
    answer: Result<Vec<u8>, Silence>,
) -> Result<Preview, PreviewError> {
    let unavailable = |problem: String| PreviewError::Unavailable { problem: cut(problem) };
    let answer = answer.map_err(|silence| unavailable(silence.error))?;
    let seen: Seen = change::read(&answer).map_err(|error| unavailable(unread(&error)))?;
    if let Some(problem) = seen.refused {
        return Err(PreviewError::invalid("parameters", cut(problem)));
    }
    let mut changes = Vec::with_capacity(seen.changes.len());
    for planned in &seen.changes {
        if !proposal.resources.contains_key(&planned.resource) {
            let problem = format!(
                "the task would touch {}: add it to the task's resources",
                planned.resource
            );
            return Err(PreviewError::invalid("resources", problem));
        }
        changes.push(plan::change(planned).map_err(|error| unavailable(unread(&error)))?);
    }
    let report: Report = Report { changes, warnings: seen.warnings, errors: seen.errors };
    Ok(Preview { effect: observed(report)?, versions: PreviewVersions(seen.versions) })
}

pub fn stash(answer: Result<Vec<u8>, Silence>) -> Result<Stash, Unstashed> {
    let failed = |kind, error| Unstashed { kind, error: cut(error) };
    let answer = answer.map_err(|silence| failed(silence.kind, silence.error))?;
    let stashed: Stashed =
        change::read(&answer).map_err(|error| failed(FinishOutcome::Failed, unread(&error)))?;
    Ok(Stash(stashed.stash))
}

pub fn outcome(answer: Result<Vec<u8>, Silence>) -> ExecutorOutcome {
    let failed = |kind, error: String, left, details| ExecutorOutcome::Failure {
        kind,
        error: cut(error),
        left,
        details,
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(Silence { kind, error, left }) => return failed(kind, error, left, None),
    };
    let response: ApplyResponse = match change::read(&answer) {
        Ok(response) => response,
        Err(error) => return failed(FinishOutcome::Failed, unread(&error), Left::Unknown, None),
    };
    let has_error = response.error.is_some() || response.left.is_some();
    match response.result {
        Ending::Success if !has_error => ExecutorOutcome::Success { details: response.details },
        Ending::Success => {
            let error = "the response contains both a success and an error".to_owned();
            failed(FinishOutcome::Failed, error, Left::Unknown, response.details)
        }
        Ending::Failure => {
            let error = response.error.unwrap_or_else(|| "no error message was given".to_owned());
            let left = response.left.unwrap_or(Left::Unknown);
            failed(FinishOutcome::Failed, error, left, response.details)
        }
    }
}

fn unread(error: &impl ToString) -> String {
    format!("the response is invalid: {}", error.to_string())
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(EXECUTION_ERROR_MAX_BYTES));
    text
}
