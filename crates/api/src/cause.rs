//! Who caused an interruption, why and when: an operator who broke a lock, or a person who
//! cancelled a task that is being applied.

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// Who caused it, why and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cause {
    /// The id of a person or an agent, or the name of a background worker.
    pub by: String,
    /// The reason that was given.
    pub reason: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}
