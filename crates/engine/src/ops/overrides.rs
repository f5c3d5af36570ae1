//! Break-glass and what it owes. Asking changes nothing; the second admin's word lets exactly the
//! effect they saw pass, and opens a review that stays in sight until it is closed.

use ade_api::overrides::{
    AfterReview, AfterReviews, NewFinding, NewOverride, OverrideConfirmation,
};
use ade_core::access::{Action, Object};
use ade_core::approval::Seen;
use ade_core::audit::Why;
use ade_core::ids::AfterReviewId;
use ade_core::limits::PAGE_SIZE_MAX;
use ade_core::step_up::Subject;
use ade_core::task::{Command, Task};
use ade_core::time::Timestamp;
use ade_store::after_reviews;

use super::act::{Act, Begun as Acted, Deed, look, person};
use super::command::carry_out_confirmed;
use super::decision::{Target, Work};
use super::{Reply, check_reason};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

pub async fn ask(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    new: NewOverride,
) -> Result<Reply, Error> {
    let NewOverride { ticket, reason } = new;
    let command = Command::Override { ticket: ticket.clone(), reason: reason.clone() };
    let why = Why { reason: Some(reason), ticket: Some(ticket) };
    let begun = Work::begin(app, caller, attempt, target).await?;
    let subject = |task: &Task| Some(Subject::overriding(task));
    carry_out_confirmed(begun, command, why, subject, |_| 202).await
}

pub async fn confirm(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    target: Target,
    seen: OverrideConfirmation,
) -> Result<Reply, Error> {
    let OverrideConfirmation { revision, digest } = seen;
    let command = Command::ConfirmOverride { seen: Seen { revision, digest } };
    let begun = Work::begin(app, caller, attempt, target).await?;
    let subject = |task: &Task| Some(Subject::overriding(task));
    carry_out_confirmed(begun, command, Why::default(), subject, |_| 200).await
}

/// What is still owed, the longest overdue first.
pub async fn after_reviews(app: &App, caller: &Caller) -> Result<AfterReviews, Error> {
    let mut tx = look(app, caller).await?;
    let now = tx.now();
    let owed = after_reviews::owed(&mut tx, PAGE_SIZE_MAX).await?;
    Ok(AfterReviews { items: owed.into_iter().map(|review| shown(review, now)).collect() })
}

/// By a person who may review, and who neither asked for the override nor confirmed it.
pub async fn close(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: AfterReviewId,
    new: NewFinding,
) -> Result<Reply, Error> {
    check_reason("finding", Some(&new.finding))?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Acted::Act(act) => act,
        Acted::Repeated(reply) => return Ok(reply),
    };
    let missing = Error::NotFound { what: "after-review" };
    let Some(review) = after_reviews::get(&mut act.tx, id).await? else { return Err(missing) };
    let by = person(caller)?;
    let is_own = after_reviews::admins_of(&mut act.tx, review.task)
        .await?
        .into_iter()
        .any(|admin| act.book.directory.same_human(admin, by));
    let mut act = act.require(Action::CloseAfterReview, Object::Own { is_own }, &id).await?;
    if review.done.is_some() {
        return Err(Error::Closed { what: "after-review", why: "somebody has closed it" });
    }
    after_reviews::close(&mut act.tx, &review, by, &new.finding).await?;
    let Some(review) = after_reviews::get(&mut act.tx, id).await? else { return Err(missing) };
    let shown = shown(review, act.tx.now());
    act.finish(Deed { object: id.to_string(), action: "after_review.close" }, 200, &shown).await
}

fn shown(review: after_reviews::AfterReview, now: Timestamp) -> AfterReview {
    let overdue = review.done.is_none() && review.due_at <= now;
    let (done_by, done_at, finding) = match review.done {
        Some(done) => (Some(done.by), Some(done.at), Some(done.text)),
        None => (None, None, None),
    };
    AfterReview {
        id: review.id,
        task: review.task,
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
