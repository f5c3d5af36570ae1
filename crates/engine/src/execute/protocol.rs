//! The JSON that programs and endpoints are spoken to in: one request for each verb, one answer.
//! What cannot be read is no answer, and what it left is then unknown.

use std::collections::BTreeMap;

use ade_api::executions::FailureKind;
use ade_api::tasks::Change as ToldChange;
use ade_core::change::{self, Effect, PreviewVersions, Report, StrictValue};
use ade_core::ids::{ExecutionId, TaskId};
use ade_core::limits::EXECUTION_ERROR_MAX_BYTES;
use ade_core::resource::ResourceRef;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use super::plan;
use super::work::{Leash, Left, Outcome, Stash, Unstashed, Work};
use super::{Preview, PreviewError, Proposal};

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
pub struct Call<'a> {
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

impl<'a> Call<'a> {
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

    pub fn of(verb: Verb, work: &'a Work, stash: Option<&'a Stash>, leash: &Leash) -> Self {
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

/// Why there is no answer to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub kind: FailureKind,
    pub error: String,
    /// What that says of the target, if it was to change it.
    pub left: Left,
}

impl Silence {
    pub fn new(kind: FailureKind, error: impl Into<String>, left: Left) -> Self {
        Self { kind, error: error.into(), left }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    #[serde(default)]
    changes: Vec<ToldChange>,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    errors: Vec<String>,
    #[serde(default)]
    versions: BTreeMap<ResourceRef, String>,
    /// What is wrong with the parameters, in the place of everything else.
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
struct Told {
    result: Ending,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    left: Option<Left>,
    #[serde(default)]
    details: Option<Value>,
}

/// The author's own words count for nothing where somebody looks.
pub fn require_no_plan(proposal: &Proposal) -> Result<(), PreviewError> {
    if proposal.plan.is_some() {
        let problem = "the server previews this type itself: leave the plan out";
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
    for told in &seen.changes {
        if !proposal.resources.contains_key(&told.resource) {
            let problem = format!("the task would touch {}: name it", told.resource);
            return Err(PreviewError::invalid("resources", problem));
        }
        changes.push(plan::change(told).map_err(|error| unavailable(unread(&error)))?);
    }
    let report: Report = Report { changes, warnings: seen.warnings, errors: seen.errors };
    Ok(Preview { effect: Effect::observed(report)?, versions: PreviewVersions(seen.versions) })
}

pub fn stash(answer: Result<Vec<u8>, Silence>) -> Result<Stash, Unstashed> {
    let failed = |kind, error| Unstashed { kind, error: cut(error) };
    let answer = answer.map_err(|silence| failed(silence.kind, silence.error))?;
    let stashed: Stashed =
        change::read(&answer).map_err(|error| failed(FailureKind::Failure, unread(&error)))?;
    Ok(Stash(stashed.stash))
}

pub fn outcome(answer: Result<Vec<u8>, Silence>) -> Outcome {
    let failed = |kind, error: String, left, details| Outcome::Failure {
        kind,
        error: cut(error),
        left,
        details,
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(Silence { kind, error, left }) => return failed(kind, error, left, None),
    };
    let told: Told = match change::read(&answer) {
        Ok(told) => told,
        Err(error) => return failed(FailureKind::Failure, unread(&error), Left::Unknown, None),
    };
    let said = told.error.is_some() || told.left.is_some();
    match told.result {
        Ending::Success if !said => Outcome::Success { details: told.details },
        Ending::Success => {
            let error = "it says both that it succeeded and what went wrong".to_owned();
            failed(FailureKind::Failure, error, Left::Unknown, told.details)
        }
        Ending::Failure => {
            let error = told.error.unwrap_or_else(|| "it does not say why".to_owned());
            let left = told.left.unwrap_or(Left::Unknown);
            failed(FailureKind::Failure, error, left, told.details)
        }
    }
}

fn unread(error: &impl ToString) -> String {
    format!("its answer cannot be read: {}", error.to_string())
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(EXECUTION_ERROR_MAX_BYTES));
    text
}
