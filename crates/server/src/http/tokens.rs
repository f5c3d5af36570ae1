//! API tokens over HTTP. The token itself is in the answer that made it, and nowhere else.

use ade_api::page::{Page, PageQuery};
use ade_api::problem::Problem;
use ade_api::schema;
use ade_api::tokens::{IssuedToken, Leak, NewToken, Token};
use ade_core::ids::{AgentId, UserId};
use ade_engine::ops::leaks;
use ade_engine::ops::tokens::{self, Principal};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Place, Query, RepeatHeader};
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;

/// Issue a token
///
/// For yourself, for your agent, or for whom you administer.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", params(RepeatHeader),
    request_body = NewToken,
    responses(
        (status = 201, description = "The token, shown once", body = IssuedToken),
        (status = 404, description = "`not_found`: There is no such user or agent",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn create(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewToken>,
) -> Result<Kept, Failure> {
    let attempt = attempt("tokens.create", "", key, &new);
    Ok(Kept(tokens::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    #[param(value_type = Option<schema::UserId>)]
    pub user: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// List tokens, without their secrets
///
/// One that is over is listed for 90 days more.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(TokenQuery),
    responses((status = 200, description = "A page of yours or those you asked for, latest first",
               body = Page<Token>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<TokenQuery>,
) -> Result<Json<Page<Token>>, Failure> {
    let principal = match (query.user, query.agent) {
        (None, None) => None,
        (Some(user), None) => Some(Principal::User(user)),
        (None, Some(agent)) => Some(Principal::Agent(agent)),
        (Some(_), Some(_)) => return Err(Failure::query("name a user or an agent, not both")),
    };
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("tokens", query.user, query.agent);
    let span = span(&wanted, &caller, &filter)?;
    Ok(page(tokens::list(shared.app(), &caller, principal, span).await?, &caller, &filter))
}

/// Revoke a token, for good and at once
#[utoipa::path(delete, path = "/v1/tokens/{key_id}", tag = "tokens",
    params(("key_id" = String, Path, max_length = 64), RepeatHeader),
    responses((status = 200, description = "As it ended", body = Token)))]
pub async fn revoke(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(key_id): Path<String>,
    key: IdempotencyKey,
) -> Result<Kept, Failure> {
    let attempt = attempt("tokens.revoke", &key_id, key, &());
    Ok(Kept(tokens::revoke(shared.app(), &caller, &attempt, &key_id).await?))
}

/// Report a token that was found where it should not be
///
/// Anybody may: whoever has it could use it. If it opens anything, it is revoked for good, and the
/// audit keeps where it was found. The answer is the same whatever it was.
#[utoipa::path(post, path = "/leak", tag = "tokens", request_body = Leak,
    responses((status = 204, description = "It opens nothing any more, if it ever did")))]
pub async fn leak(
    State(shared): State<Shared>,
    Place(place): Place,
    Json(leak): Json<Leak>,
) -> Result<StatusCode, Failure> {
    if leaks::report(shared.app(), &leak, place).await? {
        metrics::counter!("ade_tokens_leaked_total").increment(1);
    }
    Ok(StatusCode::NO_CONTENT)
}
