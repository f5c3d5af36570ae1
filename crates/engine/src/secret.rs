//! Token secrets: made from the system's randomness, kept as HMAC-SHA-256 under the
//! installation's pepper, compared in constant time. The pepper is read once and never shown.

use std::fmt;

use ade_core::ids::{InboundId, LeaseId, TaskId, TenantId, WebhookId};
use ade_core::limits::PEPPER_MIN_BYTES;
use ade_core::time::Timestamp;
use ade_core::token::{KeyId, Kind, Secret, Token};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

#[derive(Clone)]
pub struct Pepper(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretError {
    #[error("the pepper has {bytes} bytes: at least {PEPPER_MIN_BYTES} are needed")]
    PepperTooShort { bytes: usize },
    #[error("no key can be made for an endpoint")]
    NoKey,
    #[error("the system gives no randomness")]
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
        Ok(Self(bytes))
    }

    pub fn hash(&self, secret: &Secret) -> [u8; 32] {
        self.mac(secret).map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default()
    }

    /// In constant time, whatever was kept.
    pub fn matches(&self, secret: &Secret, kept: &[u8]) -> bool {
        self.mac(secret).is_some_and(|mac| mac.verify_slice(kept).is_ok())
    }

    /// The lease under which a task waits while it is approved: the same for every process that
    /// works for it, another one each time it is approved, and nobody else can guess it.
    pub fn lease(&self, tenant: TenantId, task: TaskId, since: Timestamp) -> LeaseId {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return LeaseId::from_u128(0);
        };
        mac.update(b"lease");
        mac.update(tenant.uuid().as_bytes());
        mac.update(task.uuid().as_bytes());
        mac.update(&since.micros().to_be_bytes());
        let bytes: [u8; 32] = mac.finalize().into_bytes().into();
        let (half, _) = bytes.split_at(16);
        let half = <[u8; 16]>::try_from(half).unwrap_or_default();
        LeaseId::from_uuid(uuid::Builder::from_custom_bytes(half).into_uuid())
    }

    /// The key with which requests to one endpoint are signed: nowhere kept, since it follows from
    /// the salt, and from the salt alone nobody can tell it.
    pub fn webhook_key(
        &self,
        tenant: TenantId,
        endpoint: WebhookId,
        scheme: &str,
        salt: &[u8; 32],
    ) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        // All parts but the scheme have one length, so no two sets of parts are one text.
        for part in [b"webhook".as_slice(), tenant.uuid().as_bytes(), endpoint.uuid().as_bytes()] {
            mac.update(part);
        }
        mac.update(salt);
        mac.update(scheme.as_bytes());
        Some(mac.finalize().into_bytes().into())
    }

    /// The key with which one source signs what it sends here; like that of an endpoint.
    pub fn inbound_key(
        &self,
        tenant: TenantId,
        source: InboundId,
        salt: &[u8; 32],
    ) -> Option<[u8; 32]> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in [b"inbound".as_slice(), tenant.uuid().as_bytes(), source.uuid().as_bytes()] {
            mac.update(part);
        }
        mac.update(salt);
        Some(mac.finalize().into_bytes().into())
    }

    fn mac(&self, secret: &Secret) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(secret.reveal().as_bytes());
        Some(mac)
    }
}

/// A shared secret as libraries for Standard Webhooks take it.
pub(crate) fn standard(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

/// A fresh token for one principal.
pub fn issue(kind: Kind) -> Result<Token, SecretError> {
    let key_id = KeyId::from_bytes(random()?);
    let secret = Secret::from_bytes(random()?);
    Ok(Token { kind, key_id, secret })
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
    fn a_secret_matches_its_own_hash_and_no_other() {
        let pepper = Pepper::new(vec![7; PEPPER_MIN_BYTES]).unwrap();
        let other = Pepper::new(vec![8; PEPPER_MIN_BYTES]).unwrap();
        let [one, two] = [Kind::User, Kind::Agent].map(|kind| issue(kind).unwrap().secret);
        let kept = pepper.hash(&one);
        assert!(pepper.matches(&one, &kept));
        assert!(!pepper.matches(&two, &kept), "another secret");
        assert!(!other.matches(&one, &kept), "another pepper");
        assert!(!pepper.matches(&one, &kept[..31]), "half a hash");
    }

    #[test]
    fn every_endpoint_scheme_and_salt_has_a_key_of_its_own() {
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
        assert_eq!(one.webhook_key(tenant, hook, "v1", &salt), keys[0], "the same ever after");
    }

    #[test]
    fn neither_pepper_nor_secret_is_printed() {
        let pepper = Pepper::new(b"a pepper of thirty-two bytes....".to_vec()).unwrap();
        let token = issue(Kind::Agent).unwrap();
        let printed = format!("{pepper:?} {token:?}");
        assert!(!printed.contains("pepper of") && !printed.contains(token.secret.reveal()));
    }

    #[test]
    fn a_short_pepper_is_refused() {
        let refused = Pepper::new(vec![0; PEPPER_MIN_BYTES - 1]).unwrap_err();
        assert_eq!(refused, SecretError::PepperTooShort { bytes: PEPPER_MIN_BYTES - 1 });
    }
}
