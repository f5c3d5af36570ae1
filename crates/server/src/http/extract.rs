//! Extractors for handlers: ids in the path, queries, strict JSON bodies, the expected version, the
//! idempotency key, and the origin of the call. Each refuses invalid input with its own problem.
//! Bodies are parsed by the strict reader of the core.

use std::net::SocketAddr;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::audit::{RequestOrigin, Where};
use ade_core::change;
use ade_core::limits::{AUDIT_TEXT_MAX_BYTES, BODY_MAX_BYTES, IDEMPOTENCY_KEY_MAX_BYTES};
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::IntoParams;
use uuid::Uuid;

use super::error::ApiError;
use super::plain_words::in_plain_words;
use super::state::Shared;

const SERVICE: &str = "http";

/// A JSON document, parsed strictly and then by its type; also the response of a handler.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// Ids and names in the path. An invalid one gets 404, like one that does not exist.
#[derive(Debug)]
pub struct Path<T>(pub T);

/// The parameters of the query. A parameter without a value is refused, because for an optional one
/// it would count as absent.
#[derive(Debug)]
pub struct Query<T>(pub T);

/// The query of a redirect whose parameters another server chose; some of them may be empty.
#[derive(Debug)]
pub struct RedirectQuery<T>(pub T);

/// The version the caller has read, from `If-Match: "7"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub u64);

/// The version the caller has read, if the caller gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaybeIfMatch(pub Option<u64>);

/// The key that makes repeated calls take effect once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

/// Parses a number in a query that is compared with a database value. The database counts in 63
/// bits, so larger numbers are refused.
pub fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(from)?;
    if number.is_some_and(|number| i64::try_from(number).is_err()) {
        return Err(D::Error::custom("numbers above 9223372036854775807 are not supported"));
    }
    Ok(number)
}

/// Describes the header of a handler that takes [`IfMatch`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct VersionHeader {
    /// The `ETag` that was read, for example `"7"`.
    #[param(rename = "If-Match", value_type = String, required = true, example = "\"7\"",
            pattern = "^\"(0|[1-9][0-9]{0,18})\"$")]
    if_match: String,
}

/// Describes the header of a handler that takes [`MaybeIfMatch`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct MaybeVersionHeader {
    /// The `ETag` that was read, for example `"7"`. Without it, the current version is used.
    #[param(rename = "If-Match", value_type = Option<String>, required = false,
            example = "\"7\"", pattern = "^\"(0|[1-9][0-9]{0,18})\"$")]
    if_match: Option<String>,
}

/// Describes the header of a handler that takes an [`IdempotencyKey`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct RepeatHeader {
    /// Up to 256 visible ASCII characters; a repeated request with the same key and body gets the
    /// same response.
    #[param(rename = "Idempotency-Key", value_type = Option<String>, required = false,
            pattern = "^[!-~]{1,256}$")]
    idempotency_key: Option<String>,
}

impl<T: DeserializeOwned> FromRequest<Shared> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        check_type(&parts.headers)?;
        check_length(&parts.headers)?;
        let bytes = read_body(body, shared.settings().body_timeout()).await?;
        change::check(&bytes)
            .map_err(|error| ApiError::new(Code::MalformedBody, error.to_string()))?;
        // Serde would also accept an array of the fields for a struct.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(ApiError::new(Code::InvalidBody, "the body must be a JSON object"));
        }
        if holds_zero(&bytes) {
            return Err(ApiError::new(
                Code::InvalidBody,
                "a string contains U+0000, which is not allowed",
            ));
        }
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        serde_path_to_error::deserialize(&mut json).map(Self).map_err(|error| {
            let path = error.path().to_string();
            let problem = in_plain_words(&error.inner().to_string());
            let detail = if path == "." { problem } else { format!("{path}: {problem}") };
            Problem::new(Code::InvalidBody, detail).with("path", path).into()
        })
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => ([(CONTENT_TYPE, "application/json")], bytes).into_response(),
            Err(error) => {
                tracing::error!(%error, "failed to serialize response");
                ApiError::new(Code::Internal, "the response could not be serialized")
                    .into_response()
            }
        }
    }
}

/// The exact bytes of a signed body; `None` if it is too long, too slow or incomplete.
#[derive(Debug)]
pub struct Raw(pub Option<Bytes>);

impl FromRequest<Shared> for Raw {
    type Rejection = ApiError;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        if check_length(&parts.headers).is_err() {
            return Ok(Self(None));
        }
        Ok(Self(read_body(body, shared.settings().body_timeout()).await.ok()))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = if media.is_empty() {
        "the request has no Content-Type"
    } else {
        "the Content-Type is different"
    };
    let detail = format!("the body must be `application/json`; {detail}");
    Err(ApiError::new(Code::UnsupportedMediaType, detail))
}

fn too_large() -> ApiError {
    let detail = format!("the body is longer than {BODY_MAX_BYTES} bytes");
    Problem::new(Code::BodyTooLarge, detail).with("max_bytes", BODY_MAX_BYTES).into()
}

/// Refuses a body that is too long before reading it.
fn check_length(headers: &HeaderMap) -> Result<(), ApiError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > BODY_MAX_BYTES) {
        return Err(too_large());
    }
    Ok(())
}

/// Returns whether a JSON text contains U+0000, which PostgreSQL cannot store. JSON can only write
/// it as an escape, and contains backslashes only inside strings.
pub fn holds_zero(json: &[u8]) -> bool {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (_, escape) = rest.split_at(at);
        if escape.starts_with(b"\\u0000") {
            return true;
        }
        rest = escape.get(2..).unwrap_or_default();
    }
    false
}

/// Returns whether a path or a query contains U+0000.
fn names_zero(text: &str) -> bool {
    text.contains("%00")
}

async fn read_body(body: Body, limit: Duration) -> Result<Bytes, ApiError> {
    let whole = Limited::new(body, BODY_MAX_BYTES).collect();
    match tokio::time::timeout(limit, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::new(Code::MalformedRequest, "the body ended early")),
        Err(_) => {
            let detail = format!("the body did not arrive within {} s", limit.as_secs());
            Err(ApiError::new(Code::RequestTimeout, detail))
        }
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let missing = || ApiError::missing("invalid id in the path");
        if names_zero(parts.uri.path()) {
            return Err(missing());
        }
        let found = axum::extract::Path::<T>::from_request_parts(parts, shared).await;
        found.map(|axum::extract::Path(inner)| Self(inner)).map_err(|_| missing())
    }
}

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        if let Some(name) = without_value(query) {
            let detail = format!("`{name}` is empty: add a value or remove the parameter");
            return Err(ApiError::query(&detail));
        }
        read_query(query).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequestParts<Shared> for RedirectQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        read_query(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

/// Returns the name of the first parameter without a value.
fn without_value(query: &str) -> Option<&str> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find_map(|(name, value)| value.is_empty().then_some(name))
}

/// Unlike axum's extractor, this function reads a repeated parameter as a list.
fn read_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    if names_zero(query) {
        return Err(ApiError::query("a parameter contains U+0000, which is not allowed"));
    }
    let read = serde_html_form::Deserializer::from_bytes(query.as_bytes());
    let read = serde_path_to_error::deserialize(read);
    read.map_err(|error| ApiError::query(&in_plain_words(&error.to_string())))
}

impl FromRequestParts<Shared> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let MaybeIfMatch(version) = MaybeIfMatch::from_request_parts(parts, shared).await?;
        version.map(Self).ok_or_else(|| {
            ApiError::new(
                Code::PreconditionRequired,
                "the header `If-Match` with the version is missing",
            )
        })
    }
}

impl FromRequestParts<Shared> for MaybeIfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        let Some(given) = one(&parts.headers, IF_MATCH.as_str())? else { return Ok(Self(None)) };
        let version = given.to_str().ok().and_then(|text| {
            let digits = text.strip_prefix('"')?.strip_suffix('"')?;
            let version: u64 = digits.parse().ok()?;
            // Only the canonical form is accepted, so not `+7` or `007`.
            (version.to_string() == digits).then_some(version)
        });
        let version = version.ok_or_else(|| {
            ApiError::new(Code::MalformedRequest, "`If-Match` must be a single ETag such as \"7\"")
        })?;
        Ok(Self(Some(version)))
    }
}

impl FromRequestParts<Shared> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        let Some(given) = one(&parts.headers, "idempotency-key")? else {
            return Ok(Self(None));
        };
        let bytes = given.as_bytes();
        let is_fit = (1..=IDEMPOTENCY_KEY_MAX_BYTES).contains(&bytes.len())
            && bytes.iter().all(u8::is_ascii_graphic);
        let key = given.to_str().ok().filter(|_| is_fit).ok_or_else(|| {
            let detail = format!(
                "`Idempotency-Key` must be 1 to {IDEMPOTENCY_KEY_MAX_BYTES} visible ASCII \
                 characters"
            );
            ApiError::new(Code::MalformedRequest, detail)
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// Returns the header of this name; several are refused as ambiguous.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, ApiError> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        let detail = format!("`{name}` is given twice: send it once");
        return Err(ApiError::new(Code::MalformedRequest, detail));
    }
    Ok(first)
}

/// The origin of a call, for a public route.
#[derive(Debug)]
pub struct CallOrigin(pub Where);

impl FromRequestParts<Shared> for CallOrigin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, ApiError> {
        Ok(Self(place_of(parts)))
    }
}

/// Returns the origin of a call, as recorded in the audit log.
pub fn place_of(parts: &Parts) -> Where {
    let address = parts.extensions.get::<SocketAddr>().map(SocketAddr::ip);
    let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    let user_agent = user_agent
        .map(|text| text.chars().take(AUDIT_TEXT_MAX_BYTES).collect::<String>())
        .filter(|text| !text.is_empty());
    Where::request(RequestOrigin { salt: Uuid::new_v4(), address, user_agent }, SERVICE)
}
