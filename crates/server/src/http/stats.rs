//! Figures over HTTP: of a reviewer, of a task, of the tenant.

use ade_api::schema;
use ade_api::stats::{Overview, Pairs, ReviewerStats, TaskStats};
use ade_core::ids::{IdError, TaskId, UserId};
use ade_core::limits::{STATS_DAYS_DEFAULT, STATS_DAYS_MAX};
use ade_engine::ops::stats;
use axum::extract::State;
use serde::Deserialize;

use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Path, Query};
use super::state::Shared;

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

/// See what waits for a reviewer and what they answered today
///
/// For yourself (`me`); of others for admins.
#[utoipa::path(get, path = "/v1/stats/reviewers/{id}", tag = "stats",
    params(("id" = schema::UserId, Path, description = "A user, or `me`")),
    responses((status = 200, description = "Their figures; days are UTC",
               body = ReviewerStats)))]
pub async fn reviewer(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(Whose(user)): Path<Whose>,
) -> Result<Json<ReviewerStats>, Failure> {
    Ok(Json(stats::reviewer(shared.app(), &caller, user).await?))
}

/// See how far the review of a task has come
#[utoipa::path(get, path = "/v1/stats/tasks/{id}", tag = "stats",
    params(("id" = schema::TaskId, Path)),
    responses((status = 200, description = "Its figures", body = TaskStats)))]
pub async fn task(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<TaskId>,
) -> Result<Json<TaskStats>, Failure> {
    Ok(Json(stats::task(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OverviewQuery {
    /// How many days back, today included.
    #[param(minimum = 1, maximum = 90, default = 7)]
    pub days: Option<u32>,
}

/// See what is open, and what happened on the last days
#[utoipa::path(get, path = "/v1/stats/overview", tag = "stats", params(OverviewQuery),
    responses((status = 200, description = "Counts of the tenant", body = Overview)))]
pub async fn overview(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<OverviewQuery>,
) -> Result<Json<Overview>, Failure> {
    let days = query.days.unwrap_or(STATS_DAYS_DEFAULT);
    if !(1..=STATS_DAYS_MAX).contains(&days) {
        return Err(Failure::query(&format!("`days` is 1 to {STATS_DAYS_MAX}")));
    }
    Ok(Json(stats::overview(shared.app(), &caller, days).await?))
}

/// See who agrees with whom
///
/// For admins and auditors: how many tasks of one author one reviewer agreed to in the last thirty
/// days, of all that anybody agreed to.
#[utoipa::path(get, path = "/v1/stats/pairs", tag = "stats",
    responses((status = 200, description = "The pairs that meet most often", body = Pairs)))]
pub async fn pairs(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Pairs>, Failure> {
    Ok(Json(stats::pairs(shared.app(), &caller).await?))
}
