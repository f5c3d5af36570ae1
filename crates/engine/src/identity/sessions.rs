//! Sessions of the caller: listing and ending them, and switching tenants. People cannot see or end
//! the sessions of others: to lock a person out, deactivate the account.

use ade_api::sessions::{Named, Session, SessionShown, Sessions};
use ade_core::audit::{EntryKind, What, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{SESSION_IDLE, TENANTS_OF_PERSON_MAX};
use ade_core::time::Timestamp;
use ade_core::token::Token;
use ade_store::sessions;
use ade_store::users::User;
use ade_store::{TenantLock, Tx, audit, tokens, users};

use super::{SignInBasis, open_session};
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{audit_entry, begin, look, person};
use crate::error::Error;

const MISSING: Error = Error::NotFound { what: "session" };

/// Returns the session of the caller.
pub async fn current(app: &App, caller: &Caller) -> Result<Session, Error> {
    let (session, user) = here(app, caller).await?;
    let tenants = tenants_of(app, &user).await?;
    let tenant = tenants.iter().find(|tenant| tenant.id == caller.tenant.to_string()).cloned();
    let tenants = up_to_date(tenants, &session);
    Ok(Session {
        id: session.key_id,
        user: Named { id: user.id.to_string(), name: user.profile.name },
        tenant: tenant.ok_or(MISSING)?,
        tenants,
        created_at: session.created_at,
        idle_expires_at: session.idle_until,
        expires_at: session.expires_at,
    })
}

pub async fn list(app: &App, caller: &Caller) -> Result<Sessions, Error> {
    let id = person(caller).map_err(|_| MISSING)?;
    let mut tx = look(app, caller).await?;
    let found = sessions::list(&mut tx, id).await?;
    Ok(Sessions { items: found.into_iter().map(|session| shown(session, caller)).collect() })
}

/// Ends a session permanently; this takes effect everywhere within a second.
pub async fn end(app: &App, caller: &Caller, key_id: &str) -> Result<SessionShown, Error> {
    let id = person(caller).map_err(|_| MISSING)?;
    let mut tx = begin(&app.pools.api, caller, TenantLock::None).await?;
    let session = find(&mut tx, id, Some(key_id)).await?;
    if tokens::revoke(&mut tx, key_id).await? {
        leave(&mut tx, caller, id).await?;
    }
    tx.commit().await?;
    app.tokens.forget(key_id);
    Ok(shown(session, caller))
}

/// Switches to another tenant of the same person: opens a session there and ends the current one.
pub async fn switch(app: &App, caller: &Caller, tenant: TenantId) -> Result<Token, Error> {
    let (session, user) = here(app, caller).await?;
    let unknown = || Error::NotFound { what: "tenant" };
    let wanted = tenant.to_string();
    if !up_to_date(tenants_of(app, &user).await?, &session).iter().any(|known| known.id == wanted) {
        return Err(unknown());
    }
    let there = Caller { tenant, ..caller.clone() };
    let mut tx = look(app, &there).await?;
    let other = users::of_subject(&mut tx, &user.issuer, &user.subject).await?;
    tx.roll_back().await;
    let other = other.ok_or_else(unknown)?;
    let place = caller.place.clone();
    let basis = SignInBasis {
        since: Some(session.signed_in_at),
        outdated_tenants: session.outdated_tenants,
    };
    let token = open_session(app, tenant, other, basis, place).await?;
    end(app, caller, &session.key_id).await?;
    Ok(token)
}

async fn leave(tx: &mut Tx, caller: &Caller, user: UserId) -> Result<(), Error> {
    let what = What::new(user.to_string(), "session.end");
    let entry = audit_entry(tx, caller, EntryKind::Change, what, Why::default());
    audit::append(tx, &[entry]).await?;
    Ok(())
}

async fn tenants_of(app: &App, user: &User) -> Result<Vec<Named>, Error> {
    let found = sessions::tenants_of(&app.pools.api, &user.issuer, &user.subject, &[]).await?;
    let served = found.into_iter().filter(|open| app.providers.serve(&user.issuer, &open.tenant));
    let named = served.map(|open| Named { id: open.tenant.id.to_string(), name: open.tenant.name });
    Ok(named.collect())
}

/// Removes the tenants that the sign-in has not updated, because outdated roles could still be
/// active there. The list is bounded like a sign-in.
fn up_to_date(mut tenants: Vec<Named>, session: &sessions::Session) -> Vec<Named> {
    let outdated: Vec<String> = session.outdated_tenants.iter().map(ToString::to_string).collect();
    tenants.retain(|tenant| !outdated.contains(&tenant.id));
    tenants.truncate(TENANTS_OF_PERSON_MAX);
    tenants
}

/// Returns the calling session and its user.
async fn here(app: &App, caller: &Caller) -> Result<(sessions::Session, User), Error> {
    let id = person(caller).map_err(|_| MISSING)?;
    let mut tx = look(app, caller).await?;
    let session = find(&mut tx, id, caller.key_id()).await?;
    let user = users::get(&mut tx, id).await?.ok_or(MISSING)?;
    tx.roll_back().await;
    Ok((session, user))
}

async fn find(tx: &mut Tx, user: UserId, key_id: Option<&str>) -> Result<sessions::Session, Error> {
    let open = sessions::list(tx, user).await?;
    open.into_iter().find(|session| Some(session.key_id.as_str()) == key_id).ok_or(MISSING)
}

fn shown(session: sessions::Session, caller: &Caller) -> SessionShown {
    let idle = i64::try_from(SESSION_IDLE.as_micros()).unwrap_or(i64::MAX);
    let last_seen_at = Timestamp::from_micros(session.idle_until.micros().saturating_sub(idle));
    SessionShown {
        is_current: caller.key_id() == Some(session.key_id.as_str()),
        id: session.key_id,
        address: session.address,
        user_agent: session.user_agent,
        created_at: session.created_at,
        last_seen_at,
        expires_at: session.expires_at,
    }
}
