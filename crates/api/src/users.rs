//! The people of a tenant, with their roles and their other accounts.

use std::collections::BTreeSet;

use ade_core::ids::{TenantId, UserId};
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    #[schema(min_length = 1, max_length = 128, example = "Ada Lovelace")]
    pub name: String,
    #[serde(default)]
    #[schema(min_length = 1, max_length = 254)]
    pub email: Option<String>,
    /// The identity provider of the person. Generated locally if omitted.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub issuer: Option<String>,
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub subject: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<schema::UserId>)]
    pub manager_id: Option<UserId>,
    #[serde(default)]
    #[schema(max_items = 64)]
    pub roles: BTreeSet<String>,
}

/// Omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(min_properties = 1)]
pub struct UserChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128)]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 254)]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::UserId>)]
    pub manager_id: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

/// The complete set; roles that are not listed are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    #[schema(max_items = 64)]
    pub roles: BTreeSet<String>,
}

/// Another account of the same person, who then counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    #[schema(value_type = schema::UserId)]
    pub alias_id: UserId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    #[schema(value_type = schema::UserId)]
    pub id: UserId,
    pub name: String,
    pub email: Option<String>,
    pub issuer: String,
    pub subject: String,
    #[schema(value_type = Option<schema::UserId>)]
    pub manager_id: Option<UserId>,
    pub active: bool,
    pub roles: BTreeSet<String>,
    #[schema(value_type = Vec<schema::UserId>)]
    pub alias_ids: BTreeSet<UserId>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// Set while no second admin has confirmed the person. Their votes are marked until then, and
    /// they count as one person with the admin who invited them if the tenant was not in setup.
    #[serde(default)]
    pub unconfirmed: Option<UnconfirmedPerson>,
}

/// How a person joined whom no second admin has confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnconfirmedPerson {
    /// The admin who could read the invitation.
    #[schema(value_type = schema::UserId)]
    pub invited_by: UserId,
    #[schema(value_type = schema::Timestamp)]
    pub since: Timestamp,
}

/// The caller, and what the token allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    #[schema(value_type = schema::TenantId)]
    pub tenant_id: TenantId,
    /// `kind` is `user` or `agent`.
    #[schema(value_type = Object)]
    pub actor: Value,
    pub name: String,
    pub roles: BTreeSet<String>,
    #[schema(value_type = Vec<schema::Scope>)]
    pub scopes: Vec<String>,
    /// Whether the tenant is in setup: until a second admin has joined or a first task was applied,
    /// changes to the rules take effect without a second admin.
    #[serde(default)]
    pub tenant_in_setup: bool,
}
