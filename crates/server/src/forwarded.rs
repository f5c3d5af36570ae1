//! The address of a caller behind a proxy. The header counts only as far as it was written by
//! trusted proxies: anyone else can write anything, but only before what the proxies append.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns the nearest address that is not a trusted proxy, or the proxy itself if it names none.
pub fn caller(peer: SocketAddr, headers: &HeaderMap, proxies: &[IpNet]) -> SocketAddr {
    let is_ours = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
    let mut nearest = peer.ip().to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    // The lines are read as bytes: if one that is not text were skipped, the entries before it
    // would be trusted.
    for part in lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')) {
        if !is_ours(&nearest) {
            break;
        }
        let text = std::str::from_utf8(part).ok();
        let Some(address) = text.and_then(|text| address(text.trim())) else { break };
        nearest = address;
    }
    if nearest == peer.ip().to_canonical() { peer } else { SocketAddr::new(nearest, 0) }
}

/// Parses an address; some proxies append the port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let found = bare.parse().or_else(|_| text.parse().map(|with: SocketAddr| with.ip()));
    found.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn caller_of(peer: &str, lines: &[&str]) -> String {
        let proxies: Vec<IpNet> =
            ["10.0.0.0/8", "fd00::/8"].iter().map(|text| text.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        let peer = SocketAddr::new(peer.parse().unwrap(), 4711);
        caller(peer, &headers, &proxies).ip().to_string()
    }

    #[test]
    fn forwarded_address_is_trusted_only_from_own_proxies() {
        assert_eq!(
            caller_of("203.0.113.9", &["198.51.100.1"]),
            "203.0.113.9",
            "the peer is not a trusted proxy"
        );
        assert_eq!(caller_of("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(caller_of("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(
            caller_of("10.0.0.1", &["6.6.6.6, 198.51.100.1"]),
            "198.51.100.1",
            "an entry before it is ignored"
        );
        assert_eq!(caller_of("10.0.0.1", &["6.6.6.6", "198.51.100.1, 10.2.0.1"]), "198.51.100.1");
        assert_eq!(caller_of("10.0.0.1", &["6.6.6.6", "é, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(
            caller_of("10.0.0.1", &["6.6.6.6", "é"]),
            "10.0.0.1",
            "earlier lines are ignored"
        );
        assert_eq!(caller_of("::ffff:10.0.0.1", &["2001:db8::1"]), "2001:db8::1");
        assert_eq!(caller_of("10.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(caller_of("10.0.0.1", &["198.51.100.1:99"]), "198.51.100.1");
        assert_eq!(caller_of("10.0.0.1", &["198.51.100.1, nonsense"]), "10.0.0.1");
        assert_eq!(
            caller_of("10.0.0.1", &["10.0.0.2, 10.0.0.3"]),
            "10.0.0.2",
            "all are trusted proxies"
        );
    }
}
