//! Confirmation of actions with a passkey. A confirmation is used up in the transaction of its
//! action; the core decides whether one is needed, and which one counts.

use ade_core::audit::{EntryKind, What, Why};
use ade_core::change::Digest;
use ade_core::ids::StepUpId;
use ade_core::step_up::{ConfirmationSubject, Credentials, Demand, Purpose, StepUpUse, demand};
use ade_core::task::Refusal;
use ade_core::time::Timestamp;
use ade_store::step_ups::{StepUpFacts, UnusedStepUp};
use ade_store::{Tx, audit, step_ups};

use super::permission::{audit_entry, person};
use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Unconfirmed};

/// The page on which people add passkeys.
const PASSKEYS: &str = "/settings/passkeys";

/// The passkey that confirmed an action, if one was required.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PasskeyUse {
    /// When the passkey begins to count for tasks of high risk, if it was enrolled after a reset.
    pub counts_from: Option<Timestamp>,
}

/// Requires a passkey confirmation of the subject or a recent sign-in, if the rules demand one, and
/// uses the confirmation up in the transaction of the action. The caller's permission was checked
/// before.
pub(crate) async fn require(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    subject: &ConfirmationSubject,
) -> Result<PasskeyUse, Error> {
    let (by, key_id) = (person(caller)?, key_of(caller)?);
    let facts = step_ups::facts(tx, by, key_id).await?;
    let StepUpFacts { has_passkey, tenant_has_passkeys, signed_in_at } = facts;
    let rule = app.passkeys.rule().in_tenant(tenant_has_passkeys);
    let within = app.passkeys.decide_within();
    // A token is no session: the person confirmed what it may do when they created it.
    let is_recent = signed_in_at.is_none_or(|at| tx.now().since(at) <= within);
    match demand(rule, subject, Credentials { has_passkey, is_recent }) {
        Demand::Nothing => return Ok(PasskeyUse::default()),
        Demand::SignIn => {
            count(subject.purpose(), "old_sign_in");
            return Err(Error::SignInTooOld { signed_in_at, within });
        }
        Demand::Passkey => return Err(unconfirmed(app, subject, false)),
        Demand::Word => {}
    }
    let digest = subject.digest();
    let asked = StepUpUse { subject: &digest, by, key_id, now: tx.now() };
    let unused = step_ups::unused(tx, by).await?;
    let found = unused.into_iter().find(|unused| unused.word.covers(&asked));
    let Some(UnusedStepUp { id, counts_from, .. }) = found else {
        return Err(unconfirmed(app, subject, true));
    };
    step_ups::use_up(tx, id).await?;
    tx.confirmed(id);
    let what = what_of(id, "step_up.use", subject.purpose(), digest);
    let entry = audit_entry(tx, caller, EntryKind::Change, what, Why::default());
    audit::append(tx, &[entry]).await?;
    count(subject.purpose(), "used");
    Ok(PasskeyUse { counts_from })
}

/// Returns the key to which a confirmation is bound: one that was given in one session or for one
/// token is not valid in another.
pub(crate) fn key_of(caller: &Caller) -> Result<&str, Error> {
    caller.key_id().ok_or_else(|| Refusal::PersonRequired.into())
}

pub(crate) fn unconfirmed(app: &App, subject: &ConfirmationSubject, has_passkey: bool) -> Error {
    count(subject.purpose(), if has_passkey { "missing" } else { "no_passkey" });
    let place = if has_passkey { place_of(subject) } else { PASSKEYS.to_owned() };
    let page = format!("{}{place}", app.notify.page);
    Error::StepUpRequired(Box::new(Unconfirmed { subject: subject.clone(), has_passkey, page }))
}

/// Returns the page on which the subject is decided, for callers from elsewhere.
fn place_of(subject: &ConfirmationSubject) -> String {
    let only = subject.about().first().filter(|_| subject.about().len() == 1);
    match (subject.purpose(), only) {
        (Purpose::Approve | Purpose::Override, Some(task)) => format!("/tasks/{}", task.id),
        (Purpose::Approve | Purpose::Override, None) => "/inbox".to_owned(),
        (Purpose::PublishPolicy, _) => "/policies".to_owned(),
        (Purpose::PublishChange, _) => "/changes".to_owned(),
        (Purpose::BreakLock, _) => "/locks".to_owned(),
        (Purpose::AddPasskey | Purpose::RemovePasskey, _) => PASSKEYS.to_owned(),
        (Purpose::ResetPasskeys | Purpose::ConfirmPerson, _) => "/settings/people".to_owned(),
        (Purpose::CreateToken, _) => "/settings/tokens".to_owned(),
        (Purpose::ApproveDevice, _) => match subject.terminal() {
            Some(code) => format!("/device?code={code}"),
            None => "/device".to_owned(),
        },
    }
}

pub(crate) fn what_of(id: StepUpId, action: &str, purpose: Purpose, subject: Digest) -> What {
    What {
        to: Some(purpose.as_str().to_owned()),
        digest: Some(subject),
        ..What::new(id.to_string(), action)
    }
}

pub(crate) fn count(purpose: Purpose, outcome: &'static str) {
    metrics::counter!("ade_step_ups_total", "purpose" => purpose.as_str(), "outcome" => outcome)
        .increment(1);
}
