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
    /// The hash of the audit entry in the tree.
    #[schema(value_type = schema::Digest)]
    pub hash: String,
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
