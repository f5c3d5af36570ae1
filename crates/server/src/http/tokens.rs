//! API tokens over HTTP. A token is only contained in the response that creates it.

use ade_api::page::{Page, PageQuery};
use ade_api::problem::Problem;
use ade_api::schema;
use ade_api::tokens::{IssuedToken, Leak, NewToken, Token};
use ade_core::access::Scope;
use ade_core::ids::{AgentId, UserId};
use ade_engine::identity::leaks;
use ade_engine::identity::tokens::{self, Principal};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use super::auth_layer::{Authenticated, require_scope};
use super::error::ApiError;
use super::extract::{CallOrigin, IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;

/// Issue a token
///
/// For yourself, for your agent, or for someone you administer.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", params(RepeatHeader),
    request_body = NewToken,
    responses(
        (status = 201, description = "The token, shown once", body = IssuedToken),
        (status = 404, description = "`not_found`: no such user or agent",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn create(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewToken>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("tokens.create", "", key, &new);
    Ok(EngineReply(tokens::create(shared.app(), &caller, &attempt, new).await?))
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TokenQuery {
    #[param(value_type = Option<schema::UserId>)]
    pub user_id: Option<UserId>,
    #[param(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List tokens, without their secrets
///
/// Expired and revoked tokens are listed for 90 more days.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", params(TokenQuery),
    responses(
        (status = 200,
            description = "A page of your tokens or those you asked for, latest first",
            body = Page<Token>),
        (status = 404, description = "`not_found`: no such user or agent",
         body = Problem, content_type = "application/problem+json")
    ))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<TokenQuery>,
) -> Result<Listing<Token>, ApiError> {
    let principal = match (query.user_id, query.agent_id) {
        (None, None) => None,
        (Some(user), None) => Some(Principal::User(user)),
        (None, Some(agent)) => Some(Principal::Agent(agent)),
        (Some(_), Some(_)) => return Err(ApiError::query("give either `user_id` or `agent_id`")),
    };
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let filter = ("tokens", query.user_id, query.agent_id);
    let span = span(&wanted, &caller, &filter)?;
    Ok(page(tokens::list(shared.app(), &caller, principal, span).await?, &caller, &filter))
}

/// Revoke a token immediately
///
/// Every token can revoke itself. Revoking another one requires the scope `administer`.
#[utoipa::path(delete, path = "/v1/tokens/{key_id}", tag = "tokens",
    params(("key_id" = String, Path, max_length = 64), RepeatHeader),
    responses((status = 200, description = "The final state", body = Token)))]
pub async fn revoke(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(key_id): Path<String>,
    key: IdempotencyKey,
) -> Result<EngineReply, ApiError> {
    if caller.key_id() != Some(key_id.as_str()) {
        require_scope(&caller, Scope::Administer)?;
    }
    let attempt = attempt("tokens.revoke", &key_id, key, &());
    Ok(EngineReply(tokens::revoke(shared.app(), &caller, &attempt, &key_id).await?))
}

/// Report a leaked token
///
/// Anyone who has the token can report it. If it is valid, it is revoked permanently, and the audit
/// log records where it was found. The response is always the same.
#[utoipa::path(post, path = "/v1/tokens/report-leak", tag = "tokens",
    operation_id = "report_leak", request_body = Leak,
    responses((status = 204, description = "The token is revoked, if it existed")))]
pub async fn leak(
    State(shared): State<Shared>,
    CallOrigin(place): CallOrigin,
    Json(leak): Json<Leak>,
) -> Result<StatusCode, ApiError> {
    if leaks::report(shared.app(), &leak, place).await? {
        metrics::counter!("ade_tokens_leaked_total").increment(1);
    }
    Ok(StatusCode::NO_CONTENT)
}
