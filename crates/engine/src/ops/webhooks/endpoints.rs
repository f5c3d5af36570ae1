//! Endpoints: entered with a secret that is shown once, changed over the version that was read,
//! and given a new secret beside the old one.

use std::time::Duration;

use ade_api::webhooks::{
    NewWebhook, Webhook, WebhookChange, WebhookRotation, WebhookScheme, WebhookSecret,
};
use ade_core::ids::WebhookId;
use ade_core::limits::{
    NAME_MAX_BYTES, WEBHOOK_ENDPOINTS_MAX, WEBHOOK_OVERLAP_DEFAULT_HOURS,
    WEBHOOK_OVERLAP_MAX_HOURS, WEBHOOK_URL_MAX_BYTES,
};
use ade_core::webhook::{Circuit, Subscription};
use ade_store::due;
use ade_store::webhooks::{self, Endpoint, EndpointState, Profile, SEND, Scheme};
use uuid::Uuid;

use super::show::shown;
use super::{begin, enter, known};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::act::{Act, Begun, Deed, person};
use crate::ops::{Paged, Reply, Span, paged};
use crate::webhooks::Key;

/// Why an admin's own word disables it.
const BY_ADMIN: &str = "an admin has disabled it";
const HOUR: Duration = Duration::from_hours(1);

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewWebhook,
) -> Result<Reply, Error> {
    let scheme = match new.scheme {
        WebhookScheme::V1 => Scheme::V1,
        WebhookScheme::V1a => Scheme::V1a,
    };
    let profile = Profile {
        url: url_of(app, new.url)?,
        label: label_of(new.label.unwrap_or_default())?,
        events: events_of(&new.events)?,
    };
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    if webhooks::count(&mut act.tx).await? >= WEBHOOK_ENDPOINTS_MAX {
        return Err(Error::TooMany { what: "webhooks", most: WEBHOOK_ENDPOINTS_MAX });
    }
    let id = WebhookId::from_uuid(Uuid::now_v7());
    let salt = app.pepper.salt()?;
    webhooks::insert(&mut act.tx, id, &profile, scheme, &salt, person(caller)?).await?;
    finish_with_secret(act, id, "webhook.create", 201).await
}

/// Over the version the admin has read; another is a conflict.
pub async fn change(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: WebhookId,
    expected: u64,
    change: WebhookChange,
) -> Result<Reply, Error> {
    if change == WebhookChange::default() {
        return Err(Error::invalid("body", "name at least one thing to change"));
    }
    let WebhookChange { url, events, label, active } = change;
    let url = url.map(|url| url_of(app, url)).transpose()?;
    let events = events.map(|events| events_of(&events)).transpose()?;
    let label = label.map(label_of).transpose()?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let endpoint = known(&mut act.tx, id).await?;
    if endpoint.version != expected {
        return Err(Error::VersionMoved { expected, found: endpoint.version });
    }
    // Elsewhere nobody has failed yet.
    let is_elsewhere = url.as_ref().is_some_and(|url| *url != endpoint.profile.url);
    let profile = Profile {
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

/// What waits goes out as soon as the endpoint is there, and not before.
async fn wake(act: &mut Act<'_>, id: WebhookId, state: &EndpointState) -> Result<(), Error> {
    match state {
        EndpointState::Active => {
            let now = act.tx.now();
            webhooks::look_again(&mut act.tx, id, now).await?;
        }
        EndpointState::Disabled { .. } => {
            due::clear(&mut act.tx, SEND, id.uuid()).await?;
        }
    }
    Ok(())
}

pub async fn rotate(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: WebhookId,
    rotation: WebhookRotation,
) -> Result<Reply, Error> {
    let hours = rotation.overlap_hours.unwrap_or(WEBHOOK_OVERLAP_DEFAULT_HOURS);
    if hours > WEBHOOK_OVERLAP_MAX_HOURS {
        let problem = format!("at most {WEBHOOK_OVERLAP_MAX_HOURS}");
        return Err(Error::invalid("overlap_hours", problem));
    }
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let endpoint = known(&mut act.tx, id).await?;
    let until = act.tx.now().plus(HOUR.saturating_mul(hours));
    webhooks::rotate(&mut act.tx, &endpoint, &app.pepper.salt()?, until).await?;
    finish_with_secret(act, id, "webhook.rotate", 200).await
}

pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: WebhookId,
) -> Result<Reply, Error> {
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let endpoint = known(&mut act.tx, id).await?;
    webhooks::delete(&mut act.tx, id).await?;
    due::clear(&mut act.tx, SEND, id.uuid()).await?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let shown = shown(app, &act.tx, endpoint, circuit)?;
    act.finish(Deed { object: id.to_string(), action: "webhook.delete" }, 200, &shown).await
}

pub async fn get(app: &App, caller: &Caller, id: WebhookId) -> Result<Webhook, Error> {
    let mut tx = enter(app, caller).await?;
    let endpoint = known(&mut tx, id).await?;
    let circuit = webhooks::circuit(&mut tx, id).await?;
    shown(app, &tx, endpoint, circuit)
}

/// Newest first.
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

async fn finish(mut act: Act<'_>, id: WebhookId, action: &'static str) -> Result<Reply, Error> {
    let endpoint = known(&mut act.tx, id).await?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let shown = shown(act.app(), &act.tx, endpoint, circuit)?;
    act.finish(Deed { object: id.to_string(), action }, 200, &shown).await
}

async fn finish_with_secret(
    mut act: Act<'_>,
    id: WebhookId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let endpoint: Endpoint = known(&mut act.tx, id).await?;
    let key = Key::new(&act.app().pepper, act.tx.tenant(), &endpoint, &endpoint.salt)?;
    let circuit = webhooks::circuit(&mut act.tx, id).await?;
    let about = shown(act.app(), &act.tx, endpoint, circuit)?;
    let kept = WebhookSecret { about: about.clone(), secret: None };
    let issued = WebhookSecret { about, secret: key.secret() };
    let deed = Deed { object: id.to_string(), action };
    act.finish_with_secret(deed, status, &kept, &issued).await
}

/// As it was given, once it is known that it may be called.
fn url_of(app: &App, url: String) -> Result<String, Error> {
    if url.len() > WEBHOOK_URL_MAX_BYTES {
        return Err(Error::invalid("url", format!("at most {WEBHOOK_URL_MAX_BYTES} bytes")));
    }
    app.webhooks.checked(&url).map_err(|error| Error::invalid("url", error))?;
    Ok(url)
}

fn events_of(events: &[String]) -> Result<Subscription, Error> {
    Subscription::new(events).map_err(|error| Error::invalid("events", error))
}

fn label_of(label: String) -> Result<String, Error> {
    if label.len() > NAME_MAX_BYTES || label.chars().any(char::is_control) {
        let problem = format!("at most {NAME_MAX_BYTES} bytes, without control characters");
        return Err(Error::invalid("label", problem));
    }
    Ok(label)
}
