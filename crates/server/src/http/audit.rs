//! The audit log over HTTP.

use ade_api::audit::AuditPage;
use ade_api::page::PageQuery;
use ade_api::schema;
use ade_core::audit::EntryKind;
use ade_core::ids::{AgentId, UserId};
use ade_core::limits::AUDIT_TEXT_MAX_BYTES;
use ade_core::time::Timestamp;
use ade_engine::admin::audit::{self, AuditFilter, FoundBy};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{Json, Query};
use super::reply::{NextPage, page, span};
use super::state::Shared;
use super::task_path::object_of;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// The object: an id such as `task_…`, the number of a task such as `T-8`, or a name such as
    /// `database:orders`.
    #[param(max_length = 512)]
    pub object: Option<String>,
    #[param(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    /// Only entries of this kind: `refusal` lists what was attempted and refused.
    #[param(value_type = Option<schema::AuditKind>)]
    pub kind: Option<EntryKind>,
    /// Entries at or after this time.
    #[param(value_type = Option<schema::Timestamp>)]
    pub from: Option<Timestamp>,
    /// Entries before this time.
    #[param(value_type = Option<schema::Timestamp>)]
    pub to: Option<Timestamp>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List audit entries, newest first
///
/// Admins and auditors can read all entries; others only those of a task that they took part in.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, description = "A page", body = AuditPage)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(mut query): Query<AuditQuery>,
) -> Result<(NextPage, Json<AuditPage>), ApiError> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    if query.object.as_ref().is_some_and(|object| object.len() > AUDIT_TEXT_MAX_BYTES) {
        return Err(ApiError::query("`object` is too long"));
    }
    let span = span(&wanted, &caller, &query)?;
    let actor = match (query.user_id, query.agent_id) {
        (None, None) => None,
        (Some(user), None) => Some(FoundBy::User(user)),
        (None, Some(agent)) => Some(FoundBy::Agent(agent)),
        (Some(_), Some(_)) => return Err(ApiError::query("give either `user_id` or `agent_id`")),
    };
    let AuditQuery { object, kind, from, to, .. } = query.clone();
    let object = object_of(&shared, &caller, object).await?;
    let filter = AuditFilter { object, actor, kind, from, to };
    let (paged, as_of) = audit::list(shared.app(), &caller, filter, span).await?;
    let (next, Json(page)) = page(paged, &caller, &query);
    Ok((next, Json(AuditPage { items: page.items, next_page_token: page.next_page_token, as_of })))
}
