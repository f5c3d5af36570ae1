//! Keys: one signs, several are known, so that receipts of the one before are still good after a
//! change of keys. A key is named by the thumbprint of its public half (RFC 7638), so that two of
//! the same name are the same.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::receipt::Receipt;

/// Says what kind of token this is, so that no other kind signed by the same key passes for it.
pub(crate) const TYPE: &str = "ade-receipt+jwt";
pub(crate) const REQUEST_TYPE: &str = "ade-request+jwt";
const KEY_TYPE: &str = "OKP";
const CURVE: &str = "Ed25519";
const PUBLIC_BYTES: usize = 32;

#[derive(Debug, Error)]
pub enum KeyError {
    #[error("not a private Ed25519 key in PKCS#8")]
    NotPrivate,
    #[error("cannot make a key: the system gives no randomness")]
    NoRandomness,
    #[error("not a set of keys: {0}")]
    NotASet(#[from] serde_json::Error),
    #[error("key {id} is not an Ed25519 public key named by its thumbprint")]
    NotPublic { id: String },
    #[error("cannot sign: {0}")]
    Sign(#[from] jsonwebtoken::errors::Error),
}

/// The private half.
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
    /// A new key as PKCS#8, to be kept where secrets are kept.
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

    /// As a compact JWS.
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

/// As a JSON Web Key; members that others add are left alone.
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

/// RFC 7638: the members that make the key, in the order of their names, and nothing else.
fn thumbprint(x: &str) -> String {
    let members = format!(r#"{{"crv":"{CURVE}","kty":"{KEY_TYPE}","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members))
}

/// The keys whose receipts count now: what `/.well-known/jwks.json` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

impl KeySet {
    pub fn new(keys: Vec<PublicKey>) -> Self {
        Self { keys }
    }

    /// One key that is not what it says spoils the set: better no answer than a wrong one.
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
