//! A browser sign-in through an identity provider. Its state is valid once, for minutes, and only
//! together with the cookie of the same browser.

use std::collections::BTreeSet;

use ade_core::access::Scope;
use ade_core::actor::{Actor, Credential, CredentialKind, Role};
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::identity::{return_to, roles_of};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{NAME_MAX_BYTES, SESSION_TTL, SESSIONS_OPEN_MAX, TENANTS_OF_PERSON_MAX};
use ade_core::time::Timestamp;
use ade_core::token::{Secret, Token, TokenKind};
use ade_store::sessions::{self, Away, NewSession, OpenTenant};
use ade_store::users::{self, NewUser, User, UserProfile};
use ade_store::{TenantLock, Tx, audit, group_roles, scheduled_jobs};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use uuid::Uuid;

use super::address_links::to_link;
use super::users::require_room;
use crate::app::App;
use crate::command::schedule::JobKind;
use crate::error::Error;
use crate::services::identity::Identity;
use crate::services::identity::provider::{AuthorizationRequest, Provider, ProviderError};
use crate::services::secrets;

const WORKER: &str = "sign_in";

#[derive(Debug, Error)]
pub enum SignInError {
    #[error("unknown identity provider")]
    NoProvider,
    /// The sign-in was not started in this browser, was started too long ago, or has already ended.
    #[error("no sign-in is pending for this response")]
    NotBegun,
    #[error("the identity provider refused the sign-in: {0}")]
    Refused(String),
    #[error("the response names another issuer")]
    MixedUp,
    #[error("no tenant has an account for this person or a role for one of their groups")]
    NoTenant,
    /// Only the person can decide to join a tenant whose groups admit them.
    #[error("the person has no account yet and has not named the tenant to join")]
    NotJoined,
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<ade_store::StoreError> for SignInError {
    fn from(error: ade_store::StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// The address to which the browser is sent, and the secret that it must bring back.
#[derive(Debug)]
pub struct Departure {
    pub url: String,
    pub secret: Secret,
}

/// The parameters of the provider's redirect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Returned {
    pub code: Option<String>,
    pub state: Option<String>,
    pub issuer: Option<String>,
    pub error: Option<String>,
}

/// A completed sign-in.
#[derive(Debug)]
pub struct Arrival {
    pub session: Token,
    pub return_to: String,
}

pub async fn begin(app: &App, provider: &str, wanted: &str) -> Result<Departure, SignInError> {
    let known = app.providers.get(provider).ok_or(SignInError::NoProvider)?;
    let fresh = || secrets::fresh().map_err(Error::from);
    let (secret, nonce, verifier) = (fresh()?, fresh()?, fresh()?);
    let asked = AuthorizationRequest {
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

/// Completes a sign-in. `secret` is the value of the browser's cookie, and `join` the name of the
/// tenant that the person wants to join.
pub async fn end(
    app: &App,
    secret: &Secret,
    returned: Returned,
    join: Option<&str>,
    place: Where,
) -> Result<Arrival, SignInError> {
    // Checked before anything is consumed: a link from another browser must not end this browser's
    // sign-in.
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
    let session = arrive(app, provider, &identity, join, place).await?;
    Ok(Arrival { session, return_to: away.return_to })
}

/// Updates the person in each of their tenants, and opens a session in the first one. If that fails
/// in one tenant, the person signs in to the others.
async fn arrive(
    app: &App,
    provider: &Provider,
    identity: &Identity,
    join: Option<&str>,
    place: Where,
) -> Result<Token, SignInError> {
    let groups: Vec<String> = identity.groups.iter().cloned().collect();
    let Identity { issuer, subject, .. } = identity;
    let mut tenants = sessions::tenants_of(&app.pools.api, issuer, subject, &groups).await?;
    tenants.retain(|open| provider.serves(&open.tenant));
    let mut tenants = chosen(tenants, join)?;
    let outdated_tenants = tenants.split_off(tenants.len().min(TENANTS_OF_PERSON_MAX));
    let mut basis = SignInBasis { since: None, outdated_tenants };
    let (mut first, mut failure) = (None, None);
    for tenant in tenants {
        match admit(app, tenant, identity, &place).await {
            Ok(user) => {
                first.get_or_insert((tenant, user));
            }
            Err(error) => {
                tracing::warn!(%tenant, %error, "sign-in failed in one tenant");
                basis.outdated_tenants.push(tenant);
                failure.get_or_insert(error);
            }
        }
    }
    match (first, failure) {
        (Some((tenant, user)), _) => Ok(open(app, tenant, user, basis, place).await?),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Err(SignInError::NoTenant),
    }
}

/// Returns the tenants to sign in to: those that know the person, and before them the one that the
/// person wants to join. The groups of another tenant alone do not make anyone a member, unless
/// the installation has no other tenant.
fn chosen(open: Vec<OpenTenant>, join: Option<&str>) -> Result<Vec<TenantId>, SignInError> {
    let is_joining = |open: &OpenTenant| join == Some(open.tenant.name.as_str());
    let is_offered = !open.is_empty();
    let mut chosen: Vec<OpenTenant> = open
        .into_iter()
        .filter(|open| open.is_known || open.tenant.is_only || is_joining(open))
        .collect();
    if join.is_some() && !chosen.iter().any(is_joining) {
        return Err(SignInError::NoTenant);
    }
    if chosen.is_empty() && is_offered {
        return Err(SignInError::NotJoined);
    }
    chosen.sort_by_key(|open| !is_joining(open));
    Ok(chosen.into_iter().map(|open| open.tenant.id).collect())
}

/// Finds or creates the person in this tenant, with the roles that their groups currently give.
async fn admit(
    app: &App,
    tenant: TenantId,
    identity: &Identity,
    place: &Where,
) -> Result<UserId, Error> {
    // Most sign-ins change nothing and need not block the tenant's other work.
    let mut tx = Tx::begin(&app.pools.api, tenant, Actor::system(WORKER), TenantLock::None).await?;
    let found = look(&mut tx, identity).await?;
    tx.roll_back().await;
    if let Some(id) = found.settled() {
        return Ok(id);
    }
    let mut tx =
        Tx::begin(&app.pools.api, tenant, Actor::system(WORKER), TenantLock::Exclusive).await?;
    let found = look(&mut tx, identity).await?;
    if let Some(id) = found.settled() {
        tx.roll_back().await;
        return Ok(id);
    }
    let Found { known, roles, others, verifies_address } = found;
    let (id, action) = match known {
        Some(user) => (user.id, (user.roles != roles).then_some("user.set_roles")),
        None => (enter(&mut tx, identity).await?, Some("user.create")),
    };
    join(&mut tx, id, &others, place).await?;
    if verifies_address {
        users::verify_email(&mut tx, id).await?;
        let why = Why { reason: Some("verified by the provider".to_owned()), ticket: None };
        append(&mut tx, system(), id, "user.verify_email", place, why).await?;
    }
    if let Some(action) = action {
        users::set_roles(&mut tx, id, &roles).await?;
        let why = Why { reason: Some("groups at the identity provider".to_owned()), ticket: None };
        append(&mut tx, system(), id, action, place, why).await?;
    }
    scheduled_jobs::set_for_approved(&mut tx, JobKind::CheckBasis.as_str()).await?;
    tx.commit().await?;
    Ok(id)
}

/// What a tenant knows about a person, and what it should be updated to.
struct Found {
    known: Option<User>,
    roles: BTreeSet<Role>,
    /// Accounts with the same address that are not linked yet and can be.
    others: Vec<UserId>,
    /// Whether the provider has now verified the address that the account already has.
    verifies_address: bool,
}

impl Found {
    /// Returns the user, if nothing has to be changed.
    fn settled(&self) -> Option<UserId> {
        let user = self.known.as_ref()?;
        let is_settled =
            user.roles == self.roles && self.others.is_empty() && !self.verifies_address;
        is_settled.then_some(user.id)
    }
}

async fn look(tx: &mut Tx, identity: &Identity) -> Result<Found, Error> {
    let id = users::of_subject(tx, &identity.issuer, &identity.subject).await?;
    let known = match id {
        Some(id) => users::get(tx, id).await?,
        None => None,
    };
    let others = match &identity.email {
        Some(email) => to_link(&users::with_email(tx, email).await?, known.as_ref())?,
        None => Vec::new(),
    };
    let verifies_address = known.as_ref().is_some_and(|user| {
        let lower = |email: &Option<String>| email.as_ref().map(|email| email.to_lowercase());
        let verified = lower(&identity.email);
        !user.has_verified_email && verified.is_some() && verified == lower(&user.profile.email)
    });
    let mapping = group_roles::of_issuer(tx, &identity.issuer).await?;
    let present = known.as_ref().map(|user| user.roles.clone()).unwrap_or_default();
    let roles = roles_of(&present, &mapping, &identity.groups);
    Ok(Found { known, roles, others, verifies_address })
}

async fn enter(tx: &mut Tx, identity: &Identity) -> Result<UserId, Error> {
    let id = UserId::from_uuid(Uuid::now_v7());
    // This many characters fit, whatever their encoded length.
    let short = || identity.subject.chars().take(NAME_MAX_BYTES / 4).collect();
    let name = identity.name.clone().unwrap_or_else(short);
    let profile =
        UserProfile { name, email: identity.email.clone(), manager: None, is_active: true };
    let (issuer, subject) = (identity.issuer.clone(), identity.subject.clone());
    let has_verified_email = identity.email.is_some();
    users::insert(tx, &NewUser { id, issuer, subject, profile, has_verified_email }).await?;
    Ok(id)
}

/// Links other accounts with the email address that this person has verified: they count as the
/// same person. A link grants nothing, and prevents approving one's own changes. It is checked at
/// every sign-in, because an admin may have set the address meanwhile; an address set by an admin
/// alone is not enough for a link, because neither account has verified it. If there are too many
/// verified accounts to link with all of them, the sign-in is refused: the person could approve
/// through an unlinked one.
async fn join(tx: &mut Tx, id: UserId, others: &[UserId], place: &Where) -> Result<(), Error> {
    for other in others {
        for one in [id, *other] {
            let known = users::get(tx, one).await?.ok_or(Error::NotFound { what: "user" })?;
            require_room(&known)?;
        }
        users::add_alias(tx, id, *other).await?;
        let why = Why { reason: Some("same verified email address".to_owned()), ticket: None };
        append(tx, system(), id, "user.add_alias", place, why).await?;
    }
    Ok(())
}

/// What a session is opened on.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignInBasis {
    /// When the person authenticated, if it was for another session.
    pub since: Option<Timestamp>,
    /// The tenants in which the sign-in could not update the person's roles.
    pub outdated_tenants: Vec<TenantId>,
}

/// Opens a session for an authenticated person.
pub(crate) async fn open(
    app: &App,
    tenant: TenantId,
    user: UserId,
    basis: SignInBasis,
    place: Where,
) -> Result<Token, Error> {
    let mut tx = Tx::begin(&app.pools.api, tenant, Actor::user(user), TenantLock::None).await?;
    let token = open_in(app, &mut tx, user, basis, place).await?;
    tx.commit().await?;
    Ok(token)
}

/// Opens the session in the caller's transaction, which the caller commits.
pub(crate) async fn open_in(
    app: &App,
    tx: &mut Tx,
    user: UserId,
    SignInBasis { since, outdated_tenants }: SignInBasis,
    place: Where,
) -> Result<Token, Error> {
    let token = secrets::issue(TokenKind::Session)?;
    let signed_in_at = since.unwrap_or(tx.now());
    let new = NewSession {
        key_id: token.key_id.to_string(),
        user,
        hash: app.pepper.hash(&token.secret),
        scopes: Scope::ALL.iter().map(|class| class.as_str().to_owned()).collect(),
        signed_in_at,
        expires_at: signed_in_at.plus(SESSION_TTL),
        address: place.address().map(|address| address.to_string()),
        user_agent: place.user_agent().map(str::to_owned),
        outdated_tenants,
    };
    sessions::insert(tx, &new, SESSIONS_OPEN_MAX).await?;
    let credential = Credential {
        kind: CredentialKind::Session,
        key_id: new.key_id,
        issued_by: None,
        step_up: None,
    };
    let who = Who::User { user, credential: Some(credential) };
    append(tx, who, user, "session.begin", &place, Why::default()).await?;
    Ok(token)
}

fn system() -> Who {
    Who::System { worker: WORKER.to_owned() }
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
    let entry =
        AuditEntry::new(tx.tenant(), EntryKind::Change, who, what, tx.now(), place.clone(), why);
    audit::append(tx, &[entry]).await?;
    Ok(())
}

/// Returns the `state` parameter. It is derived from the cookie, so that it need not be stored; the
/// cookie cannot be derived from it.
fn state_of(secret: &Secret) -> String {
    challenge_of(&format!("state {}", secret.reveal()))
}

/// Returns the PKCE code challenge (RFC 7636).
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}
