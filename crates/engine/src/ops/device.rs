//! Signing a terminal in from a browser: it asks, a person who is signed in says yes or no to what
//! they see, and the terminal comes for its token. The code that it asks with is good once, for
//! minutes, and worth nothing to whoever has only read the other one off its screen.

use std::time::Duration;

use ade_api::device::{
    DeviceApproval, DeviceLogin, DeviceRequest, DeviceStatus, DeviceToken, NewDeviceLogin,
};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::device::UserCode;
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{
    DEVICE_LOGIN_PAUSE, DEVICE_LOGIN_TTL, DEVICE_POLL_PACE, DEVICE_TOKEN_DAYS_MAX, NAME_MAX_BYTES,
    TOKENS_OPEN_MAX,
};
use ade_core::network::Networks;
use ade_core::token::{self, Secret};
use ade_store::device_logins::{self, Asking, Begun as Asked, Grant, Polled};
use ade_store::tokens::{self, Hash, Principal};
use ade_store::{Gate, Tx, audit, users};
use thiserror::Error as Thrown;

use super::Reply;
use super::act::{Act, Begun, Deed, look, person};
use super::tokens::{DAY, own_networks, refused, scopes_of};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::secret::{self, SecretError};

const MISSING: Error = Error::NotFound { what: "sign-in" };

/// Why a terminal has no token yet, or will have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Thrown)]
pub enum DeviceRefusal {
    #[error("nobody has answered yet")]
    Pending { pace: Duration },
    #[error("it asks too often: {} s must pass from now on", .pace.as_secs())]
    SlowDown { pace: Duration },
    /// Also for what was never begun: who guesses learns nothing.
    #[error("no sign-in waits for this code any more")]
    Expired,
    #[error("the person said no, or may not come in any more")]
    Denied,
}

/// A terminal asks to be let in.
pub async fn begin(app: &App, new: NewDeviceLogin, place: &Where) -> Result<DeviceLogin, Error> {
    let client = new.client_name.unwrap_or_default();
    if client.len() > NAME_MAX_BYTES {
        return Err(Error::invalid("client_name", format!("at most {NAME_MAX_BYTES} bytes")));
    }
    let secret = secret::fresh()?;
    let code = UserCode::from_bytes(&secret::random::<64>()?).ok_or(SecretError::NoRandomness)?;
    let asking = Asking {
        client: client.trim().to_owned(),
        address: place.address.map(|address| address.to_string()).unwrap_or_default(),
        user_agent: place.user_agent.clone(),
    };
    let hash = app.pepper.hash(&secret);
    match device_logins::begin(&app.pools.api, &hash, &code, &asking).await? {
        Asked::Begun => {}
        Asked::Crowded => {
            let what = "sign-ins from this address wait for their answer";
            return Err(Error::TooOften { what, wait: DEVICE_LOGIN_PAUSE });
        }
        // Once in more than 10^10 times.
        Asked::Taken => {
            let object = "code".to_owned();
            return Err(ade_store::Error::Conflict { object }.into());
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

/// It comes for its token, as often as it is told to.
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

/// The grant is used up and the token kept by one transaction: of many who ask, one gets it.
async fn issue(
    app: &App,
    hash: &Hash,
    tenant: TenantId,
    user: UserId,
    place: Where,
) -> Result<DeviceToken, Error> {
    let actor = Actor::user(user);
    let mut tx = Tx::begin(&app.pools.api, tenant, actor.clone(), Gate::Unasked).await?;
    let taken = device_logins::take(&mut tx, hash).await?;
    let (client, grant) = taken.ok_or(DeviceRefusal::Expired)?;
    // Between yes and now an admin may have closed the account.
    let known = users::get(&mut tx, user).await?;
    if !known.is_some_and(|user| user.profile.is_active) {
        return Err(DeviceRefusal::Denied.into());
    }
    let made = secret::issue(token::Kind::User)?;
    let lives = DAY * u32::from(grant.days);
    let kept = tokens::NewToken {
        key_id: made.key_id.to_string(),
        principal: Principal::User(user),
        hash: app.pepper.hash(&made.secret),
        scopes: grant.scopes,
        label: client,
        expires_at: tx.now().plus(lives),
        is_single_use: false,
        networks: Networks::default(),
    };
    let inserted = tokens::insert(&mut tx, &kept).await;
    inserted.map_err(|error| refused(error, kept.principal))?;
    let what = What::new(format!("token {}", kept.key_id), "token.create");
    let why = Why { reason: Some("they let a terminal in".to_owned()), ticket: None };
    let leaf = Leaf::new(tenant, Kind::Change, Who::from(&actor), what, tx.now(), place, why);
    audit::append(&mut tx, &[leaf]).await?;
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

/// What a person sees before they answer.
pub async fn show(app: &App, caller: &Caller, typed: &str) -> Result<DeviceRequest, Error> {
    let user = person(caller)?;
    let code = UserCode::parse(typed).ok_or(MISSING)?;
    let mut tx = look(app, caller).await?;
    find(&mut tx, caller, user, &code).await
}

pub async fn approve(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    typed: &str,
    wanted: &DeviceApproval,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    if wanted.days == 0 || wanted.days > DEVICE_TOKEN_DAYS_MAX {
        return Err(Error::invalid("days", format!("1 to {DEVICE_TOKEN_DAYS_MAX}")));
    }
    let scopes = match &wanted.scopes {
        Some(names) => scopes_of(caller, Principal::User(user), names)?,
        None => caller.scopes.clone(),
    };
    let scopes = scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
    let grant = Grant { scopes, days: wanted.days };
    decide(app, caller, attempt, typed, Some(grant)).await
}

pub async fn deny(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    typed: &str,
) -> Result<Reply, Error> {
    decide(app, caller, attempt, typed, None).await
}

async fn decide(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    typed: &str,
    grant: Option<Grant>,
) -> Result<Reply, Error> {
    let user = person(caller)?;
    let code = UserCode::parse(typed).ok_or(MISSING)?;
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let asked = find(&mut act.tx, caller, user, &code).await?;
    let answered = || Error::Closed { what: "sign-in", why: "it was answered already" };
    if asked.status != DeviceStatus::Pending {
        return Err(answered());
    }
    // The terminal's token would be wider than the one that lets it in.
    if grant.is_some() && !own_networks(&mut act.tx, caller).await?.is_anywhere() {
        let why = "your token is bound to networks: let the terminal in from your browser";
        return Err(Error::Closed { what: "sign-in", why });
    }
    // Told to the person now, and not to the terminal later.
    let is_full = tokens::count_open(&mut act.tx, Principal::User(user)).await? >= TOKENS_OPEN_MAX;
    if grant.is_some() && is_full {
        return Err(Error::TooManyTokens { principal: user.to_string() });
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
    let deed = Deed { object: format!("device {code}"), action };
    let body = DeviceRequest { status, ..asked };
    act.finish_because(deed, Some(reason), 200, &body).await
}

/// Whoever has the code may see it until somebody has answered; then it is theirs alone.
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
    let told = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(DeviceRequest {
        user_code: code.to_string(),
        client_name: told(found.asking.client),
        address: told(found.asking.address),
        user_agent: found.asking.user_agent,
        status,
        created_at: found.created_at,
        expires_at: found.expires_at,
    })
}
