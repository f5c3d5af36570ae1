//! Signatures of Standard Webhooks over id, time and body, one for each current key. A shared
//! secret signs as `v1`, a key pair as `v1a`.

use std::fmt;

use ade_core::ids::TenantId;
use ade_core::time::Timestamp;
use ade_store::signed_endpoint::Salt;
use ade_store::webhooks::{Endpoint, Scheme};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::services::secrets::{self, Pepper, SecretError};

pub enum SigningKey {
    Shared(Vec<u8>),
    Pair(Ed25519KeyPair),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl SigningKey {
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

    /// Returns the secret for the receiver, or `None` for a key pair.
    pub fn secret(&self) -> Option<String> {
        match self {
            Self::Shared(key) => Some(secrets::standard(key)),
            Self::Pair(_) => None,
        }
    }

    /// Returns the public key, or `None` for a shared secret.
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

/// Returns the keys of an endpoint: the current one, and the previous one during a rotation.
pub fn keys_of(
    pepper: &Pepper,
    tenant: TenantId,
    endpoint: &Endpoint,
    now: Timestamp,
) -> Result<Vec<SigningKey>, SecretError> {
    let old = endpoint.old_salt.filter(|(_, until)| now < *until).map(|(salt, _)| salt);
    let salts = [Some(endpoint.salt), old].into_iter().flatten();
    salts.map(|salt| SigningKey::new(pepper, tenant, endpoint, &salt)).collect()
}

/// Returns the value of the signature header. `seconds` is wall-clock time since 1970.
pub fn signature(keys: &[SigningKey], id: &str, seconds: u64, body: &str) -> String {
    let text = format!("{id}.{seconds}.{body}");
    let signed: Vec<String> = keys.iter().map(|key| key.sign(text.as_bytes())).collect();
    signed.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret, id, time and body are the example in the specification.
    #[test]
    fn webhook_shared_secret_signature_matches_the_standard() {
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let keys = [SigningKey::Shared(secret)];
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&keys, id, 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn webhook_key_pair_signature_verifies_with_public_key() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let public = pair.public_key().as_ref().to_vec();
        let signed = signature(&[SigningKey::Pair(pair)], "evt_1", 7, "{}");
        let raw = STANDARD.decode(signed.strip_prefix("v1a,").unwrap()).unwrap();
        let verifier =
            aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ED25519, public);
        assert!(verifier.verify(b"evt_1.7.{}", &raw).is_ok());
        assert!(verifier.verify(b"evt_1.8.{}", &raw).is_err());
    }

    #[test]
    fn webhook_keys_debug_output_is_redacted() {
        let shown = format!("{:?}", SigningKey::Shared(vec![7; 32]));
        assert_eq!(shown, "Key(…)");
    }
}
