//! Freezes: set and lifted by operators, behind the closed gate, so that no permit slips past.

use ade_api::freezes::{Freeze, FreezeScope, NewFreeze};
use ade_core::access::Action;
use ade_core::event::EventKind;
use ade_core::freeze::{self, Scope};
use ade_core::ids::FreezeId;
use ade_core::limits::NAME_MAX_BYTES;
use ade_core::policy::Pattern;
use ade_core::time::Timestamp;
use ade_store::freezes::{self, Kept};
use ade_store::outbox;
use serde_json::json;
use uuid::Uuid;

use super::act::{Act, Begun, Deed, look, person};
use super::{Paged, Reply, Span, check_reason, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewFreeze,
) -> Result<Reply, Error> {
    let scope = scope_of(&new)?;
    check_reason("reason", Some(&new.reason))?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::SetFreeze)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    if new.ends_at.is_some_and(|end| end <= act.tx.now()) {
        return Err(Error::invalid("ends_at", "it is over already"));
    }
    let id = FreezeId::from_uuid(Uuid::now_v7());
    let set_by = person(caller)?;
    let made = freeze::Freeze { id, scope, reason: new.reason, set_by, ends_at: new.ends_at };
    freezes::insert(&mut act.tx, &made).await?;
    finish(act, id, ("freeze.set", EventKind::FreezeSet), 201).await
}

pub async fn lift(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: FreezeId,
) -> Result<Reply, Error> {
    let mut act = match Act::begin(app, caller, attempt, Some(Action::LiftFreeze)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let known = freezes::get(&mut act.tx, id).await?;
    let known = known.ok_or(Error::NotFound { what: "freeze" })?;
    if known.lifted_at.is_some() {
        return Err(Error::Closed { what: "freeze", why: "it was lifted" });
    }
    freezes::lift(&mut act.tx, id, person(caller)?).await?;
    finish(act, id, ("freeze.lift", EventKind::FreezeLifted), 200).await
}

/// Newest first, lifted ones too.
pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<FreezeId>,
) -> Result<Paged<Freeze, FreezeId>, Error> {
    let mut tx = look(app, caller).await?;
    let now = tx.now();
    let found = freezes::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    let items = found.into_iter().map(|kept| shown(kept, now)).collect();
    Ok(paged(items, span.limit, |freeze: &Freeze| freeze.id))
}

async fn finish(
    mut act: Act<'_>,
    id: FreezeId,
    (action, kind): (&'static str, EventKind),
    status: u16,
) -> Result<Reply, Error> {
    let kept = freezes::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "freeze" })?;
    let shown = shown(kept, act.tx.now());
    let payload = json!({ "scope": shown.scope, "target": shown.target, "ends_at": shown.ends_at });
    let told = outbox::Event { kind, object: id.to_string(), version: None, payload };
    outbox::append(&mut act.tx, &[told]).await?;
    act.finish(Deed { object: id.to_string(), action }, status, &shown).await
}

fn scope_of(new: &NewFreeze) -> Result<Scope, Error> {
    match (new.scope, &new.target) {
        (FreezeScope::Tenant, None) => Ok(Scope::Tenant),
        (FreezeScope::Tenant, Some(_)) => {
            Err(Error::invalid("target", "the whole tenant has none"))
        }
        (FreezeScope::Environment, Some(name))
            if !name.trim().is_empty() && name.len() <= NAME_MAX_BYTES =>
        {
            Ok(Scope::Environment(name.clone()))
        }
        (FreezeScope::Resources, Some(pattern)) => Pattern::new(pattern)
            .map(Scope::Resources)
            .map_err(|error| Error::invalid("target", error)),
        (FreezeScope::Environment | FreezeScope::Resources, _) => {
            Err(Error::invalid("target", "name the environment or the pattern"))
        }
    }
}

fn shown(kept: Kept, now: Timestamp) -> Freeze {
    let in_force = kept.lifted_at.is_none() && kept.ends_at.is_none_or(|end| now < end);
    Freeze {
        id: kept.id,
        scope: kept.scope,
        target: kept.target,
        reason: kept.reason,
        in_force,
        set_by: kept.set_by,
        set_at: kept.set_at,
        ends_at: kept.ends_at,
        lifted_by: kept.lifted_by,
        lifted_at: kept.lifted_at,
    }
}
