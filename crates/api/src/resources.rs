//! The resource registry: criticality, environment and dependents of each resource.

use std::collections::BTreeSet;

use ade_core::ids::UserId;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// The whole entry; omitted fields get their defaults.
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
    pub owner_id: Option<UserId>,
    /// Whether an apply with an unknown outcome blocks the resource until it is reconciled.
    #[serde(default = "yes")]
    pub block_on_unknown: bool,
    /// The resources that depend on this one.
    #[serde(default)]
    #[schema(value_type = Vec<schema::ResourceName>, max_items = 256)]
    pub dependents: BTreeSet<ResourceRef>,
}

fn yes() -> bool {
    true
}

/// Several entries; each replaces the existing entry of its resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceImport {
    #[schema(min_items = 1, max_items = 1000)]
    pub items: Vec<ResourceImportItem>,
}

/// The fields of a [`ResourceEntry`], with the resource.
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
    pub owner_id: Option<UserId>,
    #[serde(default = "yes")]
    pub block_on_unknown: bool,
    /// The dependents; each must be in the registry or in this import.
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

/// An entry as it is read. The fields are repeated from [`ResourceEntry`], because that type
/// refuses unknown fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    #[schema(value_type = schema::ResourceName)]
    pub resource: ResourceRef,
    #[schema(maximum = 100)]
    pub criticality: Option<u8>,
    pub environment: Option<String>,
    pub tags: BTreeSet<String>,
    #[schema(value_type = Option<schema::UserId>)]
    pub owner_id: Option<UserId>,
    pub block_on_unknown: bool,
    #[schema(value_type = Vec<schema::ResourceName>)]
    pub dependents: BTreeSet<ResourceRef>,
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
}
