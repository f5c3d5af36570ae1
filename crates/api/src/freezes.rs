//! Freezes, which stop new applies. Running applies and rollbacks continue.

use ade_core::ids::{FreezeId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FreezeScope {
    /// All resources of the tenant.
    Tenant,
    /// Resources that the registry assigns to this environment.
    Environment,
    /// Resources whose names match a pattern.
    Resources,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFreeze {
    pub scope: FreezeScope,
    /// The environment or the pattern; absent for the whole tenant.
    #[serde(default)]
    #[schema(max_length = 321, example = "database:prod-*")]
    pub target: Option<String>,
    #[schema(min_length = 1, max_length = 4096)]
    pub reason: String,
    /// Defaults to none: the freeze lasts until it is lifted.
    #[serde(default)]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ends_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Freeze {
    #[schema(value_type = schema::FreezeId)]
    pub id: FreezeId,
    pub scope: String,
    pub target: Option<String>,
    pub reason: String,
    /// Neither lifted nor expired.
    pub in_force: bool,
    #[schema(value_type = schema::UserId)]
    pub set_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub set_at: Timestamp,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub ends_at: Option<Timestamp>,
    #[schema(value_type = Option<schema::UserId>)]
    pub lifted_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub lifted_at: Option<Timestamp>,
}
