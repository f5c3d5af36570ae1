//! Outgoing calls: every call of the server to a configured or user-supplied URL goes through here.
//! Resolved addresses are checked where the connection is made, so that a resolver cannot give one
//! answer to the check and another to the call.

mod address;
mod address_policy;
mod resolve;

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

pub use address::{AddressError, Ports, checked};
pub use address_policy::{AddressPolicy, is_reachable};
use resolve::Vetted;
pub use resolve::{Closed, Lookup, SystemLookup, is_closed};

/// Connection settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connecting {
    pub timeout: Duration,
    /// Idle connections are closed after this time.
    pub idle: Duration,
}

/// Creates a client that follows no redirects, uses no proxy, and connects to checked addresses
/// only.
pub fn client(
    reach: AddressPolicy,
    connecting: Connecting,
    lookup: impl Lookup + 'static,
) -> reqwest::Result<Client> {
    Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .https_only(reach == AddressPolicy::Open)
        .connect_timeout(connecting.timeout)
        .pool_idle_timeout(connecting.idle)
        .pool_max_idle_per_host(1)
        .dns_resolver(Vetted::new(reach, lookup))
        .build()
}

/// Returns the host, without the brackets of an IPv6 address.
fn host_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}
