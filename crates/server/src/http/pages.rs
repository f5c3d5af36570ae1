//! The dashboard, embedded in the program: its built files, and the index page for every path of a
//! page. A build without these files serves only the API and reports that they are missing.

use std::borrow::Cow;

use ade_api::code::Code;
use ade_engine::services::rate_limiter::Nameless;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::{IntoResponse as _, Response};
use rust_embed::RustEmbed;

use super::error::ApiError;
use super::state::Shared;
use super::{rate_limit_headers, system};

/// The output of `npm run build` in `web/`. A debug build reads the files at run time.
#[derive(RustEmbed)]
#[folder = "../../web/target/pages"]
#[allow_missing = true]
struct Built;

const FIRST: &str = "index.html";
/// The names of files in this folder contain a hash of their content.
const NAMED_BY_CONTENT: &str = "assets/";
/// The encodings in which the build compresses files, and their file name extensions, the smallest
/// first.
const PACKED: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];
/// Path prefixes that are not pages, even if a browser requests HTML.
const NOT_PAGES: [&str; 5] = ["/v1/", "/auth/", "/docs/", "/mcp", "/.well-known/"];

/// Only scripts and styles of this server are allowed, and pages cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
     img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; object-src 'none'; \
     require-trusted-types-for 'script'";

/// Serves the dashboard. Only requests for missing files count towards the rate limit, because
/// browsers cache the others.
pub(super) async fn page(State(shared): State<Shared>, request: Request) -> Response {
    let built = |path: &str| Built::get(path).map(|file| file.data);
    let found = answer(&built, request.method(), request.uri().path(), request.headers());
    if let Some(response) = found {
        return response;
    }
    let (address, uri) = (rate_limit_headers::address_of(&request), request.uri().clone());
    let nothing = async { system::nothing_here(&uri).into_response() };
    rate_limit_headers::nameless(&shared, address, Nameless::Open, nothing).await
}

fn answer(
    built: &impl Fn(&str) -> Option<Cow<'static, [u8]>>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<Response> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let name = path.trim_start_matches('/');
    let is_packed = PACKED.iter().any(|(_, ending)| name.ends_with(ending));
    if name != FIRST
        && !is_packed
        && let Some(response) = file(built, name, headers)
    {
        return Some(response);
    }
    if !is_page(path, headers) {
        return None;
    }
    let absent = || {
        let detail = "this build contains no web pages: run `npm ci && npm run build` in `web/`, \
                      then build again";
        ApiError::new(Code::NotFound, detail).into_response()
    };
    Some(file(built, FIRST, headers).unwrap_or_else(absent))
}

/// Returns whether to serve a page: a browser asks for HTML, a program with a wrong URL does not.
fn is_page(path: &str, headers: &HeaderMap) -> bool {
    let wanted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes_pages = wanted.split(',').any(|kind| kind.trim().starts_with("text/html"));
    let has_ending = path.rsplit('/').next().is_some_and(|last| last.contains('.'));
    takes_pages && !has_ending && !NOT_PAGES.iter().any(|other| path.starts_with(other))
}

/// Returns whether the browser accepts this encoding.
fn unpacks(headers: &HeaderMap, packing: &str) -> bool {
    let taken = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    taken.unwrap_or_default().split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let refused = weight.trim().strip_prefix("q=").and_then(|q| q.parse().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case(packing) && !refused
    })
}

fn file(
    built: &impl Fn(&str) -> Option<Cow<'static, [u8]>>,
    name: &str,
    asked: &HeaderMap,
) -> Option<Response> {
    let packed = PACKED
        .iter()
        .filter(|(packing, _)| unpacks(asked, packing))
        .find_map(|(packing, ending)| Some((Some(*packing), built(&format!("{name}{ending}"))?)));
    let (packing, bytes) = match packed {
        Some(found) => found,
        None => (None, built(name)?),
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        Some("json" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    };
    let kept = if name.starts_with(NAMED_BY_CONTENT) {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(packing) = packing {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(packing));
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(path: &str) -> Option<Cow<'static, [u8]>> {
        [
            "index.html",
            "theme.js",
            "licenses/font.txt",
            "assets/main-1.js",
            "assets/main-1.js.br",
            "assets/main-1.js.gz",
        ]
        .contains(&path)
        .then(|| Cow::Owned(path.as_bytes().to_vec()))
    }

    /// Returns the content type and the cache lifetime of the response.
    fn asked(method: &Method, path: &str, accept: &'static str) -> Option<(String, String)> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        let response = answer(&built, method, path, &headers)?;
        assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], POLICY);
        let text = |name| response.headers()[name].to_str().unwrap().to_owned();
        Some((text(CONTENT_TYPE), text(CACHE_CONTROL)))
    }

    #[test]
    fn page_paths_are_answered_with_the_index_page() {
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        for path in ["/", "/inbox", "/tasks/t-1", "/sign-in", "/index.html/x"] {
            let (kind, kept) = asked(&Method::GET, path, browser).unwrap();
            assert_eq!((&*kind, &*kept), ("text/html; charset=utf-8", "no-cache"), "{path}");
        }
        for other in
            ["/v1/nothing", "/auth/nothing", "/docs/x", "/mcp", "/.well-known/x", "/icon.png"]
        {
            assert_eq!(asked(&Method::GET, other, browser), None, "{other}");
        }
        assert_eq!(asked(&Method::GET, "/inbox", "application/json"), None);
        assert_eq!(asked(&Method::GET, "/inbox", "*/*"), None, "not a browser");
        assert_eq!(asked(&Method::POST, "/inbox", browser), None);
    }

    #[test]
    fn file_cache_lifetime_depends_on_its_name() {
        let (kind, kept) = asked(&Method::GET, "/assets/main-1.js", "*/*").unwrap();
        assert_eq!(kind, "text/javascript; charset=utf-8");
        assert_eq!(kept, "public, max-age=31536000, immutable");
        assert_eq!(asked(&Method::HEAD, "/theme.js", "*/*").unwrap().1, "no-cache");
        assert_eq!(asked(&Method::GET, "/assets/main-2.js", "*/*"), None);
        assert_eq!(asked(&Method::GET, "/../Cargo.toml", "*/*"), None);
    }

    #[test]
    fn file_with_a_licence_is_served_as_text() {
        let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
        let (kind, _) = asked(&Method::GET, "/licenses/font.txt", browser).unwrap();
        assert_eq!(kind, "text/plain; charset=utf-8");
    }

    #[tokio::test]
    async fn file_is_compressed_for_clients_that_accept_it() {
        for (taken, packing, name) in [
            ("gzip, deflate, br, zstd", Some("br"), "assets/main-1.js.br"),
            ("gzip;q=1.0, *;q=0", Some("gzip"), "assets/main-1.js.gz"),
            ("GZIP", Some("gzip"), "assets/main-1.js.gz"),
            ("br;q=0, gzip;q=0.000", None, "assets/main-1.js"),
            ("brotli, x-gzip", None, "assets/main-1.js"),
            ("", None, "assets/main-1.js"),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, taken.parse().unwrap())]);
            let path = "/assets/main-1.js";
            let response = answer(&built, &Method::GET, path, &headers).unwrap();
            let sent = response.headers();
            assert_eq!(sent.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap()), packing);
            assert_eq!(sent[CONTENT_TYPE], "text/javascript; charset=utf-8", "{taken}");
            assert_eq!(sent[VARY], "accept-encoding", "a cache must not mix the encodings");
            let body = axum::body::to_bytes(response.into_body(), 1_000).await.unwrap();
            assert_eq!(body, name, "{taken}");
        }
        let unpacked = answer(
            &built,
            &Method::GET,
            "/theme.js",
            &HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("br"))]),
        );
        assert!(
            !unpacked.unwrap().headers().contains_key(CONTENT_ENCODING),
            "there is no compressed file"
        );
        assert_eq!(
            asked(&Method::GET, "/assets/main-1.js.gz", "*/*"),
            None,
            "compressed files have no path of their own"
        );
    }
}
