//! Pending changes: listed, published by another admin, withdrawn, or ended by an objection.

use ade_api::pending_changes::{ChangeObjection, PendingChange as Shown};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::ids::{PendingChangeId, UserId};
use ade_core::step_up::ConfirmationSubject;
use ade_store::Tx;
use ade_store::pending_changes::{self, APPLY_CHANGE, ChangeOutcome, ClosedChange, PendingChange};
use ade_store::scheduled_jobs;

use super::command::RuleChange;
use super::consequences::Consequences;
use super::shown::{digest, is_too_old, shown};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::permission::{look, permit, person};
use crate::command::{Paged, Reply, Span, check_reason, paged};
use crate::error::Error;

const CHANGE: &str = "pending change";
const CLOSED: Error = Error::Closed { what: CHANGE, why: "it is already closed" };
const OUTDATED: Error = Error::Closed {
    what: CHANGE,
    why: "the rules have changed since, so it would have other consequences: propose it again",
};

/// Lists open or closed changes, newest first.
pub async fn list(
    app: &App,
    caller: &Caller,
    is_open: bool,
    span: Span<PendingChangeId>,
) -> Result<Paged<Shown, PendingChangeId>, Error> {
    let mut tx = look(app, caller).await?;
    let now = tx.now();
    let limit = span.limit.saturating_add(1);
    let found = pending_changes::list(&mut tx, is_open, span.after, limit).await?;
    let page = paged(found, span.limit, |change: &PendingChange| change.id);
    let items = page.items.iter().map(|change| shown(change, now)).collect::<Result<_, _>>()?;
    Ok(Paged { items, next: page.next })
}

pub async fn get(app: &App, caller: &Caller, id: PendingChangeId) -> Result<Shown, Error> {
    let mut tx = look(app, caller).await?;
    let change = find(&mut tx, id).await?;
    shown(&change, tx.now())
}

/// Publishes a change that another person proposed. It takes effect at once, with exactly the
/// consequences that were shown.
pub async fn publish(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PendingChangeId,
) -> Result<Reply, Error> {
    let by = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let change = find(&mut act.tx, id).await?;
    let is_own = act.book.directory.same_human(change.proposed_by, by);
    let mut act = act.require(Action::PublishChange, Object::Own { is_own }, &id).await?;
    require_open(&change)?;
    if is_too_old(&change, act.tx.now()) {
        return Err(OUTDATED);
    }
    let subject = ConfirmationSubject::publish_change(id, digest(&change)?);
    act = act.confirmed(&subject).await?;
    let applied = apply(&mut act, &change).await?;
    close(&mut act.tx, id, ChangeOutcome::Published, Some(by), None).await?;
    act.also([AuditAction { object: id.to_string(), action: "change.publish" }]).await?;
    act.finish_applied(applied, false).await
}

/// Withdraws a change, by its proposer or by an admin.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PendingChangeId,
) -> Result<Reply, Error> {
    let by = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let change = find(&mut act.tx, id).await?;
    let is_own = change.proposed_by == by;
    let act = act.require(Action::CloseChange, Object::Own { is_own }, &id).await?;
    end(act, change, ChangeOutcome::Withdrawn, by, None).await
}

/// Objects to a change that would take effect without a second admin, by anyone with a role.
pub async fn object(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PendingChangeId,
    objection: ChangeObjection,
) -> Result<Reply, Error> {
    check_reason("reason", Some(&objection.reason))?;
    let by = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let change = find(&mut act.tx, id).await?;
    let has_role = act.book.directory.person(by).is_some_and(|person| !person.roles.is_empty());
    // The change concerns everyone with a role, because no second admin looks at it.
    let is_own = has_role && change.takes_effect_at.is_some();
    let act = act.require(Action::CloseChange, Object::Own { is_own }, &id).await?;
    end(act, change, ChangeOutcome::Objected, by, Some(objection.reason)).await
}

async fn end(
    mut act: AdminCommand<'_>,
    change: PendingChange,
    outcome: ChangeOutcome,
    by: UserId,
    objection: Option<String>,
) -> Result<Reply, Error> {
    require_open(&change)?;
    close(&mut act.tx, change.id, outcome, Some(by), objection.clone()).await?;
    let closed = find(&mut act.tx, change.id).await?;
    let shown = shown(&closed, act.tx.now())?;
    let action = match outcome {
        ChangeOutcome::Objected => "change.object",
        _ => "change.withdraw",
    };
    let action = AuditAction { object: change.id.to_string(), action };
    act.finish_because(action, objection, 200, &shown).await
}

/// Writes the change in the name of its proposer. It is refused if the proposer may no longer
/// propose it, or if it would have other consequences than those that were shown.
pub(super) async fn apply(
    act: &mut AdminCommand<'_>,
    change: &PendingChange,
) -> Result<Applied, Error> {
    let command: RuleChange = serde_json::from_value(change.command.clone())
        .map_err(|error| Error::invalid("command", error))?;
    let (action, object) = command.permission();
    let proposer = Actor::user(change.proposed_by);
    permit(act.app(), &act.book, &proposer, action, object).map_err(|_| OUTDATED)?;
    let applied = command.apply(act, change.proposed_by).await?;
    let found = Consequences::of(act, change.proposed_by, &applied).await?.shortened();
    if found.findings != change.findings {
        return Err(OUTDATED);
    }
    Ok(applied)
}

pub(super) async fn close(
    tx: &mut Tx,
    id: PendingChangeId,
    outcome: ChangeOutcome,
    by: Option<UserId>,
    objection: Option<String>,
) -> Result<(), Error> {
    let closed = ClosedChange { outcome, by, at: tx.now(), objection };
    pending_changes::close(tx, id, &closed).await?;
    scheduled_jobs::clear(tx, APPLY_CHANGE, id.uuid()).await?;
    Ok(())
}

pub(super) async fn find(tx: &mut Tx, id: PendingChangeId) -> Result<PendingChange, Error> {
    pending_changes::get(tx, id).await?.ok_or(Error::NotFound { what: CHANGE })
}

fn require_open(change: &PendingChange) -> Result<(), Error> {
    if change.closed.is_some() { Err(CLOSED) } else { Ok(()) }
}
