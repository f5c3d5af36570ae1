//! A typed HTTP client for the API. Every write carries an idempotency key, so that it can be
//! repeated after a connection failure and takes effect once. Retries, pauses and response sizes
//! are bounded. Each noun has a module; a [`LeaseKeepAlive`] keeps a lease alive during work.
//! Refusals are returned to the caller with everything the server said.

mod agents;
mod approvals;
mod audit;
mod delegations;
mod device;
mod error;
mod event_consumers;
mod events;
mod executions;
mod freezes;
mod inbound;
mod lease_keep_alive;
mod locks;
mod on_call;
mod overrides;
mod page;
mod pending_changes;
mod policies;
mod raw;
mod resources;
mod send;
mod settings;
mod sse;
mod stats;
mod stream;
mod submitted;
mod system;
mod tasks;
mod tokens;
mod transport;
mod users;
mod webhooks;

use std::fmt;
use std::time::Duration;

use ade_api::users::Me;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Url;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use agents::Agents;
pub use approvals::Approvals;
pub use audit::{Audit, AuditFilter};
pub use delegations::Delegations;
pub use device::Device;
pub use error::{Error, ProblemDetails};
pub use event_consumers::EventConsumers;
pub use events::{EventMessage, EventStream, Events, Wanted};
pub use executions::{Executions, LogMessage, LogStream};
pub use freezes::Freezes;
pub use inbound::InboundSources;
pub use lease_keep_alive::{KeepAliveStatus, LeaseKeepAlive, margin};
pub use locks::Locks;
pub use on_call::OnCall;
pub use overrides::Overrides;
pub use page::{Gathered, gather};
pub use pending_changes::PendingChanges;
pub use policies::Policies;
pub use raw::RawCall;
pub use resources::Resources;
pub use settings::Settings;
pub use stats::Stats;
pub use submitted::Submitted;
pub use system::System;
pub use tasks::{TaskFilter, Tasks, Waited};
pub use tokens::Tokens;
pub use transport::Answering;
pub use users::Users;
pub use webhooks::Webhooks;

use transport::Transport;

/// A client for one server and one token. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    server: Url,
    token: String,
}

/// Formats the client without its token.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    pub fn new(server: &str, token: &str) -> Result<Self, Error> {
        let server = address(server)?;
        Ok(Self { transport: Transport::network()?, server, token: token.to_owned() })
    }

    /// Returns a client without a token, for the calls that issue one.
    pub fn stranger(server: &str) -> Result<Self, Error> {
        Self::new(server, "")
    }

    /// Returns a client whose calls are answered within this process. Calls are not retried,
    /// because a retry would add load to the process that is short of capacity.
    pub fn within(server: &str, token: &str, answering: Answering) -> Result<Self, Error> {
        let server = address(server)?;
        Ok(Self { transport: Transport::InProcess(answering), server, token: token.to_owned() })
    }

    /// Returns the server URL without a trailing slash.
    pub fn server(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }

    /// Returns the hash of a named secret under a key that is derived from the token. Readers of
    /// the hash cannot find the secret by trying values; a holder of the token can verify it.
    pub fn keyed_hash(&self, name: &str, secret: &[u8]) -> [u8; 32] {
        let mut key = hmac::digest::Key::<Hmac<Sha256>>::default();
        for (slot, byte) in key.iter_mut().zip(Sha256::digest(self.token.as_bytes())) {
            *slot = byte;
        }
        let mac = Hmac::<Sha256>::new(&key);
        // The length keeps names and secrets apart.
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes();
        let mac = mac.chain_update(length).chain_update(name).chain_update(secret);
        mac.finalize().into_bytes().into()
    }

    pub async fn me(&self) -> Result<Me, Error> {
        self.read("/v1/me".to_owned()).await
    }

    pub fn agents(&self) -> Agents<'_> {
        Agents(self)
    }

    pub fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }

    pub fn audit(&self) -> Audit<'_> {
        Audit(self)
    }

    pub fn delegations(&self) -> Delegations<'_> {
        Delegations(self)
    }

    pub fn device(&self) -> Device<'_> {
        Device(self)
    }

    pub fn events(&self) -> Events<'_> {
        Events(self)
    }

    pub fn executions(&self) -> Executions<'_> {
        Executions(self)
    }

    pub fn freezes(&self) -> Freezes<'_> {
        Freezes(self)
    }

    pub fn locks(&self) -> Locks<'_> {
        Locks(self)
    }

    pub fn overrides(&self) -> Overrides<'_> {
        Overrides(self)
    }

    pub fn pending_changes(&self) -> PendingChanges<'_> {
        PendingChanges(self)
    }

    pub fn policies(&self) -> Policies<'_> {
        Policies(self)
    }

    pub fn resources(&self) -> Resources<'_> {
        Resources(self)
    }

    pub fn settings(&self) -> Settings<'_> {
        Settings(self)
    }

    pub fn stats(&self) -> Stats<'_> {
        Stats(self)
    }

    pub fn system(&self) -> System<'_> {
        System(self)
    }

    pub fn tasks(&self) -> Tasks<'_> {
        Tasks(self)
    }

    pub fn tokens(&self) -> Tokens<'_> {
        Tokens(self)
    }

    pub fn users(&self) -> Users<'_> {
        Users(self)
    }

    pub fn event_consumers(&self) -> EventConsumers<'_> {
        EventConsumers(self)
    }

    pub fn inbound_sources(&self) -> InboundSources<'_> {
        InboundSources(self)
    }

    pub fn on_call(&self) -> OnCall<'_> {
        OnCall(self)
    }

    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks(self)
    }
}

fn address(given: &str) -> Result<Url, Error> {
    let refused = || Error::Address { given: given.to_owned() };
    let url = Url::parse(given).map_err(|_| refused())?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if is_plain && is_web { Ok(url) } else { Err(refused()) }
}

/// Returns an enum value as the API spells it.
fn spelled(word: Option<impl Serialize>) -> Option<String> {
    match serde_json::to_value(word?) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Formats a wait for the API: whole seconds, up to the maximum.
fn seconds(wait: Duration) -> String {
    format!("{}s", wait.min(ade_core::limits::WAIT_MAX).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_address_must_be_http_without_credentials() {
        for good in ["http://127.0.0.1:7700", "https://ade.example.org/", "https://x/ade"] {
            assert!(Client::new(good, "t").is_ok(), "{good}");
        }
        for bad in ["", "ade.example.org", "ftp://x", "http://u:p@x", "http://x?y=1", "http://x#y"]
        {
            assert!(matches!(Client::new(bad, "t"), Err(Error::Address { .. })), "{bad}");
        }
    }

    #[test]
    fn token_is_absent_from_debug_output() {
        let client = Client::new("http://127.0.0.1:1/", "hunter2").unwrap();
        assert!(!format!("{client:?}").contains("hunter2"));
        assert_eq!(client.server(), "http://127.0.0.1:1");
    }

    #[test]
    fn wait_is_bounded_and_in_whole_seconds() {
        assert_eq!(seconds(Duration::from_millis(2_900)), "2s");
        assert_eq!(seconds(Duration::from_mins(9)), "55s");
    }
}
