//! Authentication. Every route that is not open is wrapped by [`require_auth`], which authenticates
//! the caller and checks the scope of the route before the handler runs, so no handler can forget
//! it. What the caller may do within the scope is decided by the core.

use std::net::IpAddr;
use std::sync::Arc;

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::access::Scope;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::ids::TenantId;
use ade_core::token::{Token, TokenKind};
use ade_engine::Caller;
use ade_engine::identity::authenticate::{self, AuthError, TokenEnd};
use ade_engine::services::rate_limiter::{Nameless, RateStatus};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::capacity::{Capacity, TenantPlace};
use super::cookie;
use super::cross_site;
use super::error::ApiError;
use super::extract::place_of;
use super::mcp::METADATA;
use super::rate_limit_headers;
use super::state::Shared;

/// The caller that [`require_auth`] has authenticated.
#[derive(Debug)]
pub struct Authenticated(pub Caller);

impl FromRequestParts<Shared> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        // Only a public route has no caller, and its handler must not extract one.
        let caller = parts.extensions.get::<Arc<Caller>>();
        let caller = caller.ok_or_else(|| {
            ApiError::new(Code::Unauthenticated, "this route requires authentication")
        })?;
        Ok(Self(Caller::clone(caller)))
    }
}

/// The scope of a route, and its name in the API description.
#[derive(Clone)]
pub(super) struct RouteScope {
    pub shared: Shared,
    pub class: Scope,
    pub endpoint: Arc<str>,
}

pub(super) async fn require_auth(
    State(RouteScope { shared, class, endpoint }): State<RouteScope>,
    mut request: Request,
    next: Next,
) -> Response {
    let address = rate_limit_headers::address_of(&request);
    let (parts, body) = request.into_parts();
    let token = credential(&shared, &parts);
    if let Some(quota) = token.as_ref().ok().and_then(|token| guessing(&shared, address, token)) {
        let refusal = async { stranger().into_response() };
        return rate_limit_headers::unless_limited(quota, refusal).await;
    }
    let known = match token {
        Ok(token) => recognise(&shared, &token, place_of(&parts)).await,
        Err(failure) => Err(failure),
    };
    request = Request::from_parts(parts, body);
    let failure = match known {
        Ok(caller) => {
            let quota = shared.app().limiter.admit(&caller, &endpoint).await;
            if let Err(closed) = require_scope(&caller, class) {
                return rate_limit_headers::unless_limited(quota, async { closed.into_response() })
                    .await;
            }
            let place = match capacity_for(&request, caller.tenant) {
                Ok(place) => place,
                Err(full) => {
                    let full = async { full.into_response() };
                    return rate_limit_headers::unless_limited(quota, full).await;
                }
            };
            request.extensions_mut().insert(Arc::new(caller));
            let response = rate_limit_headers::unless_limited(quota, next.run(request)).await;
            drop(place);
            return response;
        }
        Err(failure) => failure,
    };
    let refusal = match failure.code() {
        // Guessed tokens and cross-site calls are counted by address.
        Some(Code::Unauthenticated) => challenged(&shared, failure),
        Some(Code::CrossSite) => failure.into_response(),
        // Other failures are not counted against the caller.
        _ => return failure.into_response(),
    };
    rate_limit_headers::nameless(&shared, address, Nameless::Refused, async { refusal }).await
}

/// Wraps a public route, whose calls are counted by address.
pub(super) async fn allow_anonymous(
    State(shared): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let address = rate_limit_headers::address_of(&request);
    rate_limit_headers::nameless(&shared, address, Nameless::Open, next.run(request)).await
}

/// Counts a request for its tenant, so that one tenant cannot use the server up.
fn capacity_for(request: &Request, tenant: TenantId) -> Result<Option<TenantPlace>, ApiError> {
    let Some(capacity) = request.extensions().get::<Arc<Capacity>>() else { return Ok(None) };
    capacity.admit(tenant).map(Some).ok_or_else(|| {
        metrics::counter!("ade_tenant_requests_shed_total").increment(1);
        let detail = "your tenant has too many requests in progress on this server";
        ApiError::new(Code::Overloaded, detail)
    })
}

/// Adds the URL of the resource metadata (RFC 9728) to an authentication failure.
fn challenged(shared: &Shared, failure: ApiError) -> Response {
    let mut response = failure.into_response();
    let says = format!("Bearer resource_metadata=\"{}{METADATA}\"", shared.app().notify.page);
    if let Ok(says) = HeaderValue::from_str(&says) {
        response.headers_mut().insert(WWW_AUTHENTICATE, says);
    }
    response
}

/// Returns the refusal of a token that must not be looked up: its address has used up its calls
/// with invalid tokens, and the token was not valid here before. Guesses thus cost no transaction,
/// and people who work behind the same address are not affected.
fn guessing(shared: &Shared, address: Option<IpAddr>, token: &Token) -> Option<RateStatus> {
    let app = shared.app();
    let refusal = app.limiter.refusal(address?)?;
    (!app.tokens.was_valid(&app.pepper, token)).then_some(refusal)
}

/// Refuses a caller whose token does not have this scope, or who is an agent and cannot have it.
pub(super) fn require_scope(caller: &Caller, class: Scope) -> Result<(), ApiError> {
    let is_agent = matches!(caller.actor, Actor::Agent { .. });
    if caller.scopes.contains(&class) && (!is_agent || class.is_open_to_agents()) {
        return Ok(());
    }
    let detail = format!("this call requires the scope `{class}`, which your token does not have");
    let problem = Problem::new(Code::InsufficientScope, detail);
    Err(problem.with("required_scope", class.as_str()).into())
}

/// Returns the same error for unknown and wrong tokens, so that guessing reveals nothing.
fn stranger() -> ApiError {
    ApiError::new(Code::Unauthenticated, "the token is invalid")
}

/// Returns the error for a text that cannot be a token. Its form and checksum are public.
fn malformed() -> ApiError {
    let detail = "the token is malformed: it may be incomplete or mistyped";
    Problem::new(Code::Unauthenticated, detail)
        .with("cause", "malformed")
        .next("Send the whole token, as it was given to you, as `Authorization: Bearer`.")
        .into()
}

/// Returns the error for a token that was valid. Only a caller with the right secret gets it.
fn ended(end: TokenEnd) -> ApiError {
    let (cause, next) = match end {
        TokenEnd::Expired { .. } => ("expired", "Sign in again, or ask an admin for a new token."),
        TokenEnd::Revoked { .. } => ("revoked", "Ask the admin who revoked it for a new token."),
        TokenEnd::Inactive => ("inactive", "Ask an admin for a new token."),
    };
    Problem::new(Code::Unauthenticated, end.to_string()).with("cause", cause).next(next).into()
}

/// Returns the token of the header, or the session of the cookie. The header takes precedence: a
/// browser sends its cookie with every request, and only programs set this header.
fn credential(shared: &Shared, parts: &Parts) -> Result<Token, ApiError> {
    let headers = &parts.headers;
    if headers.contains_key(AUTHORIZATION) {
        return bearer(headers);
    }
    let Some(text) = cookie::get(headers, cookie::SESSION) else {
        let detail = "send one `Authorization` header, or sign in";
        return Err(ApiError::new(Code::Unauthenticated, detail));
    };
    let is_safe = matches!(parts.method, Method::GET | Method::HEAD);
    if !is_safe && !cross_site::is_own_page(headers, &shared.settings().origins) {
        let detail = "the browser sent this request from a page of another site";
        return Err(ApiError::new(Code::CrossSite, detail));
    }
    let token = Token::parse(&text).map_err(|_| malformed())?;
    if token.kind == TokenKind::Session { Ok(token) } else { Err(stranger()) }
}

fn bearer(headers: &HeaderMap) -> Result<Token, ApiError> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (given.next(), given.next()) else {
        return Err(ApiError::new(Code::Unauthenticated, "send one `Authorization` header"));
    };
    let text = header.to_str().map_err(|_| malformed())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(ApiError::new(Code::Unauthenticated, "use the `Bearer` scheme"));
    }
    let token = Token::parse(token.trim()).map_err(|_| malformed())?;
    // A session is accepted only as a cookie, and an invitation only by its own route.
    match token.kind {
        TokenKind::User | TokenKind::Agent => Ok(token),
        TokenKind::Session | TokenKind::Invitation => Err(stranger()),
    }
}

async fn recognise(shared: &Shared, token: &Token, place: Where) -> Result<Caller, ApiError> {
    let app = shared.app();
    authenticate::authenticate(app, token, place).await.map_err(|error| {
        if !matches!(error, AuthError::Store(_)) {
            app.tokens.reject(&app.pepper, token);
        }
        match error {
            AuthError::Unknown => stranger(),
            AuthError::Ended(end) => ended(end),
            AuthError::Store(error) => ade_engine::Error::from(error).into(),
        }
    })
}
