//! The reasons why an operation failed, in terms of the domain. The mapping to HTTP statuses is in
//! the server.

use std::time::Duration;

use ade_api::batches::BatchVerdict;
use ade_api::cause::Cause;
use ade_api::locks::{LeaseState, LeaseSummary, LeaseView};
use ade_api::problem::NextAction;
use ade_core::access::Denied;
use ade_core::change::{Digest, Drift};
use ade_core::flag::Flag;
use ade_core::ids::{ExecutionId, LeaseId, TaskId};
use ade_core::policy::DocumentError;
use ade_core::resource::ResourceRef;
use ade_core::step_up::ConfirmationSubject;
use ade_core::task::Refusal;
use ade_core::time::Timestamp;
use thiserror::Error;

use crate::reply::Reply;
use crate::services::event_hub::SeatRefused;
use crate::services::identity::PasskeyError;
use crate::services::secrets::SecretError;

#[derive(Debug, Error)]
pub enum Error {
    /// The object does not exist, or the caller may not know that it does.
    #[error("{what} not found")]
    NotFound { what: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A claim of a task that can get no permit, with what the task needs instead.
    #[error("{refusal}")]
    Unclaimable { refusal: Box<Refusal>, next_action: Box<NextAction> },
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("the policy is invalid; errors found: {}", .errors.len())]
    Document { errors: Vec<DocumentError> },
    #[error("{} of {} items were refused, so nothing was written", refused(.items), .items.len())]
    BatchRefused { items: Vec<BatchVerdict> },
    #[error("the feature flag `{flag}` is off, so nothing was written")]
    FeatureOff { flag: Flag },
    #[error(
        "version conflict: the current version is {found}, not {expected}; reload it and retry"
    )]
    VersionMoved { expected: u64, found: u64 },
    #[error("this idempotency key was used for a different request: use a new key")]
    KeyReused,
    #[error("the first request with this idempotency key is still in progress: retry later")]
    KeyInFlight,
    /// The request was handled before: this is its stored response, to be returned as it is.
    #[error("the request was already handled: its stored response is returned")]
    Replayed(Reply),
    #[error("{what} `{name}` already exists")]
    Taken { what: &'static str, name: String },
    #[error("this {what} can no longer be changed: {why}")]
    Closed { what: &'static str, why: &'static str },
    #[error("{principal} already has two active tokens: revoke one first")]
    TooManyTokens { principal: String },
    #[error("the limit of {most} {what} is reached")]
    TooMany { what: &'static str, most: usize },
    #[error("the preview by `{executor}` failed to run: {problem}")]
    PreviewFailed { executor: &'static str, problem: String },
    #[error("no key to sign permits is configured: set `receipts.key_files`")]
    ReceiptsOff,
    #[error("{}", drift_message(*approved, *found, moved))]
    EffectDrifted {
        approved: Digest,
        found: Digest,
        /// The resources whose version differs from the one that was approved.
        moved: Vec<Drift>,
    },
    #[error("no lock backend is configured: set `redis.urls` or `locks.backend`")]
    LocksOff,
    #[error("the blob store failed: {0}")]
    Blobs(#[source] crate::services::log_store::BlobError),
    #[error(transparent)]
    Locks(#[from] crate::services::locks::LockQueueError),
    #[error("{}", .0.message())]
    LockHeld(Box<Blocked>),
    #[error("{}", deadlock_message(.cycle))]
    Deadlock {
        lease: Digest,
        /// The waiting leases, beginning with this one: each waits for the next, and the last one
        /// for this one. Empty if the record of the deadlock was not found.
        cycle: Vec<LeaseView>,
    },
    #[error("{}", .0.message())]
    LeaseLost(Box<LostLease>),
    #[error("a cancellation was requested before the apply began")]
    AbortRequested { abort: Option<Cause> },
    #[error("the process has expired: start a new one")]
    ProcessExpired,
    #[error("too many lock requests: retry after {} ms", .wait.as_millis())]
    RateLimited { wait: Duration },
    #[error("too many {what}: retry after {} s", .wait.as_secs())]
    TooOften { what: &'static str, wait: Duration },
    #[error(transparent)]
    Device(#[from] DeviceRefusal),
    #[error(transparent)]
    Invitation(#[from] InvitationRefusal),
    #[error("you already have {most} open event streams on this server: close one first")]
    TooManyListeners { most: usize },
    #[error("this process is shutting down: connect to another")]
    Draining,
    #[error("{}", .0.message())]
    StepUpRequired(Box<Unconfirmed>),
    #[error(
        "your sign-in is too old for this: it must be from the last {} minutes",
        .within.as_secs() / 60
    )]
    SignInTooOld { signed_in_at: Option<Timestamp>, within: Duration },
    #[error("the passkey response was rejected: {0}")]
    PasskeyRefused(#[from] PasskeyError),
    #[error("passkeys are not available: `notify.page` has no host name that browsers accept")]
    PasskeysOff,
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] ade_store::StoreError),
}

/// Why a terminal has no token yet, or will have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DeviceRefusal {
    #[error("the sign-in has not been approved yet")]
    Pending { pace: Duration },
    #[error("polling too fast: wait {} s between requests", .pace.as_secs())]
    SlowDown { pace: Duration },
    /// This also covers sign-ins that never began, so that guessing reveals nothing.
    #[error("no sign-in is pending for this code")]
    Expired,
    #[error("the sign-in was denied, or the person's access has ended")]
    Denied,
}

/// Why an invitation is not created or not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvitationRefusal {
    #[error("this person is deactivated: activate them first")]
    Inactive,
    #[error("this person signs in through their identity provider")]
    HasProvider,
    #[error(
        "this person has a passkey, and an invitation would open their account without it: reset \
         their passkeys first if they have lost them"
    )]
    HasPasskey,
    #[error(
        "this person has no mail address, and invitations are sent by mail: set their address first"
    )]
    NoAddress,
    #[error("this person is signed in, and can add a passkey in that session")]
    SignedIn,
    /// The invitation is unknown, used, replaced or expired. The caller does not learn which.
    #[error("this invitation is not valid: it was used or replaced, or it has expired")]
    NotValid,
}

/// An action that must first be confirmed with a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfirmed {
    pub subject: ConfirmationSubject,
    /// Whether the caller has a passkey at all. Without one, the action cannot be confirmed.
    pub has_passkey: bool,
    /// The page on which a browser asks for the confirmation.
    pub page: String,
}

impl Unconfirmed {
    fn message(&self) -> &'static str {
        if self.has_passkey {
            "confirm exactly this action with your passkey; a confirmation is valid for five \
             minutes"
        } else {
            "this action requires confirmation with a passkey, and you have none"
        }
    }
}

/// The holders that block a lock request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub on: Option<ResourceRef>,
    /// The position in the queue; 1 is next. `None` if the request does not wait.
    pub position: Option<usize>,
    /// The lease with which the request keeps its place in the queue.
    pub lease: Option<LeaseId>,
    pub holders: Vec<LeaseView>,
}

impl Blocked {
    fn message(&self) -> String {
        let on =
            self.on.as_ref().map_or("the requested resources".to_owned(), |on| format!("`{on}`"));
        let more = match self.holders.len() {
            0 | 1 => String::new(),
            holders => format!(" and {} more", holders - 1),
        };
        let by = self.holders.first().map_or("another holder".to_owned(), holder);
        let held = format!("{on} is held by {by}{more}");
        match self.position {
            Some(position) => format!("{held}; position {position} in the queue"),
            None => held,
        }
    }
}

/// A lease that no longer holds anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostLease {
    pub state: LeaseState,
    /// Who broke it and why, if an operator did.
    pub broken: Option<Cause>,
    /// The attempt that ran under it, if it was the lease of one.
    pub attempt: Option<LostAttempt>,
}

/// An attempt whose lease is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostAttempt {
    pub task: TaskId,
    pub execution: ExecutionId,
    pub has_begun: bool,
    pub has_ended: bool,
}

impl LostLease {
    fn message(&self) -> String {
        let Some(Cause { by, reason, at }) = &self.broken else {
            return format!("the lease is {} and no longer holds anything", self.state.as_str());
        };
        let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{by} broke the lock at {at}{why}")
    }
}

fn drift_message(approved: Digest, found: Digest, moved: &[Drift]) -> String {
    if approved != found {
        return format!(
            "the effect has changed since the approval: it is now {found}, approved was {approved}"
        );
    }
    let names: Vec<String> = moved.iter().map(|one| format!("`{}`", one.resource)).collect();
    format!("the effect is equal, but {} changed since the preview", names.join(", "))
}

fn deadlock_message(cycle: &[LeaseView]) -> String {
    let what = "the lease's wait was ended because it would have caused a deadlock";
    let waits = cycle.iter().enumerate().map(|(at, lease)| {
        let next = cycle.get(at + 1).or_else(|| cycle.first());
        let resources = lease.resources.iter().map(|held| format!("`{}`", held.resource));
        let resources: Vec<String> = resources.collect();
        let (who, whom) = (holder(lease), next.map(holder).unwrap_or_default());
        format!("{who} waits for {} behind {whom}", resources.join(", "))
    });
    let waits: Vec<String> = waits.collect();
    if waits.is_empty() { what.to_owned() } else { format!("{what}: {}", waits.join("; ")) }
}

fn holder(lease: &LeaseView) -> String {
    let LeaseSummary { agent_id, user_id, task_id, owner_hash, .. } = &lease.summary;
    let task = task_id.map(|id| id.to_string());
    let agent = agent_id.map(|id| id.to_string());
    let user = user_id.map(|id| id.to_string());
    task.or(agent).or(user).unwrap_or_else(|| owner_hash.to_string())
}

impl Error {
    pub fn invalid(field: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::Invalid { field: field.into(), problem: problem.to_string() }
    }
}

impl From<SeatRefused> for Error {
    fn from(refused: SeatRefused) -> Self {
        match refused {
            SeatRefused::Draining => Self::Draining,
            SeatRefused::TooMany { most } => Self::TooManyListeners { most },
        }
    }
}

fn refused(items: &[BatchVerdict]) -> usize {
    items.iter().filter(|item| item.refusal.is_some()).count()
}
