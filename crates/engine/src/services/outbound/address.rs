//! Decides which URLs may be called at all. A URL that can be refused by its form is refused when
//! it is entered; otherwise the resolved addresses decide, when it is called.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

use super::address_policy::{AddressPolicy, is_reachable};
use super::host_of;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("`{url}` is not a valid URL: {problem}")]
    NotAnAddress { url: String, problem: String },
    #[error(
        "`{url}` does not use `https`, which is required except on an allowed loopback address"
    )]
    Plain { url: String },
    #[error("`{url}` contains a user name or password: remove it, requests are signed instead")]
    Credentials { url: String },
    #[error("`{url}` points to an address that is not allowed")]
    Closed { url: String },
    #[error("`{url}` uses port {port}, which is not allowed: use one of {allowed:?}")]
    Port { url: String, port: u16, allowed: Vec<u16> },
}

/// The ports of the open network that may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ports {
    /// All ports: the address comes from the settings.
    Any,
    /// Only these ports: the address comes from a tenant.
    Only(Vec<u16>),
}

/// Top-level names that are refused regardless of what they resolve to.
const CLOSED_NAMES: [&str; 10] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "corp",
    "home",
    "lan",
    "arpa",
    "onion",
];

pub fn checked(text: &str, reach: AddressPolicy, ports: &Ports) -> Result<Url, AddressError> {
    let given = || text.to_owned();
    let problem = |problem: String| AddressError::NotAnAddress { url: given(), problem };
    // The parser would silently remove these characters; the shown address must be the called one.
    if text.chars().any(|character| character.is_control() || character.is_whitespace()) {
        return Err(problem("the URL contains spaces or control characters".to_owned()));
    }
    let url = Url::parse(text).map_err(|error| problem(error.to_string()))?;
    let is_plain = url.scheme() == "http" && reach == AddressPolicy::Loopback;
    if url.scheme() != "https" && !is_plain {
        return Err(AddressError::Plain { url: given() });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials { url: given() });
    }
    // The parser has normalized the spelling of a numeric address.
    let literal: Option<IpAddr> = host_of(&url).parse().ok();
    let is_open = match literal {
        Some(address) => is_reachable(address, reach),
        None => reach == AddressPolicy::Loopback || is_open_name(host_of(&url)),
    };
    if !is_open {
        return Err(AddressError::Closed { url: given() });
    }
    let port = url.port_or_known_default().unwrap_or_default();
    match ports {
        Ports::Only(allowed) if reach == AddressPolicy::Open && !allowed.contains(&port) => {
            Err(AddressError::Port { url: given(), port, allowed: allowed.clone() })
        }
        Ports::Only(_) | Ports::Any => Ok(url),
    }
}

/// Returns whether the name may be public: it contains a dot, does not end with one, and is not
/// under a closed name. A single label would be looked up in the local network.
fn is_open_name(host: &str) -> bool {
    let last = host.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| !last.is_empty() && !CLOSED_NAMES.contains(&last))
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
