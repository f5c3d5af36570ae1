//! Token secrets: random, stored as HMAC-SHA-256 under the installation's pepper, and compared in
//! constant time. The pepper is read once and never printed. While it is being replaced, values
//! made under the previous one stay valid.

use std::fmt;

use ade_core::ids::{InboundId, LeaseId, TaskId, TenantId, UserId, WebhookId};
use ade_core::limits::PEPPER_MIN_BYTES;
use ade_core::time::Timestamp;
use ade_core::token::{KeyId, Secret, Token, TokenKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

#[derive(Clone)]
pub struct Pepper {
    current: Vec<u8>,
    previous: Option<Vec<u8>>,
}

/// The number of bytes in a salt that identify its pepper.
const MARK: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretError {
    #[error("the pepper has {bytes} bytes: at least {PEPPER_MIN_BYTES} are required")]
    PepperTooShort { bytes: usize },
    #[error("the endpoint key could not be derived")]
    NoKey,
    #[error("the system's random number generator failed")]
    NoRandomness,
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

impl Pepper {
    pub fn new(bytes: Vec<u8>) -> Result<Self, SecretError> {
        if bytes.len() < PEPPER_MIN_BYTES {
            return Err(SecretError::PepperTooShort { bytes: bytes.len() });
        }
        Ok(Self { current: bytes, previous: None })
    }

    /// Adds the previous pepper: its values stay valid, and no new value uses it.
    pub fn after(self, previous: Vec<u8>) -> Result<Self, SecretError> {
        let previous = Self::new(previous)?.current;
        Ok(Self { previous: Some(previous), ..self })
    }

    pub fn hash(&self, secret: &Secret) -> [u8; 32] {
        let mac = mac(&self.current, [secret.reveal().as_bytes()]);
        mac.map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default()
    }

    /// Compares in constant time, so that the response time does not reveal which pepper was used.
    pub fn matches(&self, secret: &Secret, kept: &[u8]) -> bool {
        let under = |pepper: &[u8]| {
            mac(pepper, [secret.reveal().as_bytes()])
                .is_some_and(|mac| mac.verify_slice(kept).is_ok())
        };
        let (now, before) = (under(&self.current), self.previous.as_deref().map(under));
        now | before.unwrap_or_default()
    }

    /// Creates a salt for a derived key, under the current pepper.
    pub(crate) fn salt(&self) -> Result<[u8; 32], SecretError> {
        let mut salt = random()?;
        let (place, _) = salt.split_at_mut(MARK);
        place.copy_from_slice(&mark(&self.current));
        Ok(salt)
    }

    /// Returns whether the salt's key becomes invalid when the previous pepper is removed.
    pub(crate) fn is_old(&self, salt: &[u8; 32]) -> bool {
        !salt.starts_with(&mark(&self.current))
    }

    /// Returns the pepper of a salt: the previous one, if there is one and the salt does not carry
    /// the mark of the current one.
    fn of(&self, salt: &[u8; 32]) -> &[u8] {
        match &self.previous {
            Some(previous) if self.is_old(salt) => previous,
            _ => &self.current,
        }
    }

    /// Returns the lease under which an approved task waits: the same in every process, different
    /// after each approval, and not guessable.
    pub fn lease(&self, tenant: TenantId, task: TaskId, since: Timestamp) -> LeaseId {
        let since = since.micros().to_be_bytes();
        let (tenant, task) = (tenant.uuid(), task.uuid());
        let parts = [b"lease".as_slice(), tenant.as_bytes(), task.as_bytes(), &since];
        let Some(mac) = mac(&self.current, parts) else { return LeaseId::from_u128(0) };
        let bytes: [u8; 32] = mac.finalize().into_bytes().into();
        let (half, _) = bytes.split_at(16);
        let half = <[u8; 16]>::try_from(half).unwrap_or_default();
        LeaseId::from_uuid(uuid::Builder::from_custom_bytes(half).into_uuid())
    }

    /// Derives the secret of an invitation that is sent by mail, so that it need not be stored
    /// until then.
    pub fn invitation(&self, tenant: TenantId, user: UserId, key_id: &KeyId) -> Option<Secret> {
        let (tenant, user) = (tenant.uuid(), user.uuid());
        let parts = [b"invitation".as_slice(), tenant.as_bytes(), user.as_bytes()];
        let mac = mac(&self.current, parts.into_iter().chain([key_id.as_str().as_bytes()]))?;
        Some(Secret::from_bytes(mac.finalize().into_bytes().into()))
    }

    /// Derives the key that signs requests to one endpoint from the salt and the pepper. The key is
    /// not stored.
    pub fn webhook_key(
        &self,
        tenant: TenantId,
        endpoint: WebhookId,
        scheme: &str,
        salt: &[u8; 32],
    ) -> Option<[u8; 32]> {
        let (tenant, endpoint) = (tenant.uuid(), endpoint.uuid());
        // All parts but the scheme, which is last, have a fixed length, so different parts never
        // give the same bytes.
        let parts = [b"webhook".as_slice(), tenant.as_bytes(), endpoint.as_bytes(), salt];
        let mac = mac(self.of(salt), parts.into_iter().chain([scheme.as_bytes()]))?;
        Some(mac.finalize().into_bytes().into())
    }

    /// Derives the key with which a source signs its messages, like that of an endpoint.
    pub fn inbound_key(
        &self,
        tenant: TenantId,
        source: InboundId,
        salt: &[u8; 32],
    ) -> Option<[u8; 32]> {
        let (tenant, source) = (tenant.uuid(), source.uuid());
        let parts = [b"inbound".as_slice(), tenant.as_bytes(), source.as_bytes(), salt];
        let mac = mac(self.of(salt), parts)?;
        Some(mac.finalize().into_bytes().into())
    }
}

fn mac<'a>(pepper: &[u8], parts: impl IntoIterator<Item = &'a [u8]>) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(pepper).ok()?;
    parts.into_iter().for_each(|part| mac.update(part));
    Some(mac)
}

/// Identifies a pepper without revealing it.
fn mark(pepper: &[u8]) -> [u8; MARK] {
    let mac = mac(pepper, [b"mark".as_slice()]);
    let bytes: [u8; 32] = mac.map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default();
    let (mark, _) = bytes.split_at(MARK);
    <[u8; MARK]>::try_from(mark).unwrap_or_default()
}

/// Formats a shared secret for Standard Webhooks libraries.
pub(crate) fn standard(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

/// Creates the public part of a token whose secret is derived.
pub(crate) fn key_id() -> Result<KeyId, SecretError> {
    Ok(KeyId::from_bytes(random()?))
}

/// Creates a token for one principal.
pub fn issue(kind: TokenKind) -> Result<Token, SecretError> {
    Ok(Token { kind, key_id: key_id()?, secret: fresh()? })
}

/// Creates a secret that is not part of a token.
pub fn fresh() -> Result<Secret, SecretError> {
    Ok(Secret::from_bytes(random()?))
}

pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], SecretError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| SecretError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_matches_only_its_own_hash() {
        let pepper = Pepper::new(vec![7; PEPPER_MIN_BYTES]).unwrap();
        let other = Pepper::new(vec![8; PEPPER_MIN_BYTES]).unwrap();
        let [one, two] =
            [TokenKind::User, TokenKind::Agent].map(|kind| issue(kind).unwrap().secret);
        let kept = pepper.hash(&one);
        assert!(pepper.matches(&one, &kept));
        assert!(!pepper.matches(&two, &kept), "another secret");
        assert!(!other.matches(&one, &kept), "another pepper");
        assert!(!pepper.matches(&one, &kept[..31]), "a shortened hash");
    }

    #[test]
    fn webhook_keys_differ_by_endpoint_scheme_and_salt() {
        let [one, two] = [7, 8].map(|byte| Pepper::new(vec![byte; PEPPER_MIN_BYTES]).unwrap());
        let [tenant, other] = [1, 2].map(TenantId::from_u128);
        let [hook, another] = [1, 2].map(WebhookId::from_u128);
        let (salt, fresh) = ([1; 32], [2; 32]);
        let keys = [
            one.webhook_key(tenant, hook, "v1", &salt),
            two.webhook_key(tenant, hook, "v1", &salt),
            one.webhook_key(other, hook, "v1", &salt),
            one.webhook_key(tenant, another, "v1", &salt),
            one.webhook_key(tenant, hook, "v1a", &salt),
            one.webhook_key(tenant, hook, "v1", &fresh),
        ];
        let distinct: std::collections::BTreeSet<_> = keys.iter().flatten().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(one.webhook_key(tenant, hook, "v1", &salt), keys[0], "the key is stable");
    }

    #[test]
    fn pepper_previous_is_accepted_until_removed() {
        let [old, new] = [7, 8].map(|byte| vec![byte; PEPPER_MIN_BYTES]);
        let before = Pepper::new(old.clone()).unwrap();
        let between = Pepper::new(new.clone()).unwrap().after(old).unwrap();
        let after = Pepper::new(new).unwrap();
        let secret = issue(TokenKind::User).unwrap().secret;
        let kept = before.hash(&secret);
        assert!(between.matches(&secret, &kept) && !after.matches(&secret, &kept));
        assert_eq!(
            between.hash(&secret),
            after.hash(&secret),
            "the previous pepper makes no new hashes"
        );
        let (tenant, hook) = (TenantId::from_u128(1), WebhookId::from_u128(1));
        let key = |pepper: &Pepper, salt| pepper.webhook_key(tenant, hook, "v1", salt).unwrap();
        let [old, new] = [&before, &between].map(|pepper| pepper.salt().unwrap());
        assert_eq!(key(&between, &old), key(&before, &old));
        assert_eq!(key(&between, &new), key(&after, &new));
        assert_ne!(key(&after, &old), key(&before, &old), "the key is gone with its pepper");
        assert!(!before.is_old(&old) && between.is_old(&old) && !between.is_old(&new));
        let unmarked = [1; 32];
        assert_eq!(
            key(&between, &unmarked),
            key(&before, &unmarked),
            "a salt without a mark uses the old pepper"
        );
    }

    #[test]
    fn pepper_and_secret_debug_output_is_redacted() {
        let pepper = Pepper::new(b"a pepper of thirty-two bytes....".to_vec()).unwrap();
        let token = issue(TokenKind::Agent).unwrap();
        let printed = format!("{pepper:?} {token:?}");
        assert!(!printed.contains("pepper of") && !printed.contains(token.secret.reveal()));
    }

    #[test]
    fn pepper_too_short_is_refused() {
        let refused = Pepper::new(vec![0; PEPPER_MIN_BYTES - 1]).unwrap_err();
        assert_eq!(refused, SecretError::PepperTooShort { bytes: PEPPER_MIN_BYTES - 1 });
    }
}
