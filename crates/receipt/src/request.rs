//! A signed request: who calls a target, for what, and with which body. The body itself is not in
//! the token; the target hashes what it has received and compares.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::key::{KeyError, KeySet, REQUEST_TYPE, Signer};
use crate::verify::{Claims, Expected, Refused, Span};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedRequest {
    /// The installation that calls.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The address that is called, as the installation knows it.
    #[serde(rename = "aud")]
    pub audience: String,
    /// Never twice: a target that keeps them takes each call once.
    #[serde(rename = "jti")]
    pub nonce: String,
    /// Seconds since 1970.
    #[serde(rename = "iat")]
    pub issued_at: u64,
    #[serde(rename = "exp")]
    pub expires_at: u64,
    /// What is asked for, as the body says it too.
    pub verb: String,
    /// SHA-256 of the body.
    body: String,
}

impl SignedRequest {
    /// For this body and no other.
    #[must_use]
    pub fn new(issuer: &str, audience: &str, nonce: &str, verb: &str, body: &[u8]) -> Self {
        Self {
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            nonce: nonce.to_owned(),
            issued_at: 0,
            expires_at: 0,
            verb: verb.to_owned(),
            body: digest(body),
        }
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn between(self, issued_at: u64, expires_at: u64) -> Self {
        Self { issued_at, expires_at, ..self }
    }
}

fn digest(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

impl Claims for SignedRequest {
    const TYPE: &'static str = REQUEST_TYPE;

    fn span(&self) -> Span<'_> {
        Span {
            issuer: &self.issuer,
            audience: &self.audience,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        }
    }
}

impl Signer {
    /// As a compact JWS.
    pub fn sign_request(&self, request: &SignedRequest) -> Result<String, KeyError> {
        self.sign_as(REQUEST_TYPE, request)
    }
}

impl KeySet {
    pub fn verify_request(
        &self,
        token: &str,
        body: &[u8],
        expected: Expected<'_>,
    ) -> Result<SignedRequest, Refused> {
        let request: SignedRequest = self.verify_as(token, expected)?;
        if request.body != digest(body) {
            return Err(Refused::OtherBody);
        }
        Ok(request)
    }
}
