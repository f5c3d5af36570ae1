//! Storage and export outside the database.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blobs {
    pub url: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    pub sink: String,
    pub tenants: Option<Vec<String>>,
}

impl Export {
    pub(super) fn is_without_tenants(&self) -> bool {
        !self.sink.is_empty() && self.tenants.is_none()
    }
}
