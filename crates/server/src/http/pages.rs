//! The dashboard, inside the program: its files as they were built, and its first page for every
//! address that is a page's. A build without them serves the API alone, and says so.

use std::borrow::Cow;

use ade_api::code::Code;
use ade_engine::limiter::Nameless;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::response::{IntoResponse as _, Response};
use rust_embed::RustEmbed;

use super::error::Failure;
use super::state::Shared;
use super::{pace, system};

/// What `npm run build` in `web/` writes. A debug build reads it from there when it is asked.
#[derive(RustEmbed)]
#[folder = "../../web/target/pages"]
#[allow_missing = true]
struct Built;

const FIRST: &str = "index.html";
/// Their names change with what is in them.
const NAMED_BY_CONTENT: &str = "assets/";
/// How a file lies packed beside itself, by what a browser calls it and by its ending; the
/// smallest first. The build packs what is worth it.
const PACKED: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];
/// What is no page even if a browser asks for it like one.
const NOT_PAGES: [&str; 5] = ["/v1/", "/auth/", "/docs/", "/mcp", "/.well-known/"];

/// Scripts and styles are files of ours and nothing else; nobody frames a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
     img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'self'; frame-ancestors 'none'; object-src 'none'; \
     require-trusted-types-for 'script'";

/// Files are not counted: a browser keeps them. Whoever looks for what is not there is.
pub(super) async fn page(State(shared): State<Shared>, request: Request) -> Response {
    let built = |path: &str| Built::get(path).map(|file| file.data);
    let found = answer(&built, request.method(), request.uri().path(), request.headers());
    if let Some(response) = found {
        return response;
    }
    let (address, uri) = (pace::address_of(&request), request.uri().clone());
    let nothing = async { system::nothing_here(&uri).into_response() };
    pace::nameless(&shared, address, Nameless::Open, nothing).await
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
        let detail = "this build has no pages: run `npm ci && npm run build` in `web/`, then build";
        Failure::new(Code::NotFound, detail).into_response()
    };
    Some(file(built, FIRST, headers).unwrap_or_else(absent))
}

/// Whoever asks for a page says so; a program that mistypes an address is not shown one.
fn is_page(path: &str, headers: &HeaderMap) -> bool {
    let wanted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes_pages = wanted.split(',').any(|kind| kind.trim().starts_with("text/html"));
    let has_ending = path.rsplit('/').next().is_some_and(|last| last.contains('.'));
    takes_pages && !has_ending && !NOT_PAGES.iter().any(|other| path.starts_with(other))
}

/// Whether this packing is among what the browser says it can unpack.
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
        ["index.html", "theme.js", "assets/main-1.js", "assets/main-1.js.br", "assets/main-1.js.gz"]
            .contains(&path)
            .then(|| Cow::Owned(path.as_bytes().to_vec()))
    }

    /// Content type and lifetime of what is answered.
    fn asked(method: &Method, path: &str, accept: &'static str) -> Option<(String, String)> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
        let response = answer(&built, method, path, &headers)?;
        assert_eq!(response.headers()[CONTENT_SECURITY_POLICY], POLICY);
        let text = |name| response.headers()[name].to_str().unwrap().to_owned();
        Some((text(CONTENT_TYPE), text(CACHE_CONTROL)))
    }

    #[test]
    fn every_address_of_a_page_is_answered_with_the_first_page() {
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
        assert_eq!(asked(&Method::GET, "/inbox", "*/*"), None, "a program");
        assert_eq!(asked(&Method::POST, "/inbox", browser), None);
    }

    #[test]
    fn files_are_kept_as_long_as_their_names_say() {
        let (kind, kept) = asked(&Method::GET, "/assets/main-1.js", "*/*").unwrap();
        assert_eq!(kind, "text/javascript; charset=utf-8");
        assert_eq!(kept, "public, max-age=31536000, immutable");
        assert_eq!(asked(&Method::HEAD, "/theme.js", "*/*").unwrap().1, "no-cache");
        assert_eq!(asked(&Method::GET, "/assets/main-2.js", "*/*"), None);
        assert_eq!(asked(&Method::GET, "/../Cargo.toml", "*/*"), None);
    }

    #[tokio::test]
    async fn a_file_comes_packed_to_whoever_can_unpack_it() {
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
            let told = response.headers();
            assert_eq!(told.get(CONTENT_ENCODING).map(|value| value.to_str().unwrap()), packing);
            assert_eq!(told[CONTENT_TYPE], "text/javascript; charset=utf-8", "{taken}");
            assert_eq!(told[VARY], "accept-encoding", "a cache between must not mix them");
            let body = axum::body::to_bytes(response.into_body(), 1_000).await.unwrap();
            assert_eq!(body, name, "{taken}");
        }
        let unpacked = answer(
            &built,
            &Method::GET,
            "/theme.js",
            &HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("br"))]),
        );
        assert!(!unpacked.unwrap().headers().contains_key(CONTENT_ENCODING), "it is not packed");
        assert_eq!(asked(&Method::GET, "/assets/main-1.js.gz", "*/*"), None, "no file of its own");
    }
}
