//! Who comes in. Every route that is not open is wrapped by [`enter`], which finds out who calls
//! and whether the class of the route is open to them, before the handler runs; a handler cannot
//! forget it. What the caller may do within the class is decided by the core.

use std::sync::Arc;

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::access::Class;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::token::{Kind, Token};
use ade_engine::Caller;
use ade_engine::auth::{self, AuthError};
use ade_engine::limiter::Nameless;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::cookie;
use super::cross_site;
use super::error::Failure;
use super::extract::place_of;
use super::mcp::METADATA;
use super::pace;
use super::state::Shared;

/// Who calls, as [`enter`] found out.
#[derive(Debug)]
pub struct Known(pub Caller);

/// A route as its door knows it: by its name in the API's description.
#[derive(Clone)]
pub(super) struct Doorway {
    pub shared: Shared,
    pub class: Class,
    pub endpoint: Arc<str>,
}

pub(super) async fn enter(
    State(Doorway { shared, class, endpoint }): State<Doorway>,
    mut request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let known = know(&shared, &parts).await;
    request = Request::from_parts(parts, body);
    let failure = match known {
        Ok(caller) => {
            let told = shared.app().limiter.admit(&caller, &endpoint).await;
            if let Some(closed) = closed_to(&caller, class) {
                return pace::unless_limited(told, async { closed.into_response() }).await;
            }
            request.extensions_mut().insert(Arc::new(caller));
            return pace::unless_limited(told, next.run(request)).await;
        }
        Err(failure) => failure,
    };
    let refusal = match failure.code() {
        // Whoever guesses, and whoever has other people's browsers call.
        Code::Unauthenticated => challenged(&shared, failure),
        Code::CrossSite => failure.into_response(),
        // What fails here for another reason says nothing of the caller.
        _ => return failure.into_response(),
    };
    let address = pace::address_of(&request);
    pace::nameless(&shared, address, Nameless::Refused, async { refusal }).await
}

/// A route that anybody may call: counted by address.
pub(super) async fn pass(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let address = pace::address_of(&request);
    pace::nameless(&shared, address, Nameless::Open, next.run(request)).await
}

/// Whoever shows no token is told where it says what this server wants (RFC 9728).
fn challenged(shared: &Shared, failure: Failure) -> Response {
    let mut response = failure.into_response();
    let says = format!("Bearer resource_metadata=\"{}{METADATA}\"", shared.app().notify.page);
    if let Ok(says) = HeaderValue::from_str(&says) {
        response.headers_mut().insert(WWW_AUTHENTICATE, says);
    }
    response
}

async fn know(shared: &Shared, parts: &Parts) -> Result<Caller, Failure> {
    let token = credential(shared, parts)?;
    recognise(shared, &token, place_of(parts)).await
}

fn closed_to(caller: &Caller, class: Class) -> Option<Failure> {
    let is_agent = matches!(caller.actor, Actor::Agent { .. });
    if caller.scopes.contains(&class) && (!is_agent || class.is_open_to_agents()) {
        return None;
    }
    let detail = format!("this call is of class `{class}`, which your token does not open");
    Some(Problem::new(Code::ClassClosed, detail).with("needs", class.as_str()).into())
}

/// One answer for a token that is unknown, wrong, expired or revoked: a guesser learns nothing.
fn stranger() -> Failure {
    Failure::new(Code::Unauthenticated, "the token is not valid")
}

/// A token in a header, or the session in a browser's cookie. The header comes first: a browser
/// sends its cookie with everything, and nobody but a program writes this header.
fn credential(shared: &Shared, parts: &Parts) -> Result<Token, Failure> {
    let headers = &parts.headers;
    if headers.contains_key(AUTHORIZATION) {
        return bearer(headers);
    }
    let Some(text) = cookie::get(headers, cookie::SESSION) else {
        let detail = "send one `Authorization` header, or sign in";
        return Err(Failure::new(Code::Unauthenticated, detail));
    };
    let is_safe = matches!(parts.method, Method::GET | Method::HEAD);
    if !is_safe && !cross_site::is_own_page(headers, &shared.settings().origins) {
        let detail = "a browser sends this for a page that is not this server's own";
        return Err(Failure::new(Code::CrossSite, detail));
    }
    let token = Token::parse(&text).map_err(|_| stranger())?;
    if token.kind == Kind::Session { Ok(token) } else { Err(stranger()) }
}

fn bearer(headers: &HeaderMap) -> Result<Token, Failure> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (given.next(), given.next()) else {
        return Err(Failure::new(Code::Unauthenticated, "send one `Authorization` header"));
    };
    let text = header.to_str().map_err(|_| stranger())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(stranger)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Failure::new(Code::Unauthenticated, "use the `Bearer` scheme"));
    }
    let token = Token::parse(token.trim()).map_err(|_| stranger())?;
    // A session is worth nothing outside of its browser.
    if token.kind == Kind::Session { Err(stranger()) } else { Ok(token) }
}

async fn recognise(shared: &Shared, token: &Token, place: Where) -> Result<Caller, Failure> {
    auth::authenticate(shared.app(), token, place).await.map_err(|error| match error {
        AuthError::Unknown => stranger(),
        AuthError::Store(error) => ade_engine::Error::from(error).into(),
    })
}
