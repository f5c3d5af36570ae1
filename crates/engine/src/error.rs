//! Why an operation did not happen, in words of the domain. Which HTTP status each becomes is
//! known in one place, and that is not here.

use std::time::Duration;

use ade_api::batches::BatchVerdict;
use ade_api::locks::{LeaseState, LeaseView};
use ade_core::access::Denied;
use ade_core::change::Digest;
use ade_core::flag::Flag;
use ade_core::ids::LeaseId;
use ade_core::policy::DocumentError;
use ade_core::resource::ResourceRef;
use ade_core::step_up::Subject;
use ade_core::task::Refusal;
use thiserror::Error;

use crate::identity::PasskeyError;
use crate::ops::device::DeviceRefusal;
use crate::secret::SecretError;

#[derive(Debug, Error)]
pub enum Error {
    /// Also for what exists and is none of the caller's business.
    #[error("there is no such {what}")]
    NotFound { what: &'static str },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("{field}: {problem}")]
    Invalid { field: String, problem: String },
    #[error("the policy has {} error(s)", .errors.len())]
    Document { errors: Vec<DocumentError> },
    #[error("{} of {} items are refused, so nothing was written", refused(.items), .items.len())]
    BatchRefused { items: Vec<BatchVerdict> },
    #[error("the flag `{flag}` is off, so nothing was written")]
    FeatureOff { flag: Flag },
    #[error("it is at version {found}, not {expected}: load it again and decide anew")]
    VersionMoved { expected: u64, found: u64 },
    #[error("this idempotency key was used for another request: use a fresh one")]
    KeyReused,
    #[error("the first request with this idempotency key is still on its way: ask again")]
    KeyInFlight,
    #[error("{what} `{name}` exists already")]
    Taken { what: &'static str, name: String },
    #[error("this {what} takes no more changes: {why}")]
    Closed { what: &'static str, why: &'static str },
    #[error("{principal} has two active tokens: revoke one first")]
    TooManyTokens { principal: String },
    #[error("there are {most} {what} already, as many as there may be")]
    TooMany { what: &'static str, most: usize },
    #[error("the preview by `{executor}` could not run: {problem}")]
    PreviewFailed { executor: &'static str, problem: String },
    #[error("no key is configured here to sign permits with: set `receipts.key_files`")]
    ReceiptsOff,
    #[error("the effect has changed since it was approved: it is {found} now, not {approved}")]
    EffectDrifted { approved: Digest, found: Digest },
    #[error("no queue of locks is configured here: set `redis.urls`, or `locks.backend`")]
    LocksOff,
    #[error("the blob store has failed: {0}")]
    Blobs(#[source] crate::blobs::BlobError),
    #[error(transparent)]
    Locks(#[from] crate::locks::Error),
    #[error("{}", .0.told())]
    LockHeld(Box<Blocked>),
    #[error("the wait of this lease would have closed a circle, and was ended")]
    Deadlock { lease: Digest },
    #[error("this lease is {}: nothing is held under it any more", .state.as_str())]
    LeaseLost { state: LeaseState },
    #[error("the session has ended, and stays so: begin another")]
    SessionOver,
    #[error("too many locks are asked for: wait {} ms", .wait.as_millis())]
    RateLimited { wait: Duration },
    #[error("too many {what}: wait {} s", .wait.as_secs())]
    TooOften { what: &'static str, wait: Duration },
    #[error(transparent)]
    Device(#[from] DeviceRefusal),
    #[error("you listen {most} times here already: end one of them first")]
    TooManyListeners { most: usize },
    #[error("this process ends: listen to another")]
    Draining,
    #[error("{}", .0.told())]
    StepUpRequired(Box<Unconfirmed>),
    #[error("the passkey's answer is not accepted: {0}")]
    PasskeyRefused(#[from] PasskeyError),
    #[error("people cannot have passkeys here: `notify.page` has no name that browsers take")]
    PasskeysOff,
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] ade_store::Error),
}

/// What a passkey has to give its word for first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unconfirmed {
    pub subject: Subject,
    /// Without one there is nothing that could give it.
    pub has_passkey: bool,
    /// Where a browser asks for it.
    pub page: String,
}

impl Unconfirmed {
    fn told(&self) -> &'static str {
        if self.has_passkey {
            "this needs the word of your passkey for exactly this, given in the last five minutes"
        } else {
            "this needs the word of a passkey, and you have none"
        }
    }
}

/// Who is in the way of a request for locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub on: Option<ResourceRef>,
    /// In line; 1 is next. Nothing if it does not stand in line.
    pub position: Option<usize>,
    /// To keep its place with.
    pub lease: Option<LeaseId>,
    pub holders: Vec<LeaseView>,
}

impl Blocked {
    fn told(&self) -> String {
        let on = self.on.as_ref().map_or("what it needs".to_owned(), |on| format!("`{on}`"));
        match self.position {
            Some(position) => format!("others hold {on}; it is number {position} in line"),
            None => format!("others hold {on}"),
        }
    }
}

impl Error {
    pub fn invalid(field: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::Invalid { field: field.into(), problem: problem.to_string() }
    }
}

fn refused(items: &[BatchVerdict]) -> usize {
    items.iter().filter(|item| item.refusal.is_some()).count()
}
