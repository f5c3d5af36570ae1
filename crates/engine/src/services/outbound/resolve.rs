//! Name resolution by the connection itself: the checked address is the one connected to. One
//! forbidden address rejects all of them, because the owner of the name chooses their order.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

use super::address_policy::{AddressPolicy, is_reachable};

/// Why a name has no address that may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Closed {
    #[error("host not found")]
    Nothing,
    #[error("the host name resolves to an address that is not allowed")]
    Address,
}

pub type Looking<'a> = Pin<Box<dyn Future<Output = Vec<IpAddr>> + Send + 'a>>;

/// Resolves names; tests provide their own answers.
pub trait Lookup: fmt::Debug + Send + Sync {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a>;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, name: &'a str) -> Looking<'a> {
        Box::pin(async move {
            match tokio::net::lookup_host((name, 0)).await {
                Ok(found) => found.map(|address| address.ip()).collect(),
                Err(_) => Vec::new(),
            }
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Vetted {
    reach: AddressPolicy,
    lookup: Arc<dyn Lookup>,
}

impl Vetted {
    pub fn new(reach: AddressPolicy, lookup: impl Lookup + 'static) -> Self {
        Self { reach, lookup: Arc::new(lookup) }
    }

    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Closed> {
        let found = self.lookup.lookup(name).await;
        if found.is_empty() {
            return Err(Closed::Nothing);
        }
        if found.iter().any(|address| !is_reachable(*address, self.reach)) {
            return Err(Closed::Address);
        }
        Ok(found)
    }
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.addresses(name.as_str()).await?;
            // The port is taken from the URL.
            let found: Addrs =
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}

/// Returns why the name of a failed call has no address that may be called, if that is the cause.
pub fn is_closed(error: &reqwest::Error) -> Option<Closed> {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(closed) = error.downcast_ref::<Closed>() {
            return Some(*closed);
        }
        source = error.source();
    }
    None
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
