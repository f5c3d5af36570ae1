//! Webhook endpoints. An endpoint is created with a secret that is shown once; changes are based on
//! the version that was read, and a rotation adds a new secret next to the old one.

use ade_api::webhooks::{
    NewWebhook, Webhook, WebhookChange, WebhookRotation, WebhookScheme, WebhookSecret,
};
use ade_core::ids::WebhookId;
use ade_core::limits::{WEBHOOK_ENDPOINTS_MAX, WEBHOOK_URL_MAX_BYTES};
use ade_core::webhook::{Circuit, Subscription};
use ade_store::scheduled_jobs;
use ade_store::webhooks::{self, Endpoint, EndpointProfile, EndpointState, SEND, Scheme};
use uuid::Uuid;

use super::known;
use super::views::shown;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::person;
use crate::command::signed_endpoint::{begin, check_version, enter, label_of, overlap_of};
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;
use crate::services::webhook_client::SigningKey;

/// The reason shown for an endpoint that an admin has disabled.
const BY_ADMIN: &str = "disabled by an admin";

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewWebhook,
) -> Result<Reply, Error> {
    let scheme = match new.scheme {
        WebhookScheme::V1 => Scheme::V1,
        WebhookScheme::V1a => Scheme::V1a,
    };
    let profile = EndpointProfile {
        url: url_of(app, new.url)?,
        label: label_of(new.label.unwrap_or_default())?,
        events: events_of(&new.events)?,
    };
    let mut act = begin(app, caller, attempt).await?;
    if webhooks::count(&mut act.tx).await? >= WEBHOOK_ENDPOINTS_MAX {
        return Err(Error::TooMany { what: "webhooks", most: WEBHOOK_ENDPOINTS_MAX });
    }
    let id = WebhookId::from_uuid(Uuid::now_v7());
    let salt = app.pepper.salt()?;
    webhooks::insert(&mut act.tx, id, &profile, scheme, &salt, person(caller)?).await?;
    finish_with_secret(act, id, "webhook.create", 201).await
}

/// Changes an endpoint; it is a conflict if the current version is not the one that was read.
pub async fn change(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: WebhookId,
    expected: u64,
    change: WebhookChange,
) -> Result<Reply, Error> {
    if change == WebhookChange::default() {
        return Err(Error::invalid("body", "give at least one field to change"));
    }
    let WebhookChange { url, events, label, active } = change;
    let url = url.map(|url| url_of(app, url)).transpose()?;
    let events = events.map(|events| events_of(&events)).transpose()?;
    let label = label.map(label_of).transpose()?;
    let mut act = begin(app, caller, attempt).await?;
    let endpoint = known(&mut act.tx, id).await?;
    check_version(endpoint.version, expected)?;
    // A new URL has not failed yet.
    let is_elsewhere = url.as_ref().is_some_and(|url| *url != endpoint.profile.url);
    let profile = EndpointProfile {
        url: url.unwrap_or(endpoint.profile.url),
        label: label.unwrap_or(endpoint.profile.label),
        events: events.unwrap_or(endpoint.profile.events),
    };
    let state = match (active, endpoint.state) {
        (Some(true), _) => EndpointState::Active,
        (Some(false), EndpointState::Active) => {
            EndpointState::Disabled { reason: BY_ADMIN.to_owned() }
        }
        (None | Some(false), state) => state,
    };
    webhooks::update(&mut act.tx, id, expected, &profile, &state).await?;
    if is_elsewhere || active == Some(true) {
        webhooks::set_circuit(&mut act.tx, id, Circuit::default(), None).await?;
    }
    wake(&mut act, id, &state).await?;
    finish(act, id, "webhook.change").await
}

/// Schedules waiting deliveries once the endpoint is active, and not before.
async fn wake(
    act: &mut AdminCommand<'_>,
    id: WebhookId,
    state: &EndpointState,
) -> Result<(), Error> {
    match state {
        EndpointState::Active => {
            let now = act.tx.now();
            webhooks::look_again(&mut act.tx, id, now).await?;
        }
        EndpointState::Disabled { .. } => {
            scheduled_jobs::clear(&mut act.tx, SEND, id.uuid()).await?;
        }
    }
    Ok(())
}

pub async fn rotate(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: WebhookId,
    rotation: WebhookRotation,
) -> Result<Reply, Error> {
    let overlap = overlap_of(rotation.overlap_seconds)?;
    let mut act = begin(app, caller, attempt).await?;
    let endpoint = known(&mut act.tx, id).await?;
    let until = act.tx.now().plus(overlap);
    webhooks::rotate(&mut act.tx, &endpoint, &app.pepper.salt()?, until).await?;
    finish_with_secret(act, id, "webhook.rotate", 200).await
}

pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: WebhookId,
) -> Result<Reply, Error> {
    let mut act = begin(app, caller, attempt).await?;
    let endpoint = known(&mut act.tx, id).await?;
    webhooks::delete(&mut act.tx, id).await?;
    scheduled_jobs::clear(&mut act.tx, SEND, id.uuid()).await?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let shown = shown(app, &act.tx, endpoint, circuit)?;
    act.finish(AuditAction { object: id.to_string(), action: "webhook.delete" }, 200, &shown).await
}

pub async fn get(app: &App, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
    let mut tx = enter(app, caller).await?;
    let endpoint = known(&mut tx, id).await?;
    let circuit = webhooks::circuit(&mut tx, id).await?;
    shown(app, &tx, endpoint, circuit)
}

/// Lists endpoints, newest first.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<WebhookId>,
) -> Result<Paged<Webhook, WebhookId>, Error> {
    let mut tx = enter(app, caller).await?;
    let found = webhooks::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    let circuits = webhooks::circuits(&mut tx).await?;
    let mut items = Vec::new();
    for endpoint in found {
        let circuit = circuits.get(&endpoint.id).copied().unwrap_or_default();
        items.push(shown(app, &tx, endpoint, circuit)?);
    }
    Ok(paged(items, span.limit, |webhook: &Webhook| webhook.id))
}

async fn finish(
    mut act: AdminCommand<'_>,
    id: WebhookId,
    action: &'static str,
) -> Result<Reply, Error> {
    let endpoint = known(&mut act.tx, id).await?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let shown = shown(act.app(), &act.tx, endpoint, circuit)?;
    act.finish(AuditAction { object: id.to_string(), action }, 200, &shown).await
}

async fn finish_with_secret(
    mut act: AdminCommand<'_>,
    id: WebhookId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let endpoint: Endpoint = known(&mut act.tx, id).await?;
    let key = SigningKey::new(&act.app().pepper, act.tx.tenant(), &endpoint, &endpoint.salt)?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let about = shown(act.app(), &act.tx, endpoint, circuit)?;
    let kept = WebhookSecret { about: about.clone(), secret: None };
    let issued = WebhookSecret { about, secret: key.secret() };
    let action = AuditAction { object: id.to_string(), action };
    act.finish_with_secret(action, status, &kept, &issued).await
}

/// Checks that the URL may be called, and returns it unchanged.
fn url_of(app: &App, url: String) -> Result<String, Error> {
    if url.len() > WEBHOOK_URL_MAX_BYTES {
        return Err(Error::invalid(
            "url",
            format!("must be at most {WEBHOOK_URL_MAX_BYTES} bytes"),
        ));
    }
    app.webhooks.checked(&url).map_err(|error| Error::invalid("url", error))?;
    Ok(url)
}

fn events_of(events: &[String]) -> Result<Subscription, Error> {
    Subscription::new(events).map_err(|error| Error::invalid("events", error))
}
