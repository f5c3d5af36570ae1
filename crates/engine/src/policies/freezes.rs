//! Freezes, set and lifted by operators under the exclusive tenant lock, so that no permit is
//! granted concurrently.

use ade_api::freezes::{Freeze, FreezeScope, NewFreeze};
use ade_core::access::Action;
use ade_core::event::EventKind;
use ade_core::freeze::{self, FreezeExtent};
use ade_core::ids::{FreezeId, UserId};
use ade_core::limits::NAME_MAX_BYTES;
use ade_core::policy::Pattern;
use ade_core::time::Timestamp;
use ade_store::freezes::{self, FreezeRecord};
use ade_store::outbox;
use serde_json::json;
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::permission::{look, person};
use crate::command::{Paged, Reply, Span, check_reason, paged};
use crate::error::Error;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewFreeze,
) -> Result<Reply, Error> {
    let scope = scope_of(&new)?;
    check_reason("reason", Some(&new.reason))?;
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::SetFreeze)).await?;
    if new.ends_at.is_some_and(|end| end <= act.tx.now()) {
        return Err(Error::invalid("ends_at", "must be in the future"));
    }
    let id = FreezeId::from_uuid(Uuid::now_v7());
    let set_by = person(caller)?;
    let made = freeze::Freeze { id, scope, reason: new.reason, set_by, ends_at: new.ends_at };
    freezes::insert(&mut act.tx, &made).await?;
    let applied = applied(&mut act, id, ("freeze.set", EventKind::FreezeSet), 201).await?;
    act.finish_applied(applied, false).await
}

pub(crate) async fn lift(
    act: &mut AdminCommand<'_>,
    by: UserId,
    id: FreezeId,
    reason: Option<String>,
) -> Result<Applied, Error> {
    check_reason("reason", reason.as_deref())?;
    let known = freezes::get(&mut act.tx, id).await?;
    let known = known.ok_or(Error::NotFound { what: "freeze" })?;
    if known.lifted_at.is_some() {
        return Err(Error::Closed { what: "freeze", why: "it is already lifted" });
    }
    freezes::lift(&mut act.tx, id, by).await?;
    let applied = applied(act, id, ("freeze.lift", EventKind::FreezeLifted), 200).await?;
    Ok(applied.because(reason))
}

/// Lists freezes, newest first, including lifted ones.
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

async fn applied(
    act: &mut AdminCommand<'_>,
    id: FreezeId,
    (action, kind): (&'static str, EventKind),
    status: u16,
) -> Result<Applied, Error> {
    let kept = freezes::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "freeze" })?;
    let shown = shown(kept, act.tx.now());
    let payload = json!({ "scope": shown.scope, "target": shown.target, "ends_at": shown.ends_at });
    let event = outbox::OutboxEvent { kind, object: id.to_string(), version: None, payload };
    outbox::append(&mut act.tx, &[event]).await?;
    Applied::new(AuditAction { object: id.to_string(), action }, status, &shown)
}

fn scope_of(new: &NewFreeze) -> Result<FreezeExtent, Error> {
    match (new.scope, &new.target) {
        (FreezeScope::Tenant, None) => Ok(FreezeExtent::Tenant),
        (FreezeScope::Tenant, Some(_)) => {
            Err(Error::invalid("target", "must be empty when the scope is the tenant"))
        }
        (FreezeScope::Environment, Some(name))
            if !name.trim().is_empty() && name.len() <= NAME_MAX_BYTES =>
        {
            Ok(FreezeExtent::Environment(name.clone()))
        }
        (FreezeScope::Resources, Some(pattern)) => Pattern::new(pattern)
            .map(FreezeExtent::Resources)
            .map_err(|error| Error::invalid("target", error)),
        (FreezeScope::Environment | FreezeScope::Resources, _) => {
            Err(Error::invalid("target", "the environment or the pattern is required"))
        }
    }
}

fn shown(kept: FreezeRecord, now: Timestamp) -> Freeze {
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
