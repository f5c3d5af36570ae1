//! Signing a terminal in from a browser, with the names of RFC 8628: what the terminal asks, what
//! the person sees who types its code, and the token at the end.

use std::collections::BTreeSet;

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDeviceLogin {
    /// What the person is told that asks; later the label of the token.
    #[serde(default)]
    #[schema(max_length = 128, example = "ade on laptop")]
    pub client_name: Option<String>,
}

/// Shown once: the server keeps no more than a hash of the device code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceLogin {
    /// The terminal's own, to ask with; shown to nobody.
    pub device_code: String,
    /// For the person to type, or to compare.
    #[schema(example = "BCDF-GHJK")]
    pub user_code: String,
    /// The page to type it at.
    pub verification_uri: String,
    /// The same page with the code filled in.
    pub verification_uri_complete: String,
    /// Seconds.
    pub expires_in: u64,
    /// Seconds between two questions, at least.
    pub interval: u64,
}

/// The secret stays out of logs.
impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceLogin").field("user_code", &self.user_code).finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DevicePoll {
    #[schema(max_length = 64)]
    pub device_code: String,
}

impl std::fmt::Debug for DevicePoll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DevicePoll").finish_non_exhaustive()
    }
}

/// A personal token, shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceToken {
    pub access_token: String,
    /// `Bearer`.
    pub token_type: String,
    /// Seconds.
    pub expires_in: u64,
    /// What it may be used for, with spaces between.
    #[schema(example = "read propose decide")]
    pub scope: String,
    /// Names the token without opening anything.
    pub key_id: String,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for DeviceToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceToken").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceStatus {
    Pending,
    Approved,
    Denied,
}

/// A terminal that waits to be let in. All it says of itself may be made up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceRequest {
    #[schema(example = "BCDF-GHJK")]
    pub user_code: String,
    pub client_name: Option<String>,
    /// Where it asked from, as this server saw it.
    pub address: Option<String>,
    pub user_agent: Option<String>,
    pub status: DeviceStatus,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

/// What the terminal's token may be used for, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceApproval {
    /// All that you may use yourself, if left out.
    #[serde(default)]
    #[schema(value_type = Option<Vec<schema::Scope>>)]
    pub scopes: Option<BTreeSet<String>>,
    #[serde(default = "default_days")]
    #[schema(minimum = 1, maximum = 30, default = 30)]
    pub days: u16,
}

impl Default for DeviceApproval {
    fn default() -> Self {
        Self { scopes: None, days: default_days() }
    }
}

fn default_days() -> u16 {
    30
}
