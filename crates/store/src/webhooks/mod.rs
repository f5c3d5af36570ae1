//! Endpoints that hear of events, how each of them does, and what is on its way to them. Which
//! deliveries go out, and in which order, is in `deliveries`.

mod circuits;
mod deliveries;
mod endpoints;
mod queue;
mod reading;

pub use circuits::{Failing, circuit, circuits, failing, set_circuit};
pub use deliveries::{
    Delivery, DeliveryState, NewDelivery, add, find, list_deliveries, open_count, prune, redeliver,
    redeliver_dead, tenants_to_prune,
};
pub use endpoints::{
    Endpoint, EndpointState, Profile, Salt, Scheme, count, delete, disable, get, insert, list,
    listening, rotate, update,
};
pub use queue::{
    Claimed, Ended, Health, Recorded, Sending, bury_old, claim, health, look_again, record,
    release_silent, sending,
};
pub use reading::{pass_over_unheard, tenants_to_tell};

use crate::error::Error;
use crate::tx::Tx;

/// What a worker looks for in `due`: an endpoint for which something may have to be sent.
pub const SEND: &str = "send_webhook";

/// One at a time decides in a tenant what is sent next: places in line and bounds are counted, and
/// two who count at once would both be wrong. Held for a statement or two, never while sending.
pub async fn queue_up(tx: &mut Tx) -> Result<(), Error> {
    let query =
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || $1::text, 0))");
    tx.write_beside(query.bind(tx.tenant().uuid())).await?;
    Ok(())
}
