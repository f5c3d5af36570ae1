//! All error codes, each with its status, its title, whether a retry may help, and what to do.
//! Codes are a contract: they are added or retired, never changed. The facts of a case are in the
//! [`Problem`](crate::problem::Problem).

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

            /// Returns whether the same call, unchanged, may succeed later although its caller
            /// does nothing else. If not, repeating it is pointless.
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
    MalformedRequest = "malformed_request", 400, "Malformed request", never,
        "Fix what `detail` names and send the request again.";
    MalformedBody = "malformed_body", 400, "Malformed JSON body", never,
        "Send one JSON document without duplicate keys, nested at most 32 levels deep.";
    InvalidQuery = "invalid_query", 400, "Invalid query parameter", never,
        "Fix the parameter named in `detail`.";
    InvalidPageToken = "invalid_page_token", 400, "Invalid page token", never,
        "Start the list again without `page_token`.";
    Unauthenticated = "unauthenticated", 401, "Authentication required", never,
        "Send a valid token as `Authorization: Bearer`, or sign in again; `cause` may say what is \
         wrong with the one that was sent.";
    InsufficientScope = "insufficient_scope", 403, "Missing scope", never,
        "Use a token with the scope named in `required_scope`, or ask a person to make the call.";
    NotAllowed = "not_allowed", 403, "Permission denied", never,
        "See `rule` and `detail`; ask an admin if you should have access.";
    NotFound = "not_found", 404, "Not found", never,
        "Check the id. Resources that you cannot access also return 404.";
    MethodNotAllowed = "method_not_allowed", 405, "Method not allowed", never,
        "Use a method listed in the `Allow` header.";
    RequestTimeout = "request_timeout", 408, "Request timeout", again,
        "Send the whole request without pauses.";
    BodyTooLarge = "body_too_large", 413, "Body too large", never,
        "Send at most `max_bytes` bytes.";
    UnsupportedMediaType = "unsupported_media_type", 415, "Unsupported media type", never,
        "Send JSON with `Content-Type: application/json`.";
    InvalidBody = "invalid_body", 422, "Invalid field in the body", never,
        "Fix the field at `path`.";
    InvalidPolicy = "invalid_policy", 422, "Invalid policy", never,
        "Fix every problem listed in `errors`.";
    RateLimited = "rate_limited", 429, "Rate limit exceeded", again,
        "Retry after the time given in `Retry-After`.";
    TooManyListeners = "too_many_listeners", 429, "Too many open event streams", again,
        "Close a stream or socket that you no longer need, or share one.";
    OriginRefused = "origin_refused", 403, "Origin or host not allowed", never,
        "Ask an operator to add the origin to `server.origins`, or the host name to \
         `server.hosts`.";

    CrossSite = "cross_site", 403, "Cross-site request refused", never,
        "Use this server's own pages, or a token; the pages send `X-ADE-Request: 1` with every \
         change.";

    // Device sign-in, with the names and statuses of RFC 8628.
    AuthorizationPending = "authorization_pending", 400, "Authorization pending", again,
        "Poll again after `interval` seconds.";
    SlowDown = "slow_down", 400, "Polling too fast", again,
        "Wait `interval` seconds before each further request.";
    ExpiredToken = "expired_token", 400, "Sign-in code expired or unknown", never,
        "Start again: `ade login`, or `POST /auth/device`.";
    AccessDenied = "access_denied", 400, "Sign-in denied", never,
        "Ask the person, then start again: `ade login`, or `POST /auth/device`.";

    // Invitations.
    NotInvitable = "not_invitable", 409, "This person cannot be invited", never,
        "See `detail`: the person signs in another way, or their account has to change first.";
    InvitationNotValid = "invitation_not_valid", 400, "Invalid invitation", never,
        "Ask an admin for a new invitation, and accept it within 15 minutes.";

    FeatureOff = "feature_off", 409, "Feature disabled", never,
        "Ask an admin to enable the flag named in `flag`: `PUT /v1/flags/{name}`.";

    // Versions and idempotency.
    VersionMismatch = "version_mismatch", 412, "Version mismatch", never,
        "Reload it, review what changed, and send the new version in `If-Match`.";
    PreconditionRequired = "precondition_required", 428, "Version required", never,
        "Send the `ETag` that you read as `If-Match`.";
    IdempotencyKeyReused = "idempotency_key_reused", 422,
        "Idempotency key reused for a different request", never,
        "Use a new `Idempotency-Key` for each new request.";
    IdempotencyInFlight = "idempotency_in_flight", 409,
        "Request with this idempotency key in progress", again,
        "Retry with the same key in a moment.";
    Conflict = "conflict", 409, "Conflict: the resource was modified concurrently", again,
        "Repeat the call.";

    // Passkeys.
    StepUpRequired = "step_up_required", 403, "Passkey confirmation required", never,
        "Decide on the page given in `page`; or send `step_up` as the body of `POST /v1/step-up`, \
         confirm with your passkey, and repeat the call.";
    SignInTooOld = "sign_in_too_old", 403, "Sign-in too old for this action", never,
        "Sign out and in again, then repeat the call. With a passkey, you confirm it in place.";
    PasskeyRefused = "passkey_refused", 422, "Passkey response rejected", never,
        "See `detail`; start again and answer with one of your own passkeys.";
    PasskeysOff = "passkeys_off", 409, "Passkeys not available", never,
        "Ask an operator to set `notify.page` to an https URL with a host name.";

    // Refusals by the rules of a task.
    WrongState = "wrong_state", 409, "Not possible in the current state", never,
        "See `works_from` for the states that allow it.";
    AlreadyExists = "already_exists", 409, "Already exists", never,
        "Use the existing one, or choose another name.";
    SelfApproval = "self_approval", 403, "You cannot approve your own change", never,
        "Someone who did not take part in the change must decide.";
    NotAsked = "not_asked", 403, "No approval requested from you", never,
        "One of `may_answer` can decide, or delegate to you.";
    RoleTooNew = "role_too_new", 403, "Role held for too short a time", never,
        "Someone who has had the role for longer must decide.";
    PasskeyTooNew = "passkey_too_new", 403, "Passkey enrolled too recently", never,
        "Someone else must decide, or you do from `counts_from`.";
    PersonRequired = "person_required", 403, "Only people can do this", never,
        "Ask a person to do it.";
    Closed = "closed", 409, "Closed", never,
        "Create a new one.";
    TooManyTokens = "too_many_tokens", 409, "Token limit reached", never,
        "Revoke one of the active tokens first.";
    TooMany = "too_many", 409, "Limit reached", never,
        "Delete one that is no longer needed.";
    BatchRefused = "batch_refused", 409, "Batch refused; nothing was written", never,
        "Remove the items with a `refusal`, or decide them separately.";
    StaleRevision = "stale_revision", 409, "The task has changed since you viewed it", never,
        "Review what changed, then decide on the current revision.";
    ReasonRequired = "reason_required", 422, "Reason required", never,
        "Give the reason in `reason`.";
    ReasonTooLong = "reason_too_long", 422, "Reason too long", never,
        "Shorten it to at most `max_bytes` bytes.";
    TicketRequired = "ticket_required", 422, "Ticket required", never,
        "Give the incident ticket in `ticket`.";
    NothingChanged = "nothing_changed", 409, "Nothing changed", never,
        "Change the content, or leave it as it is.";
    PinsMissing = "pins_missing", 503, "Policies of the task not loaded",
        again, "Retry; contact an operator if the problem persists.";
    AutoApprovalRefused = "auto_approval_refused", 409, "A person must decide", never,
        "Wait for the reviewers.";
    NothingToWithdraw = "nothing_to_withdraw", 409, "No vote to withdraw", never,
        "No action is needed.";
    DelegationForbidden = "delegation_forbidden", 409, "Delegation forbidden", never,
        "Answer yourself, or decline the request.";
    DelegateNotAllowed = "delegate_not_allowed", 409, "The delegate cannot approve this", never,
        "Choose someone who can approve it in their own right.";
    DelegationFault = "delegation_fault", 409, "Invalid delegation chain", never,
        "Fix the chain shown in `path`.";
    NoOpenRequest = "no_open_request", 409, "No open approval request", never,
        "See your inbox for open requests.";
    NothingToReassign = "nothing_to_reassign", 409, "Nothing to reassign", never,
        "No action is needed.";
    NoStepLeft = "no_step_left", 409, "All escalation steps have run", never,
        "Contact the reviewers.";
    NotDue = "not_due", 409, "Too early", again, "Wait until `at`.";
    BasisStands = "basis_stands", 409, "The approval is still valid", never,
        "Continue, or wait until `until`.";
    BasisLost = "basis_lost", 409, "The approval is no longer valid", never,
        "The task returns to review; wait for the reviewers.";
    Frozen = "frozen", 409, "Applies are frozen", again,
        "Wait until the freeze ends, or ask an operator to lift it.";
    LockHeld = "lock_held", 423, "Locked by another holder", again,
        "Retry later, or acquire with a wait; `holders` shows who holds the lock.";
    DeadlockDetected = "deadlock_detected", 423, "Deadlock detected", never,
        "Release all your locks, wait a random time, and acquire the whole set at once; `cycle` \
         shows who waits for whom.";
    LockQueueFull = "lock_queue_full", 503, "Lock queue full", again,
        "Retry after the time given in `Retry-After`.";
    TooManyLocks = "too_many_locks", 409, "Lock limit per agent reached", never,
        "Release locks that you no longer need; held and awaited locks both count.";
    LeaseHeldTooLong = "lease_held_too_long", 409, "Maximum lease age reached", never,
        "Finish before the lease expires, release it, and acquire it again; others may be \
         waiting.";
    LockSelfConflict = "lock_self_conflict", 409, "You already hold this lock", never,
        "Release the lease that you hold, or acquire the whole set at once.";
    LockAlreadyWaiting = "lock_already_waiting", 409, "The process is already waiting", never,
        "Wait for the first request, or release it; a process has one wait at a time.";
    LeaseReused = "lease_reused", 409, "Lease id belongs to another request", never,
        "Use a new lease id for each request.";
    ProcessExpired = "process_expired", 409, "Process expired", never,
        "Stop, start a new process, and acquire the locks that you still need.";
    LocksUncertain = "locks_uncertain", 503, "Older advisory leases may still be held", again,
        "Wait until `until`, acquire with `fenced`, or reclaim your lease with `held_fence`.";
    LocksUnavailable = "locks_unavailable", 503, "Lock service unavailable", again,
        "Retry with the same lease id; contact an operator if the problem persists.";
    ReceiptsUnavailable = "receipts_unavailable", 503, "Permits cannot be signed", again,
        "Contact an operator: `receipts.key_files` is not set, or its key cannot sign.";
    LogUnavailable = "log_unavailable", 503, "Log unavailable", again,
        "Retry; if the problem persists, contact an operator: `blobs.url` is not set, or its \
         store does not respond.";
    EffectDrifted = "effect_drifted", 409, "The effect has changed since approval", never,
        "Do not apply it; the task is back in review, and its reviewers see the difference.";
    NoCapacity = "no_capacity", 409, "The agent has no free slot", again,
        "Wait until one of the agent's running attempts has ended.";
    LeaseLost = "lease_lost", 409, "Lease lost", never,
        "Stop, and make no further changes. An attempt that has not begun can be claimed again; \
         one that has begun must be reconciled by a person.";
    AlreadyBegun = "already_begun", 409, "The apply has already begun", never,
        "Wait for its outcome.";
    NotBegun = "not_begun", 409, "The apply has not begun", never,
        "Begin it first.";
    AbortRequested = "abort_requested", 409, "Cancellation requested", never,
        "Stop, and report that nothing was applied; `abort` says who cancelled and why.";
    NotDrifted = "not_drifted", 409, "The effect has not changed", never,
        "Continue and apply it.";
    HolderMayLive = "holder_may_live", 409, "The previous holder may still be running", again,
        "Wait until its hold is fenced and has expired.";
    AttemptsExhausted = "attempts_exhausted", 409, "Retry limit reached", never,
        "Find out why it fails, then resubmit it as a new task.";
    OverrideOpen = "override_open", 409, "An override is already pending", never,
        "Another admin can confirm it before `confirm_before`.";
    OverrideNotAsked = "override_not_asked", 409, "No override requested", never,
        "Request an override first.";
    OverrideLapsed = "override_lapsed", 409, "Override expired", never,
        "Request the override again.";
    ExtensionOutOfRange = "extension_out_of_range", 422, "Extension out of range",
        never, "Give a time after `ends_at` and up to `latest`.";
    SameAdmin = "same_admin", 403, "A second admin must confirm", never,
        "Ask another admin to confirm it.";

    // The server.
    Internal = "internal", 500, "Internal server error", never,
        "Report the `request_id` to an operator.";
    OutcomeUnknown = "outcome_unknown", 503, "Outcome unknown", again,
        "Retry with the same `Idempotency-Key`; the request is applied at most once.";
    TimedOut = "timed_out", 503, "The server took too long to respond", again,
        "Retry with the same `Idempotency-Key`; the request is applied at most once.";
    Busy = "busy", 503, "Resource busy", again,
        "Retry in a moment.";
    Overloaded = "overloaded", 503, "Server overloaded", again,
        "Retry after the time given in `Retry-After`.";
    DatabaseUnavailable = "database_unavailable", 503, "Database unavailable", again,
        "Retry after the time given in `Retry-After`; contact an operator if the problem \
         persists.";
    PreviewUnavailable = "preview_unavailable", 503, "Preview unavailable", again,
        "Retry after the time given in `Retry-After`; contact an operator if the problem \
         persists.";
    AuditUnavailable = "audit_unavailable", 503,
        "Audit log unavailable; the request was not applied", again,
        "Retry after the time given in `Retry-After`; contact an operator if the problem \
                persists.";
    Draining = "draining", 503, "The server is shutting down", again,
        "Retry; another process will respond.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn code_names_are_unique_and_match_their_serialized_form() {
        let names: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let written = serde_json::to_value(code).unwrap();
            assert_eq!(written, code.as_str());
            assert_eq!(serde_json::from_value::<Code>(written).unwrap(), *code);
        }
    }

    #[test]
    fn code_schema_lists_the_serialized_names() {
        use utoipa::PartialSchema as _;

        let schema = serde_json::to_value(Code::schema()).unwrap();
        let names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(schema["enum"], serde_json::to_value(names).unwrap());
    }

    #[test]
    fn code_has_an_error_status_and_a_next_action() {
        for code in Code::ALL {
            assert!((400..600).contains(&code.status()), "{code:?}");
            assert!(code.next_action().ends_with('.'), "{code:?}");
            assert!(!code.title().ends_with('.'), "{code:?}");
        }
    }

    /// The codes whose cause passes without any action of the caller: limits, holders, background
    /// work and outages. A new code is added here only if a loop that repeats the call ends.
    #[test]
    fn code_is_retriable_only_if_the_same_call_may_succeed() {
        let retriable = Code::ALL.iter().filter(|code| code.is_retriable() && code.status() < 500);
        let names: BTreeSet<&str> = retriable.map(|code| code.as_str()).collect();
        let expected = [
            "authorization_pending",
            "conflict",
            "frozen",
            "holder_may_live",
            "idempotency_in_flight",
            "lock_held",
            "no_capacity",
            "not_due",
            "rate_limited",
            "request_timeout",
            "slow_down",
            "too_many_listeners",
        ];
        assert_eq!(names, BTreeSet::from(expected));
        assert!(!Code::Internal.is_retriable());
    }

    #[test]
    fn code_with_status_503_is_retriable() {
        for code in Code::ALL.iter().filter(|code| code.status() == 503) {
            assert!(code.is_retriable(), "{code:?}");
        }
    }
}
