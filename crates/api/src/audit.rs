//! Leaves of the audit, as they are read. What is proven is their canonical bytes, which come
//! with them.

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
    /// The hash of the leaf in the tree.
    #[schema(value_type = schema::Digest)]
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    pub items: Vec<AuditLeaf>,
    pub next_page_token: Option<String>,
    /// How far the copy that was read had come; the present if it was the record itself.
    #[schema(value_type = schema::Timestamp)]
    pub as_of: Timestamp,
}
