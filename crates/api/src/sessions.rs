//! Browser sessions of people, and the mapping from an identity provider's groups to roles.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// The available sign-in methods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    pub providers: Vec<SignInProvider>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInProvider {
    /// The name for `GET /auth/login?provider=`.
    pub name: String,
    /// The name shown to people.
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Named {
    pub id: String,
    pub name: String,
}

/// The session of the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: String,
    pub user: Named,
    pub tenant: Named,
    /// The tenants that the person can switch to with `POST /v1/session/tenant`.
    pub tenants: Vec<Named>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// The time at which the session expires if it is not used.
    #[schema(value_type = schema::Timestamp)]
    pub idle_expires_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSwitch {
    #[schema(value_type = schema::TenantId)]
    pub tenant_id: TenantId,
}

/// The public data of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionShown {
    pub id: String,
    /// True for the session that makes the request.
    #[serde(rename = "current")]
    pub is_current: bool,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// The time of last use, accurate to about a minute.
    #[schema(value_type = schema::Timestamp)]
    pub last_seen_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    pub items: Vec<SessionShown>,
}

/// The groups of an identity provider with the roles that each grants. A role that any group grants
/// is managed only through groups, from the next sign-in on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupRoles {
    #[schema(min_length = 1, max_length = 256, example = "https://id.example.org")]
    pub issuer: String,
    pub groups: BTreeMap<String, BTreeSet<String>>,
}
