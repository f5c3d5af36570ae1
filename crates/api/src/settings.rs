//! What a tenant sets itself: how risk is rated, how long things may take, and what is switched on.

use std::collections::BTreeMap;

use ade_core::flag::Flag;
use ade_core::ids::UserId;
use ade_core::time::Timestamp;
use ade_core::times;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// How risk is rated. What is left out falls back to its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRiskSettings {
    #[serde(default)]
    pub weights: RiskWeights,
    #[serde(default)]
    pub thresholds: RiskThresholds,
    /// Glob over `type:id`, and the criticality of what it matches and the registry does not
    /// hold. Of several the highest counts.
    #[serde(default)]
    pub pattern_defaults: BTreeMap<String, u8>,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// In basis points; together they make 10000.
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

/// The lowest score of each level above LOW; each above the one before.
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
    /// 0 while the tenant has set nothing; for `If-Match`.
    pub version: u64,
    pub weights: RiskWeights,
    pub thresholds: RiskThresholds,
    pub pattern_defaults: BTreeMap<String, u8>,
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

/// How long things may take. What is left out is as the installation has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTimes {
    #[serde(default)]
    pub lock: Option<LockTimes>,
    #[serde(default)]
    pub approval: Option<ApprovalTimes>,
    #[serde(default)]
    pub task: Option<TaskTimes>,
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// Of locks, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LockTimes {
    /// Of a lease that is asked for without one.
    #[schema(minimum = 1, maximum = 300)]
    pub default_ttl: u32,
    /// The longest that may be asked for.
    #[schema(minimum = 1, maximum = 300)]
    pub max_ttl: u32,
    /// How often agents are to be heard of; at most a third of `default_ttl`.
    #[schema(minimum = 1, maximum = 10)]
    pub heartbeat_interval: u32,
}

/// Of reviews, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalTimes {
    /// To answer, where no policy says `respond_within`.
    #[schema(minimum = 60, maximum = 31_536_000)]
    pub default_timeout: u32,
    /// To answer, whatever a policy says.
    #[schema(minimum = 60, maximum = 31_536_000)]
    pub max_timeout: u32,
}

/// Of tasks, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskTimes {
    /// To apply one that is proposed without `timeout_seconds`.
    #[schema(minimum = 1, maximum = 86_400)]
    pub default_timeout: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Times {
    /// 0 while the tenant has set nothing; for `If-Match`.
    pub version: u64,
    pub lock: LockTimes,
    pub approval: ApprovalTimes,
    pub task: TaskTimes,
    /// The groups that the tenant has set itself: `lock`, `approval`, `task`.
    pub own: Vec<String>,
    #[schema(value_type = Option<schema::UserId>)]
    pub set_by: Option<UserId>,
    #[schema(value_type = Option<schema::Timestamp>)]
    pub set_at: Option<Timestamp>,
}

/// Both name their fields alike: one that is added here is asked for there.
macro_rules! same_fields {
    ($($name:ident { $($field:ident),+ })+) => {$(
        impl From<times::$name> for $name {
            fn from(times::$name { $($field),+ }: times::$name) -> Self {
                Self { $($field),+ }
            }
        }

        impl From<$name> for times::$name {
            fn from($name { $($field),+ }: $name) -> Self {
                Self { $($field),+ }
            }
        }
    )+};
}

same_fields! {
    LockTimes { default_ttl, max_ttl, heartbeat_interval }
    ApprovalTimes { default_timeout, max_timeout }
    TaskTimes { default_timeout }
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
    /// What is so while it is on.
    pub meaning: String,
    /// Absent while nobody has touched it.
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
