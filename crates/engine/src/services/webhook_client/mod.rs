//! Webhook requests: signing and sending. The schedule of deliveries is stored in PostgreSQL; this
//! process only has connections and a limit on concurrent calls.

mod send;
mod sign;

use std::sync::Arc;

use ade_core::limits::{WEBHOOK_CONNECT_TIMEOUT, WEBHOOK_IDLE_TIMEOUT};
use reqwest::{Client, Url};
use tokio::sync::Semaphore;

pub use send::seconds;
pub(crate) use send::{SendResult, WebhookRequest, send};
pub(crate) use sign::{SigningKey, keys_of};

use crate::services::outbound::{self, AddressError, AddressPolicy, Connecting, Lookup, Ports};

/// The maximum number of concurrent deliveries in one process, for all tenants.
const WEBHOOK_SENDING_PER_PROCESS: u32 = 128;

#[derive(Debug)]
pub struct Webhooks {
    client: Client,
    reach: AddressPolicy,
    ports: Ports,
    room: Arc<Semaphore>,
}

impl Webhooks {
    /// Creates the client. `ports` are the ports of the open network that may be called.
    pub fn new(
        reach: AddressPolicy,
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

    /// Returns the limit on concurrent calls; a permit is held until the result is recorded.
    pub(crate) fn room(&self) -> Arc<Semaphore> {
        Arc::clone(&self.room)
    }

    /// Resolves when this process has no deliveries in progress.
    pub async fn quiet(&self) {
        // The semaphore is never closed; a closed one would have no deliveries in progress either.
        let _ = self.room.acquire_many(WEBHOOK_SENDING_PER_PROCESS).await;
    }
}

fn whole() -> usize {
    usize::try_from(WEBHOOK_SENDING_PER_PROCESS).unwrap_or(usize::MAX)
}
