//! Signing in and out. These are pages for a browser: what goes wrong leads back to the page where
//! people sign in, with a word that it can explain.

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_api::sessions::{SignIn, SignInProvider};
use ade_core::limits::{
    IDENTITY_MAX_BYTES, PROVIDER_CODE_MAX_BYTES, PROVIDER_ERROR_MAX_BYTES, PROVIDER_NAME_MAX_BYTES,
    PROVIDER_STATE_MAX_BYTES, RETURN_TO_MAX_BYTES, SESSION_TTL, SIGN_IN_TTL,
};
use ade_core::token::Secret;
use ade_engine::identity::{self, Provider, ProviderError, Returned, SignInError};
use ade_engine::ops::sessions;
use axum::extract::State;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::cookie;
use super::door::Known;
use super::error::Failure;
use super::extract::{Json, Place, Query};
use super::state::Shared;

/// How people can sign in
#[utoipa::path(get, path = "/v1/auth", tag = "sessions",
    responses((status = 200, description = "The identity providers", body = SignIn)))]
pub async fn providers(State(shared): State<Shared>) -> Json<SignIn> {
    let shown = |provider: &Provider| SignInProvider {
        name: provider.name().to_owned(),
        title: provider.title().to_owned(),
    };
    Json(SignIn { providers: shared.app().providers.iter().map(shown).collect() })
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LoginQuery {
    /// As `GET /v1/auth` names it.
    #[param(max_length = 64)]
    pub provider: String,
    /// The page to come back to: a path of this server.
    #[param(max_length = 1024)]
    pub return_to: Option<String>,
}

/// Go to an identity provider
#[utoipa::path(get, path = "/auth/login", tag = "sessions", params(LoginQuery),
    responses((status = 303, description = "To the provider, or back with a problem")))]
pub async fn login(
    State(shared): State<Shared>,
    Query(query): Query<LoginQuery>,
) -> Result<Response, Failure> {
    let wanted = query.return_to.unwrap_or_default();
    if query.provider.len() > PROVIDER_NAME_MAX_BYTES || wanted.len() > RETURN_TO_MAX_BYTES {
        return Err(Failure::query("`provider` or `return_to` is too long"));
    }
    match identity::begin(shared.app(), &query.provider, &wanted).await {
        Ok(departure) => {
            let held = cookie::set(cookie::SIGN_IN, departure.secret.reveal(), SIGN_IN_TTL);
            Ok(lead(&departure.url, [held.ok()]))
        }
        Err(error) => Ok(lead(&problem_page(&error), [None])),
    }
}

#[derive(Debug, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CallbackQuery {
    #[param(max_length = 4096)]
    pub code: Option<String>,
    #[param(max_length = 128)]
    pub state: Option<String>,
    #[param(max_length = 256)]
    pub iss: Option<String>,
    #[param(max_length = 128)]
    pub error: Option<String>,
}

/// Come back from an identity provider
///
/// It works once, in the browser that went there, within ten minutes.
#[utoipa::path(get, path = "/auth/callback", tag = "sessions", params(CallbackQuery),
    responses((status = 303, description = "To the page wanted, signed in, or with a problem")))]
pub async fn callback(
    State(shared): State<Shared>,
    Place(place): Place,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, Failure> {
    let CallbackQuery { code, state, iss, error } = query;
    for (given, most) in [
        (&code, PROVIDER_CODE_MAX_BYTES),
        (&state, PROVIDER_STATE_MAX_BYTES),
        (&iss, IDENTITY_MAX_BYTES),
        (&error, PROVIDER_ERROR_MAX_BYTES),
    ] {
        if given.as_ref().is_some_and(|text| text.len() > most) {
            return Err(Failure::query("a part of the answer is too long to be a provider's"));
        }
    }
    let held = cookie::get(&headers, cookie::SIGN_IN).and_then(|text| Secret::parse(&text).ok());
    let returned = Returned { code, state, issuer: iss, error };
    let ended = match held {
        Some(secret) => identity::end(shared.app(), &secret, returned, place).await,
        None => Err(SignInError::NotBegun),
    };
    Ok(match ended {
        Ok(arrival) => {
            metrics::counter!("ade_sign_ins_total", "outcome" => "signed_in").increment(1);
            let session = cookie::set(cookie::SESSION, &arrival.session.reveal(), SESSION_TTL);
            let over = cookie::clear(cookie::SIGN_IN);
            lead(&arrival.return_to, [session.ok(), over.ok()])
        }
        Err(error) => lead(&problem_page(&error), [None, None]),
    })
}

/// Sign out
///
/// The session is over for good. The identity provider is not told.
#[utoipa::path(post, path = "/auth/logout", tag = "sessions",
    responses((status = 204, description = "Nobody is signed in any more"),
              (status = 404, description = "`not_found`: A token is no session", body = Problem,
               content_type = "application/problem+json")))]
pub async fn logout(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Response, Failure> {
    let key_id = caller.key_id.clone().unwrap_or_default();
    sessions::end(shared.app(), &caller, &key_id).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(over) = cookie::clear(cookie::SESSION) {
        response.headers_mut().append(SET_COOKIE, over);
    }
    Ok(response)
}

fn lead<const COUNT: usize>(to: &str, cookies: [Option<HeaderValue>; COUNT]) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        return Failure::new(Code::Internal, "the next page has no address").into_response();
    };
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// A word for the page; the reason for the log. What a stranger sent is in neither.
fn problem_page(error: &SignInError) -> String {
    let problem = match error {
        SignInError::NoProvider => "no_provider",
        SignInError::NotBegun => "not_begun",
        SignInError::Refused(_) | SignInError::Provider(ProviderError::CodeRefused) => "refused",
        SignInError::NoTenant => "no_tenant",
        SignInError::MixedUp | SignInError::Provider(ProviderError::Token(_)) => "not_believed",
        SignInError::Provider(_) => "provider_unavailable",
        SignInError::Failed(_) => "unavailable",
    };
    metrics::counter!("ade_sign_ins_total", "outcome" => problem).increment(1);
    match error {
        // The provider's words came through the address of a page: anybody may have written them.
        SignInError::Refused(_) => tracing::info!(problem, "a sign-in did not succeed"),
        error => tracing::info!(problem, %error, "a sign-in did not succeed"),
    }
    format!("/sign-in?problem={problem}")
}
