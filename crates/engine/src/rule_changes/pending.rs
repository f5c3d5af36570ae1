//! Pending changes: listed, published by another admin, withdrawn, or ended by an objection.

use ade_api::pending_changes::{ChangeObjection, PendingChange as Shown};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::event::EventKind;
use ade_core::ids::{PendingChangeId, UserId};
use ade_core::rule_change::still_relevant;
use ade_core::step_up::ConfirmationSubject;
use ade_store::Tx;
use ade_store::outbox::{self, OutboxEvent};
use ade_store::pending_changes::{self, APPLY_CHANGE, ChangeOutcome, ClosedChange, PendingChange};
use ade_store::scheduled_jobs;
use serde_json::json;

use super::command::RuleChange;
use super::consequences::{Before, Consequences};
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
    let applied = apply(&mut act, &change, ChangeOutcome::Published, Some(by)).await?;
    act.also([AuditAction { object: id.to_string(), action: "change.publish" }]).await?;
    let reply = act.finish_applied(applied, false).await?;
    count(ChangeOutcome::Published.as_str());
    Ok(reply)
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

/// Objects to a change that would take effect without a second admin, by anyone who has a role or
/// had one when it was proposed.
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
    // The change concerns everyone with a role, because no second admin looks at it. Those who had
    // one when it was proposed keep the right, because the admin can take roles away at once.
    let has_role = act.book.directory.person(by).is_some_and(|person| !person.roles.is_empty());
    let may_object = has_role || pending_changes::is_objector(&mut act.tx, id, by).await?;
    let is_own = may_object && change.takes_effect_at.is_some();
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
    close(&mut act.tx, &change, outcome, Some(by), objection.clone()).await?;
    let closed = find(&mut act.tx, change.id).await?;
    let shown = shown(&closed, act.tx.now())?;
    let action = match outcome {
        ChangeOutcome::Objected => "change.object",
        _ => "change.withdraw",
    };
    let action = AuditAction { object: change.id.to_string(), action };
    let reply = act.finish_because(action, objection, 200, &shown).await?;
    count(outcome.as_str());
    Ok(reply)
}

/// Closes the change and writes it in the name of its proposer. It is refused if the proposer may
/// no longer propose it, or if it would have other consequences than those that were shown.
pub(super) async fn apply(
    act: &mut AdminCommand<'_>,
    change: &PendingChange,
    outcome: ChangeOutcome,
    by: Option<UserId>,
) -> Result<Applied, Error> {
    let command: RuleChange = serde_json::from_value(change.command.clone())
        .map_err(|error| Error::invalid("command", error))?;
    let (action, object) = command.permission();
    let proposer = Actor::user(change.proposed_by);
    permit(act.app(), &act.book, &proposer, action, object).map_err(|_| OUTDATED)?;
    close(&mut act.tx, change, outcome, by, None).await?;
    let former = Before::read(act).await?;
    let applied = command.apply(act, change.proposed_by).await?;
    let found = Consequences::of(act, change.proposed_by, &applied, &former).await?.shortened();
    if found.findings != still_relevant(&change.findings, &former.waiting) {
        return Err(OUTDATED);
    }
    Ok(applied)
}

pub(super) async fn close(
    tx: &mut Tx,
    change: &PendingChange,
    outcome: ChangeOutcome,
    by: Option<UserId>,
    objection: Option<String>,
) -> Result<(), Error> {
    let closed = ClosedChange { outcome, by, at: tx.now(), objection };
    pending_changes::close(tx, change.id, &closed).await?;
    scheduled_jobs::clear(tx, APPLY_CHANGE, change.id.uuid()).await?;
    publish_event(tx, EventKind::ChangeClosed, change, Some(outcome)).await
}

/// Publishes an event, so that lists of changes are read again. Its text is in the change.
pub(super) async fn publish_event(
    tx: &mut Tx,
    kind: EventKind,
    change: &PendingChange,
    outcome: Option<ChangeOutcome>,
) -> Result<(), Error> {
    let outcome = outcome.map(ChangeOutcome::as_str);
    let event = OutboxEvent {
        kind,
        object: change.id.to_string(),
        version: None,
        payload: json!({ "kind": change.kind, "outcome": outcome }),
    };
    outbox::append(tx, &[event]).await?;
    Ok(())
}

/// Counts a change that was proposed, or how it was closed. The difference are those that are open.
pub(super) fn count(outcome: &'static str) {
    metrics::counter!("ade_pending_changes_total", "outcome" => outcome).increment(1);
}

pub(super) async fn find(tx: &mut Tx, id: PendingChangeId) -> Result<PendingChange, Error> {
    pending_changes::get(tx, id).await?.ok_or(Error::NotFound { what: CHANGE })
}

fn require_open(change: &PendingChange) -> Result<(), Error> {
    if change.closed.is_some() { Err(CLOSED) } else { Ok(()) }
}
