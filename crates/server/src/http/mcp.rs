//! The endpoint for agents that use the Model Context Protocol. A tool makes calls of this API
//! within the process, with the caller's own token. They pass through the same layers as any other
//! call, so no tool can do what its caller cannot.

use std::net::SocketAddr;
use std::sync::Arc;

use ade_api::code::Code;
use ade_client::{Answering, Client};
use ade_core::limits::CLIENT_ANSWER_MAX_BYTES;
use ade_mcp::{HttpAnswer, HttpDoor, Tools};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response as Answered, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::Json;
use super::state::Shared;

/// The base URL of calls within the process.
const WITHIN: &str = "http://127.0.0.1";
pub const METADATA: &str = "/.well-known/oauth-protected-resource";
const TAKEN: &str = "application/json, text/event-stream";
/// The maximum length of an error message of the SDK.
const REFUSAL_MAX_BYTES: usize = 4096;

/// All routes, for calls within the process.
#[derive(Clone)]
pub struct Own(pub Router);

/// Call an MCP tool
///
/// One message of the Model Context Protocol, streamable HTTP without sessions: `tools/list` lists
/// the tools, `tools/call` calls one. Each tool needs the scope read, propose or execute; none can
/// approve. Responses are JSON.
#[utoipa::path(post, path = "/mcp", tag = "agents",
    request_body(content = Object, description = "A JSON-RPC 2.0 message"),
    responses((status = 200, description = "The JSON-RPC 2.0 response", body = Object),
        (status = 202, description = "Accepted; there is no response")))]
pub async fn mcp(
    State(shared): State<Shared>,
    Extension(own): Extension<Own>,
    parts: Parts,
    Json(message): Json<Value>,
) -> Result<Response, ApiError> {
    let page = &shared.app().notify.page;
    let unusable = |error| ApiError::new(Code::MalformedRequest, format!("{error}"));
    let client = Client::within(WITHIN, bearer(&parts), answering(own, &parts));
    let tools = Tools::new(client.map_err(unusable)?, page);
    // The body was parsed by the strict reader, so the SDK cannot interpret it differently.
    let body = Bytes::from(serde_json::to_vec(&message).unwrap_or_default());
    let mut question = Request::from_parts(parts, body);
    // Responses are JSON, but the SDK requires that the client also accepts a stream.
    question.headers_mut().insert(ACCEPT, HeaderValue::from_static(TAKEN));
    let hosts = shared.settings().hosts.iter().cloned().chain(host_of(page)).collect::<Vec<_>>();
    let door = HttpDoor::new(&hosts, &shared.settings().origins);
    answered(door.answer(tools, question).await).await
}

/// Get the OAuth protected resource metadata
///
/// RFC 9728. Tokens are issued by this server for itself only, so no authorization server is
/// listed.
#[utoipa::path(get, path = "/.well-known/oauth-protected-resource", tag = "system", responses(
    (status = 200, description = "The protected resource metadata", body = Protected)))]
pub async fn metadata(State(shared): State<Shared>) -> Json<Protected> {
    let page = &shared.app().notify.page;
    Json(Protected {
        resource: page.clone(),
        resource_name: "Community ADE",
        resource_documentation: format!("{page}/docs"),
        bearer_methods_supported: vec!["header"],
        scopes_supported: vec!["read", "propose", "execute"],
    })
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Protected {
    /// The audience of a token: this server.
    pub resource: String,
    pub resource_name: &'static str,
    pub resource_documentation: String,
    pub bearer_methods_supported: Vec<&'static str>,
    /// The scopes that agents can have.
    pub scopes_supported: Vec<&'static str>,
}

/// Returns the token of the caller, which authentication has already checked.
fn bearer(parts: &Parts) -> &str {
    let given = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|text| text.split_once(' ')).map_or("", |(_, token)| token.trim())
}

fn host_of(page: &str) -> Option<String> {
    page.parse::<Uri>().ok()?.host().map(str::to_owned)
}

/// Sends calls as if the caller had made them, from the same address.
fn answering(own: Own, parts: &Parts) -> Answering {
    let address = parts.extensions.get::<SocketAddr>().copied();
    let program = parts.headers.get(USER_AGENT).cloned();
    Arc::new(move |call| {
        let (own, program) = (own.clone(), program.clone());
        Box::pin(async move { pass(own, address, program, call).await })
    })
}

async fn pass(
    Own(router): Own,
    address: Option<SocketAddr>,
    program: Option<HeaderValue>,
    call: reqwest::Request,
) -> reqwest::Response {
    let url = call.url();
    let target = url
        .query()
        .map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let body = call.body().and_then(reqwest::Body::as_bytes).unwrap_or_default().to_vec();
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = call.method().clone();
    *request.uri_mut() = target.parse().unwrap_or_default();
    *request.headers_mut() = call.headers().clone();
    request.headers_mut().extend(program.map(|program| (USER_AGENT, program)));
    if let Some(address) = address {
        request.extensions_mut().insert(address);
    }
    let answer = match TowerToHyperService::new(router).call(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    let (head, body) = answer.into_parts();
    if let Ok(bytes) = to_bytes(body, CLIENT_ANSWER_MAX_BYTES).await {
        return Answered::from_parts(head, bytes).into();
    }
    let mut broken = Answered::new(Bytes::new());
    *broken.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    broken.into()
}

/// Returns the response, or converts an error of the SDK into a problem.
async fn answered(answer: HttpAnswer) -> Result<Response, ApiError> {
    let (head, body) = answer.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_refusal = head.status.is_client_error() || head.status.is_server_error();
    if !is_refusal || kind.starts_with(b"application/json") {
        return Ok(Response::from_parts(head, Body::new(body)).into_response());
    }
    let words = to_bytes(Body::new(body), REFUSAL_MAX_BYTES).await.unwrap_or_default();
    let code = match head.status {
        StatusCode::FORBIDDEN => Code::OriginRefused,
        StatusCode::PAYLOAD_TOO_LARGE => Code::BodyTooLarge,
        // The body is valid JSON, so the SDK means that it is not a valid message.
        _ => Code::MalformedRequest,
    };
    Err(ApiError::new(code, String::from_utf8_lossy(&words).into_owned()))
}
