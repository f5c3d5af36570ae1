//! A browser goes to its provider and comes back as somebody. What it carries on the way is good
//! once, for minutes, and only together with the cookie of the browser that left.

use std::collections::BTreeSet;

use ade_core::access::Class;
use ade_core::actor::{Actor, Role};
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::identity::{return_to, roles_of};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{
    ACCOUNTS_OF_ADDRESS_MAX, NAME_MAX_BYTES, SESSION_TTL, SESSIONS_OPEN_MAX, TENANTS_OF_PERSON_MAX,
};
use ade_core::time::Timestamp;
use ade_core::token::{Kind as TokenKind, Secret, Token};
use ade_store::sessions::{self, Away, NewSession};
use ade_store::users::{self, NewUser, Profile, User};
use ade_store::{Gate, Tx, audit, due, group_roles};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use uuid::Uuid;

use super::Identity;
use super::provider::{ProviderError, Question};
use crate::app::App;
use crate::error::Error;
use crate::ops::deadline::Deadline;
use crate::ops::users::require_room;
use crate::secret;

const WORKER: &str = "sign_in";

#[derive(Debug, Error)]
pub enum SignInError {
    #[error("there is no such provider")]
    NoProvider,
    /// Never begun in this browser, begun too long ago, or ended already.
    #[error("no sign-in waits for this answer")]
    NotBegun,
    #[error("the provider has refused: {0}")]
    Refused(String),
    #[error("the answer names another issuer")]
    MixedUp,
    #[error("no tenant knows this person, nor one of their groups")]
    NoTenant,
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<ade_store::Error> for SignInError {
    fn from(error: ade_store::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Where to send the browser, and what it must bring back with the answer.
#[derive(Debug)]
pub struct Departure {
    pub url: String,
    pub secret: Secret,
}

/// What the provider's answer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Returned {
    pub code: Option<String>,
    pub state: Option<String>,
    pub issuer: Option<String>,
    pub error: Option<String>,
}

/// Somebody is in.
#[derive(Debug)]
pub struct Arrival {
    pub session: Token,
    pub return_to: String,
}

pub async fn begin(app: &App, provider: &str, wanted: &str) -> Result<Departure, SignInError> {
    let known = app.providers.get(provider).ok_or(SignInError::NoProvider)?;
    let fresh = || secret::fresh().map_err(Error::from);
    let (secret, nonce, verifier) = (fresh()?, fresh()?, fresh()?);
    let asked = Question {
        state: &state_of(&secret),
        nonce: nonce.reveal(),
        challenge: &challenge_of(verifier.reveal()),
        callback: &app.providers.callback,
    };
    let url = known.question(asked).await?.to_string();
    let away = Away {
        provider: provider.to_owned(),
        nonce: nonce.reveal().to_owned(),
        verifier: verifier.reveal().to_owned(),
        return_to: return_to(wanted).to_owned(),
    };
    sessions::begin_sign_in(&app.pools.api, &app.pepper.hash(&secret), &away).await?;
    Ok(Departure { url, secret })
}

/// `secret` is what the browser's cookie holds.
pub async fn end(
    app: &App,
    secret: &Secret,
    returned: Returned,
    place: Where,
) -> Result<Arrival, SignInError> {
    // Before anything is used up: somebody else's link must not end the sign-in of this browser.
    if returned.state.as_deref() != Some(state_of(secret).as_str()) {
        return Err(SignInError::NotBegun);
    }
    let away = sessions::end_sign_in(&app.pools.api, &app.pepper.hash(secret)).await?;
    let away = away.ok_or(SignInError::NotBegun)?;
    let provider = app.providers.get(&away.provider).ok_or(SignInError::NoProvider)?;
    if !provider.is_answer_of(returned.issuer.as_deref()).await? {
        return Err(SignInError::MixedUp);
    }
    if let Some(error) = returned.error {
        return Err(SignInError::Refused(error));
    }
    let code = returned.code.ok_or(SignInError::NotBegun)?;
    let callback = &app.providers.callback;
    let identity = provider.redeem(&code, &away.verifier, &away.nonce, callback).await?;
    let session = arrive(app, &identity, place).await?;
    Ok(Arrival { session, return_to: away.return_to })
}

/// Brings every tenant of theirs up to date, and opens a session in the first.
async fn arrive(app: &App, identity: &Identity, place: Where) -> Result<Token, SignInError> {
    let groups: Vec<String> = identity.groups.iter().cloned().collect();
    let Identity { issuer, subject, .. } = identity;
    let tenants = sessions::tenants_of(&app.pools.api, issuer, subject, &groups).await?;
    let mut first = None;
    for (tenant, _) in tenants.into_iter().take(TENANTS_OF_PERSON_MAX) {
        let user = admit(app, tenant, identity, &place).await?;
        first.get_or_insert((tenant, user));
    }
    let (tenant, user) = first.ok_or(SignInError::NoTenant)?;
    Ok(open(app, tenant, user, None, place).await?)
}

/// The person as this tenant has them, with the roles that their groups give now.
async fn admit(
    app: &App,
    tenant: TenantId,
    identity: &Identity,
    place: &Where,
) -> Result<UserId, Error> {
    // Most have nothing new: they need not stop the tenant's other work.
    let mut tx = Tx::begin(&app.pools.api, tenant, Actor::system(WORKER), Gate::Unasked).await?;
    let found = look(&mut tx, identity).await?;
    tx.roll_back().await;
    if let Some(id) = found.settled() {
        return Ok(id);
    }
    let mut tx = Tx::begin(&app.pools.api, tenant, Actor::system(WORKER), Gate::Exclusive).await?;
    let found = look(&mut tx, identity).await?;
    if let Some(id) = found.settled() {
        tx.roll_back().await;
        return Ok(id);
    }
    let Found { known, roles, others } = found;
    let (id, action) = match known {
        Some(user) => (user.id, (user.roles != roles).then_some("user.set_roles")),
        None => (enter(&mut tx, identity).await?, Some("user.create")),
    };
    join(&mut tx, id, &others, place).await?;
    if let Some(action) = action {
        users::set_roles(&mut tx, id, &roles).await?;
        let why = Why { reason: Some("their groups at the provider".to_owned()), ticket: None };
        append(&mut tx, Who::System { worker: WORKER.to_owned() }, id, action, place, why).await?;
    }
    due::set_for_approved(&mut tx, Deadline::CheckBasis.as_str()).await?;
    tx.commit().await?;
    Ok(id)
}

/// What a tenant knows of somebody, and what it should.
struct Found {
    known: Option<User>,
    roles: BTreeSet<Role>,
    /// Accounts with their verified address that are not joined with theirs yet.
    others: Vec<UserId>,
}

impl Found {
    /// Whom there is nothing to be done for.
    fn settled(&self) -> Option<UserId> {
        let user = self.known.as_ref()?;
        (user.roles == self.roles && self.others.is_empty()).then_some(user.id)
    }
}

async fn look(tx: &mut Tx, identity: &Identity) -> Result<Found, Error> {
    let id = users::of_subject(tx, &identity.issuer, &identity.subject).await?;
    let known = match id {
        Some(id) => users::get(tx, id).await?,
        None => None,
    };
    let mut others = match &identity.email {
        Some(email) => users::with_email(tx, email).await?,
        None => Vec::new(),
    };
    let is_joined = |other: &UserId| {
        known.as_ref().is_some_and(|user| user.id == *other || user.aliases.contains(other))
    };
    // Those beyond the bound were not even read.
    if others.len() > ACCOUNTS_OF_ADDRESS_MAX {
        return Err(crowded());
    }
    others.retain(|other| !is_joined(other));
    let mapping = group_roles::of_issuer(tx, &identity.issuer).await?;
    let present = known.as_ref().map(|user| user.roles.clone()).unwrap_or_default();
    let roles = roles_of(&present, &mapping, &identity.groups);
    Ok(Found { known, roles, others })
}

async fn enter(tx: &mut Tx, identity: &Identity) -> Result<UserId, Error> {
    let id = UserId::from_uuid(Uuid::now_v7());
    // Whatever it is made of, so many characters fit.
    let short = || identity.subject.chars().take(NAME_MAX_BYTES / 4).collect();
    let name = identity.name.clone().unwrap_or_else(short);
    let profile = Profile { name, email: identity.email.clone(), manager: None, is_active: true };
    let (issuer, subject) = (identity.issuer.clone(), identity.subject.clone());
    users::insert(tx, &NewUser { id, issuer, subject, profile }).await?;
    Ok(id)
}

fn crowded() -> Error {
    Error::TooMany { what: "accounts with this address", most: ACCOUNTS_OF_ADDRESS_MAX }
}

/// Another account with the address that the provider has verified is the same human: it opens
/// nothing, and nobody agrees with themselves through it. Asked at every sign-in, since an admin
/// may have written the address there meanwhile; what an admin writes is verified by nobody, and
/// joins nothing by itself. Where there are too many to be joined with all of them, nobody comes
/// in: they could agree with one that was left out.
async fn join(tx: &mut Tx, id: UserId, others: &[UserId], place: &Where) -> Result<(), Error> {
    if others.len() >= ACCOUNTS_OF_ADDRESS_MAX {
        return Err(crowded());
    }
    for other in others {
        for one in [id, *other] {
            let known = users::get(tx, one).await?.ok_or(Error::NotFound { what: "user" })?;
            require_room(&known)?;
        }
        users::add_alias(tx, id, *other).await?;
        let why = Why { reason: Some("the same verified address".to_owned()), ticket: None };
        let who = Who::System { worker: WORKER.to_owned() };
        append(tx, who, id, "user.add_alias", place, why).await?;
    }
    Ok(())
}

/// A session for somebody who is known to be who they say. `since`: when they proved it, if it was
/// for another session.
pub(crate) async fn open(
    app: &App,
    tenant: TenantId,
    user: UserId,
    since: Option<Timestamp>,
    place: Where,
) -> Result<Token, Error> {
    let actor = Actor::user(user);
    let mut tx = Tx::begin(&app.pools.api, tenant, actor.clone(), Gate::Unasked).await?;
    let token = secret::issue(TokenKind::Session)?;
    let signed_in_at = since.unwrap_or(tx.now());
    let new = NewSession {
        key_id: token.key_id.to_string(),
        user,
        hash: app.pepper.hash(&token.secret),
        scopes: Class::ALL.iter().map(|class| class.as_str().to_owned()).collect(),
        signed_in_at,
        expires_at: signed_in_at.plus(SESSION_TTL),
        address: place.address.map(|address| address.to_string()),
        user_agent: place.user_agent.clone(),
    };
    sessions::insert(&mut tx, &new, SESSIONS_OPEN_MAX).await?;
    let why = Why::default();
    append(&mut tx, Who::from(&actor), user, "session.begin", &place, why).await?;
    tx.commit().await?;
    Ok(token)
}

async fn append(
    tx: &mut Tx,
    who: Who,
    user: UserId,
    action: &str,
    place: &Where,
    why: Why,
) -> Result<(), Error> {
    let what = What::new(user.to_string(), action);
    let leaf = Leaf::new(tx.tenant(), Kind::Change, who, what, tx.now(), place.clone(), why);
    audit::append(tx, &[leaf]).await?;
    Ok(())
}

/// Follows from the cookie, so that it need not be kept; from it nobody can tell the cookie.
fn state_of(secret: &Secret) -> String {
    challenge_of(&format!("state {}", secret.reveal()))
}

/// As RFC 7636 has it.
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}
