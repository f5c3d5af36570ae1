//! Groups that read events, over HTTP: for operators and admins.

use ade_api::groups::{DeadEvent, DeadEventState, EventGroup, Groups, Redrive, Redriven};
use ade_api::page::{Page, PageQuery};
use ade_engine::ops::groups;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;

/// See how far each group of readers is
///
/// Groups read every event of the tenant in order, each for a job of its own.
#[utoipa::path(get, path = "/v1/groups", tag = "groups",
    responses((status = 200, description = "All of them", body = Groups)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Groups>, Failure> {
    Ok(Json(groups::list(shared.app(), &caller).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeadEventQuery {
    /// All of them if left out.
    #[param(inline)]
    pub group: Option<EventGroup>,
    /// All of them if left out.
    #[param(inline)]
    pub state: Option<DeadEventState>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// See events that a group could not take, newest first
#[utoipa::path(get, path = "/v1/dead-events", tag = "groups", params(DeadEventQuery),
    responses((status = 200, description = "A page, with why", body = Page<DeadEvent>)))]
pub async fn dead_events(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<DeadEventQuery>,
) -> Result<Json<Page<DeadEvent>>, Failure> {
    let DeadEventQuery { group, state, page_size, page_token } = query;
    let filter = ("dead-events", group, state);
    let span = span(&PageQuery { page_size, page_token }, &caller, &filter)?;
    let found = groups::dead_events(shared.app(), &caller, group, state, span).await?;
    Ok(page(found, &caller, &filter))
}

/// Send dead events through their group again
///
/// Once what was wrong is mended. They come out of order: what followed them was taken before.
#[utoipa::path(post, path = "/v1/dead-events/redrive", tag = "groups", params(RepeatHeader),
    request_body = Redrive,
    responses((status = 202, description = "How many are on their way", body = Redriven)))]
pub async fn redrive(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(wanted): Json<Redrive>,
) -> Result<Kept, Failure> {
    let attempt = attempt("groups.redrive", "", key, &wanted);
    Ok(Kept(groups::redrive(shared.app(), &caller, &attempt, wanted).await?))
}
