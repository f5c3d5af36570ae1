//! Signatures as Standard Webhooks has them: over id, time and body, one for each key that counts
//! now. A shared secret signs as `v1`, a key pair as `v1a`.

use std::fmt;

use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use ade_store::webhooks::{Endpoint, Salt, Scheme};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::secret::{self, Pepper, SecretError};

pub enum Key {
    Shared(Vec<u8>),
    Pair(Ed25519KeyPair),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    pub fn new(
        pepper: &Pepper,
        tenant: TenantId,
        endpoint: &Endpoint,
        salt: &Salt,
    ) -> Result<Self, SecretError> {
        let scheme = endpoint.scheme;
        let key = pepper.webhook_key(tenant, endpoint.id, scheme.as_str(), salt);
        let key = key.ok_or(SecretError::NoKey)?;
        match scheme {
            Scheme::V1 => Ok(Self::Shared(key.to_vec())),
            Scheme::V1a => Ed25519KeyPair::from_seed_unchecked(&key)
                .map(Self::Pair)
                .map_err(|_| SecretError::NoKey),
        }
    }

    /// What whoever receives needs and nobody else may know.
    pub fn secret(&self) -> Option<String> {
        match self {
            Self::Shared(key) => Some(secret::standard(key)),
            Self::Pair(_) => None,
        }
    }

    /// What everybody may know.
    pub fn public(&self) -> Option<String> {
        match self {
            Self::Shared(_) => None,
            Self::Pair(pair) => {
                Some(format!("whpk_{}", STANDARD.encode(pair.public_key().as_ref())))
            }
        }
    }

    fn sign(&self, text: &[u8]) -> String {
        match self {
            Self::Shared(key) => {
                let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
                    return String::new();
                };
                mac.update(text);
                format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
            }
            Self::Pair(pair) => format!("v1a,{}", STANDARD.encode(pair.sign(text).as_ref())),
        }
    }
}

/// The one of now first; while they overlap, the one before too.
pub fn keys_of(
    pepper: &Pepper,
    tenant: TenantId,
    endpoint: &Endpoint,
    now: Timestamp,
) -> Result<Vec<Key>, SecretError> {
    let old = endpoint.old_salt.filter(|(_, until)| now < *until).map(|(salt, _)| salt);
    let salts = [Some(endpoint.salt), old].into_iter().flatten();
    salts.map(|salt| Key::new(pepper, tenant, endpoint, &salt)).collect()
}

/// `seconds` since 1970, by the clock of the world.
pub fn signature(keys: &[Key], id: &str, seconds: u64, body: &str) -> String {
    let text = format!("{id}.{seconds}.{body}");
    let signed: Vec<String> = keys.iter().map(|key| key.sign(text.as_bytes())).collect();
    signed.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the specification: its own example of a secret, an id, a time and a body.
    #[test]
    fn a_shared_secret_signs_as_the_standard_does() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let keys = [Key::Shared(secret)];
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&keys, id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_pair_signs_what_its_public_half_verifies() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let signed = signature(&[Key::Pair(pair)], "evt_1", 7, "{}");
        let raw = STANDARD.decode(signed.strip_prefix("v1a,").unwrap()).unwrap();
        let verifier =
            aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ED25519, public);
        assert!(verifier.verify(b"evt_1.7.{}", &raw).is_ok());
        assert!(verifier.verify(b"evt_1.8.{}", &raw).is_err());
    }

    #[test]
    fn keys_are_not_printed() {
        let shown = format!("{:?}", Key::Shared(vec![7; 32]));
        assert_eq!(shown, "Key(…)");
    }
}
