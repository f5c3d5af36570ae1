//! The audit over HTTP.

use ade_api::audit::AuditPage;
use ade_api::page::PageQuery;
use ade_api::schema;
use ade_core::ids::{AgentId, UserId};
use ade_core::limits::AUDIT_TEXT_MAX_BYTES;
use ade_core::time::Timestamp;
use ade_engine::ops::audit::{self, Filter, FoundBy};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Query};
use super::reply::{page, span};
use super::state::Shared;

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// What was acted on: an id such as `task_…`, or a name such as `database:orders`.
    #[param(max_length = 512)]
    pub object: Option<String>,
    #[param(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// From this moment on.
    #[param(value_type = Option<schema::Timestamp>)]
    pub from: Option<Timestamp>,
    /// Before this moment.
    #[param(value_type = Option<schema::Timestamp>)]
    pub to: Option<Timestamp>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// Read the audit, newest first
///
/// Admins and auditors read all of it; others that of one task they had a part in.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, description = "A page", body = AuditPage)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(mut query): Query<AuditQuery>,
) -> Result<Json<AuditPage>, Failure> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    if query.object.as_ref().is_some_and(|object| object.len() > AUDIT_TEXT_MAX_BYTES) {
        return Err(Failure::query("`object` is longer than any object's name"));
    }
    let span = span(&wanted, &caller, &query)?;
    let actor = match (query.user, query.agent) {
        (None, None) => None,
        (Some(user), None) => Some(FoundBy::User(user)),
        (None, Some(agent)) => Some(FoundBy::Agent(agent)),
        (Some(_), Some(_)) => return Err(Failure::query("name a user or an agent, not both")),
    };
    let filter = Filter { object: query.object.clone(), actor, from: query.from, to: query.to };
    let (paged, as_of) = audit::list(shared.app(), &caller, filter, span).await?;
    let Json(page) = page(paged, &caller, &query);
    Ok(Json(AuditPage { items: page.items, next_page_token: page.next_page_token, as_of }))
}
