//! A cache of tokens that were resolved in PostgreSQL less than a second ago, and a record of those
//! that were valid within the last hour.

use std::sync::Arc;
use std::time::Duration;

use ade_core::token::Token;
use ade_store::tokens::Resolved;
use moka::sync::Cache;

use crate::services::secrets::Pepper;

/// How long a token is cached: a revoked token is refused everywhere within a second.
const TOKEN_CACHED_FOR: Duration = Duration::from_millis(800);
const TOKENS_CACHED_MAX: u64 = 50_000;
/// How long a valid token is known as such. It authenticates no one; it only decides whether the
/// token is looked up at all while its address is over the limit.
const TOKEN_KNOWN_FOR: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub struct Tokens {
    known: Cache<String, Arc<Resolved>>,
    /// The hashes of the secrets of tokens that were valid, by key id.
    valid: Cache<String, [u8; 32]>,
}

impl Default for Tokens {
    fn default() -> Self {
        let known =
            Cache::builder().max_capacity(TOKENS_CACHED_MAX).time_to_live(TOKEN_CACHED_FOR).build();
        let valid =
            Cache::builder().max_capacity(TOKENS_CACHED_MAX).time_to_live(TOKEN_KNOWN_FOR).build();
        Self { known, valid }
    }
}

impl Tokens {
    /// Returns the cached result for this key, if it is less than a second old.
    pub(crate) fn get(&self, key_id: &str) -> Option<Arc<Resolved>> {
        self.known.get(key_id)
    }

    pub(crate) fn insert(&self, key_id: &str, resolved: &Arc<Resolved>) {
        self.known.insert(key_id.to_owned(), Arc::clone(resolved));
        self.valid.insert(key_id.to_owned(), resolved.hash);
    }

    /// Returns whether this token, including its secret, was valid when it was last used here.
    pub fn was_valid(&self, pepper: &Pepper, token: &Token) -> bool {
        let kept = self.valid.get(token.key_id.as_str());
        kept.is_some_and(|kept| pepper.matches(&token.secret, &kept))
    }

    /// Records that this token is no longer valid. A wrong secret changes nothing, so that guessing
    /// does not affect the holder of the token.
    pub fn reject(&self, pepper: &Pepper, token: &Token) {
        if self.was_valid(pepper, token) {
            self.valid.invalidate(token.key_id.as_str());
        }
    }

    /// Removes a token that this process has just revoked, so that it is refused immediately.
    pub fn forget(&self, key_id: &str) {
        self.known.invalidate(key_id);
        self.valid.invalidate(key_id);
    }
}
