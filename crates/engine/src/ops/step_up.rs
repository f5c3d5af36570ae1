//! The word of a passkey for one decision: asked for, given, and used up by the transaction that
//! decides. Whether one is needed, and which one counts, is for the core to say.

use std::collections::BTreeSet;

use ade_api::passkeys::{
    CredentialNamed, RequestOptions, StepUp, StepUpAnswer, StepUpQuestion, StepUpSubject,
};
use ade_core::audit::{Kind, What, Why};
use ade_core::change::Digest;
use ade_core::ids::StepUpId;
use ade_core::limits::{
    CREDENTIAL_MAX_BYTES, PASSKEY_ANSWER_TTL, PASSKEY_PART_MAX_BYTES, STEP_UP_MAX_AGE,
};
use ade_core::passkey::Party;
use ade_core::step_up::{Asked, Demand, Purpose, Subject, Thing, challenge, demand};
use ade_core::task::Refusal;
use ade_core::token::{KeyId, Kind as TokenKind, Token};
use ade_store::passkeys::{self, Passkey};
use ade_store::step_ups::{self, Question, Signed};
use ade_store::{Gate, Tx, audit, sessions};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::act::{begin, leaf_of, person};
use super::decision::Work;
use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Unconfirmed};
use crate::identity::PasskeyError;
use crate::identity::passkey::{Answer, Known, verify};
use crate::secret;

/// Where people add passkeys.
const PASSKEYS: &str = "/settings/passkeys";

/// A question to the caller's passkeys, for exactly this.
pub async fn ask(
    app: &App,
    caller: &Caller,
    asked: StepUpSubject,
) -> Result<StepUpQuestion, Error> {
    let user = person(caller)?;
    let key_id = key_of(caller)?.to_owned();
    let party = app.passkeys.party()?;
    let subject = subject_of(asked)?;
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let known = passkeys::list(&mut tx, user).await?;
    if known.is_empty() {
        return Err(unconfirmed(app, &subject, false));
    }
    let question = Question {
        id: StepUpId::from_uuid(Uuid::now_v7()),
        user,
        key_id,
        purpose: subject.purpose(),
        subject: subject.digest(),
        nonce: secret::random()?,
        asked_at: tx.now(),
        is_given: false,
    };
    step_ups::ask(&mut tx, &question).await?;
    tx.commit().await?;
    count(subject.purpose(), "asked");
    Ok(StepUpQuestion {
        id: question.id,
        options: RequestOptions {
            challenge: encoded(challenge(&question.subject, &question.nonce).bytes()),
            timeout: timeout(),
            rp_id: party.id().to_owned(),
            allow_credentials: named(&known),
            user_verification: "required".to_owned(),
        },
        expires_at: question.asked_at.plus(PASSKEY_ANSWER_TTL),
    })
}

/// A word that was given.
#[derive(Debug)]
pub struct Given {
    pub step_up: StepUp,
    /// What the browser goes on with; nothing for whoever came with a token.
    pub session: Option<Token>,
}

/// The answer of one of the caller's passkeys, in the session that asked.
pub async fn give(
    app: &App,
    caller: &Caller,
    id: StepUpId,
    answer: StepUpAnswer,
) -> Result<Given, Error> {
    let user = person(caller)?;
    let key_id = key_of(caller)?;
    let party = app.passkeys.party()?;
    let part = |name: &str, text: &str| decoded(name, text, PASSKEY_PART_MAX_BYTES);
    let credential = decoded("credential", &answer.credential, CREDENTIAL_MAX_BYTES)?;
    let client_data = part("client_data", &answer.client_data)?;
    let authenticator_data = part("authenticator_data", &answer.authenticator_data)?;
    let signature = part("signature", &answer.signature)?;
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let found = step_ups::question(&mut tx, id).await?;
    let found = found.filter(|found| found.user == user && found.key_id == key_id);
    let question = found.ok_or(Error::NotFound { what: "step-up" })?;
    if question.is_given {
        return Err(Error::Closed { what: "step-up", why: "it was answered; begin another" });
    }
    if tx.now().since(question.asked_at) > PASSKEY_ANSWER_TTL {
        return Err(Error::Closed { what: "step-up", why: "it is too old; begin another" });
    }
    let signed = Signed {
        client_data: &client_data,
        authenticator_data: &authenticator_data,
        signature: &signature,
    };
    let known = passkeys::list(&mut tx, user).await?;
    let known = known.into_iter().find(|known| known.credential == credential);
    let (known, counter) = match check(known, signed, &question, party) {
        Ok(checked) => checked,
        Err(error) => {
            count(question.purpose, "refused");
            let why = Why { reason: Some(error.to_string()), ticket: None };
            leave(&mut tx, caller, Kind::Refusal, &question, why).await?;
            tx.commit().await?;
            return Err(error.into());
        }
    };
    passkeys::count_on(&mut tx, &known, counter).await?;
    step_ups::give(&mut tx, id, &known, signed).await?;
    leave(&mut tx, caller, Kind::Change, &question, Why::default()).await?;
    let session = renew(app, &mut tx, key_id).await?;
    let expires_at = tx.now().plus(STEP_UP_MAX_AGE);
    tx.commit().await?;
    app.tokens.forget(key_id);
    count(question.purpose, "given");
    let Question { purpose, subject, .. } = question;
    Ok(Given { step_up: StepUp { id, purpose, subject, expires_at }, session })
}

/// Who has just proved to be there goes on under another secret, and whoever has copied the one
/// before is left with nothing. The key stays: words, sockets and tickets are bound to it.
async fn renew(app: &App, tx: &mut Tx, key_id: &str) -> Result<Option<Token>, Error> {
    let fresh = secret::fresh()?;
    if !sessions::renew(tx, key_id, &app.pepper.hash(&fresh)).await? {
        return Ok(None);
    }
    let key_id = KeyId::parse(key_id).map_err(|error| Error::invalid("session", error))?;
    Ok(Some(Token { kind: TokenKind::Session, key_id, secret: fresh }))
}

fn check(
    known: Option<Passkey>,
    signed: Signed<'_>,
    question: &Question,
    party: &Party,
) -> Result<(Passkey, u32), PasskeyError> {
    let known = known.ok_or(PasskeyError::Unknown)?;
    let Signed { client_data, authenticator_data, signature } = signed;
    let answer = Answer { client_data, authenticator_data };
    let Passkey { algorithm, ref public_key, counter, .. } = known;
    let key = Known { algorithm, public_key, counter };
    let wanted = challenge(&question.subject, &question.nonce);
    let counter = verify(answer, signature, key, &wanted, party)?;
    Ok((known, counter))
}

/// The caller may do this, and now it is asked whether it is really them. Uses their word up, in
/// the transaction of what it is for.
pub(super) async fn require(
    app: &App,
    caller: &Caller,
    tx: &mut Tx,
    subject: &Subject,
) -> Result<(), Error> {
    let by = person(caller)?;
    let has_passkey = passkeys::has_any(tx, by).await?;
    match demand(app.passkeys.rule(), subject.purpose(), has_passkey) {
        Demand::Nothing => return Ok(()),
        Demand::Passkey => return Err(unconfirmed(app, subject, false)),
        Demand::Word => {}
    }
    let digest = subject.digest();
    let asked = Asked { subject: &digest, by, key_id: key_of(caller)?, now: tx.now() };
    let words = step_ups::unused(tx, by).await?;
    let found = words.into_iter().find(|(_, word)| word.covers(&asked));
    let Some((id, _)) = found else { return Err(unconfirmed(app, subject, true)) };
    step_ups::use_up(tx, id).await?;
    let what = what_of(id, "step_up.use", subject.purpose(), digest);
    let leaf = leaf_of(tx, caller, Kind::Change, what, Why::default());
    audit::append(tx, &[leaf]).await?;
    count(subject.purpose(), "used");
    Ok(())
}

impl<'a> Work<'a> {
    /// Goes on only with the word of the caller's passkey for exactly this, where one is asked for.
    pub(super) async fn confirmed(
        mut self: Box<Self>,
        subject: Option<Subject>,
    ) -> Result<Box<Work<'a>>, Error> {
        let Some(subject) = subject else { return Ok(self) };
        let (app, caller) = (self.app(), self.caller().clone());
        match require(app, &caller, &mut self.tx, &subject).await {
            Ok(()) => Ok(self),
            // The key is free again before the caller hears, who comes back with the same.
            Err(error) => {
                self.roll_back().await;
                Err(error)
            }
        }
    }
}

/// Each session and each token is asked by itself: a word that was given in one is none in another.
pub(super) fn key_of(caller: &Caller) -> Result<&str, Error> {
    caller.key_id.as_deref().ok_or_else(|| Refusal::PersonRequired.into())
}

fn subject_of(asked: StepUpSubject) -> Result<Subject, Error> {
    let things = asked.about.into_iter().map(|thing| Thing { id: thing.id, digest: thing.digest });
    let about: BTreeSet<Thing> = things.collect();
    Subject::new(asked.purpose, about).map_err(|error| Error::invalid("about", error))
}

fn unconfirmed(app: &App, subject: &Subject, has_passkey: bool) -> Error {
    count(subject.purpose(), if has_passkey { "missing" } else { "no_passkey" });
    let place = if has_passkey { place_of(subject) } else { PASSKEYS.to_owned() };
    let page = format!("{}{place}", app.notify.page);
    Error::StepUpRequired(Box::new(Unconfirmed { subject: subject.clone(), has_passkey, page }))
}

/// The page on which this is decided, for whoever asked from elsewhere.
fn place_of(subject: &Subject) -> String {
    let only = subject.about().first().filter(|_| subject.about().len() == 1);
    match (subject.purpose(), only) {
        (Purpose::Approve | Purpose::Override, Some(task)) => format!("/tasks/{}", task.id),
        (Purpose::Approve | Purpose::Override, None) => "/inbox".to_owned(),
        (Purpose::PublishPolicy, _) => "/policies".to_owned(),
        (Purpose::BreakLock, _) => "/locks".to_owned(),
        (Purpose::AddPasskey | Purpose::RemovePasskey, _) => PASSKEYS.to_owned(),
        (Purpose::ResetPasskeys, _) => "/settings/people".to_owned(),
    }
}

async fn leave(
    tx: &mut Tx,
    caller: &Caller,
    kind: Kind,
    question: &Question,
    why: Why,
) -> Result<(), Error> {
    let what = what_of(question.id, "step_up.give", question.purpose, question.subject);
    let leaf = leaf_of(tx, caller, kind, what, why);
    audit::append(tx, &[leaf]).await?;
    Ok(())
}

fn what_of(id: StepUpId, action: &str, purpose: Purpose, subject: Digest) -> What {
    What {
        to: Some(purpose.as_str().to_owned()),
        digest: Some(subject),
        ..What::new(id.to_string(), action)
    }
}

fn count(purpose: Purpose, outcome: &'static str) {
    metrics::counter!("ade_step_ups_total", "purpose" => purpose.as_str(), "outcome" => outcome)
        .increment(1);
}

/// Keys as browsers want them named.
pub(super) fn named(known: &[Passkey]) -> Vec<CredentialNamed> {
    let named = |passkey: &Passkey| CredentialNamed {
        kind: "public-key".to_owned(),
        id: encoded(&passkey.credential),
    };
    known.iter().map(named).collect()
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn decoded(field: &str, text: &str, most: usize) -> Result<Vec<u8>, Error> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| Error::invalid(field, error))?;
    if bytes.is_empty() || bytes.len() > most {
        return Err(Error::invalid(field, format!("1 to {most} bytes")));
    }
    Ok(bytes)
}

/// In milliseconds, for a browser.
pub(super) fn timeout() -> u64 {
    u64::try_from(PASSKEY_ANSWER_TTL.as_millis()).unwrap_or(u64::MAX)
}
