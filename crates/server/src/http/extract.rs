//! What handlers take from a request, each refused with a problem of its own: the caller, ids in
//! the path, queries, strict JSON bodies, the version a caller means, the key of a repeat, and
//! where the call came from. Bodies are read by the core's one strict reader.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::audit::Where;
use ade_core::change;
use ade_core::limits::{AUDIT_TEXT_MAX_BYTES, BODY_MAX_BYTES, IDEMPOTENCY_KEY_MAX_BYTES};
use ade_engine::Caller;
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

use super::door::Known;
use super::error::Failure;
use super::state::Shared;

const SERVICE: &str = "http";

/// One document, read strictly, then by its type; also how a handler answers with one.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// Ids and names in the path. What cannot be one names nothing: 404, as for any other stranger.
#[derive(Debug)]
pub struct Path<T>(pub T);

#[derive(Debug)]
pub struct Query<T>(pub T);

/// The version the caller has read, from `If-Match: "7"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub u64);

/// Names a call, so that sending it twice does it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

/// A number of the record in a query. The record counts in 63 bits: what is more names nothing.
pub fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(from)?;
    if number.is_some_and(|number| i64::try_from(number).is_err()) {
        return Err(D::Error::custom("no number is above 9223372036854775807"));
    }
    Ok(number)
}

/// For the description of a handler that takes [`IfMatch`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct VersionHeader {
    /// The `ETag` that was read, for example `"7"`.
    #[param(rename = "If-Match", value_type = String, required = true, example = "\"7\"",
            pattern = "^\"(0|[1-9][0-9]{0,18})\"$")]
    if_match: String,
}

/// For the description of a handler that takes an [`IdempotencyKey`].
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct RepeatHeader {
    /// Up to 256 visible ASCII characters; the same key with the same body is answered alike.
    #[param(rename = "Idempotency-Key", value_type = Option<String>, required = false,
            pattern = "^[!-~]{1,256}$")]
    idempotency_key: Option<String>,
}

impl<T: DeserializeOwned> FromRequest<Shared> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        check_type(&parts.headers)?;
        check_length(&parts.headers)?;
        let bytes = read_body(body, shared.settings().body_timeout()).await?;
        change::check(&bytes)
            .map_err(|error| Failure::new(Code::MalformedBody, error.to_string()))?;
        // A reader of structures would take a list of their fields for one, too.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Failure::new(Code::InvalidBody, "the body must be one object"));
        }
        if holds_zero(&bytes) {
            return Err(Failure::new(Code::InvalidBody, "a text holds U+0000, which none may"));
        }
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        serde_path_to_error::deserialize(&mut json).map(Self).map_err(|error| {
            let path = error.path().to_string();
            let detail = format!("{path}: {}", error.inner());
            Problem::new(Code::InvalidBody, detail).with("path", path).into()
        })
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => ([(CONTENT_TYPE, "application/json")], bytes).into_response(),
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written as JSON");
                Failure::new(Code::Internal, "the answer could not be written").into_response()
            }
        }
    }
}

/// A body word for word, as it was signed; nothing if it is too long, too slow or breaks off.
#[derive(Debug)]
pub struct Raw(pub Option<Bytes>);

impl FromRequest<Shared> for Raw {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if check_length(&parts.headers).is_err() {
            return Ok(Self(None));
        }
        Ok(Self(read_body(body, shared.settings().body_timeout()).await.ok()))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Failure> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let detail = if media.is_empty() { "it has none" } else { "it is something else" };
    let detail = format!("the body must be `application/json`; {detail}");
    Err(Failure::new(Code::UnsupportedMediaType, detail))
}

fn too_large() -> Failure {
    let detail = format!("at most {BODY_MAX_BYTES} bytes are read");
    Problem::new(Code::BodyTooLarge, detail).with("max_bytes", BODY_MAX_BYTES).into()
}

/// Refused before a byte of it is read.
fn check_length(headers: &HeaderMap) -> Result<(), Failure> {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.is_some_and(|length: usize| length > BODY_MAX_BYTES) {
        return Err(too_large());
    }
    Ok(())
}

/// PostgreSQL keeps no text with U+0000 in it. JSON can only write it as an escape, and outside
/// its strings has no backslash.
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

/// The same character in a path or a query.
fn names_zero(text: &str) -> bool {
    text.contains("%00")
}

async fn read_body(body: Body, limit: Duration) -> Result<Bytes, Failure> {
    let whole = Limited::new(body, BODY_MAX_BYTES).collect();
    match tokio::time::timeout(limit, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Failure::new(Code::MalformedRequest, "the body breaks off")),
        Err(_) => {
            let detail = format!("the body did not come within {} s", limit.as_secs());
            Err(Failure::new(Code::RequestTimeout, detail))
        }
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Failure> {
        let missing = || Failure::missing("there is nothing by this name");
        if names_zero(parts.uri.path()) {
            return Err(missing());
        }
        let found = axum::extract::Path::<T>::from_request_parts(parts, shared).await;
        found.map(|axum::extract::Path(inner)| Self(inner)).map_err(|_| missing())
    }
}

impl<T: DeserializeOwned> FromRequestParts<Shared> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Failure> {
        if parts.uri.query().is_some_and(names_zero) {
            return Err(Failure::query("a parameter holds U+0000, which none may"));
        }
        let read = axum::extract::Query::<T>::from_request_parts(parts, shared).await;
        read.map(|axum::extract::Query(inner)| Self(inner))
            .map_err(|rejection| Failure::new(Code::InvalidQuery, rejection.body_text()))
    }
}

impl FromRequestParts<Shared> for IfMatch {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        let given = one(&parts.headers, IF_MATCH.as_str())?;
        let given = given.ok_or_else(|| {
            Failure::new(Code::PreconditionRequired, "`If-Match` is missing: which version?")
        })?;
        let version = given.to_str().ok().and_then(|text| {
            let digits = text.strip_prefix('"')?.strip_suffix('"')?;
            let version: u64 = digits.parse().ok()?;
            // One spelling: `+7` and `007` are no version of ours.
            (version.to_string() == digits).then_some(version)
        });
        version.map(Self).ok_or_else(|| {
            Failure::new(Code::MalformedRequest, "`If-Match` must be one ETag such as \"7\"")
        })
    }
}

impl FromRequestParts<Shared> for IdempotencyKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
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
            Failure::new(Code::MalformedRequest, detail)
        })?;
        Ok(Self(Some(key.to_owned())))
    }
}

/// Two headers of one name are two meanings.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a HeaderValue>, Failure> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        let detail = format!("`{name}` stands twice: send it once");
        return Err(Failure::new(Code::MalformedRequest, detail));
    }
    Ok(first)
}

impl FromRequestParts<Shared> for Known {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        // Only an open route has no caller, and such a route must not ask for one.
        let caller = parts.extensions.get::<Arc<Caller>>();
        let caller = caller
            .ok_or_else(|| Failure::new(Code::Unauthenticated, "this route knows no caller"))?;
        Ok(Self(Caller::clone(caller)))
    }
}

/// Where a call came from, for a route that knows no caller.
#[derive(Debug)]
pub struct Place(pub Where);

impl FromRequestParts<Shared> for Place {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Failure> {
        Ok(Self(place_of(parts)))
    }
}

/// Where a call came from, as the audit keeps it.
pub fn place_of(parts: &Parts) -> Where {
    let address = parts.extensions.get::<SocketAddr>().map(SocketAddr::ip);
    let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    let user_agent = user_agent
        .map(|text| text.chars().take(AUDIT_TEXT_MAX_BYTES).collect::<String>())
        .filter(|text| !text.is_empty());
    Where { address, user_agent, service: SERVICE.to_owned() }
}
