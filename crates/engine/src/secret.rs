//! Token secrets: made from the system's randomness, kept as HMAC-SHA-256 under the
//! installation's pepper, compared in constant time. The pepper is read once and never shown.

use std::fmt;

use ade_core::limits::PEPPER_MIN_BYTES;
use ade_core::token::{KeyId, Kind, Secret, Token};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

#[derive(Clone)]
pub struct Pepper(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SecretError {
    #[error("the pepper has {bytes} bytes: at least {PEPPER_MIN_BYTES} are needed")]
    PepperTooShort { bytes: usize },
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

    fn mac(&self, secret: &Secret) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(secret.reveal().as_bytes());
        Some(mac)
    }
}

/// A fresh token for one principal.
pub fn issue(kind: Kind) -> Result<Token, SecretError> {
    let key_id = KeyId::from_bytes(random()?);
    let secret = Secret::from_bytes(random()?);
    Ok(Token { kind, key_id, secret })
}

fn random<const BYTES: usize>() -> Result<[u8; BYTES], SecretError> {
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
