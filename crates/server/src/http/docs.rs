//! The page that shows the API to people. Three files compiled in, nothing from outside; it reads
//! `/openapi.json` and writes text only, so its policy can forbid everything else.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

const PAGE: &str = include_str!("../../assets/docs/index.html");
const SCRIPT: &str = include_str!("../../assets/docs/docs.js");
const STYLE: &str = include_str!("../../assets/docs/docs.css");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

/// This API, to read
#[utoipa::path(get, path = "/docs", tag = "system", responses(
    (status = 200, description = "A page", body = String, content_type = "text/html")
))]
pub async fn page() -> Response {
    asset("text/html; charset=utf-8", PAGE)
}

/// The script of the page
#[utoipa::path(get, path = "/docs/docs.js", tag = "system", responses(
    (status = 200, description = "A script", body = String, content_type = "text/javascript")
))]
pub async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// The style of the page
#[utoipa::path(get, path = "/docs/docs.css", tag = "system", responses(
    (status = 200, description = "A style sheet", body = String, content_type = "text/css")
))]
pub async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

fn asset(media: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, media), (CONTENT_SECURITY_POLICY, POLICY)], text).into_response()
}
