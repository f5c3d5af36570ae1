//! Where events are told to.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub allow_loopback: bool,
    pub ports: Vec<u16>,
}
