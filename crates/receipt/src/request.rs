//! A signed request: who calls a target, for what, and with which body. The body is not part of the
//! token; the target hashes the received body and compares.

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
    /// The called address, as the installation is configured.
    #[serde(rename = "aud")]
    pub audience: String,
    /// Unique: a target that stores nonces accepts each call once.
    #[serde(rename = "jti")]
    pub nonce: String,
    /// When it was issued, in seconds since 1970.
    #[serde(rename = "iat")]
    pub issued_at: u64,
    #[serde(rename = "exp")]
    pub expires_at: u64,
    /// The requested action, which the body contains too.
    pub verb: String,
    /// The SHA-256 digest of the body.
    body: String,
}

impl SignedRequest {
    /// Creates a request for exactly this body.
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

    /// Sets the validity, in seconds since 1970.
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
    /// Signs a request as a compact JWS.
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
