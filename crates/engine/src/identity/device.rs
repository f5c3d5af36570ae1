//! Device sign-in: the terminal starts it, a signed-in person approves or denies it, and the
//! terminal polls for its token. The device code is valid once, for minutes, and cannot be derived
//! from the user code on the screen.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::device::{
    DeviceApproval, DeviceLogin, DeviceRequest, DeviceStatus, DeviceToken, NewDeviceLogin,
};
use ade_core::access::Scope;
use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::device::UserCode;
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{
    DEVICE_DECIDE_TTL, DEVICE_LOGIN_PAUSE, DEVICE_LOGIN_TTL, DEVICE_POLL_PACE,
    DEVICE_TOKEN_DAYS_MAX, NAME_MAX_BYTES, TOKENS_OPEN_MAX,
};
use ade_core::network::Networks;
use ade_core::step_up::{ConfirmationSubject, TokenTerms};
use ade_core::token::{self, Secret};
use ade_store::device_logins::{self, Asking, DeviceLoginStart as Asked, Grant, Polled};
use ade_store::tokens::{self, Hash, Principal};
use ade_store::{TenantLock, Tx, audit, users};

use super::tokens::{DAY, own_networks, refused, scopes_of};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{look, person};
use crate::error::DeviceRefusal;
use crate::error::Error;
use crate::services::secrets::{self, SecretError};

/// What a terminal may do unless the person selects more.
const DEFAULT_SCOPES: [Scope; 2] = [Scope::Read, Scope::Propose];
const MISSING: Error = Error::NotFound { what: "sign-in" };

/// Begins the sign-in of a terminal.
pub async fn begin(app: &App, new: NewDeviceLogin, place: &Where) -> Result<DeviceLogin, Error> {
    let client = new.client_name.unwrap_or_default();
    if client.len() > NAME_MAX_BYTES {
        return Err(Error::invalid(
            "client_name",
            format!("must be at most {NAME_MAX_BYTES} bytes"),
        ));
    }
    let secret = secrets::fresh()?;
    let code = UserCode::from_bytes(&secrets::random::<64>()?).ok_or(SecretError::NoRandomness)?;
    let asking = Asking {
        client: client.trim().to_owned(),
        address: place.address().map(|address| address.to_string()).unwrap_or_default(),
        user_agent: place.user_agent().map(str::to_owned),
    };
    let hash = app.pepper.hash(&secret);
    match device_logins::begin(&app.pools.api, &hash, &code, &asking).await? {
        Asked::Started => {}
        Asked::Crowded => {
            let what = "pending sign-ins from this address";
            return Err(Error::TooOften { what, wait: DEVICE_LOGIN_PAUSE });
        }
        // The code is already in use; the probability is less than 1 in 10^10.
        Asked::Taken => {
            let object = "code".to_owned();
            return Err(ade_store::StoreError::Conflict { object }.into());
        }
    }
    let page = format!("{}/device", app.notify.page);
    Ok(DeviceLogin {
        device_code: secret.reveal().to_owned(),
        verification_uri_complete: format!("{page}?code={code}"),
        verification_uri: page,
        user_code: code.to_string(),
        expires_in: DEVICE_LOGIN_TTL.as_secs(),
        interval: DEVICE_POLL_PACE.as_secs(),
    })
}

/// Returns the token to a terminal, which polls for it at the requested interval.
pub async fn poll(app: &App, device_code: &str, place: Where) -> Result<DeviceToken, Error> {
    let secret = Secret::parse(device_code).map_err(|_| DeviceRefusal::Expired)?;
    let hash = app.pepper.hash(&secret);
    match device_logins::poll(&app.pools.api, &hash).await? {
        Polled::Expired => Err(DeviceRefusal::Expired.into()),
        Polled::SlowDown { pace } => Err(DeviceRefusal::SlowDown { pace }.into()),
        Polled::Pending { pace } => Err(DeviceRefusal::Pending { pace }.into()),
        Polled::Denied => Err(DeviceRefusal::Denied.into()),
        Polled::Approved { tenant, user } => issue(app, &hash, tenant, user, place).await,
    }
}

/// Uses up the grant and stores the token in one transaction: of several concurrent callers, one
/// gets the token.
async fn issue(
    app: &App,
    hash: &Hash,
    tenant: TenantId,
    user: UserId,
    place: Where,
) -> Result<DeviceToken, Error> {
    let actor = Actor::user(user);
    let mut tx = Tx::begin(&app.pools.api, tenant, actor.clone(), TenantLock::None).await?;
    let taken = device_logins::take(&mut tx, hash).await?;
    let (client, grant) = taken.ok_or(DeviceRefusal::Expired)?;
    // An admin may have deactivated the account since the approval.
    let known = users::get(&mut tx, user).await?;
    if !known.is_some_and(|user| user.profile.is_active) {
        return Err(DeviceRefusal::Denied.into());
    }
    let made = secrets::issue(token::TokenKind::User)?;
    let lives = lifetime(&grant);
    let kept = tokens::NewToken {
        key_id: made.key_id.to_string(),
        principal: Principal::User(user),
        hash: app.pepper.hash(&made.secret),
        scopes: grant.scopes,
        label: client,
        expires_at: tx.now().plus(lives),
        is_single_use: false,
        networks: Networks::default(),
        issued_by: Some(user),
    };
    let inserted = tokens::insert(&mut tx, &kept).await;
    inserted.map_err(|error| refused(error, kept.principal))?;
    let what = What::new(format!("token {}", kept.key_id), "token.create");
    let why = Why { reason: Some("signed in a terminal".to_owned()), ticket: None };
    let entry =
        AuditEntry::new(tenant, EntryKind::Change, Who::from(&actor), what, tx.now(), place, why);
    audit::append(&mut tx, &[entry]).await?;
    tx.commit().await?;
    Ok(DeviceToken {
        access_token: made.reveal(),
        token_type: "Bearer".to_owned(),
        expires_in: lives.as_secs(),
        scope: kept.scopes.join(" "),
        key_id: kept.key_id,
        expires_at: kept.expires_at,
    })
}

/// Returns how long the token of a terminal is valid. One that decides is valid for a working day,
/// because it is kept on a machine that programs use as well.
fn lifetime(grant: &Grant) -> Duration {
    let asked = DAY * u32::from(grant.days);
    let decides = grant.scopes.iter().any(|scope| scope == Scope::Decide.as_str());
    if decides { asked.min(DEVICE_DECIDE_TTL) } else { asked }
}

/// Shows a sign-in request to the person who decides it.
pub async fn show(app: &App, caller: &Caller, typed: &str) -> Result<DeviceRequest, Error> {
    let user = person(caller)?;
    let code = UserCode::parse(typed).ok_or(MISSING)?;
    let mut tx = look(app, caller).await?;
    find(&mut tx, caller, user, &code).await
}

pub async fn approve(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    typed: &str,
    wanted: &DeviceApproval,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    if wanted.days == 0 || wanted.days > DEVICE_TOKEN_DAYS_MAX {
        return Err(Error::invalid("days", format!("must be 1 to {DEVICE_TOKEN_DAYS_MAX}")));
    }
    let names = wanted.scopes.clone().unwrap_or_else(|| {
        let held = DEFAULT_SCOPES.iter().filter(|scope| caller.scopes.contains(scope));
        held.map(|scope| scope.as_str().to_owned()).collect()
    });
    let scopes = scopes_of(caller, Principal::User(user), &names)?;
    decide(app, caller, attempt, typed, Some((scopes, wanted.days))).await
}

pub async fn deny(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    typed: &str,
) -> Result<Reply, Error> {
    decide(app, caller, attempt, typed, None).await
}

async fn decide(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    typed: &str,
    approved: Option<(BTreeSet<Scope>, u16)>,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let code = UserCode::parse(typed).ok_or(MISSING)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let asked = find(&mut act.tx, caller, user, &code).await?;
    let answered = || Error::Closed { what: "sign-in", why: "it has already been answered" };
    if asked.status != DeviceStatus::Pending {
        return Err(answered());
    }
    // The terminal's token would allow more networks than the token that approves it.
    if approved.is_some() && !own_networks(&mut act.tx, caller).await?.is_anywhere() {
        let why = "your token is bound to networks: approve the terminal in a browser instead";
        return Err(Error::Closed { what: "sign-in", why });
    }
    // The limit is reported to the person now, and not to the terminal later.
    let is_full = tokens::count_open(&mut act.tx, Principal::User(user)).await? >= TOKENS_OPEN_MAX;
    if approved.is_some() && is_full {
        return Err(Error::TooManyTokens { principal: user.to_string() });
    }
    let mut grant = None;
    if let Some((scopes, days)) = &approved {
        let names = scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
        let grant = grant.insert(Grant { scopes: names, days: *days });
        let terms = TokenTerms {
            label: asked.client_name.as_deref().unwrap_or_default(),
            scopes,
            lifetime: lifetime(grant),
            networks: &Networks::default(),
        };
        act = act.confirmed(&ConfirmationSubject::approve_device(&code, &terms)).await?;
    }
    if !device_logins::decide(&mut act.tx, &code, user, grant.as_ref()).await? {
        return Err(answered());
    }
    let (status, action) = match grant {
        Some(_) => (DeviceStatus::Approved, "device.approve"),
        None => (DeviceStatus::Denied, "device.deny"),
    };
    let reason = format!(
        "`{}` at {}",
        asked.client_name.as_deref().unwrap_or_default(),
        asked.address.as_deref().unwrap_or("an unknown address")
    );
    let action = AuditAction { object: format!("device {code}"), action };
    let body = DeviceRequest { status, ..asked };
    act.finish_because(action, Some(reason), 200, &body).await
}

/// Finds a request. Everyone with the code may see it until it is decided; then only the person who
/// decided it.
async fn find(
    tx: &mut Tx,
    caller: &Caller,
    user: UserId,
    code: &UserCode,
) -> Result<DeviceRequest, Error> {
    let found = device_logins::find(tx, code).await?.ok_or(MISSING)?;
    let status = match found.decision {
        None => DeviceStatus::Pending,
        Some(made) if made.tenant != caller.tenant || made.user != user => return Err(MISSING),
        Some(made) if made.is_approved => DeviceStatus::Approved,
        Some(_) => DeviceStatus::Denied,
    };
    let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
    let own = caller.place.address().map(|address| address.to_string()).unwrap_or_default();
    Ok(DeviceRequest {
        user_code: code.to_string(),
        client_name: non_empty(found.asking.client),
        address_differs: found.asking.address != own,
        address: non_empty(found.asking.address),
        user_agent: found.asking.user_agent,
        status,
        created_at: found.created_at,
        expires_at: found.expires_at,
    })
}
