//! Places of a network: what never leaves this machine, and the networks from which a token may be
//! used.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use thiserror::Error;

use crate::limits::TOKEN_NETWORKS_MAX;

/// By its name or its address; a name that somebody's resolver answers is not one.
pub fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Where a token may be used from; anywhere, if none are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    #[error("at most {TOKEN_NETWORKS_MAX} networks")]
    TooMany,
    #[error("`{0}` is no network: write 10.1.0.0/16, 2001:db8::/32, or one address")]
    Unreadable(String),
    #[error("`{given}` has bits behind its prefix: write {meant}")]
    Ragged { given: String, meant: IpNet },
}

impl Networks {
    /// Each written in one way, none twice.
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

    /// A caller whose address is not known comes from nowhere in particular.
    pub fn admit(&self, address: Option<IpAddr>) -> bool {
        // An IPv4 caller on a socket for both is shown in the form of IPv6.
        let address = address.map(|address| address.to_canonical());
        let holds = |address: &IpAddr| self.0.iter().any(|network| network.contains(address));
        self.is_anywhere() || address.as_ref().is_some_and(holds)
    }

    /// Whether whoever is admitted there is admitted here.
    pub fn hold(&self, other: &Self) -> bool {
        let holds = |wanted: &IpNet| self.0.iter().any(|network| network.contains(wanted));
        self.is_anywhere() || (!other.is_anywhere() && other.0.iter().all(holds))
    }

    /// As they are kept and shown.
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
    fn this_machine_is_known_by_address_and_by_one_name() {
        for host in ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "::ffff:127.0.0.1", "LocalHost"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["10.0.0.1", "::2", "localhost.example", "0.0.0.0", "127.1", "", "db"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    #[test]
    fn an_address_is_admitted_by_the_network_that_holds_it() {
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
        assert!(!some.admit(None), "from nowhere");
        assert!(Networks::default().admit(None), "no bound");
    }

    #[test]
    fn narrower_networks_are_held_by_wider_ones() {
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
    fn networks_are_written_in_one_way() {
        let some = networks(&["192.0.2.7", "10.1.0.0/16", "192.0.2.7/32"]);
        assert_eq!(some.texts(), ["10.1.0.0/16", "192.0.2.7/32"]);
        let again: Vec<String> = some.texts();
        assert_eq!(networks(&again.iter().map(String::as_str).collect::<Vec<_>>()), some);
    }

    #[test]
    fn what_is_no_network_is_refused_with_what_is_meant() {
        let refused = |text| Networks::parse([text]).unwrap_err().to_string();
        for text in ["", "10.1", "10.1.0.0/33", "everywhere", "10.1.0.0/-1", "::/129"] {
            assert!(refused(text).contains("is no network"), "{text}");
        }
        assert!(refused("10.1.2.3/16").contains("write 10.1.0.0/16"));
        let many: Vec<String> =
            (0..=TOKEN_NETWORKS_MAX).map(|at| format!("10.{at}.0.0/16")).collect();
        let many = Networks::parse(many.iter().map(String::as_str));
        assert_eq!(many, Err(NetworkError::TooMany));
    }
}
