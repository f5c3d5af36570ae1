//! Changes to the rules that make approvals easier and wait for a second admin.

use ade_core::ids::{PendingChangeId, UserId};
use ade_core::policy::Strictness;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::policies::ReplayedTask;
use crate::problem::NextAction;
use crate::schema;

/// A proposed change with its consequences.
///
/// A change to the rules that makes approvals easier does not take effect at once. Another admin
/// publishes it; in a tenant with one admin it takes effect after a day, unless someone objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PendingChange {
    #[schema(value_type = schema::PendingChangeId)]
    pub id: PendingChangeId,
    /// What is changed, like `user.roles` or `risk.settings`.
    pub kind: String,
    /// The person, resource or setting that is changed.
    pub object: String,
    /// The change as it was requested.
    #[schema(value_type = Object)]
    pub command: Value,
    /// `looser`, or `mixed` if it is stricter in other respects.
    #[schema(value_type = schema::Strictness)]
    pub verdict: Strictness,
    /// The consequences. If there are very many, the last one counts the others.
    pub findings: Vec<ChangeFinding>,
    /// Recent tasks that would have needed fewer people.
    pub tasks: Vec<ReplayedTask>,
    pub reason: Option<String>,
    #[schema(value_type = schema::UserId)]
    pub proposed_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub proposed_at: Timestamp,
    /// When it takes effect without a second admin; only in a tenant with one admin.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub takes_effect_at: Option<Timestamp>,
    /// The value that a passkey confirms when the change is published.
    #[schema(value_type = schema::Digest)]
    pub digest: String,
    pub outcome: Option<PendingChangeOutcome>,
    /// The person who published, withdrew or objected.
    #[schema(value_type = Option<schema::UserId>)]
    pub closed_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub closed_at: Option<Timestamp>,
    /// The reason of the person who objected.
    pub objection: Option<String>,
    pub next_action: NextAction,
}

/// One consequence of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeFinding {
    #[schema(value_type = schema::Strictness)]
    pub verdict: Strictness,
    pub sentence: String,
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PendingChangeOutcome {
    /// A second admin published it.
    Published,
    /// It was taken back.
    Withdrawn,
    /// A person objected to it in time.
    Objected,
    /// It took effect after its wait.
    Applied,
    /// It could not take effect any more, because the rules had changed since.
    Outdated,
}

/// An objection to a change that waits for its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeObjection {
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
}
