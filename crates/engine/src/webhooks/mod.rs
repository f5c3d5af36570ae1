//! Telling others of events over HTTP: how a request is signed and sent. What is sent when is in
//! the record; this process only has connections and room for so many calls at once.

mod send;
mod sign;

use std::sync::Arc;

use ade_core::limits::{
    WEBHOOK_CONNECT_TIMEOUT, WEBHOOK_IDLE_TIMEOUT, WEBHOOK_SENDING_PER_PROCESS,
};
use reqwest::{Client, Url};
use tokio::sync::Semaphore;

pub use send::seconds;
pub(crate) use send::{Letter, Told, send};
pub(crate) use sign::{Key, keys_of};

use crate::outbound::{self, AddressError, Connecting, Lookup, Ports, Reach};

#[derive(Debug)]
pub struct Webhooks {
    client: Client,
    reach: Reach,
    ports: Ports,
    room: Arc<Semaphore>,
}

impl Webhooks {
    /// `ports` are those of the open network that are called.
    pub fn new(
        reach: Reach,
        ports: Vec<u16>,
        lookup: impl Lookup + 'static,
    ) -> reqwest::Result<Self> {
        let connecting =
            Connecting { timeout: WEBHOOK_CONNECT_TIMEOUT, idle: WEBHOOK_IDLE_TIMEOUT };
        Ok(Self {
            client: outbound::client(reach, connecting, lookup)?,
            reach,
            ports: Ports::Only(ports),
            room: Arc::new(Semaphore::new(whole())),
        })
    }

    pub(crate) fn checked(&self, url: &str) -> Result<Url, AddressError> {
        outbound::checked(url, self.reach, &self.ports)
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// For one call each; held until what came of it is recorded.
    pub(crate) fn room(&self) -> Arc<Semaphore> {
        Arc::clone(&self.room)
    }

    /// Resolves when nothing is on its way from this process.
    pub async fn quiet(&self) {
        // A closed semaphore has nothing on its way either; it is never closed.
        let _ = self.room.acquire_many(WEBHOOK_SENDING_PER_PROCESS).await;
    }
}

fn whole() -> usize {
    usize::try_from(WEBHOOK_SENDING_PER_PROCESS).unwrap_or(usize::MAX)
}
