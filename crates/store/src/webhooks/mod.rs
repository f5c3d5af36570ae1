//! Webhook endpoints, their health, and their deliveries. Which deliveries are sent, and in which
//! order, is decided in `queue`.

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
    Endpoint, EndpointProfile, EndpointState, Scheme, count, delete, disable, get, insert, list,
    listening, rotate, update,
};
pub use queue::{
    Claimed, DeliveryOutcome, Health, Recorded, Sending, bury_old, claim, health, look_again,
    record, release_silent, sending,
};
pub use reading::{pass_over_unheard, tenants_to_tell};

use crate::error::StoreError;
use crate::tx::Tx;

/// The job kind in `due`: an endpoint for which something may have to be sent.
pub const SEND: &str = "send_webhook";

/// Takes the queue lock of the tenant. One transaction at a time decides what is sent next, because
/// places and limits are counted. The lock is held for a statement or two, never while sending.
pub async fn queue_up(tx: &mut Tx) -> Result<(), StoreError> {
    let query =
        sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('webhooks ' || $1::text, 0))");
    tx.write_beside(query.bind(tx.tenant().uuid())).await?;
    Ok(())
}
