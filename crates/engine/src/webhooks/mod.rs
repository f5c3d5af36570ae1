//! Webhooks: admins create, change and list endpoints; workers send deliveries. The sending rules
//! are in the core, their state is in PostgreSQL.

mod deliveries;
mod delivery;
mod dispatch;
mod dispatcher_worker;
mod endpoints;
mod pruner_worker;
mod sender_worker;
mod views;
mod workers;

pub use deliveries::{deliveries, ping, redeliver};
pub(crate) use delivery::take_up;
pub(crate) use dispatch::dispatch;
pub use endpoints::{change, create, delete, get, list, rotate};
pub(crate) use workers::{CONSUMERS, WORKERS};

use ade_core::ids::WebhookId;
use ade_store::{Tx, webhooks};

use crate::error::Error;

async fn known(tx: &mut Tx, id: WebhookId) -> Result<webhooks::Endpoint, Error> {
    webhooks::get(tx, id).await?.ok_or(Error::NotFound { what: "webhook" })
}
