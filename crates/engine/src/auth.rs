//! From a token to a caller, whether it came in a header or in a browser's cookie. What PostgreSQL
//! said of a key is remembered for less than a second, so that revoking takes hold at once
//! everywhere; whatever is wrong with a token, the answer is the same.

use std::sync::Arc;

use ade_core::access::Class;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::limits::{TOKEN_CACHED_FOR, TOKENS_CACHED_MAX};
use ade_core::token::{Kind, Token};
use ade_store::sessions;
use ade_store::tokens::{self, Principal, Resolved};
use moka::sync::Cache;
use thiserror::Error;

use crate::app::App;
use crate::caller::Caller;

#[derive(Debug)]
pub struct Tokens {
    known: Cache<String, Arc<Resolved>>,
}

#[derive(Debug, Error)]
pub enum AuthError {
    /// Missing, mistyped, unknown, wrong, expired, revoked: nobody learns which.
    #[error("no valid token")]
    Unknown,
    #[error(transparent)]
    Store(#[from] ade_store::Error),
}

impl Default for Tokens {
    fn default() -> Self {
        let known =
            Cache::builder().max_capacity(TOKENS_CACHED_MAX).time_to_live(TOKEN_CACHED_FOR).build();
        Self { known }
    }
}

impl Tokens {
    /// This process need not wait for what it has just revoked.
    pub fn forget(&self, key_id: &str) {
        self.known.invalidate(key_id);
    }
}

pub async fn authenticate(app: &App, token: &Token, place: Where) -> Result<Caller, AuthError> {
    let key_id = token.key_id.as_str();
    let remembered = app.tokens.known.get(key_id);
    // What does not fit is asked about anew: a session is given another secret now and then, and
    // whoever brings it must not be refused for what is remembered of the one before.
    let kept = remembered.as_ref().map_or([0; 32], |resolved| resolved.hash);
    let has_changed = !app.pepper.matches(&token.secret, &kept);
    let remembered = remembered.filter(|_| !has_changed);
    let is_fresh = remembered.is_none();
    let resolved = match remembered {
        Some(resolved) => Some(resolved),
        None => tokens::resolve(&app.pools.api, key_id).await?.map(Arc::new),
    };
    // Compared even if there is nothing to compare with: the time taken must not tell.
    let kept = resolved.as_ref().map_or([0; 32], |resolved| resolved.hash);
    let is_right = app.pepper.matches(&token.secret, &kept);
    let is_session = token.kind == Kind::Session;
    let resolved = resolved
        .filter(|resolved| is_right && resolved.is_live && resolved.is_session == is_session);
    let resolved = resolved.ok_or(AuthError::Unknown)?;
    if resolved.is_single_use {
        if !tokens::consume(&app.pools.api, key_id).await? {
            return Err(AuthError::Unknown);
        }
    } else if is_fresh {
        if is_session {
            sessions::keep(&app.pools.api, key_id).await?;
        } else if resolved.noted_at.is_none() && resolved.networks.admit(place.address) {
            note_use(app, key_id).await;
        }
        // Only then: a token in constant use must not keep its own memory alive.
        app.tokens.known.insert(key_id.to_owned(), Arc::clone(&resolved));
    }
    caller_of(&resolved, key_id, place)
}

/// Seen by whoever looks after the token; nobody is turned away for want of it.
async fn note_use(app: &App, key_id: &str) {
    if let Err(error) = tokens::note_use(&app.pools.api, key_id).await {
        tracing::warn!(key_id, %error, "the use of a token is not noted");
    }
}

/// The caller that a token speaks for, once it is known to be live.
pub(crate) fn caller_of(
    resolved: &Resolved,
    key_id: &str,
    place: Where,
) -> Result<Caller, AuthError> {
    if !resolved.networks.admit(place.address) {
        // Whoever has the secret and is elsewhere has probably no right to it.
        let address = place.address.map(|address| address.to_string());
        tracing::warn!(key_id, address, "a token is used from outside of its networks");
        metrics::counter!("ade_tokens_out_of_place_total").increment(1);
        return Err(AuthError::Unknown);
    }
    let actor = match (resolved.principal, resolved.owner) {
        (Principal::User(id), _) => Actor::user(id),
        (Principal::Agent(id), Some(on_behalf_of)) => Actor::Agent { id, on_behalf_of },
        (Principal::Agent(_), None) => return Err(AuthError::Unknown),
    };
    let scopes = Class::ALL
        .into_iter()
        .filter(|class| resolved.scopes.iter().any(|scope| scope == class.as_str()))
        .filter(|class| matches!(actor, Actor::User { .. }) || class.is_open_to_agents())
        .collect();
    let key_id = Some(key_id.to_owned());
    Ok(Caller { tenant: resolved.tenant, actor, scopes, key_id, place })
}
