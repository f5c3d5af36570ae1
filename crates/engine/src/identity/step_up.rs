//! The confirmation of one decision with a passkey: requested, given, and used up by the
//! transaction that decides. The core says whether one is needed, and which one counts.

use std::collections::BTreeSet;

use ade_api::passkeys::{
    CredentialNamed, RequestOptions, StepUp, StepUpAnswer, StepUpQuestion, StepUpSubject,
};
use ade_core::audit::{Assertion, EntryKind, What, Why};
use ade_core::ids::StepUpId;
use ade_core::limits::{
    CREDENTIAL_MAX_BYTES, PASSKEY_ANSWER_TTL, PASSKEY_PART_MAX_BYTES, STEP_UP_MAX_AGE,
};
use ade_core::passkey::Party;
use ade_core::step_up::{ConfirmationSubject, Thing, challenge};
use ade_core::token::{KeyId, Token, TokenKind};
use ade_store::passkeys::{self, Passkey};
use ade_store::step_ups::{self, Signed, StepUpChallenge};
use ade_store::{TenantLock, Tx, audit, sessions};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::command::confirmation::{count, key_of, unconfirmed, what_of};
use crate::command::permission::{audit_entry, begin, person};
use crate::error::Error;
use crate::services::identity::PasskeyError;
use crate::services::identity::passkey::{PasskeyResponse, RegisteredKey, verify};
use crate::services::secrets;

/// Creates a challenge for the caller's passkeys, for exactly this action.
pub async fn ask(
    app: &App,
    caller: &Caller,
    asked: StepUpSubject,
) -> Result<StepUpQuestion, Error> {
    let user = person(caller)?;
    let key_id = key_of(caller)?.to_owned();
    let party = app.passkeys.party().ok_or(Error::PasskeysOff)?;
    let subject = subject_of(asked)?;
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let known = passkeys::list(&mut tx, user).await?;
    if known.is_empty() {
        return Err(unconfirmed(app, &subject, false));
    }
    let question = StepUpChallenge {
        id: StepUpId::from_uuid(Uuid::now_v7()),
        user,
        key_id,
        purpose: subject.purpose(),
        subject: subject.digest(),
        nonce: secrets::random()?,
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

/// A confirmation that was given.
#[derive(Debug)]
pub struct StepUpGrant {
    pub step_up: StepUp,
    /// The new session of the browser; `None` for a caller with a token.
    pub session: Option<Token>,
}

/// Verifies the response of one of the caller's passkeys, in the session that requested it.
pub async fn give(
    app: &App,
    caller: &Caller,
    id: StepUpId,
    answer: StepUpAnswer,
) -> Result<StepUpGrant, Error> {
    let user = person(caller)?;
    let key_id = key_of(caller)?;
    let party = app.passkeys.party().ok_or(Error::PasskeysOff)?;
    let part = |name: &str, text: &str| decoded(name, text, PASSKEY_PART_MAX_BYTES);
    let credential = decoded("credential", &answer.credential, CREDENTIAL_MAX_BYTES)?;
    let client_data = part("client_data", &answer.client_data)?;
    let authenticator_data = part("authenticator_data", &answer.authenticator_data)?;
    let signature = part("signature", &answer.signature)?;
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let found = step_ups::question(&mut tx, id).await?;
    let found = found.filter(|found| found.user == user && found.key_id == key_id);
    let question = found.ok_or(Error::NotFound { what: "step-up" })?;
    if question.is_given {
        return Err(Error::Closed {
            what: "step-up",
            why: "it has already been answered; start a new one",
        });
    }
    if tx.now().since(question.asked_at) > PASSKEY_ANSWER_TTL {
        return Err(Error::Closed { what: "step-up", why: "it has expired; start a new one" });
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
            let what = given(&question);
            let entry = audit_entry(&tx, caller, EntryKind::Refusal, what, why);
            audit::append(&mut tx, &[entry]).await?;
            tx.commit().await?;
            return Err(error.into());
        }
    };
    passkeys::count_on(&mut tx, &known, counter).await?;
    step_ups::give(&mut tx, id, &known, signed).await?;
    let assertion = Assertion {
        authenticator_data: &answer.authenticator_data,
        client_data: &answer.client_data,
        signature: &answer.signature,
    };
    leave(&mut tx, caller, &question, &assertion).await?;
    let session = renew(app, &mut tx, key_id).await?;
    let expires_at = tx.now().plus(STEP_UP_MAX_AGE);
    tx.commit().await?;
    app.tokens.forget(key_id);
    count(question.purpose, "given");
    let StepUpChallenge { purpose, subject, .. } = question;
    Ok(StepUpGrant { step_up: StepUp { id, purpose, subject, expires_at }, session })
}

/// Gives the session a new secret after a confirmation, so that a copied one becomes useless. The
/// key id stays: confirmations, sockets and tickets are bound to it.
async fn renew(app: &App, tx: &mut Tx, key_id: &str) -> Result<Option<Token>, Error> {
    let fresh = secrets::fresh()?;
    if !sessions::renew(tx, key_id, &app.pepper.hash(&fresh)).await? {
        return Ok(None);
    }
    let key_id = KeyId::parse(key_id).map_err(|error| Error::invalid("session", error))?;
    Ok(Some(Token { kind: TokenKind::Session, key_id, secret: fresh }))
}

fn check(
    known: Option<Passkey>,
    signed: Signed<'_>,
    question: &StepUpChallenge,
    party: &Party,
) -> Result<(Passkey, u32), PasskeyError> {
    let known = known.ok_or(PasskeyError::Unknown)?;
    let Signed { client_data, authenticator_data, signature } = signed;
    let answer = PasskeyResponse { client_data, authenticator_data };
    let Passkey { algorithm, ref public_key, counter, .. } = known;
    let key = RegisteredKey { algorithm, public_key, counter };
    let wanted = challenge(&question.subject, &question.nonce);
    let counter = verify(answer, signature, key, &wanted, party)?;
    Ok((known, counter))
}

fn subject_of(asked: StepUpSubject) -> Result<ConfirmationSubject, Error> {
    let things = asked.about.into_iter().map(|thing| Thing { id: thing.id, digest: thing.digest });
    let about: BTreeSet<Thing> = things.collect();
    ConfirmationSubject::new(asked.purpose, about).map_err(|error| Error::invalid("about", error))
}

fn given(question: &StepUpChallenge) -> What {
    what_of(question.id, "step_up.give", question.purpose, question.subject)
}

/// Writes the audit entry of a confirmation, with the hash of the passkey's response.
async fn leave(
    tx: &mut Tx,
    caller: &Caller,
    question: &StepUpChallenge,
    assertion: &Assertion<'_>,
) -> Result<(), Error> {
    let entry = audit_entry(tx, caller, EntryKind::Change, given(question), Why::default());
    audit::append(tx, &[entry.with_assertion(assertion)]).await?;
    Ok(())
}

/// Returns the passkeys in the form that browsers expect.
pub(crate) fn named(known: &[Passkey]) -> Vec<CredentialNamed> {
    let named = |passkey: &Passkey| CredentialNamed {
        kind: "public-key".to_owned(),
        id: encoded(&passkey.credential),
    };
    known.iter().map(named).collect()
}

pub(crate) fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decoded(field: &str, text: &str, most: usize) -> Result<Vec<u8>, Error> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| Error::invalid(field, error))?;
    if bytes.is_empty() || bytes.len() > most {
        return Err(Error::invalid(field, format!("must be 1 to {most} bytes")));
    }
    Ok(bytes)
}

/// Returns the timeout in milliseconds, for a browser.
pub(crate) fn timeout() -> u64 {
    u64::try_from(PASSKEY_ANSWER_TTL.as_millis()).unwrap_or(u64::MAX)
}
