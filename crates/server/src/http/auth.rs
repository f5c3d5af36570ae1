//! Signing in and out. These routes are opened by a browser, so an error redirects to the sign-in
//! page with a code that the page explains.

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_api::sessions::{SignIn, SignInProvider};
use ade_core::limits::{
    IDENTITY_MAX_BYTES, NAME_MAX_BYTES, PROVIDER_CODE_MAX_BYTES, PROVIDER_ERROR_MAX_BYTES,
    PROVIDER_NAME_MAX_BYTES, PROVIDER_STATE_MAX_BYTES, RETURN_TO_MAX_BYTES, SESSION_TTL,
    SIGN_IN_TTL,
};
use ade_core::token::Secret;
use ade_engine::identity::sessions;
use ade_engine::identity::{self, Returned, SignInError};
use ade_engine::services::identity::{Provider, ProviderError};
use axum::extract::State;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::cookie;
use super::cross_site::is_same_origin;
use super::error::ApiError;
use super::extract::{CallOrigin, Json, Query, RedirectQuery};
use super::state::Shared;

/// List the sign-in methods
#[utoipa::path(get, path = "/v1/auth", tag = "sessions", operation_id = "list_providers",
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
    /// The name given by `GET /v1/auth`.
    #[param(max_length = 64)]
    pub provider: String,
    /// The page to return to: a path on this server.
    #[param(max_length = 1024)]
    pub return_to: Option<String>,
    /// The name of a tenant to join, if a group of the person has a role there.
    #[param(max_length = 128)]
    pub tenant: Option<String>,
}

/// The tenant to join, in the cookie of a sign-in and in the address of the sign-in page.
#[derive(Serialize, Deserialize)]
struct Join {
    tenant: String,
}

/// Redirect to an identity provider
///
/// With `tenant`, the person joins that tenant. The link must then be on a page of this server,
/// which says what joining means; a link from elsewhere leads to that page.
#[utoipa::path(get, path = "/auth/login", tag = "sessions", params(LoginQuery),
    responses((status = 303, description = "Redirect to the provider, or back with a problem")))]
pub async fn login(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Query(query): Query<LoginQuery>,
) -> Result<Response, ApiError> {
    let wanted = query.return_to.unwrap_or_default();
    if query.provider.len() > PROVIDER_NAME_MAX_BYTES || wanted.len() > RETURN_TO_MAX_BYTES {
        return Err(ApiError::query("`provider` or `return_to` is too long"));
    }
    if query.tenant.as_ref().is_some_and(|tenant| tenant.len() > NAME_MAX_BYTES) {
        return Err(ApiError::query("`tenant` is too long"));
    }
    let join = match query.tenant.map(|tenant| serde_html_form::to_string(Join { tenant })) {
        None => cookie::clear(cookie::JOIN),
        Some(join) => {
            let join = join.map_err(|error| ApiError::query(&error.to_string()))?;
            if !is_same_origin(&headers) {
                return Ok(lead(&format!("/sign-in?{join}"), [None, None]));
            }
            cookie::set(cookie::JOIN, &join, SIGN_IN_TTL)
        }
    };
    match identity::begin(shared.app(), &query.provider, &wanted).await {
        Ok(departure) => {
            let held = cookie::set(cookie::SIGN_IN, departure.secret.reveal(), SIGN_IN_TTL);
            Ok(lead(&departure.url, [held.ok(), join.ok()]))
        }
        Err(error) => Ok(lead(&problem_page(&error), [None, None])),
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

/// Complete a sign-in with an identity provider
///
/// Works once, in the same browser, within ten minutes.
#[utoipa::path(get, path = "/auth/callback", tag = "sessions", params(CallbackQuery),
    responses((status = 303,
        description = "Redirect to the requested page, signed in, or with a problem")))]
pub async fn callback(
    State(shared): State<Shared>,
    CallOrigin(place): CallOrigin,
    headers: HeaderMap,
    RedirectQuery(query): RedirectQuery<CallbackQuery>,
) -> Result<Response, ApiError> {
    let CallbackQuery { code, state, iss, error } = query;
    for (given, most) in [
        (&code, PROVIDER_CODE_MAX_BYTES),
        (&state, PROVIDER_STATE_MAX_BYTES),
        (&iss, IDENTITY_MAX_BYTES),
        (&error, PROVIDER_ERROR_MAX_BYTES),
    ] {
        if given.as_ref().is_some_and(|text| text.len() > most) {
            return Err(ApiError::query("a parameter is too long"));
        }
    }
    let held = cookie::get(&headers, cookie::SIGN_IN).and_then(|text| Secret::parse(&text).ok());
    let returned = Returned { code, state, issuer: iss, error };
    let join = cookie::get(&headers, cookie::JOIN);
    let join = join.and_then(|text| serde_html_form::from_str::<Join>(&text).ok());
    let join = join.as_ref().map(|join| join.tenant.as_str());
    let ended = match held {
        Some(secret) => identity::end(shared.app(), &secret, returned, join, place).await,
        None => Err(SignInError::NotBegun),
    };
    Ok(match ended {
        Ok(arrival) => {
            metrics::counter!("ade_sign_ins_total", "outcome" => "signed_in").increment(1);
            let session = cookie::set(cookie::SESSION, &arrival.session.reveal(), SESSION_TTL);
            let over = [cookie::SIGN_IN, cookie::JOIN].map(|name| cookie::clear(name).ok());
            let [sign_in, join] = over;
            lead(&arrival.return_to, [session.ok(), sign_in, join])
        }
        Err(error) => lead(&problem_page(&error), [None, None, None]),
    })
}

/// Sign out
///
/// Ends the session permanently. The identity provider is not notified.
#[utoipa::path(post, path = "/auth/logout", tag = "sessions",
    responses((status = 204, description = "Signed out"),
              (status = 404, description = "`not_found`: the token is not a session",
                  body = Problem,
               content_type = "application/problem+json")))]
pub async fn logout(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let key_id = caller.key_id().unwrap_or_default().to_owned();
    sessions::end(shared.app(), &caller, &key_id).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(over) = cookie::clear(cookie::SESSION) {
        response.headers_mut().append(SET_COOKIE, over);
    }
    Ok(response)
}

fn lead<const COUNT: usize>(to: &str, cookies: [Option<HeaderValue>; COUNT]) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        return ApiError::new(Code::Internal, "the redirect URL is invalid").into_response();
    };
    let mut response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns the sign-in page with an error code, and logs the reason. Neither contains text that was
/// sent by a caller.
fn problem_page(error: &SignInError) -> String {
    let problem = match error {
        SignInError::NoProvider => "no_provider",
        SignInError::NotBegun => "not_begun",
        SignInError::Refused(_) | SignInError::Provider(ProviderError::CodeRefused) => "refused",
        SignInError::NoTenant => "no_tenant",
        SignInError::NotJoined => "not_joined",
        SignInError::MixedUp | SignInError::Provider(ProviderError::Token(_)) => "not_believed",
        SignInError::Provider(_) => "provider_unavailable",
        SignInError::Failed(_) => "unavailable",
    };
    metrics::counter!("ade_sign_ins_total", "outcome" => problem).increment(1);
    match error {
        // The provider's message is part of a URL, which anyone could have written.
        SignInError::Refused(_) => tracing::info!(problem, "sign-in failed"),
        error => tracing::info!(problem, %error, "sign-in failed"),
    }
    format!("/sign-in?problem={problem}")
}
