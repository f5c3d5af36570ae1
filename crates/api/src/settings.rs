//! The settings of a tenant: risk computation, timeouts and feature flags.

use std::collections::BTreeMap;

use ade_core::flag::Flag;
use ade_core::ids::UserId;
use ade_core::time::Timestamp;
use ade_core::timeouts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// How risk is computed. Omitted fields get their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRiskSettings {
    #[serde(default)]
    pub weights: RiskWeights,
    #[serde(default)]
    pub thresholds: RiskThresholds,
    /// Globs over `type:id` with the criticality of matching resources that are not in the
    /// registry. If several match, the highest counts.
    #[serde(default)]
    pub pattern_defaults: BTreeMap<String, u8>,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// The weights in basis points; they must add up to 10000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RiskWeights {
    #[schema(maximum = 10000)]
    pub resource_criticality_bp: u16,
    #[schema(maximum = 10000)]
    pub change_magnitude_bp: u16,
    #[schema(maximum = 10000)]
    pub blast_radius_bp: u16,
    #[schema(maximum = 10000)]
    pub historical_failure_rate_bp: u16,
}

impl Default for RiskWeights {
    fn default() -> Self {
        let [criticality, magnitude, radius, failures] =
            ade_core::risk::Weights::default().in_order();
        Self {
            resource_criticality_bp: criticality,
            change_magnitude_bp: magnitude,
            blast_radius_bp: radius,
            historical_failure_rate_bp: failures,
        }
    }
}

/// The lowest score of each level above LOW; each must be above the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RiskThresholds {
    #[schema(maximum = 100)]
    pub medium: u8,
    #[schema(maximum = 100)]
    pub high: u8,
    #[schema(maximum = 100)]
    pub critical: u8,
}

impl Default for RiskThresholds {
    fn default() -> Self {
        let [medium, high, critical] = ade_core::risk::Thresholds::default().in_order();
        Self { medium, high, critical }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RiskSettings {
    /// The version for `If-Match`; 0 if the tenant has set nothing.
    pub version: u64,
    pub weights: RiskWeights,
    pub thresholds: RiskThresholds,
    pub pattern_defaults: BTreeMap<String, u8>,
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

/// The tenant's timeouts. Omitted groups get the defaults of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTimeouts {
    #[serde(default)]
    pub lock: Option<LockTimeouts>,
    #[serde(default)]
    pub approval: Option<ApprovalTimeouts>,
    #[serde(default)]
    pub task: Option<TaskTimeouts>,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// The timeouts of locks, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LockTimeouts {
    /// The TTL of a lease that is requested without one.
    #[schema(minimum = 1, maximum = 300)]
    pub default_ttl_seconds: u32,
    /// The longest TTL that can be requested.
    #[schema(minimum = 1, maximum = 300)]
    pub max_ttl_seconds: u32,
    /// The heartbeat interval of agents; at most a third of `default_ttl_seconds`.
    #[schema(minimum = 1, maximum = 10)]
    pub heartbeat_interval_seconds: u32,
}

/// The timeouts of reviews, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalTimeouts {
    /// The time to answer if no policy has `respond_within`.
    #[schema(minimum = 60, maximum = 31_536_000)]
    pub default_timeout_seconds: u32,
    /// The longest time to answer, whatever a policy says.
    #[schema(minimum = 60, maximum = 31_536_000)]
    pub max_timeout_seconds: u32,
}

/// The timeouts of tasks, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskTimeouts {
    /// The time to apply a task that was proposed without `timeout_seconds`.
    #[schema(minimum = 1, maximum = 86_400)]
    pub default_timeout_seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Timeouts {
    /// The version for `If-Match`; 0 if the tenant has set nothing.
    pub version: u64,
    pub lock: LockTimeouts,
    pub approval: ApprovalTimeouts,
    pub task: TaskTimeouts,
    /// The groups that the tenant has set: `lock`, `approval`, `task`.
    pub overridden: Vec<String>,
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

/// Converts between types with the same fields. A field that only one side has does not compile.
macro_rules! same_fields {
    ($($name:ident { $($field:ident),+ })+) => {$(
        impl From<timeouts::$name> for $name {
            fn from(timeouts::$name { $($field),+ }: timeouts::$name) -> Self {
                Self { $($field),+ }
            }
        }

        impl From<$name> for timeouts::$name {
            fn from($name { $($field),+ }: $name) -> Self {
                Self { $($field),+ }
            }
        }
    )+};
}

same_fields! {
    LockTimeouts { default_ttl_seconds, max_ttl_seconds, heartbeat_interval_seconds }
    ApprovalTimeouts { default_timeout_seconds, max_timeout_seconds }
    TaskTimeouts { default_timeout_seconds }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Flags {
    pub items: Vec<FlagShown>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlagShown {
    #[schema(value_type = schema::Flag)]
    pub name: Flag,
    pub enabled: bool,
    /// The effect of the flag while it is on.
    pub meaning: String,
    /// Absent if the flag was never changed.
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetFlag {
    pub enabled: bool,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}
