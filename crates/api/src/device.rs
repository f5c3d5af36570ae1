//! Signing a terminal in from a browser, with the names of RFC 8628: the request of the terminal,
//! the page for the person who enters the code, and the resulting token.

use std::collections::BTreeSet;

use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDeviceLogin {
    /// The client name that the person sees; it becomes the label of the token.
    #[serde(default)]
    #[schema(max_length = 128, example = "ade on laptop")]
    pub client_name: Option<String>,
}

/// Shown once: the server only stores a hash of the device code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceLogin {
    /// The secret of the terminal, used to poll; never shown to the person.
    pub device_code: String,
    /// The code that the person types or compares.
    #[schema(example = "BCDF-GHJK")]
    pub user_code: String,
    /// The page to type the code at.
    pub verification_uri: String,
    /// The same page with the code filled in.
    pub verification_uri_complete: String,
    /// The lifetime in seconds.
    pub expires_in: u64,
    /// The minimum number of seconds between two polls.
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
    /// The lifetime in seconds.
    pub expires_in: u64,
    /// The scopes of the token, separated by spaces.
    #[schema(example = "read propose decide")]
    pub scope: String,
    /// Identifies the token without being secret.
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

/// A terminal that is waiting to be signed in. Everything it says about itself is unverified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceRequest {
    #[schema(example = "BCDF-GHJK")]
    pub user_code: String,
    pub client_name: Option<String>,
    /// The address that the request came from, as seen by this server.
    pub address: Option<String>,
    /// The terminal has another address than you. This is normal for a remote machine; it is also
    /// what a stranger's terminal looks like.
    pub address_differs: bool,
    pub user_agent: Option<String>,
    pub status: DeviceStatus,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

/// The scopes and the lifetime of the terminal's token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceApproval {
    /// Defaults to `read` and `propose`. A token with `decide` is valid for at most 8 hours.
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
