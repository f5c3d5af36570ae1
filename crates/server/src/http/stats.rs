//! Statistics over HTTP: of a reviewer, of a task, of the tenant.

use ade_api::schema;
use ade_api::stats::{Overview, Pairs, ReviewerStats, TaskStats};
use ade_core::ids::{IdError, UserId};
use ade_core::limits::{STATS_DAYS_DEFAULT, STATS_DAYS_MAX};
use ade_engine::admin::stats;
use axum::extract::State;
use serde::Deserialize;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{Json, Path, Query};
use super::state::Shared;
use super::task_path::TaskPath;

/// A user by id, or `me`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub struct Whose(Option<UserId>);

impl TryFrom<String> for Whose {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        if text == "me" { Ok(Self(None)) } else { text.parse().map(|user| Self(Some(user))) }
    }
}

/// Get a reviewer's statistics
///
/// Your own (`me`); those of others only for admins.
#[utoipa::path(get, path = "/v1/stats/reviewers/{id}", tag = "stats", operation_id = "get_reviewer",
    params(("id" = schema::UserId, Path, description = "A user id, or `me`")),
    responses((status = 200, description = "The person's statistics; days are in UTC",
               body = ReviewerStats)))]
pub async fn reviewer(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(Whose(user)): Path<Whose>,
) -> Result<Json<ReviewerStats>, ApiError> {
    Ok(Json(stats::reviewer(shared.app(), &caller, user).await?))
}

/// Get the review statistics of a task
#[utoipa::path(get, path = "/v1/stats/tasks/{id}", tag = "stats", operation_id = "get_task",
    params(("id" = schema::TaskRef, Path)),
    responses((status = 200, description = "The agent's statistics", body = TaskStats)))]
pub async fn task(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    TaskPath(id): TaskPath,
) -> Result<Json<TaskStats>, ApiError> {
    Ok(Json(stats::task(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OverviewQuery {
    /// The number of days, including today.
    #[param(minimum = 1, maximum = 90, default = 7)]
    pub days: Option<u32>,
}

/// Get the tenant's open items and daily statistics
#[utoipa::path(get, path = "/v1/stats/overview", tag = "stats",
    operation_id = "get_overview", params(OverviewQuery),
    responses((status = 200, description = "The tenant's counts", body = Overview)))]
pub async fn overview(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<OverviewQuery>,
) -> Result<Json<Overview>, ApiError> {
    let days = query.days.unwrap_or(STATS_DAYS_DEFAULT);
    if !(1..=STATS_DAYS_MAX).contains(&days) {
        return Err(ApiError::query(&format!("`days` must be 1 to {STATS_DAYS_MAX}")));
    }
    Ok(Json(stats::overview(shared.app(), &caller, days).await?))
}

/// Get approver and author pairs
///
/// For admins and auditors: how many tasks of an author a reviewer approved in the last thirty
/// days, out of all that were approved.
#[utoipa::path(get, path = "/v1/stats/pairs", tag = "stats", operation_id = "list_pairs",
    responses((status = 200, description = "The most frequent author and approver pairs",
        body = Pairs)))]
pub async fn pairs(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Pairs>, ApiError> {
    Ok(Json(stats::pairs(shared.app(), &caller).await?))
}
