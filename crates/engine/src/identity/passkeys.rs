//! Registers and removes passkeys of the caller. A caller who has a passkey confirms both with it.
//! An admin can only remove all passkeys of a person.

use ade_api::passkeys::{
    AuthenticatorSelection, CreationOptions, CreationUser, CredentialParameters, NewPasskey,
    Passkey, PasskeyAnswer, PasskeyOffer, Passkeys, RelyingParty,
};
use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, UserId};
use ade_core::limits::{PASSKEY_ANSWER_TTL, PASSKEY_PART_MAX_BYTES, PASSKEYS_OF_PERSON_MAX};
use ade_core::policy::Strictness;
use ade_core::preference::AccountNotice;
use ade_core::rule_change::RuleFinding;
use ade_core::step_up::ConfirmationSubject;
use ade_core::time::Timestamp;
use ade_store::passkeys::{self, PendingPasskey};
use ade_store::users::{self, User};
use ade_store::{StoreError, TenantLock, Tx};
use uuid::Uuid;

use super::step_up::{decoded, encoded, named, timeout};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::account_notice::notify_owner;
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::check_name;
use crate::command::confirmation::{key_of, require};
use crate::command::permission::{begin, look, person};
use crate::error::Error;
use crate::services::identity::passkey::{ALGORITHMS, PasskeyResponse, register};
use crate::services::secrets;

const MISSING: Error = Error::NotFound { what: "passkey" };
/// The name that a browser shows to people.
const INSTALLATION: &str = "Community ADE";

pub async fn list(app: &App, caller: &Caller) -> Result<Passkeys, Error> {
    let user = person(caller).map_err(|_| MISSING)?;
    let mut tx = look(app, caller).await?;
    Ok(shown_all(passkeys::list(&mut tx, user).await?))
}

/// Creates a challenge for registering a new passkey. Only the latest one is valid.
pub async fn offer(app: &App, caller: &Caller, new: NewPasskey) -> Result<PasskeyOffer, Error> {
    check_name("name", &new.name)?;
    let id = person(caller)?;
    let party = app.passkeys.party().ok_or(Error::PasskeysOff)?;
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let user = known_user(&mut tx, id).await?;
    let known = passkeys::list(&mut tx, id).await?;
    require_room(known.len())?;
    // With a stolen session, an attacker could otherwise add a passkey of their own.
    require(app, caller, &mut tx, &ConfirmationSubject::add_passkey()).await?;
    let offer = PendingPasskey {
        id: PasskeyId::from_uuid(Uuid::now_v7()),
        user: id,
        key_id: key_of(caller)?.to_owned(),
        name: new.name,
        challenge: Digest::from_bytes(secrets::random()?),
        expires_at: tx.now().plus(PASSKEY_ANSWER_TTL),
    };
    passkeys::offer(&mut tx, &offer).await?;
    tx.commit().await?;
    let options = CreationOptions {
        rp: RelyingParty { id: party.id().to_owned(), name: INSTALLATION.to_owned() },
        user: named_user(&user),
        challenge: encoded(offer.challenge.bytes()),
        pub_key_cred_params: ALGORITHMS
            .map(|alg| CredentialParameters { kind: "public-key".to_owned(), alg })
            .to_vec(),
        timeout: timeout(),
        exclude_credentials: named(&known),
        // Allowed credentials are always listed, so a passkey need not be discoverable.
        authenticator_selection: AuthenticatorSelection {
            resident_key: "discouraged".to_owned(),
            user_verification: "required".to_owned(),
        },
        attestation: "none".to_owned(),
    };
    Ok(PasskeyOffer { id: offer.id, options, expires_at: offer.expires_at })
}

pub async fn add(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PasskeyId,
    answer: PasskeyAnswer,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let party = app.passkeys.party().ok_or(Error::PasskeysOff)?;
    let part = |name: &str, text: &str| decoded(name, text, PASSKEY_PART_MAX_BYTES);
    let client_data = part("client_data", &answer.client_data)?;
    let authenticator_data = part("authenticator_data", &answer.authenticator_data)?;
    let public_key = part("public_key", &answer.public_key)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let offer = passkeys::take_offer(&mut act.tx, id, user, key_of(caller)?).await?;
    let offer = offer.ok_or(MISSING)?;
    let known = passkeys::list(&mut act.tx, user).await?;
    require_room(known.len())?;
    let given =
        PasskeyResponse { client_data: &client_data, authenticator_data: &authenticator_data };
    let algorithm = answer.algorithm;
    let (credential, counter) = register(given, algorithm, &public_key, &offer.challenge, party)?;
    let owner = known_user(&mut act.tx, user).await?;
    let age = app.books.base().authority_age;
    let counts_from = counts_from(&owner, &known, act.tx.now().plus(age));
    let passkey = passkeys::Passkey {
        id,
        user,
        name: offer.name,
        credential,
        algorithm,
        public_key,
        counter,
        created_at: act.tx.now(),
        last_used_at: None,
        counts_from,
    };
    passkeys::insert(&mut act.tx, &passkey).await.map_err(|error| taken(error, &passkey.name))?;
    if !known.is_empty() {
        let notice = AccountNotice::PasskeyAdded;
        notify_owner(app, &mut act.tx, &owner, notice, &passkey.name).await?;
    }
    let action = AuditAction { object: id.to_string(), action: "passkey.add" };
    act.finish(action, 201, &shown(passkey)).await
}

pub async fn remove(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PasskeyId,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let known = passkeys::list(&mut act.tx, user).await?;
    let passkey = known.into_iter().find(|passkey| passkey.id == id).ok_or(MISSING)?;
    // This holds for the last passkey as well: without any, a stolen session would not need a
    // confirmation.
    let mut act = act.confirmed(&ConfirmationSubject::remove_passkey(id)).await?;
    passkeys::remove(&mut act.tx, user, &[id]).await?;
    let action = AuditAction { object: id.to_string(), action: "passkey.remove" };
    act.finish(action, 200, &shown(passkey)).await
}

/// Removes all passkeys of a person who has lost them; the person registers new ones.
pub(crate) async fn reset(act: &mut AdminCommand<'_>, user: UserId) -> Result<Applied, Error> {
    let owner = known_user(&mut act.tx, user).await?;
    let known = passkeys::list(&mut act.tx, user).await?;
    let ids: Vec<PasskeyId> = known.iter().map(|passkey| passkey.id).collect();
    passkeys::remove(&mut act.tx, user, &ids).await?;
    users::note_passkey_reset(&mut act.tx, user).await?;
    let mut findings = Vec::new();
    if !known.is_empty() {
        let sentence = format!("{} needs no passkey to sign in", owner.profile.name);
        findings.push(RuleFinding::new(Strictness::Looser, sentence));
        let names: Vec<&str> = known.iter().map(|passkey| passkey.name.as_str()).collect();
        let notice = AccountNotice::PasskeysReset;
        notify_owner(act.app(), &mut act.tx, &owner, notice, &names.join(", ")).await?;
    }
    let action = AuditAction { object: user.to_string(), action: "passkey.reset" };
    Ok(Applied::new(action, 200, &shown_all(known))?.with_findings(findings))
}

/// Returns from when a new passkey counts for tasks of high risk: after a reset, the first one
/// waits, and a passkey that was added with a waiting one waits as long.
fn counts_from(
    owner: &User,
    known: &[passkeys::Passkey],
    after_reset: Timestamp,
) -> Option<Timestamp> {
    if known.is_empty() {
        return owner.passkeys_reset_at.map(|_| after_reset);
    }
    // Any passkey that always counted may have confirmed the new one.
    let waiting: Option<Vec<Timestamp>> = known.iter().map(|known| known.counts_from).collect();
    waiting?.into_iter().min()
}

async fn known_user(tx: &mut Tx, id: UserId) -> Result<User, Error> {
    users::get(tx, id).await?.ok_or(Error::NotFound { what: "user" })
}

fn require_room(known: usize) -> Result<(), Error> {
    if known >= PASSKEYS_OF_PERSON_MAX {
        return Err(Error::TooMany { what: "passkeys", most: PASSKEYS_OF_PERSON_MAX });
    }
    Ok(())
}

fn taken(error: StoreError, name: &str) -> Error {
    match error {
        StoreError::Constraint { constraint, .. } if constraint == "passkey_is_known_once" => {
            Error::Taken { what: "passkey", name: name.to_owned() }
        }
        error => error.into(),
    }
}

fn named_user(user: &User) -> CreationUser {
    let name = user.profile.name.clone();
    CreationUser {
        id: encoded(user.id.uuid().as_bytes()),
        name: user.profile.email.clone().unwrap_or_else(|| name.clone()),
        display_name: name,
    }
}

fn shown(passkey: passkeys::Passkey) -> Passkey {
    let passkeys::Passkey { id, name, created_at, last_used_at, .. } = passkey;
    Passkey { id, name, created_at, last_used_at }
}

fn shown_all(known: Vec<passkeys::Passkey>) -> Passkeys {
    Passkeys { items: known.into_iter().map(shown).collect() }
}
