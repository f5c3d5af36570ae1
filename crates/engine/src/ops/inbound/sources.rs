//! Sources: entered with a secret that is shown once, changed over the version that was read, and
//! given a new secret beside the old one.

use std::time::Duration;

use ade_api::inbound::{
    InboundRotation, InboundSecret, InboundSource, InboundSourceChange, NewInboundSource,
};
use ade_api::tasks::NewTask;
use ade_core::access::{Action, Object};
use ade_core::ids::{AgentId, InboundId, TenantId};
use ade_core::inbound::Template;
use ade_core::limits::{
    INBOUND_SOURCES_MAX, NAME_MAX_BYTES, PAGE_SIZE_MAX, WEBHOOK_OVERLAP_DEFAULT_HOURS,
    WEBHOOK_OVERLAP_MAX_HOURS,
};
use ade_core::time::Timestamp;
use ade_store::inbound::{self, Profile, Source};
use ade_store::{Tx, agents};
use serde_json::Value;
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::act::{self, Act, Begun, Deed, person};
use crate::ops::{Paged, Reply, Span, paged};
use crate::secret;

const HOUR: Duration = Duration::from_hours(1);

async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a Attempt,
) -> Result<Begun<'a>, Error> {
    Act::begin(app, caller, attempt, Some(Action::AdministerWebhook)).await
}

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewInboundSource,
) -> Result<Reply, Error> {
    let template = template_of(new.template)?;
    let label = label_of(new.label.unwrap_or_default())?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    check_agent(&mut act.tx, new.agent).await?;
    let most = u32::try_from(INBOUND_SOURCES_MAX).unwrap_or(u32::MAX);
    if inbound::list(&mut act.tx, None, most).await?.len() >= INBOUND_SOURCES_MAX {
        return Err(Error::TooMany { what: "inbound sources", most: INBOUND_SOURCES_MAX });
    }
    let id = InboundId::from_uuid(Uuid::now_v7());
    let profile = Profile { label, agent: new.agent, template, is_active: true };
    inbound::insert(&mut act.tx, id, &profile, &app.pepper.salt()?, person(caller)?).await?;
    finish_with_secret(act, id, "inbound.create", 201).await
}

/// Over the version the admin has read; another is a conflict.
pub async fn change(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: InboundId,
    expected: u64,
    change: InboundSourceChange,
) -> Result<Reply, Error> {
    if change == InboundSourceChange::default() {
        return Err(Error::invalid("body", "name at least one thing to change"));
    }
    let InboundSourceChange { label, agent, template, active } = change;
    let template = template.map(template_of).transpose()?;
    let label = label.map(label_of).transpose()?;
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let source = known(&mut act.tx, id).await?;
    if source.version != expected {
        return Err(Error::VersionMoved { expected, found: source.version });
    }
    if let Some(agent) = agent {
        check_agent(&mut act.tx, agent).await?;
    }
    let before = source.profile;
    let profile = Profile {
        label: label.unwrap_or(before.label),
        agent: agent.unwrap_or(before.agent),
        template: template.unwrap_or(before.template),
        is_active: active.unwrap_or(before.is_active),
    };
    inbound::update(&mut act.tx, id, expected, &profile).await?;
    let shown = shown(app, caller.tenant, known(&mut act.tx, id).await?, act.tx.now());
    act.finish(Deed { object: id.to_string(), action: "inbound.change" }, 200, &shown).await
}

pub async fn rotate(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: InboundId,
    rotation: InboundRotation,
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
    let source = known(&mut act.tx, id).await?;
    let until = act.tx.now().plus(HOUR.saturating_mul(hours));
    inbound::rotate(&mut act.tx, &source, &app.pepper.salt()?, until).await?;
    finish_with_secret(act, id, "inbound.rotate", 200).await
}

pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: InboundId,
) -> Result<Reply, Error> {
    let mut act = match begin(app, caller, attempt).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let source = known(&mut act.tx, id).await?;
    inbound::delete(&mut act.tx, id).await?;
    let shown = shown(app, caller.tenant, source, act.tx.now());
    act.finish(Deed { object: id.to_string(), action: "inbound.delete" }, 200, &shown).await
}

pub async fn get(app: &App, caller: &Caller, id: InboundId) -> Result<InboundSource, Error> {
    let mut tx = enter(app, caller).await?;
    let source = known(&mut tx, id).await?;
    Ok(shown(app, caller.tenant, source, tx.now()))
}

/// Newest first.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<InboundId>,
) -> Result<Paged<InboundSource, InboundId>, Error> {
    let mut tx = enter(app, caller).await?;
    let limit = span.limit.min(PAGE_SIZE_MAX).saturating_add(1);
    let found = inbound::list(&mut tx, span.after, limit).await?.into_iter();
    let items = found.map(|source| shown(app, caller.tenant, source, tx.now())).collect();
    Ok(paged(items, span.limit, |source: &InboundSource| source.id))
}

/// For reading, by those who may; who may not is noted.
async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    Ok(act::enter(app, caller, Action::ReadWebhook, Object::Tenant).await?.0)
}

async fn known(tx: &mut Tx, id: InboundId) -> Result<Source, Error> {
    inbound::get(tx, id).await?.ok_or(Error::NotFound { what: "inbound source" })
}

async fn check_agent(tx: &mut Tx, agent: AgentId) -> Result<(), Error> {
    let found = agents::get(tx, agent).await?;
    if found.is_none_or(|agent| agent.revoked_at.is_some()) {
        return Err(Error::invalid("agent", "there is no such agent"));
    }
    Ok(())
}

/// One that can become a task, whatever stands in its places.
fn template_of(document: Value) -> Result<Template, Error> {
    let template = Template::new(document).map_err(|error| Error::invalid("template", error))?;
    let sample = serde_json::from_value::<NewTask>(template.sample());
    sample.map_err(|error| Error::invalid("template", format!("it is no task: {error}")))?;
    Ok(template)
}

fn label_of(label: String) -> Result<String, Error> {
    if label.len() > NAME_MAX_BYTES || label.chars().any(char::is_control) {
        let problem = format!("at most {NAME_MAX_BYTES} bytes, without control characters");
        return Err(Error::invalid("label", problem));
    }
    Ok(label)
}

async fn finish_with_secret(
    mut act: Act<'_>,
    id: InboundId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let source = known(&mut act.tx, id).await?;
    let tenant = act.tx.tenant();
    let key = act.app().pepper.inbound_key(tenant, id, &source.salt);
    let about = shown(act.app(), tenant, source, act.tx.now());
    let kept = InboundSecret { about: about.clone(), secret: None };
    let issued = InboundSecret { about, secret: key.map(|key| secret::standard(&key)) };
    let deed = Deed { object: id.to_string(), action };
    act.finish_with_secret(deed, status, &kept, &issued).await
}

fn shown(app: &App, tenant: TenantId, source: Source, now: Timestamp) -> InboundSource {
    let Source { id, profile, salt, old_salt, version, created_by, .. } = source;
    let Source { created_at, changed_at, .. } = source;
    InboundSource {
        id,
        path: format!("/v1/inbound/{tenant}/{id}"),
        label: Some(profile.label).filter(|label| !label.is_empty()),
        agent: profile.agent,
        template: profile.template.document().clone(),
        active: profile.is_active,
        old_secret_until: old_salt.map(|(_, until)| until).filter(|until| now < *until),
        secret_is_old: app.pepper.is_old(&salt),
        version,
        created_by,
        created_at,
        changed_at,
    }
}
