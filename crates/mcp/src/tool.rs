//! The table of tools: name, class, the calls each makes, what a model is told of it. A class
//! that decides, operates or administers cannot be written here.

use ade_core::access::Class;
use serde_json::{Map, Value};

use crate::arguments::{
    AcquireLocks, AmendTask, CancelTask, ClaimPermit, Heartbeat, OneTask, ProposeTask,
    ReleaseLocks, ReportResult, WaitForTask,
};
use crate::schema;

/// The classes that are open to agents, and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    Read,
    Propose,
    Execute,
}

impl From<ToolClass> for Class {
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
    ProposeTask,
    GetTask,
    WaitForTask,
    AmendTask,
    CancelTask,
    AcquireLocks,
    Heartbeat,
    ReleaseLocks,
    ClaimPermit,
    ReportResult,
    ExplainTask,
}

impl Tool {
    pub const ALL: [Self; 11] = [
        Self::ProposeTask,
        Self::GetTask,
        Self::WaitForTask,
        Self::AmendTask,
        Self::CancelTask,
        Self::AcquireLocks,
        Self::Heartbeat,
        Self::ReleaseLocks,
        Self::ClaimPermit,
        Self::ReportResult,
        Self::ExplainTask,
    ];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::ProposeTask => "propose_task",
            Self::GetTask => "get_task",
            Self::WaitForTask => "wait_for_task",
            Self::AmendTask => "amend_task",
            Self::CancelTask => "cancel_task",
            Self::AcquireLocks => "acquire_locks",
            Self::Heartbeat => "heartbeat",
            Self::ReleaseLocks => "release_locks",
            Self::ClaimPermit => "claim_permit",
            Self::ReportResult => "report_result",
            Self::ExplainTask => "explain_task",
        }
    }

    pub const fn class(self) -> ToolClass {
        match self {
            Self::GetTask | Self::WaitForTask | Self::ExplainTask => ToolClass::Read,
            Self::ProposeTask | Self::AmendTask | Self::CancelTask => ToolClass::Propose,
            Self::AcquireLocks
            | Self::Heartbeat
            | Self::ReleaseLocks
            | Self::ClaimPermit
            | Self::ReportResult => ToolClass::Execute,
        }
    }

    /// Every call of the API that it makes, as the route table spells it.
    pub const fn calls(self) -> &'static [&'static str] {
        match self {
            Self::ProposeTask => &["POST /v1/tasks", "POST /v1/tasks/{id}/submit"],
            Self::GetTask | Self::WaitForTask => &["GET /v1/tasks/{id}"],
            Self::AmendTask => &["PATCH /v1/tasks/{id}", "POST /v1/tasks/{id}/submit"],
            Self::CancelTask => &["POST /v1/tasks/{id}/cancel"],
            Self::AcquireLocks => &["POST /v1/locks/acquire"],
            Self::Heartbeat => &["POST /v1/leases/heartbeat", "POST /v1/executions/{id}/heartbeat"],
            Self::ReleaseLocks => &["POST /v1/leases/{id}/release"],
            Self::ClaimPermit => {
                &["GET /v1/me", "POST /v1/agents/{id}/claim", "POST /v1/executions/{id}/begin"]
            }
            Self::ReportResult => {
                &["POST /v1/executions/{id}/finish", "POST /v1/executions/{id}/fail"]
            }
            Self::ExplainTask => &["GET /v1/tasks/{id}/explain"],
        }
    }

    /// What a model goes by when it chooses.
    pub const fn says(self) -> &'static str {
        match self {
            Self::ProposeTask => {
                "Propose a change to production. The server works out its effect and risk, and \
                 people agree to it or not. Nothing is changed by this."
            }
            Self::GetTask => "Read a task as it is now.",
            Self::WaitForTask => {
                "Wait until others have done their part on a task: it is approved, sent back, \
                 refused or over. Answers after 55 s at most; call it again if it timed out."
            }
            Self::AmendTask => {
                "Change the content of a task and submit it if it is a draft, for example after \
                 a reviewer asked for changes. Votes on the earlier content do not count."
            }
            Self::CancelTask => "Take a task back before it is applied.",
            Self::AcquireLocks => {
                "Lock resources, all or none. Keep the lease with heartbeat every 10 s and give \
                 it back with release_locks. A task's own locks come with claim_permit."
            }
            Self::Heartbeat => {
                "Keep leases alive, or the attempt that claim_permit gave you. Every 10 s; stop \
                 working on whatever the answer does not call alive."
            }
            Self::ReleaseLocks => "Give a lease back that acquire_locks gave you.",
            Self::ClaimPermit => {
                "Take up an approved task: its locks, a signed receipt and the right to apply it \
                 now, once. The attempt has begun when this answers; apply exactly what was \
                 approved, with a heartbeat every 10 s, and end it with report_result."
            }
            Self::ReportResult => "Say how the attempt that claim_permit gave you ended.",
            Self::ExplainTask => {
                "Say why a task is where it is: which gates are open, which are not and what \
                 opens them, and who may still answer."
            }
        }
    }

    /// JSON Schema of its arguments, from the types that read them.
    pub fn input(self) -> Map<String, Value> {
        match self {
            Self::ProposeTask => schema::of::<ProposeTask>(),
            Self::GetTask | Self::ExplainTask => schema::of::<OneTask>(),
            Self::WaitForTask => schema::of::<WaitForTask>(),
            Self::AmendTask => schema::of::<AmendTask>(),
            Self::CancelTask => schema::of::<CancelTask>(),
            Self::AcquireLocks => schema::of::<AcquireLocks>(),
            Self::Heartbeat => schema::of::<Heartbeat>(),
            Self::ReleaseLocks => schema::of::<ReleaseLocks>(),
            Self::ClaimPermit => schema::of::<ClaimPermit>(),
            Self::ReportResult => schema::of::<ReportResult>(),
        }
    }
}
