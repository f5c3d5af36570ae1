//! Keys: one signs, several are accepted, so that receipts of the previous key stay valid after a
//! rotation. A key is named by the thumbprint of its public half (RFC 7638), so that two keys of
//! the same name are equal.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::receipt::Receipt;

/// The type of a receipt token, so that no other kind of token signed by the same key is accepted
/// as one.
pub(crate) const TYPE: &str = "ade-receipt+jwt";
pub(crate) const REQUEST_TYPE: &str = "ade-request+jwt";
const KEY_TYPE: &str = "OKP";
const CURVE: &str = "Ed25519";
const PUBLIC_BYTES: usize = 32;

#[derive(Debug, Error)]
pub enum KeyError {
    #[error("not a private Ed25519 key in PKCS#8")]
    NotPrivate,
    #[error("the key cannot be created: the system's random number generator failed")]
    NoRandomness,
    #[error("not a valid key set: {0}")]
    NotASet(#[from] serde_json::Error),
    #[error("key {id} is not an Ed25519 public key named by its thumbprint")]
    NotPublic { id: String },
    #[error("signing failed: {0}")]
    Sign(#[from] jsonwebtoken::errors::Error),
}

/// The private half of a key, which signs.
pub struct Signer {
    key: EncodingKey,
    public: PublicKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("public", &self.public).finish_non_exhaustive()
    }
}

impl Signer {
    /// Generates a key as PKCS#8, which must be stored as a secret.
    pub fn generate() -> Result<Vec<u8>, KeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyError::NoRandomness)?;
        let document = pair.to_pkcs8().map_err(|_| KeyError::NoRandomness)?;
        Ok(document.as_ref().to_vec())
    }

    pub fn from_pkcs8(document: &[u8]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_pkcs8(document).map_err(|_| KeyError::NotPrivate)?;
        let public = PublicKey::new(&URL_SAFE_NO_PAD.encode(pair.public_key().as_ref()));
        Ok(Self { key: EncodingKey::from_ed_der(document), public })
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs a receipt as a compact JWS.
    pub fn sign(&self, receipt: &Receipt) -> Result<String, KeyError> {
        self.sign_as(TYPE, receipt)
    }

    pub(crate) fn sign_as(&self, kind: &str, claims: &impl Serialize) -> Result<String, KeyError> {
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some(kind.to_owned());
        header.kid = Some(self.public.id.clone());
        Ok(jsonwebtoken::encode(&header, claims, &self.key)?)
    }
}

/// A public key as a JSON Web Key; further members are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    #[serde(rename = "kid")]
    pub id: String,
    kty: String,
    crv: String,
    pub(crate) x: String,
    #[serde(rename = "use")]
    purpose: String,
    alg: String,
}

impl PublicKey {
    fn new(x: &str) -> Self {
        Self {
            id: thumbprint(x),
            kty: KEY_TYPE.to_owned(),
            crv: CURVE.to_owned(),
            x: x.to_owned(),
            purpose: "sig".to_owned(),
            alg: "EdDSA".to_owned(),
        }
    }

    fn is_whole(&self) -> bool {
        let bytes = URL_SAFE_NO_PAD.decode(&self.x);
        bytes.is_ok_and(|bytes| bytes.len() == PUBLIC_BYTES) && *self == Self::new(&self.x)
    }
}

/// Computes the RFC 7638 thumbprint: the required members in the order of their names, and nothing
/// else.
fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"{CURVE}","kty":"{KEY_TYPE}","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members))
}

/// The accepted keys, as `/.well-known/jwks.json` returns them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

impl KeySet {
    pub fn new(keys: Vec<PublicKey>) -> Self {
        Self { keys }
    }

    /// Parses a key set. One inconsistent key makes the whole set invalid.
    pub fn from_json(text: &str) -> Result<Self, KeyError> {
        let set: Self = serde_json::from_str(text)?;
        match set.keys.iter().find(|key| !key.is_whole()) {
            Some(key) => Err(KeyError::NotPublic { id: key.id.clone() }),
            None => Ok(set),
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.id == id)
    }
}
