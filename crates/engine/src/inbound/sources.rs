//! Sources of inbound events. A source is created with a secret that is shown once; changes are
//! based on the version that was read, and a rotation adds a new secret next to the old one.

use ade_api::inbound::{
    InboundRotation, InboundSecret, InboundSource, InboundSourceChange, NewInboundSource,
};
use ade_api::tasks::NewTask;
use ade_core::ids::{AgentId, InboundId, TenantId};
use ade_core::inbound::Template;
use ade_core::limits::{INBOUND_SOURCES_MAX, PAGE_SIZE_MAX};
use ade_core::time::Timestamp;
use ade_store::inbound::{self, Source, SourceProfile};
use ade_store::{Tx, agents};
use serde_json::Value;
use uuid::Uuid;

use super::check_type;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::person;
use crate::command::signed_endpoint::{
    begin, check_version, enter, label_of, old_secret_until, overlap_of,
};
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;
use crate::services::secrets;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewInboundSource,
) -> Result<Reply, Error> {
    let template = template_of(app, new.template)?;
    let label = label_of(new.label.unwrap_or_default())?;
    let mut act = begin(app, caller, attempt).await?;
    check_agent(&mut act.tx, new.agent_id).await?;
    let most = u32::try_from(INBOUND_SOURCES_MAX).unwrap_or(u32::MAX);
    if inbound::list(&mut act.tx, None, most).await?.len() >= INBOUND_SOURCES_MAX {
        return Err(Error::TooMany { what: "inbound sources", most: INBOUND_SOURCES_MAX });
    }
    let id = InboundId::from_uuid(Uuid::now_v7());
    let profile = SourceProfile { label, agent: new.agent_id, template, is_active: true };
    inbound::insert(&mut act.tx, id, &profile, &app.pepper.salt()?, person(caller)?).await?;
    finish_with_secret(act, id, "inbound.create", 201).await
}

/// Changes a source; it is a conflict if the current version is not the one that was read.
pub async fn change(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: InboundId,
    expected: u64,
    change: InboundSourceChange,
) -> Result<Reply, Error> {
    if change == InboundSourceChange::default() {
        return Err(Error::invalid("body", "give at least one field to change"));
    }
    let InboundSourceChange { label, agent_id, template, active } = change;
    let template = template.map(|document| template_of(app, document)).transpose()?;
    let label = label.map(label_of).transpose()?;
    let mut act = begin(app, caller, attempt).await?;
    let source = known(&mut act.tx, id).await?;
    check_version(source.version, expected)?;
    if let Some(agent) = agent_id {
        check_agent(&mut act.tx, agent).await?;
    }
    let before = source.profile;
    let profile = SourceProfile {
        label: label.unwrap_or(before.label),
        agent: agent_id.unwrap_or(before.agent),
        template: template.unwrap_or(before.template),
        is_active: active.unwrap_or(before.is_active),
    };
    inbound::update(&mut act.tx, id, expected, &profile).await?;
    let shown = shown(app, caller.tenant, known(&mut act.tx, id).await?, act.tx.now());
    act.finish(AuditAction { object: id.to_string(), action: "inbound.change" }, 200, &shown).await
}

pub async fn rotate(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: InboundId,
    rotation: InboundRotation,
) -> Result<Reply, Error> {
    let overlap = overlap_of(rotation.overlap_seconds)?;
    let mut act = begin(app, caller, attempt).await?;
    let source = known(&mut act.tx, id).await?;
    let until = act.tx.now().plus(overlap);
    inbound::rotate(&mut act.tx, &source, &app.pepper.salt()?, until).await?;
    finish_with_secret(act, id, "inbound.rotate", 200).await
}

pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: InboundId,
) -> Result<Reply, Error> {
    let mut act = begin(app, caller, attempt).await?;
    let source = known(&mut act.tx, id).await?;
    inbound::delete(&mut act.tx, id).await?;
    let shown = shown(app, caller.tenant, source, act.tx.now());
    act.finish(AuditAction { object: id.to_string(), action: "inbound.delete" }, 200, &shown).await
}

pub async fn get(app: &App, caller: &Caller, id: InboundId) -> Result<InboundSource, Error> {
    let mut tx = enter(app, caller).await?;
    let source = known(&mut tx, id).await?;
    Ok(shown(app, caller.tenant, source, tx.now()))
}

/// Lists sources, newest first.
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

async fn known(tx: &mut Tx, id: InboundId) -> Result<Source, Error> {
    inbound::get(tx, id).await?.ok_or(Error::NotFound { what: "inbound source" })
}

async fn check_agent(tx: &mut Tx, agent: AgentId) -> Result<(), Error> {
    let found = agents::get(tx, agent).await?;
    if found.is_none_or(|agent| agent.revoked_at.is_some()) {
        return Err(Error::invalid("agent_id", "no such agent"));
    }
    Ok(())
}

/// Reads a template, and checks that it can produce a task whatever the message contains.
fn template_of(app: &App, document: Value) -> Result<Template, Error> {
    let template = Template::new(document).map_err(|error| Error::invalid("template", error))?;
    let sample = serde_json::from_value::<NewTask>(template.sample());
    let sample = sample.map_err(|error| {
        Error::invalid("template", format!("the template does not produce a valid task: {error}"))
    })?;
    check_type(app, "template", &sample)?;
    Ok(template)
}

async fn finish_with_secret(
    mut act: AdminCommand<'_>,
    id: InboundId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let source = known(&mut act.tx, id).await?;
    let tenant = act.tx.tenant();
    let key = act.app().pepper.inbound_key(tenant, id, &source.salt);
    let about = shown(act.app(), tenant, source, act.tx.now());
    let kept = InboundSecret { about: about.clone(), secret: None };
    let issued = InboundSecret { about, secret: key.map(|key| secrets::standard(&key)) };
    let action = AuditAction { object: id.to_string(), action };
    act.finish_with_secret(action, status, &kept, &issued).await
}

fn shown(app: &App, tenant: TenantId, source: Source, now: Timestamp) -> InboundSource {
    let Source { id, profile, salt, old_salt, version, created_by, .. } = source;
    let Source { created_at, changed_at, .. } = source;
    InboundSource {
        id,
        path: format!("/v1/inbound/{tenant}/{id}"),
        label: Some(profile.label).filter(|label| !label.is_empty()),
        agent_id: profile.agent,
        template: profile.template.document().clone(),
        active: profile.is_active,
        old_secret_until: old_secret_until(old_salt, now),
        secret_is_old: app.pepper.is_old(&salt),
        version,
        created_by,
        created_at,
        changed_at,
    }
}
