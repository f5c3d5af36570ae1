//! Submits a change to the rules: it takes effect at once, or it becomes a pending change.

use ade_api::delegations::NewDelegation;
use ade_core::access::Object;
use ade_core::event::EventKind;
use ade_core::ids::{PendingChangeId, UserId};
use ade_core::limits::{PENDING_CHANGE_WAIT, PENDING_CHANGES_MAX};
use ade_core::rule_change::admins;
use ade_store::pending_changes::{self, APPLY_CHANGE, PendingChange};
use ade_store::scheduled_jobs::{self, ScheduledJob};
use uuid::Uuid;

use super::command::RuleChange;
use super::consequences::{Before, Consequences};
use super::notices::notify_proposed;
use super::pending::{count, publish_event};
use super::setup;
use super::shown::shown;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::person;
use crate::command::present::value;
use crate::error::Error;
use crate::review::create_delegation;

/// The status of a change that was accepted and has not taken effect yet.
const ACCEPTED: u16 = 202;

/// Submits a change. The reply is that of the change, or status 202 with the pending change.
pub async fn submit(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    change: RuleChange,
) -> Result<Reply, Error> {
    let by = person(caller)?;
    let (action, object) = change.permission();
    let about = match object {
        Object::Tenant => caller.tenant.to_string(),
        _ => change.object(),
    };
    let act = AdminCommand::begin(app, caller, attempt, None).await?;
    let mut act = act.require(action, object, &about).await?;
    change.require_object(&act)?;
    let is_in_setup = setup::is_open(&mut act).await?;
    submit_permitted(act, by, change, is_in_setup).await
}

/// Submits a change that the caller may propose.
pub(super) async fn submit_permitted(
    mut act: AdminCommand<'_>,
    by: UserId,
    change: RuleChange,
    is_in_setup: bool,
) -> Result<Reply, Error> {
    if let Some(subject) = change.confirmation() {
        act = act.confirmed(&subject).await?;
    }
    let former = Before::read(&mut act).await?;
    let point = act.tx.savepoint().await?;
    let applied = change.clone().apply(&mut act, by).await?;
    let consequences = Consequences::of(&mut act, by, &applied, &former).await?;
    let is_loosening = consequences.is_loosening();
    if is_in_setup || !is_loosening {
        return act.finish_applied(applied, is_loosening).await;
    }
    act.tx.roll_back_to(point).await?;
    let change = pending(&mut act, by, &change, consequences.shortened()).await?;
    let shown = shown(&change, act.tx.now())?;
    let action = AuditAction { object: change.id.to_string(), action: "change.propose" };
    let reply = act.finish_because(action, change.reason, ACCEPTED, &shown).await?;
    count("proposed");
    Ok(reply)
}

/// Creates a delegation. People delegate their own approvals at once; for another person it is a
/// change to the rules.
pub async fn delegate(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewDelegation,
) -> Result<Reply, Error> {
    let me = person(caller)?;
    match new.owner_id.filter(|owner| *owner != me) {
        Some(owner) => {
            submit(app, caller, attempt, RuleChange::CreateDelegation { owner, new }).await
        }
        None => create_delegation(app, caller, attempt, new).await,
    }
}

async fn pending(
    act: &mut AdminCommand<'_>,
    by: UserId,
    change: &RuleChange,
    consequences: Consequences,
) -> Result<PendingChange, Error> {
    if pending_changes::count_open(&mut act.tx).await? >= PENDING_CHANGES_MAX {
        return Err(Error::TooMany { what: "pending changes", most: PENDING_CHANGES_MAX });
    }
    let now = act.tx.now();
    let has_one_admin = admins(&act.book.directory).len() < 2;
    let pending = PendingChange {
        id: PendingChangeId::from_uuid(Uuid::now_v7()),
        kind: change.kind().to_owned(),
        object: change.object(),
        command: value(change)?,
        verdict: consequences.verdict(),
        findings: consequences.findings,
        evidence: value(&consequences.tasks)?,
        reason: change.reason(),
        proposed_by: by,
        proposed_at: now,
        takes_effect_at: has_one_admin.then(|| now.plus(PENDING_CHANGE_WAIT)),
        closed: None,
    };
    pending_changes::insert(&mut act.tx, &pending).await?;
    if let Some(at) = pending.takes_effect_at {
        let job = ScheduledJob { kind: APPLY_CHANGE, object: pending.id.uuid(), at };
        scheduled_jobs::set(&mut act.tx, &[job]).await?;
    }
    publish_event(&mut act.tx, EventKind::ChangeProposed, &pending, None).await?;
    notify_proposed(act, &pending).await?;
    Ok(pending)
}
