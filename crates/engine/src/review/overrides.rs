//! Break-glass overrides and their reviews. A request changes nothing; the confirmation by a second
//! admin lets exactly the effect they saw pass, and opens a review that stays visible until it is
//! closed.

use ade_api::overrides::{AfterReview, NewFinding, NewOverride, OverrideConfirmation};
use ade_core::access::{Action, Object};
use ade_core::actor::Role;
use ade_core::approval::Seen;
use ade_core::audit::{EntryKind, What, Why};
use ade_core::event::EventKind;
use ade_core::ids::{AfterReviewId, TenantId, UserId};
use ade_core::step_up::ConfirmationSubject;
use ade_core::task::{Command, Task};
use ade_core::time::Timestamp;
use ade_store::after_reviews::{self, WATCH};
use ade_store::{TenantLock, audit, notifications, outbox, scheduled_jobs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{audit_entry, begin, look, person};
use crate::command::run::carry_out_confirmed;
use crate::command::schedule::worker_caller;
use crate::command::task_command::{TaskCommand, TaskTarget};
use crate::command::{Paged, Reply, Span, check_reason, paged};
use crate::error::Error;

pub async fn ask(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    new: NewOverride,
) -> Result<Reply, Error> {
    let NewOverride { ticket, reason } = new;
    let command = Command::Override { ticket: ticket.clone(), reason: reason.clone() };
    let why = Why { reason: Some(reason), ticket: Some(ticket) };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    let subject = |task: &Task| Some(ConfirmationSubject::overriding(task));
    carry_out_confirmed(work, command, why, subject, |_| 202).await
}

pub async fn confirm(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    target: TaskTarget,
    seen: OverrideConfirmation,
) -> Result<Reply, Error> {
    let OverrideConfirmation { revision, digest } = seen;
    let command = Command::ConfirmOverride { seen: Seen { revision, digest } };
    let work = TaskCommand::begin(app, caller, attempt, target).await?;
    let subject = |task: &Task| Some(ConfirmationSubject::overriding(task));
    carry_out_confirmed(work, command, Why::default(), subject, |_| 200).await
}

/// The position at which a page of open reviews ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwedKey {
    due_at: Timestamp,
    id: AfterReviewId,
}

/// Lists open reviews, the longest overdue first.
pub async fn after_reviews(
    app: &App,
    caller: &Caller,
    span: Span<OwedKey>,
) -> Result<Paged<AfterReview, OwedKey>, Error> {
    let mut tx = look(app, caller).await?;
    let now = tx.now();
    let after = span.after.map(|key| (key.due_at, key.id));
    let owed = after_reviews::owed(&mut tx, after, span.limit.saturating_add(1)).await?;
    let items = owed.into_iter().map(|review| shown(review, now)).collect();
    let key = |review: &AfterReview| OwedKey { due_at: review.due_at, id: review.id };
    Ok(paged(items, span.limit, key))
}

/// Closes a review, by a person who may review and who neither requested nor confirmed the
/// override.
pub async fn close(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: AfterReviewId,
    new: NewFinding,
) -> Result<Reply, Error> {
    check_reason("finding", Some(&new.finding))?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let missing = Error::NotFound { what: "after-review" };
    let Some(review) = after_reviews::get(&mut act.tx, id).await? else { return Err(missing) };
    let by = person(caller)?;
    let is_own = after_reviews::admins_of(&mut act.tx, review.task)
        .await?
        .into_iter()
        .any(|admin| act.book.directory.same_human(admin, by));
    let mut act = act.require(Action::CloseAfterReview, Object::Own { is_own }, &id).await?;
    if review.done.is_some() {
        return Err(Error::Closed {
            what: "after-review",
            why: "it has been closed by someone else",
        });
    }
    after_reviews::close(&mut act.tx, &review, by, &new.finding).await?;
    scheduled_jobs::clear(&mut act.tx, WATCH, id.uuid()).await?;
    let Some(review) = after_reviews::get(&mut act.tx, id).await? else { return Err(missing) };
    let shown = shown(review, act.tx.now());
    act.finish(AuditAction { object: id.to_string(), action: "after_review.close" }, 200, &shown)
        .await
}

/// Notifies all admins of an overdue override review. Returns whether it did: it is done once, by
/// the process that removes it from the schedule.
pub(crate) async fn tell_overdue(
    app: &App,
    worker: &str,
    tenant: TenantId,
    id: AfterReviewId,
) -> Result<bool, Error> {
    let caller = worker_caller(app, worker, tenant);
    // The tenant lock ensures that the list of admins is current.
    let mut tx = begin(&app.pools.worker, &caller, TenantLock::Shared).await?;
    let is_ours = scheduled_jobs::clear(&mut tx, WATCH, id.uuid()).await? > 0;
    let Some(review) = after_reviews::get(&mut tx, id).await?.filter(|one| one.done.is_none())
    else {
        tx.commit().await?;
        return Ok(false);
    };
    if !is_ours || !review.is_overdue(tx.now()) {
        tx.roll_back().await;
        return Ok(false);
    }
    let book = app.books.current(&mut tx).await?;
    let admins: Vec<UserId> = book.directory.holders(Role::ADMIN).collect();
    let kind = EventKind::OverrideReviewOverdue;
    notifications::add(&mut tx, review.task, kind, &admins).await?;
    let payload = json!({ "after_review": id, "due_at": review.due_at });
    let object = review.task.to_string();
    let event = outbox::OutboxEvent { kind, object, version: None, payload };
    outbox::append(&mut tx, &[event]).await?;
    let what = What::new(id.to_string(), "after_review.overdue");
    let entry = audit_entry(&tx, &caller, EntryKind::Change, what, Why::default());
    audit::append(&mut tx, &[entry]).await?;
    tx.commit().await?;
    app.wake.relay.notify_one();
    Ok(true)
}

fn shown(review: after_reviews::AfterReview, now: Timestamp) -> AfterReview {
    let overdue = review.is_overdue(now);
    let (done_by, done_at, finding) = match review.done {
        Some(done) => (Some(done.by), Some(done.at), Some(done.text)),
        None => (None, None, None),
    };
    AfterReview {
        id: review.id,
        task_id: review.task,
        number: review.number,
        title: review.title,
        opened_at: review.opened_at,
        due_at: review.due_at,
        overdue,
        done_by,
        done_at,
        finding,
    }
}
