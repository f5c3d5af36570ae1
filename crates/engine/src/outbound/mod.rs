//! The way out: every call that the server makes to somebody else's address goes through here, be
//! it for a task or to tell of an event. What a name stands for is judged where the connection is
//! made, so that nobody can answer one thing to the check and another to the call.

mod address;
mod reach;
mod resolve;

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

pub use address::{AddressError, Ports, checked};
pub use reach::{Reach, is_reachable};
use resolve::Vetted;
pub use resolve::{Closed, Lookup, SystemLookup, is_closed};

/// How connections are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connecting {
    pub timeout: Duration,
    /// One that nobody uses is closed after so long.
    pub idle: Duration,
}

/// Follows nobody elsewhere, asks no proxy, and connects to vetted addresses only.
pub fn client(
    reach: Reach,
    connecting: Connecting,
    lookup: impl Lookup + 'static,
) -> reqwest::Result<Client> {
    Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .https_only(reach == Reach::Open)
        .connect_timeout(connecting.timeout)
        .pool_idle_timeout(connecting.idle)
        .pool_max_idle_per_host(1)
        .dns_resolver(Vetted::new(reach, lookup))
        .build()
}

/// Without brackets around an address of IPv6.
fn host_of(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}
