//! The API reference page, and a summary of the API for models. The page's three files are
//! embedded; it reads `/openapi.json` and only writes text, so its content security policy can
//! forbid everything else.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("../../assets/docs/index.html");
const SCRIPT: &str = include_str!("../../assets/docs/docs.js");
const STYLE: &str = include_str!("../../assets/docs/docs.css");
const SUMMARY: &str = include_str!("../../assets/docs/llms.txt");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// The API reference page
#[utoipa::path(get, path = "/docs", tag = "docs", responses(
    (status = 200, description = "A page", body = String, content_type = "text/html")
))]
pub async fn page() -> Response {
    asset("text/html; charset=utf-8", PAGE)
}

/// The script of the API reference page
#[utoipa::path(get, path = "/docs/docs.js", tag = "docs", responses(
    (status = 200, description = "A script", body = String, content_type = "text/javascript")
))]
pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// The style sheet of the API reference page
#[utoipa::path(get, path = "/docs/docs.css", tag = "docs", responses(
    (status = 200, description = "A style sheet", body = String, content_type = "text/css")
))]
pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

/// The summary for models
///
/// What the server is for, the four calls of an agent, the MCP tools, and where to read more.
#[utoipa::path(get, path = "/llms.txt", tag = "docs", responses(
    (status = 200, description = "A text", body = String, content_type = "text/plain")
))]
pub async fn summary() -> Response {
    asset("text/plain; charset=utf-8", SUMMARY)
}

fn asset(media: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, media), (CONTENT_SECURITY_POLICY, POLICY)], text).into_response()
}
