//! Network addresses: which hosts are this machine, and the networks from which a token may be
//! used.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use thiserror::Error;

use crate::limits::TOKEN_NETWORKS_MAX;

/// Returns whether the host is this machine, by its name or address. Other names may be resolved by
/// a foreign resolver and do not count.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The networks from which a token may be used; an empty list means any network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    #[error("at most {TOKEN_NETWORKS_MAX} networks are allowed")]
    TooMany,
    #[error("`{0}` is not a network: write 10.1.0.0/16, 2001:db8::/32, or a single address")]
    Unreadable(String),
    #[error("`{given}` has bits set after its prefix: write {meant}")]
    Ragged { given: String, meant: IpNet },
}

impl Networks {
    /// Parses networks. Each has one spelling and occurs once.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, NetworkError> {
        let mut networks = Vec::new();
        for text in texts {
            let single = || text.parse::<IpAddr>().map(IpNet::from);
            let network = text.parse::<IpNet>().or_else(|_| single());
            let network = network.map_err(|_| NetworkError::Unreadable(text.to_owned()))?;
            if network != network.trunc() {
                let (given, meant) = (text.to_owned(), network.trunc());
                return Err(NetworkError::Ragged { given, meant });
            }
            networks.push(network);
        }
        networks.sort_unstable();
        networks.dedup();
        if networks.len() > TOKEN_NETWORKS_MAX {
            return Err(NetworkError::TooMany);
        }
        Ok(Self(networks))
    }

    pub fn is_anywhere(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the address is admitted. An unknown address is admitted only if there is no
    /// restriction.
    pub fn admit(&self, address: Option<IpAddr>) -> bool {
        // On a dual-stack socket an IPv4 caller has an IPv6 form.
        let address = address.map(|address| address.to_canonical());
        let holds = |address: &IpAddr| self.0.iter().any(|network| network.contains(address));
        self.is_anywhere() || address.as_ref().is_some_and(holds)
    }

    /// Returns whether every address admitted by `other` is admitted here.
    pub fn hold(&self, other: &Self) -> bool {
        let holds = |wanted: &IpNet| self.0.iter().any(|network| network.contains(wanted));
        self.is_anywhere() || (!other.is_anywhere() && other.0.iter().all(holds))
    }

    /// Returns the networks as they are stored and displayed.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(IpNet::to_string).collect()
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Networks {
        Networks::parse(texts.iter().copied()).unwrap()
    }

    #[test]
    fn loopback_is_recognized_by_address_and_name() {
        for host in ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "::ffff:127.0.0.1", "LocalHost"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["10.0.0.1", "::2", "localhost.example", "0.0.0.0", "127.1", "", "db"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn network_admits_the_addresses_it_contains() {
        let some = networks(&["10.1.0.0/16", "2001:db8::/32", "192.0.2.7"]);
        for (address, expected) in [
            ("10.1.255.255", true),
            ("::ffff:10.1.2.3", true),
            ("10.2.0.0", false),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
        ] {
            assert_eq!(some.admit(Some(address.parse().unwrap())), expected, "{address}");
        }
        assert!(!some.admit(None), "unknown address");
        assert!(Networks::default().admit(None), "no restriction");
    }

    #[test]
    fn network_contains_narrower_networks() {
        let wide = networks(&["10.0.0.0/8", "2001:db8::/32"]);
        for (texts, expected) in [
            (&["10.1.0.0/16"][..], true),
            (&["10.1.0.0/16", "2001:db8::7"], true),
            (&["10.0.0.0/8"], true),
            (&["10.0.0.0/7"], false),
            (&["10.1.0.0/16", "192.0.2.7"], false),
            (&[], false),
        ] {
            assert_eq!(wide.hold(&networks(texts)), expected, "{texts:?}");
        }
        assert!(Networks::default().hold(&wide) && Networks::default().hold(&networks(&[])));
    }

    #[test]
    fn network_has_one_spelling() {
        let some = networks(&["192.0.2.7", "10.1.0.0/16", "192.0.2.7/32"]);
        assert_eq!(some.texts(), ["10.1.0.0/16", "192.0.2.7/32"]);
        let again: Vec<String> = some.texts();
        assert_eq!(networks(&again.iter().map(String::as_str).collect::<Vec<_>>()), some);
    }

    #[test]
    fn network_that_is_malformed_is_refused_with_a_hint() {
        let refused = |text| Networks::parse([text]).unwrap_err().to_string();
        for text in ["", "10.1", "10.1.0.0/33", "everywhere", "10.1.0.0/-1", "::/129"] {
            assert!(refused(text).contains("is not a network"), "{text}");
        }
        assert!(refused("10.1.2.3/16").contains("write 10.1.0.0/16"));
        let many: Vec<String> =
            (0..=TOKEN_NETWORKS_MAX).map(|at| format!("10.{at}.0.0/16")).collect();
        let many = Networks::parse(many.iter().map(String::as_str));
        assert_eq!(many, Err(NetworkError::TooMany));
    }
}
