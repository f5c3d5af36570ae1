//! Webhook settings.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhooksConfig {
    pub allow_loopback: bool,
    pub ports: Vec<u16>,
}
