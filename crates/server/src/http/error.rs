//! Maps errors to HTTP responses: a code, the facts of the case, and the next action. Only this
//! module knows HTTP statuses.

use std::time::Duration;

use ade_api::code::Code;
use ade_api::page::PageError;
use ade_api::problem::Problem;
use ade_core::access::Denied;
use ade_core::approval::delegation::DelegationError;
use ade_core::change::{Digest, Drift};
use ade_core::freeze::InstallationFreeze;
use ade_core::limits::{APPLY_ATTEMPTS_MAX, REASON_MAX_BYTES};
use ade_core::task::{Blocked, Refusal};
use ade_engine::error::DeviceRefusal;
use ade_engine::error::InvitationRefusal;
use ade_engine::services::locks::LockQueueError;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::engine_reply::EngineReply;
use super::lock_problems;
use super::unconfirmed::unconfirmed_decision;

/// The fact that contains the retry delay.
const RETRY_AFTER_MS: &str = "retry_after_ms";

/// The reason why a handler ends early.
#[derive(Debug)]
pub enum ApiError {
    /// The request failed. The body is written by the outermost layer, the only one that knows the
    /// request id.
    Problem(Box<Problem>),
    /// The request was handled before, and its stored response is returned.
    Replayed(EngineReply),
}

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Problem::new(code, detail).into()
    }

    pub fn query(detail: &str) -> Self {
        Self::new(Code::InvalidQuery, detail)
    }

    pub fn missing(detail: &str) -> Self {
        Self::new(Code::NotFound, detail)
    }

    /// Returns the refusal of a call that exceeded the rate limit `of`.
    pub fn limited(of: &str, wait: Duration) -> Self {
        let detail =
            format!("rate limit of `{of}` exceeded: retry after {} ms", wait.as_millis().max(1));
        Problem::new(Code::RateLimited, detail)
            .with("limit", of)
            .with(RETRY_AFTER_MS, millis(wait))
            .into()
    }

    /// Returns the code of the problem; `None` for a replay.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            Self::Replayed(_) => None,
        }
    }
}

/// Returns the value of `Retry-After` in seconds. Clients are expected to add jitter.
fn retry_after_s(problem: &Problem) -> Option<u64> {
    let wait = problem.facts.get(RETRY_AFTER_MS).and_then(serde_json::Value::as_u64);
    match (wait, problem.code.status()) {
        (Some(millis), _) => Some(millis.div_ceil(1_000).max(1)),
        (None, 423 | 429 | 503) => Some(1),
        (None, _) => None,
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<PageError> for ApiError {
    fn from(error: PageError) -> Self {
        let code = match error {
            PageError::Size { .. } => Code::InvalidQuery,
            PageError::Token | PageError::OtherFilter => Code::InvalidPageToken,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ade_engine::Error> for ApiError {
    fn from(error: ade_engine::Error) -> Self {
        failed(error)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        refused(refusal).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::Problem(problem) => problem,
            Self::Replayed(kept) => return kept.into_response(),
        };
        let code = problem.code;
        let status =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        let headers = response.headers_mut();
        if code == Code::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after_s(&problem) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(problem);
        response
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Maps a failed operation. The cause of an internal error is logged, never returned.
fn failed(error: ade_engine::Error) -> ApiError {
    use ade_engine::Error;
    let detail = error.to_string();
    let problem = |code| Problem::new(code, detail.clone());
    let mapped = match error {
        Error::Replayed(reply) => return ApiError::Replayed(EngineReply(reply)),
        Error::NotFound { .. } => problem(Code::NotFound),
        Error::TooManyListeners { .. } => problem(Code::TooManyListeners),
        Error::Draining => problem(Code::Draining),
        Error::Refused(refusal) => refused(refusal),
        Error::Unclaimable { refusal, next_action } => {
            Problem { next_action: *next_action, ..refused(*refusal) }
        }
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
            tracing::error!(%error, "failed to create secret");
            Problem::new(Code::Internal, "the token could not be created")
        }
        Error::Store(error) | Error::Locks(LockQueueError::Store(error)) => store_failed(&error),
        Error::ReceiptsOff => problem(Code::ReceiptsUnavailable),
        Error::Blobs(error) => {
            tracing::error!(%error, "blob store failed");
            problem(Code::LogUnavailable)
        }
        Error::EffectDrifted { approved, found, moved } => {
            drifted(problem(Code::EffectDrifted), (approved, found), moved)
        }
        Error::LocksOff => problem(Code::LocksUnavailable),
        Error::Locks(error) => lock_problems::queue_failed(&error),
        Error::LockHeld(blocked) => lock_problems::lock_held(problem(Code::LockHeld), *blocked),
        Error::Deadlock { lease, cycle } => {
            lock_problems::deadlock(problem(Code::DeadlockDetected), lease, &cycle)
        }
        Error::LeaseLost(lost) => lock_problems::lease_lost(problem(Code::LeaseLost), *lost),
        Error::AbortRequested { abort } => problem(Code::AbortRequested).with_some("abort", abort),
        Error::ProcessExpired => problem(Code::ProcessExpired),
        Error::StepUpRequired(unconfirmed) => {
            unconfirmed_decision(problem(Code::StepUpRequired), *unconfirmed)
        }
        Error::SignInTooOld { signed_in_at, .. } => {
            problem(Code::SignInTooOld).with_some("signed_in_at", signed_in_at)
        }
        Error::PasskeyRefused(_) => problem(Code::PasskeyRefused),
        Error::PasskeysOff => problem(Code::PasskeysOff),
        Error::RateLimited { wait } | Error::TooOften { wait, .. } => {
            problem(Code::RateLimited).with(RETRY_AFTER_MS, millis(wait))
        }
        Error::Device(refusal) => device_refused(problem, refusal),
        Error::Invitation(InvitationRefusal::NotValid) => problem(Code::InvitationNotValid),
        Error::Invitation(_) => problem(Code::NotInvitable),
    };
    mapped.into()
}

/// Describes the refusal of a device sign-in, with the polling interval of RFC 8628.
fn drifted(problem: Problem, (approved, found): (Digest, Digest), moved: Vec<Drift>) -> Problem {
    let moved: Vec<_> = moved.into_iter().map(|one| one.resource).collect();
    let moved = Some(moved).filter(|moved| !moved.is_empty());
    problem.with("approved", approved).with("found", found).with_some("moved", moved)
}

fn device_refused(problem: impl Fn(Code) -> Problem, refusal: DeviceRefusal) -> Problem {
    let paced = |code, pace: Duration| problem(code).with("interval", pace.as_secs());
    match refusal {
        DeviceRefusal::Pending { pace } => paced(Code::AuthorizationPending, pace),
        DeviceRefusal::SlowDown { pace } => paced(Code::SlowDown, pace),
        DeviceRefusal::Expired => problem(Code::ExpiredToken),
        DeviceRefusal::Denied => problem(Code::AccessDenied),
    }
}

fn store_failed(error: &ade_engine::StoreError) -> Problem {
    use ade_engine::StoreError;
    match error {
        StoreError::Conflict { .. } => Problem::new(Code::Conflict, error.to_string()),
        StoreError::Aborted | StoreError::Busy { .. } => {
            tracing::info!(%error, "request conflicted with another transaction");
            Problem::new(Code::Busy, "another transaction holds a required row or lock")
        }
        StoreError::CommitUnknown(cause) => {
            tracing::error!(%cause, "commit was not confirmed");
            Problem::new(
                Code::OutcomeUnknown,
                "the database did not confirm whether the change was committed",
            )
        }
        StoreError::NoConnection => {
            tracing::info!(%error, "request waited too long for a database connection");
            Problem::new(Code::Overloaded, "no database connection became free in time")
        }
        StoreError::Unavailable(cause) => {
            tracing::error!(%cause, "database request failed");
            Problem::new(Code::DatabaseUnavailable, "the database is unavailable")
        }
        StoreError::ReadOnly => {
            tracing::error!(%error, "database refused a write");
            Problem::new(Code::DatabaseUnavailable, "the database accepts no writes now")
        }
        StoreError::AuditUnavailable { .. } => {
            tracing::error!(%error, "audit log write failed");
            Problem::new(
                Code::AuditUnavailable,
                "the audit log is unavailable, so the request was not applied",
            )
        }
        StoreError::Unaudited
        | StoreError::Constraint { .. }
        | StoreError::Forbidden { .. }
        | StoreError::Row(_)
        | StoreError::Leaf(_)
        | StoreError::Migrate(_)
        | StoreError::Unstorable { .. }
        | StoreError::Database(_) => {
            tracing::error!(%error, "request failed with an internal error");
            Problem::new(Code::Internal, "an unexpected error occurred")
        }
    }
}

/// Describes a refusal by the rules, with its facts.
pub fn refused(refusal: Refusal) -> Problem {
    with_facts(Problem::new(Code::from(&refusal), refusal.to_string()), refusal)
}

fn with_blocked(problem: Problem, blocked: &[Blocked]) -> Problem {
    let blocked = blocked.iter().map(|one| json!({"resource": one.resource, "by": one.by}));
    problem.with("blocked", blocked.collect::<Vec<_>>())
}

fn with_facts(problem: Problem, refusal: Refusal) -> Problem {
    match refusal {
        Refusal::WrongState { command, state, since, holder, works_from, decision } => problem
            .with("command", command.as_str())
            .with("state", state)
            .with("since", since)
            .with("works_from", works_from)
            .with_some("holder", holder)
            .with_some("decision", decision),
        Refusal::Denied(denied) => with_rule(problem, denied),
        Refusal::SelfApproval(conflict) => {
            problem.with("part", conflict.part).with("account", conflict.account)
        }
        Refusal::NotAsked { may_answer } => problem.with("may_answer", may_answer),
        Refusal::RoleTooNew(too_new) => {
            problem.with("role", too_new.role).with_some("counts_from", too_new.counts_from)
        }
        Refusal::PasskeyTooNew { counts_from } => problem.with("counts_from", counts_from),
        Refusal::StaleRevision { seen, current } => {
            problem.with("seen", seen).with("current", current)
        }
        Refusal::ReasonTooLong { bytes } => {
            problem.with("bytes", bytes).with("max_bytes", REASON_MAX_BYTES)
        }
        Refusal::NothingChanged { revision } => problem.with("revision", revision),
        Refusal::AutoApprovalRefused { reasons } => {
            problem.with("reasons", reasons.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        Refusal::DelegateNotAllowed { to } => problem.with("delegate_id", to),
        Refusal::Delegation(
            DelegationError::Cycle { path }
            | DelegationError::TooLong { path }
            | DelegationError::NotAllowed { path, .. },
        ) => problem.with("path", path),
        Refusal::NothingToReassign { reviewer } => problem.with("reviewer_id", reviewer),
        Refusal::NotDue { at } | Refusal::AlreadyBegun { at } | Refusal::OverrideLapsed { at } => {
            problem.with("at", at)
        }
        Refusal::BasisStands { until } => problem.with("until", until),
        Refusal::Frozen { id, reason, ends_at } => {
            problem.with("freeze", id).with("reason", reason).with_some("ends_at", ends_at)
        }
        Refusal::InstallationFrozen(freeze) => with_stop(problem, freeze),
        Refusal::ResourcesBlocked(blocked) => with_blocked(problem, &blocked),
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
        | Refusal::AbortRequested
        | Refusal::NotDrifted
        | Refusal::HolderMayLive
        | Refusal::OverrideNotAsked => problem,
    }
}

fn with_stop(problem: Problem, freeze: InstallationFreeze) -> Problem {
    let problem = problem.with("scope", "installation").with("since", freeze.since);
    problem.with("set_by", freeze.set_by).with("reason", freeze.reason)
}

/// Describes a denial that does not concern a task, but for example a policy, person or agent.
pub fn denied_by(denied: Denied) -> Problem {
    with_rule(Problem::new(Code::NotAllowed, denied.to_string()), denied)
}

fn with_rule(problem: Problem, denied: Denied) -> Problem {
    problem.with("action", denied.action.as_str()).with_some("rule", denied.rule)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
