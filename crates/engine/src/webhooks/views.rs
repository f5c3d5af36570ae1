//! Converts endpoints and deliveries to wire types. They contain no secret.

use ade_api::webhooks::{Delivery, DeliveryState, Webhook, WebhookScheme};
use ade_core::webhook::{Circuit, PING, Room};
use ade_store::Tx;
use ade_store::webhooks::{self, Endpoint, EndpointState, Scheme};

use crate::app::App;
use crate::command::signed_endpoint::old_secret_until;
use crate::error::Error;
use crate::services::webhook_client::SigningKey;

pub fn shown(app: &App, tx: &Tx, endpoint: Endpoint, circuit: Circuit) -> Result<Webhook, Error> {
    let now = tx.now();
    let public_key = SigningKey::new(&app.pepper, tx.tenant(), &endpoint, &endpoint.salt)?.public();
    let (active, disabled_because) = match endpoint.state {
        EndpointState::Active => (true, None),
        EndpointState::Disabled { reason } => (false, Some(reason)),
    };
    let resting_until = match circuit.room(now) {
        Room::Until(until) => Some(until),
        Room::Free | Room::One => None,
    };
    Ok(Webhook {
        id: endpoint.id,
        url: endpoint.profile.url,
        events: endpoint.profile.events.texts(),
        label: Some(endpoint.profile.label).filter(|label| !label.is_empty()),
        scheme: match endpoint.scheme {
            Scheme::V1 => WebhookScheme::V1,
            Scheme::V1a => WebhookScheme::V1a,
        },
        public_key,
        old_secret_until: old_secret_until(endpoint.old_salt, now),
        secret_is_old: app.pepper.is_old(&endpoint.salt),
        active,
        disabled_because,
        failures: circuit.failures,
        resting_until,
        version: endpoint.version,
        created_by: endpoint.created_by,
        created_at: endpoint.created_at,
        changed_at: endpoint.changed_at,
    })
}

pub fn shown_delivery(delivery: webhooks::Delivery) -> Delivery {
    let state = match delivery.state {
        webhooks::DeliveryState::Waiting => DeliveryState::Waiting,
        webhooks::DeliveryState::Pending => DeliveryState::Pending,
        webhooks::DeliveryState::Delivered => DeliveryState::Delivered,
        webhooks::DeliveryState::Dead => DeliveryState::Dead,
    };
    Delivery {
        id: delivery.id,
        event_id: delivery.event_id,
        seq: delivery.seq,
        // A ping is not about an object; its stored one only separates it from other deliveries.
        object: Some(delivery.object).filter(|_| delivery.kind != PING),
        kind: delivery.kind,
        state,
        tries: delivery.tries,
        next_at: (state == DeliveryState::Pending).then_some(delivery.next_at),
        status: delivery.status,
        excerpt: delivery.excerpt,
        problem: delivery.problem,
        created_at: delivery.created_at,
        tried_at: delivery.tried_at,
        ended_at: delivery.ended_at,
    }
}
