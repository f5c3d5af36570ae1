//! Sessions of people in a browser, and how an identity provider's groups become roles.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schema;

/// How people can sign in here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignIn {
    pub providers: Vec<SignInProvider>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInProvider {
    /// For `GET /auth/login?provider=`.
    pub name: String,
    /// For people.
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Named {
    pub id: String,
    pub name: String,
}

/// The session that a browser is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    pub id: String,
    pub user: Named,
    pub tenant: Named,
    /// Where this person may go on with `POST /v1/session/tenant`.
    pub tenants: Vec<Named>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// Over then, unless it is used before.
    #[schema(value_type = schema::Timestamp)]
    pub idle_expires_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantSwitch {
    #[schema(value_type = schema::TenantId)]
    pub tenant: TenantId,
}

/// What may be shown of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionShown {
    pub id: String,
    /// The one that asks.
    #[serde(rename = "current")]
    pub is_current: bool,
    pub address: Option<String>,
    pub user_agent: Option<String>,
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// To about a minute.
    #[schema(value_type = schema::Timestamp)]
    pub last_seen_at: Timestamp,
    #[schema(value_type = schema::Timestamp)]
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sessions {
    pub items: Vec<SessionShown>,
}

/// The groups of one identity provider, each with the roles that it gives. A role that any group
/// gives follows the groups alone, from the next sign-in on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupRoles {
    #[schema(min_length = 1, max_length = 256, example = "https://id.example.org")]
    pub issuer: String,
    pub groups: BTreeMap<String, BTreeSet<String>>,
}
