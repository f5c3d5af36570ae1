//! Freezes over HTTP: set and lifted by operators, visible to everyone.

use ade_api::freezes::{Freeze, NewFreeze};
use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::PendingChange;
use ade_api::schema;
use ade_core::ids::FreezeId;
use ade_engine::policies::freezes;
use ade_engine::rule_changes::{self, RuleChange};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Freeze applies
#[utoipa::path(post, path = "/v1/freezes", tag = "freezes", params(RepeatHeader),
    request_body = NewFreeze,
    responses((status = 201, description = "In force immediately", body = Freeze)))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewFreeze>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("freezes.create", "", key, &new);
    Ok(EngineReply(freezes::create(shared.app(), &caller, &attempt, new).await?))
}

/// List freezes, newest first
#[utoipa::path(get, path = "/v1/freezes", tag = "freezes", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Freeze>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Freeze>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"freezes")?;
    Ok(page(freezes::list(shared.app(), &caller, span).await?, &caller, &"freezes"))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LiftQuery {
    /// Why applies may start again, for the audit log.
    #[param(max_length = 4096)]
    pub reason: Option<String>,
}

/// Lift a freeze
///
/// Approved tasks that wait only for the freeze can be applied at once.
#[utoipa::path(delete, path = "/v1/freezes/{id}", tag = "freezes",
    params(("id" = schema::FreezeId, Path), LiftQuery, RepeatHeader),
    responses((status = 200, description = "The final state", body = Freeze),
              (status = 202, description = "It waits for a second admin", body = PendingChange)))]
pub async fn lift(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<FreezeId>,
    Query(query): Query<LiftQuery>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("freezes.lift", &id.to_string(), key, &query);
    let change = RuleChange::LiftFreeze { id, reason: query.reason };
    Ok(EngineReply(rule_changes::submit(shared.app(), &caller, &attempt, change).await?))
}
