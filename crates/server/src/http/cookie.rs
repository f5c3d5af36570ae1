//! The cookies. All have the `__Host-` prefix, so that no other host, path or plain connection
//! can set or read them.

use std::time::Duration;

use ade_core::limits::SESSION_TTL;
use ade_core::token::Token;
use axum::http::header::{COOKIE, InvalidHeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

/// The session of a person.
pub const SESSION: &str = "__Host-ade_s";
/// The sign-in of a browser that is at its identity provider.
pub const SIGN_IN: &str = "__Host-ade_l";
/// The tenant that the person of this sign-in wants to join.
pub const JOIN: &str = "__Host-ade_j";

/// Returns the value of a cookie. A duplicate is ignored, because it may have been injected.
pub fn get(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    let first = found.next()?;
    found.next().is_none().then(|| first.to_owned())
}

/// Builds a `Set-Cookie` header. It is `Lax`, so that links in messages open pages signed in.
pub fn set(name: &str, value: &str, age: Duration) -> Result<HeaderValue, InvalidHeaderValue> {
    let age = age.as_secs();
    let text = format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={age}");
    HeaderValue::from_str(&text)
}

/// Adds the session cookie to a response.
pub fn with_session(mut answer: Response, session: &Token) -> Response {
    if let Ok(held) = set(SESSION, &session.reveal(), SESSION_TTL) {
        answer.headers_mut().append(SET_COOKIE, held);
    }
    answer
}

pub fn clear(name: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    set(name, "", Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        lines.iter().map(|line| (COOKIE, HeaderValue::from_static(line))).collect()
    }

    #[test]
    fn cookie_is_found_by_its_exact_name_if_unique() {
        let found = |lines: &[&'static str]| get(&headers(lines), SESSION);
        assert_eq!(found(&["__Host-ade_s=one"]).as_deref(), Some("one"));
        assert_eq!(found(&["a=b; __Host-ade_s=one; c=d"]).as_deref(), Some("one"));
        assert_eq!(found(&["a=b", "__Host-ade_s=one"]).as_deref(), Some("one"));
        for none in [
            &["ade_s=one"][..],
            &["__host-ade_s=one"],
            &["x__Host-ade_s=one"],
            &["__Host-ade_s"],
            &[],
        ] {
            assert_eq!(found(none), None, "{none:?}");
        }
        assert_eq!(found(&["__Host-ade_s=one; __Host-ade_s=two"]), None);
        assert_eq!(found(&["__Host-ade_s=one", "__Host-ade_s=one"]), None);
    }
}
