//! Passkeys of the person who asks: a new one is offered, answers and is theirs; one is removed.
//! Whoever has one already confirms both with it. An admin can only take all of somebody's away.

use ade_api::passkeys::{
    AuthenticatorSelection, CreationOptions, CreationUser, CredentialParameters, NewPasskey,
    Passkey, PasskeyAnswer, PasskeyOffer, Passkeys, RelyingParty,
};
use ade_core::access::Action;
use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, UserId};
use ade_core::limits::{PASSKEY_ANSWER_TTL, PASSKEY_PART_MAX_BYTES, PASSKEYS_OF_PERSON_MAX};
use ade_core::step_up::Subject;
use ade_store::passkeys::{self, Offer};
use ade_store::users::{self, User};
use ade_store::{Error as StoreError, Gate, Tx};
use uuid::Uuid;

use super::Reply;
use super::act::{Act, Begun, Deed, begin, look, person};
use super::step_up::{decoded, encoded, key_of, named, require, timeout};
use super::users::check_name;
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::identity::passkey::{ALGORITHMS, Answer, register};
use crate::secret;

const MISSING: Error = Error::NotFound { what: "passkey" };
/// What people see when their browser asks them.
const INSTALLATION: &str = "Community ADE";

pub async fn list(app: &App, caller: &Caller) -> Result<Passkeys, Error> {
    let user = person(caller).map_err(|_| MISSING)?;
    let mut tx = look(app, caller).await?;
    Ok(shown_all(passkeys::list(&mut tx, user).await?))
}

/// A question to a key that is not known yet. The last one counts.
pub async fn offer(app: &App, caller: &Caller, new: NewPasskey) -> Result<PasskeyOffer, Error> {
    check_name("name", &new.name)?;
    let id = person(caller)?;
    let party = app.passkeys.party()?;
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let user = known_user(&mut tx, id).await?;
    let known = passkeys::list(&mut tx, id).await?;
    require_room(known.len())?;
    // A thief's own key would be as good as the person's.
    require(app, caller, &mut tx, &Subject::add_passkey()).await?;
    let offer = Offer {
        id: PasskeyId::from_uuid(Uuid::now_v7()),
        user: id,
        key_id: key_of(caller)?.to_owned(),
        name: new.name,
        challenge: Digest::from_bytes(secret::random()?),
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
        // We always say which keys may answer, so none has to be found without.
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
    attempt: &Attempt,
    id: PasskeyId,
    answer: PasskeyAnswer,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let party = app.passkeys.party()?;
    let part = |name: &str, text: &str| decoded(name, text, PASSKEY_PART_MAX_BYTES);
    let client_data = part("client_data", &answer.client_data)?;
    let authenticator_data = part("authenticator_data", &answer.authenticator_data)?;
    let public_key = part("public_key", &answer.public_key)?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let offer = passkeys::take_offer(&mut act.tx, id, user, key_of(caller)?).await?;
    let offer = offer.ok_or(MISSING)?;
    require_room(passkeys::list(&mut act.tx, user).await?.len())?;
    let given = Answer { client_data: &client_data, authenticator_data: &authenticator_data };
    let algorithm = answer.algorithm;
    let (credential, counter) = register(given, algorithm, &public_key, &offer.challenge, party)?;
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
    };
    passkeys::insert(&mut act.tx, &passkey).await.map_err(|error| taken(error, &passkey.name))?;
    let deed = Deed { object: id.to_string(), action: "passkey.add" };
    act.finish(deed, 201, &shown(passkey)).await
}

pub async fn remove(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: PasskeyId,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let known = passkeys::list(&mut act.tx, user).await?;
    let passkey = known.into_iter().find(|passkey| passkey.id == id).ok_or(MISSING)?;
    // Also the last: without any, whoever holds the session would be asked nothing more.
    let mut act = act.confirmed(&Subject::remove_passkey(id)).await?;
    passkeys::remove(&mut act.tx, user, &[id]).await?;
    let deed = Deed { object: id.to_string(), action: "passkey.remove" };
    act.finish(deed, 200, &shown(passkey)).await
}

/// For somebody who has lost theirs: they begin anew.
pub async fn reset(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    user: UserId,
) -> Result<Reply, Error> {
    let begun = Act::begin(app, caller, attempt, Some(Action::AdministerUser)).await?;
    let mut act = match begun {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    known_user(&mut act.tx, user).await?;
    let mut act = act.confirmed(&Subject::reset_passkeys(user)).await?;
    let known = passkeys::list(&mut act.tx, user).await?;
    let ids: Vec<PasskeyId> = known.iter().map(|passkey| passkey.id).collect();
    passkeys::remove(&mut act.tx, user, &ids).await?;
    let deed = Deed { object: user.to_string(), action: "passkey.reset" };
    act.finish(deed, 200, &shown_all(known)).await
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
