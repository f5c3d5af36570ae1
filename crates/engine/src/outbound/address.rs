//! Which texts are addresses that may be called at all. What can be refused by its looks is refused
//! when it is entered; the rest is judged by what its name stands for, when it is called.

use std::net::IpAddr;

use reqwest::Url;
use thiserror::Error;

use super::host_of;
use super::reach::{Reach, is_reachable};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("`{url}` is no address: {problem}")]
    NotAnAddress { url: String, problem: String },
    #[error("`{url}` is not `https`: only what is allowed on loopback may be without")]
    Plain { url: String },
    #[error("`{url}` holds a name or a password: requests are signed instead")]
    Credentials { url: String },
    #[error("`{url}` is an address that may not be called")]
    Closed { url: String },
    #[error("`{url}` names port {port}, which is not called: use one of {allowed:?}")]
    Port { url: String, port: u16, allowed: Vec<u16> },
}

/// To which ports of the open network calls go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ports {
    /// The address comes from the settings.
    Any,
    /// It comes from a tenant.
    Only(Vec<u16>),
}

/// Names that never stand for anything on the open network, whoever answers for them.
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

pub fn checked(text: &str, reach: Reach, ports: &Ports) -> Result<Url, AddressError> {
    let given = || text.to_owned();
    let problem = |problem: String| AddressError::NotAnAddress { url: given(), problem };
    // The parser would take them out without a word; what is shown must be what is called.
    if text.chars().any(|character| character.is_control() || character.is_whitespace()) {
        return Err(problem("it holds blanks or control characters".to_owned()));
    }
    let url = Url::parse(text).map_err(|error| problem(error.to_string()))?;
    let is_plain = url.scheme() == "http" && reach == Reach::Loopback;
    if url.scheme() != "https" && !is_plain {
        return Err(AddressError::Plain { url: given() });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials { url: given() });
    }
    // Whatever spelling of a number was given, the parser has made it the usual one.
    let literal: Option<IpAddr> = host_of(&url).parse().ok();
    let is_open = match literal {
        Some(address) => is_reachable(address, reach),
        None => reach == Reach::Loopback || is_open_name(host_of(&url)),
    };
    if !is_open {
        return Err(AddressError::Closed { url: given() });
    }
    let port = url.port_or_known_default().unwrap_or_default();
    match ports {
        Ports::Only(allowed) if reach == Reach::Open && !allowed.contains(&port) => {
            Err(AddressError::Port { url: given(), port, allowed: allowed.clone() })
        }
        Ports::Only(_) | Ports::Any => Ok(url),
    }
}

/// With a dot in it and none at its end: one label alone is looked up in the network around us.
fn is_open_name(host: &str) -> bool {
    let last = host.rsplit_once('.').map(|(_, last)| last);
    last.is_some_and(|last| !last.is_empty() && !CLOSED_NAMES.contains(&last))
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
