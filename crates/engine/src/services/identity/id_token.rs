//! Verifies an ID token: the provider's published key, a matching algorithm, a valid signature, and
//! claims that the core accepts.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::identity::{Claims, ExpectedClaims, IdTokenRejection};
use ade_core::limits::{
    EMAIL_MAX_BYTES, GROUPS_OF_PERSON_MAX, ID_TOKEN_MAX_BYTES, IDENTITY_MAX_BYTES, NAME_MAX_BYTES,
};
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// A person, as a provider identifies them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub issuer: String,
    pub subject: String,
    pub name: Option<String>,
    /// The email address, if the provider has verified it.
    pub email: Option<String>,
    pub groups: BTreeSet<String>,
}

/// The accepted algorithms. All are asymmetric: none uses a shared secret.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdTokenError {
    #[error("the ID token cannot be parsed")]
    Unreadable,
    #[error("the ID token is signed with an unsupported algorithm")]
    Algorithm,
    /// The provider may have rotated its keys: fetch them and verify again.
    #[error("the ID token is signed with a key that the provider does not publish")]
    UnknownKey,
    #[error("the ID token's signature is invalid")]
    Signature,
    #[error(transparent)]
    Disbelief(#[from] IdTokenRejection),
}

#[derive(Deserialize)]
struct Payload {
    iss: String,
    sub: String,
    aud: OneOrMany,
    azp: Option<String>,
    nonce: Option<String>,
    exp: Option<u64>,
    iat: Option<u64>,
    nbf: Option<u64>,
    name: Option<String>,
    preferred_username: Option<String>,
    email: Option<String>,
    email_verified: Option<bool>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

pub fn verify(
    text: &str,
    keys: &JwkSet,
    expected: &ExpectedClaims<'_>,
    groups_claim: &str,
) -> Result<Identity, IdTokenError> {
    if text.len() > ID_TOKEN_MAX_BYTES {
        return Err(IdTokenError::Unreadable);
    }
    let header = decode_header(text).map_err(|_| IdTokenError::Unreadable)?;
    if !ALGORITHMS.contains(&header.alg) {
        return Err(IdTokenError::Algorithm);
    }
    // The token requires extensions that are not supported.
    if header.crit.is_some() {
        return Err(IdTokenError::Unreadable);
    }
    let key = key_of(keys, header.kid.as_deref(), header.alg)?;
    let mut validation = Validation::new(header.alg);
    // The library checks only the signature; the rules for claims are in the core.
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let payload: Payload = decode(text, &key, &validation)
        .map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::Json(_) => IdTokenError::Unreadable,
            _ => IdTokenError::Signature,
        })?
        .claims;
    let identity = identity(&payload, groups_claim);
    claims(payload).believe(expected)?;
    Ok(identity)
}

fn claims(payload: Payload) -> Claims {
    let audience = match payload.aud {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    };
    Claims {
        issuer: payload.iss,
        subject: payload.sub,
        audience,
        authorized_party: payload.azp,
        nonce: payload.nonce,
        expires_at: payload.exp,
        issued_at: payload.iat,
        not_before: payload.nbf,
    }
}

fn identity(payload: &Payload, groups_claim: &str) -> Identity {
    let short = |text: &Option<String>, most: usize| {
        text.clone().filter(|text| !text.trim().is_empty() && text.len() <= most)
    };
    let name = short(&payload.name, NAME_MAX_BYTES);
    let is_checked = payload.email_verified.unwrap_or_default();
    Identity {
        issuer: payload.iss.clone(),
        subject: payload.sub.clone(),
        name: name.or_else(|| short(&payload.preferred_username, NAME_MAX_BYTES)),
        email: short(&payload.email, EMAIL_MAX_BYTES).filter(|_| is_checked),
        groups: groups(payload.rest.get(groups_claim)),
    }
}

fn groups(claim: Option<&Value>) -> BTreeSet<String> {
    let named = match claim {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(one)) => vec![one.as_str()],
        _ => Vec::new(),
    };
    let named = named.into_iter().filter(|name| name.len() <= IDENTITY_MAX_BYTES);
    named.take(GROUPS_OF_PERSON_MAX).map(str::to_owned).collect()
}

/// Finds the signing key for this algorithm. If a public key were accepted as a shared secret,
/// anyone could sign tokens.
fn key_of(
    keys: &JwkSet,
    id: Option<&str>,
    algorithm: Algorithm,
) -> Result<DecodingKey, IdTokenError> {
    let mut fit = keys.keys.iter().filter(|key| {
        id.is_none_or(|id| key.common.key_id.as_deref() == Some(id)) && signs(key, algorithm)
    });
    let key = fit.next().ok_or(IdTokenError::UnknownKey)?;
    if id.is_none() && fit.next().is_some() {
        return Err(IdTokenError::UnknownKey);
    }
    DecodingKey::from_jwk(key).map_err(|_| IdTokenError::UnknownKey)
}

fn signs(key: &Jwk, algorithm: Algorithm) -> bool {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    let is_for_signatures =
        matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let is_named = key.common.key_algorithm.is_none_or(|named| named == algorithm.into());
    let is_of_kind = match &key.algorithm {
        AlgorithmParameters::RSA(_) => {
            matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512)
        }
        AlgorithmParameters::EllipticCurve(_) => matches!(algorithm, ES256 | ES384),
        AlgorithmParameters::OctetKeyPair(_) => matches!(algorithm, EdDSA),
        _ => false,
    };
    is_for_signatures && is_named && is_of_kind
}

#[cfg(test)]
#[path = "id_token_tests.rs"]
mod tests;
