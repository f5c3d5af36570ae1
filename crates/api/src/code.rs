//! Every error code once, with its status, its title, whether trying again may help, and what to
//! do. Codes are a contract: one is added or retired, never changed. The facts of a case are not
//! here; they are in the [`Problem`](crate::problem::Problem).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

macro_rules! codes {
    // `tt`, not `literal`: a derive cannot look into the latter and would name the variant.
    ($($variant:ident = $name:tt, $status:literal, $title:literal, $retry:ident,
       $says:literal;)+) => {
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            ToSchema,
        )]
        pub enum Code {
            $(#[serde(rename = $name)] $variant,)+
        }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// Whether the same call may succeed later with nothing else changed.
            pub const fn is_retriable(self) -> bool {
                match self { $(Self::$variant => retry!($retry),)+ }
            }

            pub const fn next_action(self) -> &'static str {
                match self { $(Self::$variant => $says,)+ }
            }
        }
    };
}

macro_rules! retry {
    (again) => {
        true
    };
    (never) => {
        false
    };
}

codes! {
    // The request itself.
    MalformedRequest = "malformed_request", 400, "The request cannot be read", never,
        "Mend what `detail` names and send it again.";
    MalformedBody = "malformed_body", 400, "The body is not acceptable JSON", never,
        "Send one JSON document without duplicate keys, nested at most 32 deep.";
    InvalidQuery = "invalid_query", 400, "A query parameter is wrong", never,
        "Mend the parameter that `detail` names.";
    InvalidPageToken = "invalid_page_token", 400, "The page token cannot be used", never,
        "Begin the list again without `page_token`.";
    Unauthenticated = "unauthenticated", 401, "Nobody is signed in", never,
        "Send a valid token as `Authorization: Bearer`, or sign in again.";
    ClassClosed = "class_closed", 403, "This kind of call is closed to you", never,
        "Ask a person for it, or use a token that has the scope named in `needs`.";
    NotAllowed = "not_allowed", 403, "The rules do not allow it", never,
        "See `rule` and `detail`; ask an admin if you think you should be allowed.";
    NotFound = "not_found", 404, "There is nothing here", never,
        "Check the id; what you may not see is told the same way.";
    MethodNotAllowed = "method_not_allowed", 405, "Not with this method", never,
        "Use a method that the `Allow` header lists.";
    RequestTimeout = "request_timeout", 408, "The request came too slowly", again,
        "Send the whole request at once.";
    BodyTooLarge = "body_too_large", 413, "The body is too large", never,
        "Send at most as many bytes as `max_bytes` says.";
    UnsupportedMediaType = "unsupported_media_type", 415, "The body has the wrong type", never,
        "Send JSON as `Content-Type: application/json`.";
    InvalidBody = "invalid_body", 422, "A field of the body is wrong", never,
        "Mend the field that `path` names.";
    InvalidPolicy = "invalid_policy", 422, "The policy is not acceptable", never,
        "Mend every place that `errors` names.";
    RateLimited = "rate_limited", 429, "Too many calls", again,
        "Wait as long as `Retry-After` says.";
    TooManyListeners = "too_many_listeners", 429, "You listen too often already", again,
        "Close a stream or a socket that you do not need, or share one.";
    OriginRefused = "origin_refused", 403, "Not for pages from there, or by this name", never,
        "Ask an operator to add the origin to `server.origins`, or the name to `server.hosts`.";

    CrossSite = "cross_site", 403, "A page from elsewhere may not do this", never,
        "Use this server's own pages, or a token; pages send `X-ADE-Request: 1` with every change.";

    // A terminal that waits to be let in: names and status as RFC 8628 has them.
    AuthorizationPending = "authorization_pending", 400, "Nobody has answered yet", again,
        "Ask again after as many seconds as `interval` says.";
    SlowDown = "slow_down", 400, "It asks too often", again,
        "Wait as many seconds as `interval` says, from now on before every question.";
    ExpiredToken = "expired_token", 400, "No sign-in waits for this code", never,
        "Begin again: `ade login`, or `POST /auth/device`.";
    AccessDenied = "access_denied", 400, "The person said no", never,
        "Ask them, then begin again: `ade login`, or `POST /auth/device`.";

    FeatureOff = "feature_off", 409, "This is switched off here", never,
        "Ask an admin to switch on the flag that `flag` names: `PUT /v1/flags/{name}`.";

    // Agreement about versions and repeats.
    VersionMismatch = "version_mismatch", 412, "It has changed since you read it", never,
        "Read it again, look at what changed, and send the new version in `If-Match`.";
    PreconditionRequired = "precondition_required", 428, "Say which version you mean", never,
        "Send the `ETag` that you read in `If-Match`.";
    IdempotencyKeyReused = "idempotency_key_reused", 422, "The key was used for another body",
        never, "Use a new `Idempotency-Key` for a new request.";
    IdempotencyInFlight = "idempotency_in_flight", 409, "The same call is still being answered",
        again, "Send it again with the same key in a moment.";
    Conflict = "conflict", 409, "Somebody else was faster", again,
        "Read it again and decide anew.";

    // A passkey's word.
    StepUpRequired = "step_up_required", 403, "Your passkey has to confirm this", never,
        "Decide it on the page that `page` names; or ask the passkey with `step_up` as the body, \
         then send the same call again.";
    PasskeyRefused = "passkey_refused", 422, "The passkey's answer is not accepted", never,
        "See `detail`; begin again, and answer with one of your own passkeys.";
    PasskeysOff = "passkeys_off", 409, "There are no passkeys here", never,
        "Ask an operator to set `notify.page` to an address with https and a name.";

    // What the rules of a task refuse.
    WrongState = "wrong_state", 409, "Not possible in this state", never,
        "See `works_from` for the states in which it is possible.";
    AlreadyExists = "already_exists", 409, "It exists already", never,
        "Use the one that exists, or another name.";
    SelfApproval = "self_approval", 403, "You had a part in it yourself", never,
        "Somebody without a part in it has to decide.";
    NotAsked = "not_asked", 403, "You were not asked", never,
        "One of `may_answer` can decide, or delegate to you.";
    RoleTooNew = "role_too_new", 403, "Your role is too new to decide this", never,
        "Somebody who has had the role for longer can decide.";
    PersonRequired = "person_required", 403, "Only a person can do this", never,
        "Ask a person to do it.";
    Closed = "closed", 409, "It takes no more changes", never,
        "Make a new one.";
    TooManyTokens = "too_many_tokens", 409, "There are two active tokens already", never,
        "Revoke one of them first.";
    TooMany = "too_many", 409, "There are as many as there may be", never,
        "Delete one that is not needed any more.";
    BatchRefused = "batch_refused", 409, "An item is refused, so nothing was written", never,
        "Take the items with a `refusal` out, or look at them one by one.";
    StaleRevision = "stale_revision", 409, "It is not what you saw", never,
        "Look at what changed, then decide on the current revision.";
    ReasonRequired = "reason_required", 422, "A reason is needed", never,
        "Say why in `reason`.";
    ReasonTooLong = "reason_too_long", 422, "The reason is too long", never,
        "Say it in at most `max_bytes` bytes.";
    TicketRequired = "ticket_required", 422, "A ticket is needed", never,
        "Name the incident in `ticket`.";
    NothingChanged = "nothing_changed", 409, "Nothing changed", never,
        "Change the content, or leave it as it is.";
    PinsMissing = "pins_missing", 503, "The policies it was submitted under were not loaded",
        again, "Send it again; tell an operator if it stays.";
    AutoApprovalRefused = "auto_approval_refused", 409, "A person has to decide", never,
        "Wait for the reviewers.";
    NothingToWithdraw = "nothing_to_withdraw", 409, "You have no answer that counts", never,
        "There is nothing to do.";
    DelegationForbidden = "delegation_forbidden", 409, "Delegation is forbidden here", never,
        "Answer yourself, or say that you cannot.";
    DelegateNotAllowed = "delegate_not_allowed", 409, "They may not decide this", never,
        "Choose somebody who may approve it in their own right.";
    DelegationFault = "delegation_fault", 409, "The delegation does not lead to anybody", never,
        "Mend the chain that `path` shows.";
    NoOpenRequest = "no_open_request", 409, "You have no open request", never,
        "Look at your inbox for what is open.";
    NothingToReassign = "nothing_to_reassign", 409, "There is nothing to reassign", never,
        "There is nothing to do.";
    NoStepLeft = "no_step_left", 409, "All escalation steps have run", never,
        "Speak to the reviewers.";
    NotDue = "not_due", 409, "It is too early", again, "Wait until `at`.";
    BasisStands = "basis_stands", 409, "The approval still stands", never,
        "Go on, or wait until `until`.";
    BasisLost = "basis_lost", 409, "The approval no longer stands", never,
        "It goes back to review; wait for the reviewers.";
    Frozen = "frozen", 409, "Applies are stopped by a freeze", again,
        "Wait until it ends, or ask an operator to lift it.";
    LockHeld = "lock_held", 423, "Somebody else holds it", again,
        "Try again later, or wait in line: the answer says who is in the way.";
    DeadlockDetected = "deadlock_detected", 423, "Waiting would have closed a circle", again,
        "Release what you hold, pause for a random moment, and ask for everything again at once.";
    LockQueueFull = "lock_queue_full", 503, "Too many wait for it already", again,
        "Wait as long as `Retry-After` says, and ask again.";
    TooManyLocks = "too_many_locks", 409, "You have as many locks as one agent may have", never,
        "Release what you do not need any more: what you hold and what you wait for count alike.";
    LeaseHeldTooLong = "lease_held_too_long", 409, "It was kept for as long as it may be", never,
        "Come to an end before it runs out, release it, and ask again: others may be in line.";
    LockSelfConflict = "lock_self_conflict", 409, "You hold it yourself", never,
        "Release the lease that you hold, or ask for the whole set at once.";
    LockAlreadyWaiting = "lock_already_waiting", 409, "This session waits already", never,
        "Wait for the first request, or release it: one wait at a time.";
    LeaseReused = "lease_reused", 409, "The lease id names another request", never,
        "Make a fresh lease id for each request.";
    SessionOver = "session_over", 409, "The session has ended", never,
        "Stop, begin a new session, and acquire again what you still need.";
    LocksUnsure = "locks_unsure", 503, "Older advisory leases may still be held", again,
        "Wait until `until`, ask with `fenced`, or claim yours again with `held_token`.";
    LocksUnavailable = "locks_unavailable", 503, "The queue of locks cannot be reached", again,
        "Send the same lease id again; tell an operator if it stays.";
    ReceiptsUnavailable = "receipts_unavailable", 503, "No permit can be signed", again,
        "Tell an operator: `receipts.key_files` is not set, or its key cannot sign.";
    LogUnavailable = "log_unavailable", 503, "The log cannot be read now", again,
        "Tell an operator if it stays: `blobs.url` is not set, or its store does not answer.";
    EffectDrifted = "effect_drifted", 409, "It would do something else now", never,
        "Change nothing; the task is back with its reviewers, who see the difference.";
    NoCapacity = "no_capacity", 409, "The agent has no free slot", again,
        "Finish something first.";
    LeaseLost = "lease_lost", 409, "This hold is not yours any more", never,
        "Stop, and change nothing more; claim again.";
    AlreadyBegun = "already_begun", 409, "The apply has begun", never,
        "Wait for its outcome.";
    NotBegun = "not_begun", 409, "The apply has not begun", never,
        "Begin it first.";
    AbortAsked = "abort_asked", 409, "Somebody asked to stop it", never,
        "Stop, and report that nothing was done.";
    NotDrifted = "not_drifted", 409, "The preview gave what was approved", never,
        "Go on and apply it.";
    HolderMayLive = "holder_may_live", 409, "The old holder may still be at work", again,
        "Wait until its hold is fenced and over.";
    AttemptsExhausted = "attempts_exhausted", 409, "It was tried too often", never,
        "Find out why it fails, then resubmit it as a new task.";
    OverrideOpen = "override_open", 409, "An override is already asked for", never,
        "Another admin can confirm it before `confirm_before`.";
    OverrideNotAsked = "override_not_asked", 409, "Nobody asked for an override", never,
        "Ask for it first.";
    OverrideLapsed = "override_lapsed", 409, "The override was not confirmed in time", never,
        "Ask for it again.";
    ExtensionOutOfRange = "extension_out_of_range", 422, "The review cannot be made to end then",
        never, "Name a moment after `ends_at` and up to `latest`.";
    SameAdmin = "same_admin", 403, "A second admin has to confirm", never,
        "Ask another admin to confirm it.";

    // The server.
    Internal = "internal", 500, "The server made a mistake", never,
        "Tell an operator the `request_id`.";
    OutcomeUnknown = "outcome_unknown", 503, "Whether it happened is not known yet", again,
        "Send it again with the same `Idempotency-Key`: it is done once.";
    TimedOut = "timed_out", 503, "The answer took too long", again,
        "Send it again with the same `Idempotency-Key`: it is done once.";
    Busy = "busy", 503, "Somebody else holds what this needs", again,
        "Send it again in a moment.";
    Overloaded = "overloaded", 503, "The server has too much to do", again,
        "Wait as long as `Retry-After` says.";
    DatabaseUnavailable = "database_unavailable", 503, "The record cannot be reached", again,
        "Wait as long as `Retry-After` says; tell an operator if it stays.";
    PreviewUnavailable = "preview_unavailable", 503, "The preview could not run", again,
        "Wait as long as `Retry-After` says; tell an operator if it stays.";
    AuditUnavailable = "audit_unavailable", 503, "The audit takes nothing, so nothing is done",
        again, "Wait as long as `Retry-After` says; tell an operator if it stays.";
    Draining = "draining", 503, "This process is ending", again,
        "Send it again: another process answers.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_spelt_once_and_written_as_it_is_named() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let written = serde_json::to_value(code).unwrap();
            assert_eq!(written, code.as_str());
            assert_eq!(serde_json::from_value::<Code>(written).unwrap(), *code);
        }
    }

    #[test]
    fn the_schema_lists_the_codes_as_they_are_written() {
        use utoipa::PartialSchema as _;

        let schema = serde_json::to_value(Code::schema()).unwrap();
        let names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(schema["enum"], serde_json::to_value(names).unwrap());
    }

    #[test]
    fn every_code_is_an_error_and_says_what_to_do() {
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{code:?}");
            assert!(code.next_action().ends_with('.'), "{code:?}");
            assert!(!code.title().ends_with('.'), "{code:?}");
        }
    }

    #[test]
    fn a_server_that_cannot_now_may_be_asked_again() {
        for code in Code::ALL.iter().filter(|code| code.status() == 503) {
            assert!(code.is_retriable(), "{code:?}");
        }
    }
}
