//! Tickets for opening a socket: a browser cannot send a token with it, and an address that
//! contains a token is logged in too many places. A ticket is valid once and for seconds. Tickets
//! are stored in PostgreSQL and not in Redis, because a socket must open while Redis is
//! unavailable.

use ade_core::audit::Where;
use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use ade_core::token::Secret;
use ade_store::{live, tokens};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::identity::{AuthError, caller_of};
use crate::services::event_hub::channel::begin;
use crate::services::secrets;

/// Separates the tenant from the secret.
const MARK: char = '.';

#[derive(Debug)]
pub struct Issued {
    /// The ticket, which is shown once.
    pub ticket: String,
    pub expires_at: Timestamp,
}

/// Issues a ticket for a caller that is authenticated by a token.
pub async fn issue(app: &App, caller: &Caller) -> Result<Issued, Error> {
    let key_id = caller.key_id().ok_or(Error::NotFound { what: "token" })?;
    let secret = secrets::fresh()?;
    let mut tx = begin(&app.pools.api, caller.tenant).await?;
    let expires_at = live::keep_ticket(&mut tx, &app.pepper.hash(&secret), key_id).await?;
    tx.commit().await?;
    Ok(Issued { ticket: format!("{}{MARK}{}", caller.tenant, secret.reveal()), expires_at })
}

/// Returns the caller to whom the ticket was issued, with their current permissions. Every invalid
/// ticket gets the same response.
pub async fn redeem(app: &App, ticket: &str, place: Where) -> Result<Caller, AuthError> {
    let (tenant, secret) = ticket.split_once(MARK).ok_or(AuthError::Unknown)?;
    let tenant: TenantId = tenant.parse().map_err(|_| AuthError::Unknown)?;
    let secret = Secret::parse(secret).map_err(|_| AuthError::Unknown)?;
    let mut tx = begin(&app.pools.api, tenant).await?;
    let taken = live::take_ticket(&mut tx, &app.pepper.hash(&secret)).await?;
    tx.commit().await?;
    let key_id = taken.ok_or(AuthError::Unknown)?;
    let resolved = tokens::resolve(&app.pools.api, &key_id).await?;
    let resolved = resolved.filter(|resolved| resolved.is_live && resolved.tenant == tenant);
    caller_of(&resolved.ok_or(AuthError::Unknown)?, &key_id, place)
}
