//! Turns events into deliveries: one for each endpoint that has subscribed to the type. The cursor
//! advances in the transaction that writes the deliveries, so that no event is skipped or delivered
//! twice.

use std::collections::BTreeMap;

use ade_core::ids::{DeliveryId, WebhookId};
use ade_core::limits::{WEBHOOK_BACKLOG_MAX, WEBHOOK_ENDPOINTS_MAX};
use ade_core::webhook::Room;
use ade_store::Tx;
use ade_store::events::Numbered;
use ade_store::webhooks::{self, Endpoint, NewDelivery};
use uuid::Uuid;

use crate::error::Error;
use crate::services::event_hub::written;

const TOO_MUCH: &str = "the backlog of this endpoint is full";

/// Creates deliveries in the transaction that advances the cursor.
pub async fn dispatch(tx: &mut Tx, events: &[Numbered]) -> Result<(), Error> {
    webhooks::queue_up(tx).await?;
    let most = u32::try_from(WEBHOOK_ENDPOINTS_MAX).unwrap_or(u32::MAX);
    let endpoints = webhooks::listening(tx, most).await?;
    for (endpoint, new) in deliveries(tx, &endpoints, events).await? {
        webhooks::add(tx, &new).await?;
        look(tx, endpoint).await?;
    }
    Ok(())
}

async fn deliveries(
    tx: &mut Tx,
    endpoints: &[Endpoint],
    events: &[Numbered],
) -> Result<BTreeMap<WebhookId, Vec<NewDelivery>>, Error> {
    let mut made: BTreeMap<WebhookId, Vec<NewDelivery>> = BTreeMap::new();
    for endpoint in endpoints {
        let is_for = |event: &&Numbered| {
            endpoint.profile.events.wants(&event.kind) && event.at >= endpoint.active_since
        };
        let wanted: Vec<&Numbered> = events.iter().filter(is_for).collect();
        if wanted.is_empty() {
            continue;
        }
        let open = webhooks::open_count(tx, endpoint.id, WEBHOOK_BACKLOG_MAX).await?;
        let room = usize::try_from(WEBHOOK_BACKLOG_MAX.saturating_sub(open)).unwrap_or_default();
        let new = wanted.into_iter().enumerate().map(|(place, event)| NewDelivery {
            id: DeliveryId::from_uuid(Uuid::now_v7()),
            endpoint: endpoint.id,
            event_id: event.id.to_string(),
            seq: i64::try_from(event.seq).ok(),
            kind: event.kind.clone(),
            object: event.object.clone(),
            body: written(event),
            problem: (place >= room).then_some(TOO_MUCH),
        });
        made.insert(endpoint.id, new.collect());
    }
    Ok(made)
}

/// Schedules the next check of an endpoint, after the pause of its circuit.
async fn look(tx: &mut Tx, endpoint: WebhookId) -> Result<(), Error> {
    let now = tx.now();
    let rest_until = match webhooks::circuit(tx, endpoint).await?.room(now) {
        Room::Until(until) => until,
        Room::Free | Room::One => now,
    };
    webhooks::look_again(tx, endpoint, rest_until).await?;
    Ok(())
}
