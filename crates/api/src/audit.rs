//! Audit entries as they are read. A proof covers their canonical form, which is included.

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditLeaf {
    pub id: String,
    /// Who, what, when, where and why, exactly as hashed.
    #[schema(value_type = Object)]
    pub leaf: Value,
    /// The origin of the request, whose hash is `where.origin` of the entry: SHA-256 of this object
    /// as canonical JSON (RFC 8785). Absent if it was erased, or if the server acted on its own.
    pub origin: Option<AuditOrigin>,
    /// The hash of the audit entry in the tree.
    #[schema(value_type = schema::Digest)]
    pub hash: String,
}

/// Where a request came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditOrigin {
    /// Random, so that the hash reveals nothing once the origin is erased.
    pub salt: String,
    pub address: Option<String>,
    pub user_agent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    pub items: Vec<AuditLeaf>,
    pub next_page_token: Option<String>,
    /// The time up to which the queried replica had caught up; the present if the primary was
    /// queried.
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
}
