//! Protection against cross-site requests. A browser sends cookies with the requests of any page,
//! so a change also needs the origin of the page, as reported by the browser, and a header that no
//! form can send.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};

/// A header that pages of other sites can only add after a preflight request, which is refused.
pub const MARK: HeaderName = HeaderName::from_static("x-ade-request");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns whether the request comes from a page of this server or of a configured origin.
pub fn is_own_page(headers: &HeaderMap, origins: &[String]) -> bool {
    let is_marked = one(headers, &MARK) == Some("1");
    let is_ours = match one(headers, &SITE) {
        // The browser sets this header, and no page can change it.
        Some(site) => site == "same-origin" || site == "none",
        None if headers.contains_key(&SITE) => false,
        // An old browser sends only the origin.
        None => one(headers, &ORIGIN).is_some_and(|origin| is_known(headers, origin, origins)),
    };
    is_marked && is_ours
}

/// Returns whether the browser says that a link on a page of this server was followed.
pub fn is_same_origin(headers: &HeaderMap) -> bool {
    one(headers, &SITE) == Some("same-origin")
}

fn is_known(headers: &HeaderMap, origin: &str, origins: &[String]) -> bool {
    let host = one(headers, &HOST);
    let own = origin.split_once("://").map(|(_, host)| host);
    (own.is_some() && own == host) || origins.iter().any(|known| known == origin)
}

fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next().filter(|_| all.next().is_none())?;
    first.to_str().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn asked(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        is_own_page(&headers.collect(), &["https://ade.example".to_owned()])
    }

    #[test]
    fn changes_are_accepted_only_from_own_marked_pages() {
        const MARKED: (&str, &str) = ("x-ade-request", "1");
        const US: (&str, &str) = ("host", "ade.internal:7700");
        let site = |site| ("sec-fetch-site", site);
        let origin = |origin| ("origin", origin);
        let ours: [&[_]; 5] = [
            &[MARKED, site("same-origin")],
            &[MARKED, site("none")],
            &[MARKED, site("same-origin"), origin("https://ade.example")],
            &[MARKED, US, origin("https://ade.internal:7700")],
            &[MARKED, US, origin("https://ade.example")],
        ];
        for headers in ours {
            assert!(asked(headers), "{headers:?}");
        }
        let others: [&[_]; 15] = [
            &[],
            &[MARKED],
            &[site("same-origin")],
            &[("x-ade-request", "0"), site("same-origin")],
            &[MARKED, MARKED, site("same-origin")],
            &[MARKED, site("cross-site")],
            &[MARKED, site("same-site")],
            &[MARKED, site("")],
            &[MARKED, site("same-origin"), site("cross-site")],
            &[MARKED, site("cross-site"), origin("https://ade.example")],
            &[MARKED, US, origin("https://evil.example")],
            &[MARKED, US, origin("https://ade.internal:7701")],
            &[MARKED, US, origin("null")],
            &[MARKED, US, origin("ade.internal:7700")],
            &[MARKED, origin("https://ade.internal:7700")],
        ];
        for headers in others {
            assert!(!asked(headers), "{headers:?}");
        }
    }
}
