//! Turns a token into a caller, whether it came in a header or in a browser's cookie. A key read
//! from PostgreSQL is cached for less than a second, so that a revocation takes effect everywhere
//! almost immediately. Only a caller with the right secret learns why the token is not accepted.

use std::net::IpAddr;
use std::sync::Arc;

use ade_core::access::Scope;
use ade_core::actor::{Actor, Credential, CredentialKind};
use ade_core::audit::Where;
use ade_core::time::Timestamp;
use ade_core::token::{Token, TokenKind};
use ade_store::sessions;
use ade_store::tokens::{self, Principal, Resolved};
use ade_store::{TenantLock, Tx};
use thiserror::Error;

use crate::app::App;
use crate::caller::Caller;

#[derive(Debug, Error)]
pub enum AuthError {
    /// The token is missing, malformed, unknown or wrong, or used in the wrong place; the caller
    /// does not learn which.
    #[error("the token is missing or invalid")]
    Unknown,
    /// The secret is right, but the token is no longer valid.
    #[error(transparent)]
    Ended(#[from] TokenEnd),
    #[error(transparent)]
    Store(#[from] ade_store::StoreError),
}

/// Why a token with the right secret is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenEnd {
    #[error("the token was revoked at {at}")]
    Revoked { at: Timestamp },
    #[error("the token expired at {at}")]
    Expired { at: Timestamp },
    #[error("the token can be used once and was used, or its holder is no longer active")]
    Inactive,
}

pub async fn authenticate(app: &App, token: &Token, place: Where) -> Result<Caller, AuthError> {
    let key_id = token.key_id.as_str();
    let remembered = app.tokens.get(key_id);
    // Step-up rotates the secret of a session. A cached entry that does not match the presented
    // secret is therefore looked up again instead of being refused.
    let is_current = secret_matches(app, token, remembered.as_deref());
    let remembered = remembered.filter(|_| is_current);
    let is_fresh = remembered.is_none();
    let resolved = match remembered {
        Some(resolved) => Some(resolved),
        None => verified(app, token).await?.map(Arc::new),
    };
    let is_session = token.kind == TokenKind::Session;
    let resolved = resolved.filter(|resolved| resolved.is_session == is_session);
    let resolved = resolved.ok_or(AuthError::Unknown)?;
    if !resolved.is_live {
        return Err(ended(app, &resolved, place.address()).await?);
    }
    if resolved.is_single_use {
        if !tokens::consume(&app.pools.api, key_id).await? {
            return Err(TokenEnd::Inactive.into());
        }
    } else if is_fresh {
        if is_session {
            sessions::keep(&app.pools.api, key_id).await?;
        } else if resolved.noted_at.is_none() && resolved.networks.admit(place.address()) {
            note_use(app, key_id).await;
        }
        // Only a fresh result is cached: a token in constant use must not extend the lifetime of
        // its own entry.
        app.tokens.insert(key_id, &resolved);
    }
    caller_of(&resolved, key_id, place)
}

/// Returns why a token with the right secret is not accepted. Outside of the token's networks it is
/// indistinguishable from an unknown one.
async fn ended(
    app: &App,
    resolved: &Resolved,
    address: Option<IpAddr>,
) -> Result<AuthError, ade_store::StoreError> {
    if !resolved.networks.admit(address) {
        return Ok(AuthError::Unknown);
    }
    if let Some(at) = resolved.revoked_at {
        return Ok(TokenEnd::Revoked { at }.into());
    }
    let actor = Actor::System { worker: "authenticate".to_owned() };
    let tx = Tx::begin(&app.pools.api, resolved.tenant, actor, TenantLock::None).await?;
    let now = tx.now();
    tx.roll_back().await;
    let has_expired = resolved.expires_at <= now;
    let end = if has_expired {
        TokenEnd::Expired { at: resolved.expires_at }
    } else {
        TokenEnd::Inactive
    };
    Ok(end.into())
}

/// Reads a token from PostgreSQL, bypassing the cache. Returns `None` if the token is unknown or if
/// its secret does not match.
pub(crate) async fn verified(
    app: &App,
    token: &Token,
) -> Result<Option<Resolved>, ade_store::StoreError> {
    let found = tokens::resolve(&app.pools.api, token.key_id.as_str()).await?;
    let is_right = secret_matches(app, token, found.as_ref());
    Ok(found.filter(|_| is_right))
}

/// Checks the secret of a token. An unknown token is compared against zeros, so that the response
/// time does not reveal whether the key id exists.
fn secret_matches(app: &App, token: &Token, known: Option<&Resolved>) -> bool {
    let kept = known.map_or([0; 32], |resolved| resolved.hash);
    app.pepper.matches(&token.secret, &kept)
}

/// Stores when the token was last used, for display to its owner. A failure does not refuse the
/// call.
async fn note_use(app: &App, key_id: &str) {
    if let Err(error) = tokens::note_use(&app.pools.api, key_id).await {
        tracing::warn!(key_id, %error, "failed to record token use");
    }
}

/// Builds the caller that a valid token authenticates.
pub(crate) fn caller_of(
    resolved: &Resolved,
    key_id: &str,
    place: Where,
) -> Result<Caller, AuthError> {
    if !resolved.networks.admit(place.address()) {
        // A valid secret used from an unexpected network has probably leaked.
        let address = place.address().map(|address| address.to_string());
        tracing::warn!(key_id, address, "token refused: address outside its allowed networks");
        metrics::counter!("ade_tokens_out_of_place_total").increment(1);
        return Err(AuthError::Unknown);
    }
    let kind = if resolved.is_session { CredentialKind::Session } else { CredentialKind::Token };
    let credential = Some(Credential {
        kind,
        key_id: key_id.to_owned(),
        issued_by: resolved.issued_by,
        step_up: None,
    });
    let actor = match (resolved.principal, resolved.owner) {
        (Principal::User(id), _) => Actor::User { id, credential },
        (Principal::Agent(id), Some(on_behalf_of)) => Actor::Agent { id, on_behalf_of, credential },
        (Principal::Agent(_), None) => return Err(AuthError::Unknown),
    };
    let scopes = Scope::ALL
        .into_iter()
        .filter(|class| resolved.scopes.iter().any(|scope| scope == class.as_str()))
        .filter(|class| matches!(actor, Actor::User { .. }) || class.is_open_to_agents())
        .collect();
    Ok(Caller { tenant: resolved.tenant, actor, scopes, place })
}
