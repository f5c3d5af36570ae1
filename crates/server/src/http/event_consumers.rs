//! Event consumers over HTTP, for operators and admins.

use ade_api::event_consumers::{
    DeadEvent, DeadEventState, EventConsumer, EventConsumers, Redrive, Redriven,
};
use ade_api::page::{Page, PageQuery};
use ade_engine::events::consumers;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;

/// List the event consumers
///
/// Each consumer reads every event of the tenant in order, for one purpose.
#[utoipa::path(get, path = "/v1/event-consumers", tag = "event_consumers",
    responses((status = 200, description = "All event consumers", body = EventConsumers)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<EventConsumers>, ApiError> {
    Ok(Json(consumers::list(shared.app(), &caller).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeadEventQuery {
    /// Defaults to all consumers.
    #[param(inline)]
    pub consumer: Option<EventConsumer>,
    /// Defaults to all states.
    #[param(inline)]
    pub state: Option<DeadEventState>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List dead events, newest first
#[utoipa::path(get, path = "/v1/event-consumers/dead-events",
    tag = "event_consumers", operation_id = "list_dead_events", params(DeadEventQuery),
    responses((status = 200, description = "A page of dead events with their errors",
        body = Page<DeadEvent>)))]
pub async fn dead_events(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<DeadEventQuery>,
) -> Result<Listing<DeadEvent>, ApiError> {
    let DeadEventQuery { consumer, state, page_size, page_token } = query;
    let filter = ("dead-events", consumer, state);
    let span = span(&PageQuery { page_size, page_token }, &caller, &filter)?;
    let found = consumers::dead_events(shared.app(), &caller, consumer, state, span).await?;
    Ok(page(found, &caller, &filter))
}

/// Redrive dead events through their consumer
///
/// Call it after the cause is fixed. The events are processed out of order: later events were
/// processed before.
#[utoipa::path(post, path = "/v1/event-consumers/dead-events/redrive",
    tag = "event_consumers", operation_id = "redrive_dead_events", params(RepeatHeader),
    request_body = Redrive,
    responses((status = 202, description = "The number of items scheduled", body = Redriven)))]
pub async fn redrive(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(wanted): Json<Redrive>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("event_consumers.redrive", "", key, &wanted);
    Ok(EngineReply(consumers::redrive(shared.app(), &caller, &attempt, wanted).await?))
}
