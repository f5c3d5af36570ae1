//! Tickets: a browser cannot show a token when it opens a socket, and an address with a token in it
//! is written down in too many places. A ticket works once and for seconds. They lie in PostgreSQL
//! and not in Redis: a socket must open while Redis is away, and one way is simpler than two.

use ade_core::audit::Where;
use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use ade_core::token::Secret;
use ade_store::{live, tokens};

use super::channel::begin;
use crate::app::App;
use crate::auth::{AuthError, caller_of};
use crate::caller::Caller;
use crate::error::Error;
use crate::secret;

/// Between the tenant and the secret.
const MARK: char = '.';

#[derive(Debug)]
pub struct Issued {
    /// Shown once.
    pub ticket: String,
    pub expires_at: Timestamp,
}

/// For whoever showed a token.
pub async fn issue(app: &App, caller: &Caller) -> Result<Issued, Error> {
    let key_id = caller.key_id.as_deref().ok_or(Error::NotFound { what: "token" })?;
    let secret = secret::fresh()?;
    let mut tx = begin(app, caller.tenant).await?;
    let expires_at = live::keep_ticket(&mut tx, &app.pepper.hash(&secret), key_id).await?;
    tx.commit().await?;
    Ok(Issued { ticket: format!("{}{MARK}{}", caller.tenant, secret.reveal()), expires_at })
}

/// The caller it was given to, with the rights of this moment. Whatever is wrong with it, the
/// answer is the same.
pub async fn redeem(app: &App, ticket: &str, place: Where) -> Result<Caller, AuthError> {
    let (tenant, secret) = ticket.split_once(MARK).ok_or(AuthError::Unknown)?;
    let tenant: TenantId = tenant.parse().map_err(|_| AuthError::Unknown)?;
    let secret = Secret::parse(secret).map_err(|_| AuthError::Unknown)?;
    let mut tx = begin(app, tenant).await.map_err(|error| match error {
        Error::Store(error) => AuthError::Store(error),
        _ => AuthError::Unknown,
    })?;
    let taken = live::take_ticket(&mut tx, &app.pepper.hash(&secret)).await?;
    tx.commit().await?;
    let key_id = taken.ok_or(AuthError::Unknown)?;
    let resolved = tokens::resolve(&app.pools.api, &key_id).await?;
    let resolved = resolved.filter(|resolved| resolved.is_live && resolved.tenant == tenant);
    caller_of(&resolved.ok_or(AuthError::Unknown)?, &key_id, place)
}
