//! The table of tools: name, scope, API calls, schemas and description for the model. Tools that
//! decide, operate or administer cannot be expressed here.

use ade_core::access::Scope;
use serde_json::{Map, Value};

use crate::arguments::{
    AcquireLocks, FinishChange, GetRequest, ReleaseLocks, RequestApproval, ReviseRequest,
    StartChange, WaitForDecision, WithdrawRequest,
};
use crate::output::{
    FinishedChange, HeldLocks, ReleasedLocks, RequestContent, RequestStatus, StartedChange,
};
use crate::schema;

/// The scopes of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    Read,
    Propose,
    Execute,
}

impl From<ToolClass> for Scope {
    fn from(class: ToolClass) -> Self {
        match class {
            ToolClass::Read => Self::Read,
            ToolClass::Propose => Self::Propose,
            ToolClass::Execute => Self::Execute,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    RequestApproval,
    WaitForDecision,
    ReviseRequest,
    WithdrawRequest,
    StartChange,
    FinishChange,
    GetRequest,
    AcquireLocks,
    ReleaseLocks,
}

impl Tool {
    pub const ALL: [Self; 9] = [
        Self::RequestApproval,
        Self::WaitForDecision,
        Self::ReviseRequest,
        Self::WithdrawRequest,
        Self::StartChange,
        Self::FinishChange,
        Self::GetRequest,
        Self::AcquireLocks,
        Self::ReleaseLocks,
    ];

    /// The calls that extend what the caller already holds. Every tool that names a lease may make
    /// them, whatever its class; the server requires the scope of each call.
    pub const EXTENDING_CALLS: [&'static str; 2] =
        ["POST /v1/executions/{id}/heartbeat", "POST /v1/leases/heartbeat"];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Returns the tool that makes an API call, which may contain ids and a query.
    pub fn that_makes(call: &str) -> Option<Self> {
        let waits = call.contains("wait=");
        // Other tools read as well, but a read leads to a tool that only reads.
        let is_own = |tool: Self, template: &str| {
            template.starts_with("GET ") == (tool.class() == ToolClass::Read)
        };
        Self::ALL.into_iter().filter(|tool| waits || *tool != Self::WaitForDecision).find(|tool| {
            let mut templates = tool.calls().iter().filter(|template| is_own(*tool, template));
            templates.any(|template| is_call_of(template, call))
        })
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::RequestApproval => "request_approval",
            Self::WaitForDecision => "wait_for_decision",
            Self::ReviseRequest => "revise_request",
            Self::WithdrawRequest => "withdraw_request",
            Self::StartChange => "start_change",
            Self::FinishChange => "finish_change",
            Self::GetRequest => "get_request",
            Self::AcquireLocks => "acquire_locks",
            Self::ReleaseLocks => "release_locks",
        }
    }

    /// Returns the name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::RequestApproval => "Request approval of a change",
            Self::WaitForDecision => "Wait for the decision",
            Self::ReviseRequest => "Revise a request",
            Self::WithdrawRequest => "Withdraw a request",
            Self::StartChange => "Start an approved change",
            Self::FinishChange => "Finish a change",
            Self::GetRequest => "Read a request",
            Self::AcquireLocks => "Acquire locks",
            Self::ReleaseLocks => "Release locks",
        }
    }

    pub const fn class(self) -> ToolClass {
        match self {
            Self::GetRequest | Self::WaitForDecision => ToolClass::Read,
            Self::RequestApproval | Self::ReviseRequest | Self::WithdrawRequest => {
                ToolClass::Propose
            }
            Self::AcquireLocks | Self::ReleaseLocks | Self::StartChange | Self::FinishChange => {
                ToolClass::Execute
            }
        }
    }

    /// Returns whether the tool ends something that cannot be taken up again.
    pub const fn is_destructive(self) -> bool {
        matches!(self, Self::WithdrawRequest)
    }

    /// Returns whether a repeated call with the same arguments has no further effect.
    pub const fn is_idempotent(self) -> bool {
        match self {
            Self::WaitForDecision
            | Self::WithdrawRequest
            | Self::FinishChange
            | Self::GetRequest
            | Self::ReleaseLocks => true,
            Self::RequestApproval
            | Self::ReviseRequest
            | Self::StartChange
            | Self::AcquireLocks => false,
        }
    }

    /// Returns every API call of the tool except [`Self::EXTENDING_CALLS`], as spelled in the
    /// route table.
    pub const fn calls(self) -> &'static [&'static str] {
        match self {
            Self::RequestApproval => &["POST /v1/tasks"],
            Self::WaitForDecision => &["GET /v1/tasks/{id}"],
            Self::ReviseRequest => {
                &["GET /v1/tasks/{id}", "PATCH /v1/tasks/{id}", "POST /v1/tasks/{id}/submit"]
            }
            Self::WithdrawRequest => &["POST /v1/tasks/{id}/cancel"],
            Self::StartChange => &["POST /v1/tasks/{id}/claim", "GET /v1/settings/timeouts"],
            Self::FinishChange => &["POST /v1/executions/{id}/finish"],
            Self::GetRequest => &["GET /v1/tasks/{id}", "GET /v1/tasks/{id}/explain"],
            Self::AcquireLocks => &["POST /v1/locks/acquire", "GET /v1/settings/timeouts"],
            Self::ReleaseLocks => &["POST /v1/leases/{id}/release"],
        }
    }

    /// Returns the description by which a model chooses the tool.
    pub const fn says(self) -> &'static str {
        match self {
            Self::RequestApproval => {
                "Ask people to approve a change BEFORE you make it. This call changes nothing. \
                 Describe what you will do in `changes`, one entry per thing that changes. \
                 Returns task_id; then call wait_for_decision. If you may have asked for the same \
                 change already, pass the same idempotency_key."
            }
            Self::WaitForDecision => {
                "Wait up to 55 s until people decide. state APPROVED: call start_change. \
                 sub_state CHANGES_REQUESTED: do what decision.reason asks, then call \
                 revise_request. state REJECTED: read decision.reason and do not ask for the same \
                 change again. timed_out is not an error: people need minutes or hours. Call again \
                 a few times; then give review_page to the person you work for and continue later."
            }
            Self::ReviseRequest => {
                "Change your request, usually after sub_state CHANGES_REQUESTED, and hand it in \
                 again. Pass only what differs. Votes on the earlier content no longer count; then \
                 call wait_for_decision."
            }
            Self::WithdrawRequest => {
                "Take your request back when you no longer need the change. It cannot be taken up \
                 again. If the change is running, it is asked to stop."
            }
            Self::StartChange => {
                "Start the approved change. Act only if the result has a `permit`: then do exactly \
                 what was approved, and call finish_change. If `permit` is null, do not act: \
                 blocked_by says what prevents it. The resources are locked for you. If the permit \
                 has extend_within_seconds, call get_request with execution_id and lease_id within \
                 that time, or people must find out what happened; if not, the locks are kept for \
                 you. Never work longer than timeout_seconds."
            }
            Self::FinishChange => {
                "Report how the change ended. Always call it after start_change returned a permit, \
                 also after errors. outcome: succeeded, failed, timed_out, or cancelled if you \
                 were asked to stop. Unless it succeeded, give `error` and what is left_behind: \
                 nothing, rolled_back or changed."
            }
            Self::GetRequest => {
                "Read a request: state, decision with reason, content, and in blocked_by what \
                 still blocks the change. With execution_id and lease_id it also keeps your \
                 running change alive and reports in `alerts` whether you must stop."
            }
            Self::AcquireLocks => {
                "Lock resources, all or none, only for work without a request: start_change locks \
                 what its request names. Returns lease_id; call release_locks after the work. If \
                 the result has extend_within_seconds, call acquire_locks again with the same \
                 lease_id and resources within that time, for as long as you need them."
            }
            Self::ReleaseLocks => {
                "Release the locks of acquire_locks. Do not work under them afterwards. \
                 finish_change releases those of a change."
            }
        }
    }

    /// Returns the JSON Schema of the arguments, from the types that parse them.
    pub fn input(self) -> Map<String, Value> {
        match self {
            Self::RequestApproval => schema::of::<RequestApproval>(),
            Self::WaitForDecision => schema::of::<WaitForDecision>(),
            Self::ReviseRequest => schema::of::<ReviseRequest>(),
            Self::WithdrawRequest => schema::of::<WithdrawRequest>(),
            Self::StartChange => schema::of::<StartChange>(),
            Self::FinishChange => schema::of::<FinishChange>(),
            Self::GetRequest => schema::of::<GetRequest>(),
            Self::AcquireLocks => schema::of::<AcquireLocks>(),
            Self::ReleaseLocks => schema::of::<ReleaseLocks>(),
        }
    }

    /// Returns the JSON Schema of the result, from the types that are written.
    pub fn output(self) -> Map<String, Value> {
        match self {
            Self::RequestApproval
            | Self::WaitForDecision
            | Self::ReviseRequest
            | Self::WithdrawRequest => schema::result::<RequestStatus>(),
            Self::GetRequest => schema::result_of_both::<RequestStatus, RequestContent>(),
            Self::StartChange => schema::result::<StartedChange>(),
            Self::FinishChange => schema::result::<FinishedChange>(),
            Self::AcquireLocks => schema::result::<HeldLocks>(),
            Self::ReleaseLocks => schema::result::<ReleasedLocks>(),
        }
    }
}

/// Returns whether a call fits a template, whose `{id}` stands for any id.
fn is_call_of(template: &str, call: &str) -> bool {
    let path = call.split('?').next().unwrap_or(call);
    let (mut parts, mut wanted) = (path.split('/'), template.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(want)) if part == want || want == "{id}" => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tool;

    #[test]
    fn tool_of_an_api_call_is_found_with_ids_and_query() {
        for (call, tool) in [
            ("POST /v1/tasks", Some(Tool::RequestApproval)),
            ("GET /v1/tasks/task_1", Some(Tool::GetRequest)),
            ("GET /v1/tasks/task_1?wait=55s&until=decided", Some(Tool::WaitForDecision)),
            ("PATCH /v1/tasks/task_1", Some(Tool::ReviseRequest)),
            ("POST /v1/tasks/{id}/claim", Some(Tool::StartChange)),
            ("POST /v1/executions/exec_1/finish", Some(Tool::FinishChange)),
            ("POST /v1/tasks/task_1/approve", None),
            ("GET /v1/tasks", None),
            ("", None),
        ] {
            assert_eq!(Tool::that_makes(call), tool, "{call}");
        }
    }
}
