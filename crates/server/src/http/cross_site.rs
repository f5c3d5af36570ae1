//! Whether a browser asks for a page of this server's own. A cookie goes along with whatever any
//! page asks for, so a change needs more: the browser's own word on where the page is from, and a
//! header that no form can send.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};

/// Pages of others cannot add it without asking first, and are not answered when they do.
pub const MARK: HeaderName = HeaderName::from_static("x-ade-request");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// `origins` are those that an operator has named beside our own.
pub fn is_own_page(headers: &HeaderMap, origins: &[String]) -> bool {
    let is_marked = one(headers, &MARK) == Some("1");
    let is_ours = match one(headers, &SITE) {
        // A browser says it and no page can change it.
        Some(site) => site == "same-origin" || site == "none",
        None if headers.contains_key(&SITE) => false,
        // An old browser, behind which the page is named.
        None => one(headers, &ORIGIN).is_some_and(|origin| is_known(headers, origin, origins)),
    };
    is_marked && is_ours
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
    fn only_our_own_pages_with_the_mark_may_change_anything() {
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
