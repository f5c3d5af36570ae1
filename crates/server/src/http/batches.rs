//! Many answers at once over HTTP.

use ade_api::batches::{BatchAnswer, NewBatch};
use ade_engine::ops::batches;
use axum::extract::State;
use serde::Deserialize;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Query, RepeatHeader};
use super::reply::{Kept, attempt};
use super::state::Shared;

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BatchQuery {
    /// Only say what would happen.
    pub dry_run: Option<bool>,
}

/// Approve or reject up to 200 requests, all or none
///
/// CRITICAL tasks are refused, HIGH ones only among identical changes.
#[utoipa::path(post, path = "/v1/approvals/batch", tag = "approvals",
    params(BatchQuery, RepeatHeader), request_body = NewBatch,
    responses((status = 200, description = "All answers are given, or would be",
               body = BatchAnswer),
              (status = 404, description = "`not_found`: an approval that you cannot see",
               body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn batch(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<BatchQuery>,
    key: IdempotencyKey,
    Json(new): Json<NewBatch>,
) -> Result<Kept, Failure> {
    let is_dry_run = query.dry_run.unwrap_or(false);
    let operation = if is_dry_run { "approvals.batch_dry_run" } else { "approvals.batch" };
    let attempt = attempt(operation, "", key, &new);
    Ok(Kept(batches::vote(shared.app(), &caller, &attempt, new, is_dry_run).await?))
}
