//! Sessions of the person who asks: the one they are in, the others, ending them, and going on in
//! another tenant. Nobody sees or ends those of others: who is locked out is deactivated.

use ade_api::sessions::{Named, Session, SessionShown, Sessions};
use ade_core::audit::{Kind, What, Why};
use ade_core::ids::{TenantId, UserId};
use ade_core::limits::{SESSION_IDLE, TENANTS_OF_PERSON_MAX};
use ade_core::time::Timestamp;
use ade_core::token::Token;
use ade_store::sessions;
use ade_store::users::User;
use ade_store::{Gate, Tx, audit, tokens, users};

use super::act::{begin, leaf_of, look, person};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::identity::open_session;

const MISSING: Error = Error::NotFound { what: "session" };

/// The one that the caller is in.
pub async fn current(app: &App, caller: &Caller) -> Result<Session, Error> {
    let (session, user) = here(app, caller).await?;
    let tenants = tenants_of(app, &user).await?;
    let tenant = tenants.iter().find(|tenant| tenant.id == caller.tenant.to_string()).cloned();
    let tenants = up_to_date(tenants);
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

/// For good, and within a second everywhere.
pub async fn end(app: &App, caller: &Caller, key_id: &str) -> Result<SessionShown, Error> {
    let id = person(caller).map_err(|_| MISSING)?;
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let session = find(&mut tx, id, Some(key_id)).await?;
    if tokens::revoke(&mut tx, key_id).await? {
        leave(&mut tx, caller, id).await?;
    }
    tx.commit().await?;
    app.tokens.forget(key_id);
    Ok(shown(session, caller))
}

/// The same person in another tenant: a session there, and no longer one here.
pub async fn switch(app: &App, caller: &Caller, tenant: TenantId) -> Result<Token, Error> {
    let (session, user) = here(app, caller).await?;
    let unknown = || Error::NotFound { what: "tenant" };
    let wanted = tenant.to_string();
    if !up_to_date(tenants_of(app, &user).await?).iter().any(|known| known.id == wanted) {
        return Err(unknown());
    }
    let there = Caller { tenant, ..caller.clone() };
    let mut tx = look(app, &there).await?;
    let other = users::of_subject(&mut tx, &user.issuer, &user.subject).await?;
    tx.roll_back().await;
    let other = other.ok_or_else(unknown)?;
    let place = caller.place.clone();
    let token = open_session(app, tenant, other, Some(session.signed_in_at), place).await?;
    end(app, caller, &session.key_id).await?;
    Ok(token)
}

async fn leave(tx: &mut Tx, caller: &Caller, user: UserId) -> Result<(), Error> {
    let what = What::new(user.to_string(), "session.end");
    let leaf = leaf_of(tx, caller, Kind::Change, what, Why::default());
    audit::append(tx, &[leaf]).await?;
    Ok(())
}

async fn tenants_of(app: &App, user: &User) -> Result<Vec<Named>, Error> {
    let found = sessions::tenants_of(&app.pools.api, &user.issuer, &user.subject, &[]).await?;
    Ok(found.into_iter().map(|(id, name)| Named { id: id.to_string(), name }).collect())
}

/// A sign-in brings so many up to date, the first by name. In a further one the roles of an earlier
/// time could still stand: nobody goes on there.
fn up_to_date(mut tenants: Vec<Named>) -> Vec<Named> {
    tenants.truncate(TENANTS_OF_PERSON_MAX);
    tenants
}

/// The session that asks, and whose it is.
async fn here(app: &App, caller: &Caller) -> Result<(sessions::Session, User), Error> {
    let id = person(caller).map_err(|_| MISSING)?;
    let mut tx = look(app, caller).await?;
    let session = find(&mut tx, id, caller.key_id.as_deref()).await?;
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
        is_current: caller.key_id.as_ref() == Some(&session.key_id),
        id: session.key_id,
        address: session.address,
        user_agent: session.user_agent,
        created_at: session.created_at,
        last_seen_at,
        expires_at: session.expires_at,
    }
}
