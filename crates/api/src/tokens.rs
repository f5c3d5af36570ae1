//! API tokens. The token itself is returned only once, when it is created.

use std::collections::BTreeSet;

use ade_core::ids::{AgentId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// A token for the caller, or for an agent or a person that the caller administers. Each can have
/// at most two active tokens, so that one can replace the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    #[serde(default)]
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    /// The scopes of the token; never more than its holder is allowed.
    #[schema(value_type = Vec<schema::Scope>, min_items = 1)]
    pub scopes: BTreeSet<String>,
    #[serde(default)]
    #[schema(max_length = 128)]
    pub label: Option<String>,
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 90, default = 30)]
    pub days: u16,
    /// The networks that the token can be used from, like `10.1.0.0/16` or a single address; empty:
    /// anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 16, example = json!(["10.1.0.0/16"]))]
    pub networks: Vec<String>,
}

fn default_days() -> u16 {
    30
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Identifies the token without being secret.
    pub key_id: String,
    #[schema(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    #[schema(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    #[schema(value_type = Vec<schema::Scope>)]
    pub scopes: BTreeSet<String>,
    pub label: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
    /// The networks that the token can be used from; empty: anywhere.
    pub networks: Vec<String>,
    /// The time of last use, to the minute; absent if the token was never used.
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_used_at: Option<Timestamp>,
    /// The person who issued it; absent for the first token of a tenant.
    #[schema(value_type = Option<schema::UserId>)]
    pub issued_by: Option<UserId>,
}

/// Shown once: the server only stores a hash of the token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IssuedToken {
    #[serde(flatten)]
    pub about: Token,
    /// Absent in the response to a repeated request.
    pub token: Option<String>,
}

/// The secret stays out of logs.
impl std::fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IssuedToken").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A leaked token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Leak {
    /// The complete token, as found.
    #[schema(max_length = 512)]
    pub token: String,
    /// Where the token was found; recorded in the audit log.
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
