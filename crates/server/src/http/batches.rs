//! Batches of answers over HTTP.

use ade_api::batches::{BatchAnswer, NewBatch};
use ade_engine::review::batches;
use axum::extract::State;
use serde::Deserialize;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{EngineReply, attempt};
use super::state::Shared;

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BatchQuery {
    /// Only report what would happen.
    pub dry_run: Option<bool>,
}

/// Approve or reject up to 200 requests, all or none
///
/// All tasks must make the same change, to whatever resources: their `shape` is equal. CRITICAL
/// tasks are refused.
#[utoipa::path(post, path = "/v1/approvals/batch", tag = "approvals", operation_id = "decide_batch",
    params(BatchQuery, RepeatHeader), request_body = NewBatch,
    responses((status = 200, description = "All answers are recorded, or would be",
               body = BatchAnswer),
              (status = 404, description = "`not_found`: an approval that you cannot access",
               body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn batch(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<BatchQuery>,
    key: IdempotencyKey,
    Json(new): Json<NewBatch>,
) -> Result<EngineReply, ApiError> {
    let is_dry_run = query.dry_run.unwrap_or(false);
    let operation = if is_dry_run { "approvals.batch_dry_run" } else { "approvals.batch" };
    let attempt = attempt(operation, "", key, &new);
    Ok(EngineReply(batches::vote(shared.app(), &caller, &attempt, new, is_dry_run).await?))
}
