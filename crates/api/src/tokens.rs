//! API tokens. The token itself is in one answer only: the one that made it.

use std::collections::BTreeSet;

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// For the caller, or for an agent or a person the caller administers. At most two are active
/// for each, so that one can take over from the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// What it may be used for; never more than the one it is for may do.
    #[schema(value_type = Vec<schema::Scope>, min_items = 1)]
    pub scopes: BTreeSet<String>,
    #[serde(default)]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 90, default = 30)]
    pub days: u16,
    /// Where it may be used from, like `10.1.0.0/16` or one address; anywhere, if none are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 16, example = json!(["10.1.0.0/16"]))]
    pub networks: Vec<String>,
}

fn default_days() -> u16 {
    30
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Names the token without opening anything.
    pub key_id: String,
    #[schema(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    #[schema(value_type = Vec<schema::Scope>)]
    pub scopes: BTreeSet<String>,
    pub label: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
    /// Where it may be used from; anywhere, if none are named.
    pub networks: Vec<String>,
    /// To the minute; absent if it never was.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_used_at: Option<Timestamp>,
}

/// Shown once: the server keeps no more than a hash of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IssuedToken {
    #[serde(flatten)]
    pub about: Token,
    /// Absent if the same request was answered before.
    pub token: Option<String>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedToken").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A token that was found where it should not be.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Leak {
    /// The whole of it, as it was found.
    #[schema(max_length = 512)]
    pub token: String,
    /// Where: kept in the audit.
    #[serde(default)]
    #[schema(max_length = 1024)]
    pub found_at: Option<String>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for Leak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leak").field("found_at", &self.found_at).finish_non_exhaustive()
    }
}
