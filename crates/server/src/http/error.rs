//! The only place that turns what went wrong into an answer over HTTP: a code, the facts of the
//! case, and what to do. Below this file nothing knows a status. What is logged is not here.

use std::time::Duration;

use ade_api::code::Code;
use ade_api::page::PageError;
use ade_api::problem::Problem;
use ade_core::access::Denied;
use ade_core::approval::delegation::Fault;
use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{APPLY_ATTEMPTS_MAX, LOCKS_PER_AGENT_MAX, REASON_MAX_BYTES};
use ade_core::task::Refusal;
use ade_engine::ops::device::DeviceRefusal;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::passkeys::unconfirmed_decision;

/// A fact that says how long to stay away.
const RETRY_AFTER_MS: &str = "retry_after_ms";

/// What a handler returns when it cannot do what was asked. Its body is written at the outermost
/// layer, which alone knows the request id.
#[derive(Debug, Clone)]
pub struct Failure(Box<Problem>);

impl Failure {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, detail)))
    }

    pub fn query(detail: &str) -> Self {
        Self::new(Code::InvalidQuery, detail)
    }

    pub fn missing(detail: &str) -> Self {
        Self::new(Code::NotFound, detail)
    }

    /// Too many calls, counted as `of`.
    pub fn limited(of: &str, wait: Duration) -> Self {
        let detail = format!("too many calls of `{of}`: wait {} ms", wait.as_millis().max(1));
        Problem::new(Code::RateLimited, detail)
            .with("limit", of)
            .with(RETRY_AFTER_MS, millis(wait))
            .into()
    }

    pub fn code(&self) -> Code {
        self.0.code
    }

    /// How long to stay away; the caller's own spread comes on top.
    fn retry_after_s(&self) -> Option<u64> {
        let told = self.0.facts.get(RETRY_AFTER_MS).and_then(serde_json::Value::as_u64);
        match (told, self.code().status()) {
            (Some(millis), _) => Some(millis.div_ceil(1_000).max(1)),
            (None, 423 | 429 | 503) => Some(1),
            (None, _) => None,
        }
    }

    pub(super) fn into_problem(self, request_id: String) -> Problem {
        Problem { request_id, ..*self.0 }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<PageError> for Failure {
    fn from(error: PageError) -> Self {
        let code = match error {
            PageError::Size { .. } => Code::InvalidQuery,
            PageError::Token | PageError::OtherFilter => Code::InvalidPageToken,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ade_engine::Error> for Failure {
    fn from(error: ade_engine::Error) -> Self {
        failed(error).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        refused(refusal).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let code = self.code();
        let status =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        let headers = response.headers_mut();
        if code == Code::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// What an operation could not do. The cause of a fault of ours is logged, never told.
fn failed(error: ade_engine::Error) -> Problem {
    use ade_engine::Error;
    let detail = error.to_string();
    let problem = |code| Problem::new(code, detail.clone());
    match error {
        Error::NotFound { .. } => problem(Code::NotFound),
        Error::TooManyListeners { .. } => problem(Code::TooManyListeners),
        Error::Draining => problem(Code::Draining),
        Error::Refused(refusal) => refused(refusal),
        Error::Denied(denied) => denied_by(denied),
        Error::Invalid { field, .. } => problem(Code::InvalidBody).with("path", field),
        Error::Document { errors } => problem(Code::InvalidPolicy).with("errors", errors),
        Error::BatchRefused { items } => problem(Code::BatchRefused).with("items", items),
        Error::FeatureOff { flag } => problem(Code::FeatureOff).with("flag", flag),
        Error::VersionMoved { expected, found } => {
            problem(Code::VersionMismatch).with("expected_version", expected).with("version", found)
        }
        Error::KeyReused => problem(Code::IdempotencyKeyReused),
        Error::KeyInFlight => problem(Code::IdempotencyInFlight),
        Error::Taken { what, name } => {
            problem(Code::AlreadyExists).with("what", what).with("name", name)
        }
        Error::Closed { .. } => problem(Code::Closed),
        Error::TooManyTokens { .. } => problem(Code::TooManyTokens),
        Error::TooMany { most, .. } => problem(Code::TooMany).with("most", most),
        Error::PreviewFailed { executor, .. } => {
            problem(Code::PreviewUnavailable).with("executor", executor)
        }
        Error::Secret(error) => {
            tracing::error!(%error, "no secret can be made");
            Problem::new(Code::Internal, "no token can be made now")
        }
        Error::Store(error) => store_failed(&error),
        Error::ReceiptsOff => problem(Code::ReceiptsUnavailable),
        Error::Blobs(error) => {
            tracing::error!(%error, "the blob store has failed");
            problem(Code::LogUnavailable)
        }
        Error::EffectDrifted { approved, found } => {
            problem(Code::EffectDrifted).with("approved", approved).with("found", found)
        }
        Error::LocksOff => problem(Code::LocksUnavailable),
        Error::Locks(error) => locks_failed(&error),
        Error::LockHeld(blocked) => lock_held(problem(Code::LockHeld), *blocked),
        Error::Deadlock { lease } => problem(Code::DeadlockDetected).with("lease_hash", lease),
        Error::LeaseLost { state } => problem(Code::LeaseLost).with("state", state),
        Error::SessionOver => problem(Code::SessionOver),
        Error::StepUpRequired(unconfirmed) => {
            unconfirmed_decision(problem(Code::StepUpRequired), *unconfirmed)
        }
        Error::PasskeyRefused(_) => problem(Code::PasskeyRefused),
        Error::PasskeysOff => problem(Code::PasskeysOff),
        Error::RateLimited { wait } | Error::TooOften { wait, .. } => {
            problem(Code::RateLimited).with(RETRY_AFTER_MS, millis(wait))
        }
        Error::Device(refusal) => device_refused(problem, refusal),
    }
}

/// With the pace that the terminal has to keep, as RFC 8628 has it.
fn device_refused(problem: impl Fn(Code) -> Problem, refusal: DeviceRefusal) -> Problem {
    let paced = |code, pace: Duration| problem(code).with("interval", pace.as_secs());
    match refusal {
        DeviceRefusal::Pending { pace } => paced(Code::AuthorizationPending, pace),
        DeviceRefusal::SlowDown { pace } => paced(Code::SlowDown, pace),
        DeviceRefusal::Expired => problem(Code::ExpiredToken),
        DeviceRefusal::Denied => problem(Code::AccessDenied),
    }
}

fn lock_held(problem: Problem, blocked: ade_engine::Blocked) -> Problem {
    let ade_engine::Blocked { on, position, lease, holders } = blocked;
    let problem = problem.with("holders", &holders).with("holder", holders.first());
    let problem = problem.with_some("resource", on).with_some("position", position);
    match lease {
        Some(lease) => problem
            .with("lease", lease)
            .next("Send the same `lease` within ten seconds to keep your place, or release it.")
            .call("POST /v1/locks/acquire"),
        None => problem,
    }
}

fn locks_failed(error: &ade_engine::locks::Error) -> Problem {
    use ade_core::lock::Refusal as Lock;
    use ade_engine::locks::Error;
    let refusal = match error {
        Error::Refused(refusal) => refusal,
        Error::Store(error) => return store_failed(error),
        Error::Unsettled | Error::Redis(_) => {
            tracing::error!(%error, "no locks");
            let detail = "the queue of locks gives no answer now";
            return Problem::new(Code::LocksUnavailable, detail);
        }
    };
    let problem = |code| Problem::new(code, refusal.to_string());
    match refusal {
        Lock::Unsure { until } => problem(Code::LocksUnsure).with("until", until),
        Lock::Busy { resource } => problem(Code::LockHeld).with("resource", resource),
        Lock::QueueFull { resource } => problem(Code::LockQueueFull).with("resource", resource),
        Lock::TooMany { taken } => {
            problem(Code::TooManyLocks).with("taken", taken).with("most", LOCKS_PER_AGENT_MAX)
        }
        Lock::SelfConflict { resource } => {
            problem(Code::LockSelfConflict).with("resource", resource)
        }
        Lock::AlreadyWaiting { .. } => problem(Code::LockAlreadyWaiting),
        Lock::OtherRequest => problem(Code::LeaseReused),
        Lock::StaleEpoch { .. }
        | Lock::Rebuild { .. }
        | Lock::AlreadyRegistered
        | Lock::NotFenced => problem(Code::LocksUnavailable),
    }
}

fn store_failed(error: &ade_engine::StoreError) -> Problem {
    use ade_engine::StoreError;
    match error {
        StoreError::Conflict { .. } => Problem::new(Code::Conflict, error.to_string()),
        StoreError::Aborted | StoreError::Busy { .. } => {
            tracing::info!(%error, "busy");
            Problem::new(Code::Busy, "somebody else holds what this needs")
        }
        StoreError::CommitUnknown(cause) => {
            tracing::error!(%cause, "the answer to a commit was lost");
            Problem::new(Code::OutcomeUnknown, "the record did not say whether it was kept")
        }
        StoreError::Unavailable(cause) => {
            tracing::error!(%cause, "the record is away");
            Problem::new(Code::DatabaseUnavailable, "the record cannot be reached now")
        }
        StoreError::AuditUnavailable { .. } => {
            tracing::error!(%error, "the audit takes nothing");
            Problem::new(Code::AuditUnavailable, "without its audit nothing is done")
        }
        StoreError::Unaudited
        | StoreError::Constraint { .. }
        | StoreError::Forbidden { .. }
        | StoreError::Row(_)
        | StoreError::Leaf(_)
        | StoreError::Migrate(_)
        | StoreError::Unstorable { .. }
        | StoreError::Database(_) => {
            tracing::error!(%error, "unforeseen");
            Problem::new(Code::Internal, "something unforeseen happened")
        }
    }
}

/// A refusal of the rules, with its facts.
pub fn refused(refusal: Refusal) -> Problem {
    with_facts(Problem::new(Code::from(&refusal), refusal.to_string()), refusal)
}

fn with_facts(problem: Problem, refusal: Refusal) -> Problem {
    match refusal {
        Refusal::WrongState { command, state, since, holder, works_from } => problem
            .with("command", command.as_str())
            .with("state", state)
            .with("since", since)
            .with("works_from", works_from)
            .with_some("holder", holder),
        Refusal::Denied(denied) => with_rule(problem, denied),
        Refusal::SelfApproval(conflict) => {
            problem.with("part", conflict.part).with("account", conflict.account)
        }
        Refusal::NotAsked { may_answer } => problem.with("may_answer", may_answer),
        Refusal::RoleTooNew(too_new) => {
            problem.with("role", too_new.role).with_some("counts_from", too_new.counts_from)
        }
        Refusal::StaleRevision { seen, current } => {
            problem.with("seen", seen).with("current", current)
        }
        Refusal::ReasonTooLong { bytes } => {
            problem.with("bytes", bytes).with("max_bytes", REASON_MAX_BYTES)
        }
        Refusal::NothingChanged { revision } => problem.with("revision", revision),
        Refusal::AutoApprovalRefused { reasons } => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            problem.with("reasons", reasons)
        }
        Refusal::DelegateNotAllowed { to } => problem.with("to", to),
        Refusal::Delegation(
            Fault::Cycle { path } | Fault::TooLong { path } | Fault::NotAllowed { path, .. },
        ) => problem.with("path", path),
        Refusal::NothingToReassign { reviewer } => problem.with("reviewer", reviewer),
        Refusal::NotDue { at } | Refusal::AlreadyBegun { at } | Refusal::OverrideLapsed { at } => {
            problem.with("at", at)
        }
        Refusal::BasisStands { until } => problem.with("until", until),
        Refusal::Frozen { id, reason, ends_at } => {
            problem.with("freeze", id).with("reason", reason).with_some("ends_at", ends_at)
        }
        Refusal::InstallationFrozen(freeze) => with_stop(problem, freeze),
        Refusal::ResourcesBlocked(blocked) => {
            let blocked = blocked.iter().map(|one| json!({"resource": one.resource, "by": one.by}));
            problem.with("blocked", blocked.collect::<Vec<_>>())
        }
        Refusal::AttemptsExhausted => problem.with("attempts_max", APPLY_ATTEMPTS_MAX),
        Refusal::OverrideOpen { asked_by, confirm_before } => {
            problem.with("asked_by", asked_by).with("confirm_before", confirm_before)
        }
        Refusal::ExtensionOutOfRange { ends_at, latest } => {
            problem.with("ends_at", ends_at).with("latest", latest)
        }
        Refusal::SameAdmin { asked_by } => problem.with("asked_by", asked_by),
        Refusal::AlreadyExists
        | Refusal::PersonRequired
        | Refusal::ReasonRequired
        | Refusal::TicketRequired
        | Refusal::PinsMissing
        | Refusal::NothingToWithdraw
        | Refusal::DelegationForbidden
        | Refusal::NoOpenRequest
        | Refusal::NoStepLeft
        | Refusal::BasisLost(_)
        | Refusal::NoCapacity
        | Refusal::NotTheHold
        | Refusal::NotBegun
        | Refusal::AbortAsked
        | Refusal::NotDrifted
        | Refusal::HolderMayLive
        | Refusal::OverrideNotAsked => problem,
    }
}

fn with_stop(problem: Problem, freeze: InstallationFreeze) -> Problem {
    let told = problem.with("scope", "installation").with("since", freeze.since);
    told.with("set_by", freeze.set_by).with("reason", freeze.reason)
}

/// For what is refused outside a task: policies, people, agents.
pub fn denied_by(denied: Denied) -> Problem {
    with_rule(Problem::new(Code::NotAllowed, denied.to_string()), denied)
}

fn with_rule(problem: Problem, denied: Denied) -> Problem {
    problem.with("action", denied.action.as_str()).with_some("rule", denied.rule)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
