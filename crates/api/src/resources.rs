//! The registry: how much a resource matters, where it stands, and what hangs on it.

use std::collections::BTreeSet;

use ade_core::ids::UserId;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// The whole entry: what is left out falls back to its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceEntry {
    #[serde(default)]
    #[schema(maximum = 100)]
    pub criticality: Option<u8>,
    #[serde(default)]
    #[schema(max_length = 128, example = "production")]
    pub environment: Option<String>,
    #[serde(default)]
    #[schema(max_items = 32)]
    pub tags: BTreeSet<String>,
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub owner: Option<UserId>,
    /// Whether an apply whose end is unknown blocks it until somebody has looked.
    #[serde(default = "yes")]
    pub block_on_unknown: bool,
    /// Resources that hang on this one.
    #[serde(default)]
    #[schema(value_type = Vec<schema::ResourceName>, max_items = 256)]
    pub dependents: BTreeSet<ResourceRef>,
}

fn yes() -> bool {
    true
}

/// Many entries at once; each replaces all that was said of its resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceImport {
    #[schema(min_items = 1, max_items = 1000)]
    pub items: Vec<ResourceImportItem>,
}

/// The fields of a [`ResourceEntry`], with the resource they are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceImportItem {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    #[serde(default)]
    #[schema(maximum = 100)]
    pub criticality: Option<u8>,
    #[serde(default)]
    #[schema(max_length = 128)]
    pub environment: Option<String>,
    #[serde(default)]
    #[schema(max_items = 32)]
    pub tags: BTreeSet<String>,
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub owner: Option<UserId>,
    #[serde(default = "yes")]
    pub block_on_unknown: bool,
    /// Each is in the registry, or in this import.
    #[serde(default)]
    #[schema(value_type = Vec<schema::ResourceName>, max_items = 256)]
    pub dependents: BTreeSet<ResourceRef>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourcesImported {
    pub created: u32,
    pub changed: u32,
    pub unchanged: u32,
}

/// An entry as it is read. Its fields are spelled out: what [`ResourceEntry`] refuses, other
/// fields beside its own, is what this one has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    #[schema(maximum = 100)]
    pub criticality: Option<u8>,
    pub environment: Option<String>,
    pub tags: BTreeSet<String>,
    #[schema(value_type = Option<schema::UserId>)]
    pub owner: Option<UserId>,
    pub block_on_unknown: bool,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub dependents: BTreeSet<ResourceRef>,
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
}
