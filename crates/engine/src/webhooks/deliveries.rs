//! Deliveries to an endpoint: listing, ping and redelivery.

use ade_api::webhooks::{Delivery, DeliveryState, Redelivered, Redelivery};
use ade_core::ids::{DeliveryId, EventId, WebhookId};
use ade_core::limits::WEBHOOK_REDELIVER_MAX;
use ade_core::webhook::{Circuit, PING};
use ade_store::events::Numbered;
use ade_store::webhooks::{self, NewDelivery};
use serde::Serialize;
use uuid::Uuid;

use super::known;
use super::views::shown_delivery;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::signed_endpoint::{begin, enter};
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;
use crate::services::event_hub::written;

/// Lists deliveries, newest first.
pub async fn deliveries(
    app: &App,
    caller: &Caller,
    id: WebhookId,
    state: Option<DeliveryState>,
    span: Span<DeliveryId>,
) -> Result<Paged<Delivery, DeliveryId>, Error> {
    let mut tx = enter(app, caller).await?;
    known(&mut tx, id).await?;
    let state = state.map(|state| match state {
        DeliveryState::Waiting => webhooks::DeliveryState::Waiting,
        DeliveryState::Pending => webhooks::DeliveryState::Pending,
        DeliveryState::Delivered => webhooks::DeliveryState::Delivered,
        DeliveryState::Dead => webhooks::DeliveryState::Dead,
    });
    let limit = span.limit.saturating_add(1);
    let found = webhooks::list_deliveries(&mut tx, id, state, span.after, limit).await?;
    let items = found.into_iter().map(shown_delivery).collect();
    Ok(paged(items, span.limit, |delivery: &Delivery| delivery.id))
}

/// Sends a harmless test event through the regular delivery.
pub async fn ping(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: WebhookId,
) -> Result<Reply, Error> {
    let mut act = begin(app, caller, attempt).await?;
    require_active(&mut act, id).await?;
    let delivery = DeliveryId::from_uuid(Uuid::now_v7());
    let ping = ping_of(&act, caller, id);
    let new = NewDelivery {
        id: delivery,
        endpoint: id,
        event_id: ping.id.to_string(),
        seq: None,
        kind: PING.to_owned(),
        object: delivery.to_string(),
        body: written(&ping),
        problem: None,
    };
    webhooks::queue_up(&mut act.tx).await?;
    webhooks::add(&mut act.tx, &[new]).await?;
    let made = webhooks::find(&mut act.tx, delivery).await?;
    let made = made.ok_or(Error::NotFound { what: "delivery" })?;
    go(act, id, "webhook.ping", &shown_delivery(made)).await
}

/// Redelivers ended deliveries, with all attempts available again. The receiver recognizes them by
/// their id.
pub async fn redeliver(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: WebhookId,
    wanted: Redelivery,
) -> Result<Reply, Error> {
    let most = usize::try_from(WEBHOOK_REDELIVER_MAX).unwrap_or(usize::MAX);
    let is_countable = |ids: &Vec<DeliveryId>| (1..=most).contains(&ids.len());
    if !wanted.delivery_ids.as_ref().is_none_or(is_countable) {
        return Err(Error::invalid("delivery_ids", format!("must be 1 to {most} entries")));
    }
    if wanted.delivery_ids.is_some() == wanted.dead_since.is_some() {
        let problem = "give either `deliveries` or `dead_since`";
        return Err(Error::invalid("delivery_ids", problem));
    }
    let mut act = begin(app, caller, attempt).await?;
    require_active(&mut act, id).await?;
    webhooks::queue_up(&mut act.tx).await?;
    let mut count = 0;
    if let Some(ids) = &wanted.delivery_ids {
        count = webhooks::redeliver(&mut act.tx, id, ids).await?;
    }
    if let Some(since) = wanted.dead_since {
        count = webhooks::redeliver_dead(&mut act.tx, id, since, WEBHOOK_REDELIVER_MAX).await?;
    }
    let has_more = wanted.dead_since.is_some() && count >= u64::from(WEBHOOK_REDELIVER_MAX);
    go(act, id, "webhook.redeliver", &Redelivered { count, has_more }).await
}

async fn require_active(act: &mut AdminCommand<'_>, id: WebhookId) -> Result<(), Error> {
    if known(&mut act.tx, id).await?.is_active() {
        return Ok(());
    }
    Err(Error::Closed { what: "webhook", why: "it is disabled; enable it first" })
}

/// Finishes a change for which a person waits: the circuit's pause ends, and the worker is woken.
async fn go(
    mut act: AdminCommand<'_>,
    id: WebhookId,
    action: &'static str,
    body: &impl Serialize,
) -> Result<Reply, Error> {
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    if circuit.open_until.is_some() {
        let tried = Circuit { open_until: None, ..circuit };
        webhooks::set_circuit(&mut act.tx, id, tried, None).await?;
    }
    let now = act.tx.now();
    webhooks::look_again(&mut act.tx, id, now).await?;
    let app = act.app();
    let reply = act.finish(AuditAction { object: id.to_string(), action }, 202, body).await?;
    app.wake.webhook_sender.notify_one();
    Ok(reply)
}

/// Returns the ping as an event in the usual envelope, without a sequence number.
fn ping_of(act: &AdminCommand<'_>, caller: &Caller, id: WebhookId) -> Numbered {
    Numbered {
        id: EventId::from_uuid(Uuid::now_v7()),
        tenant: caller.tenant,
        seq: 0,
        kind: PING.to_owned(),
        object: id.to_string(),
        version: None,
        actor: Some(caller.principal()),
        at: act.tx.now(),
        data: "{}".to_owned(),
    }
}
