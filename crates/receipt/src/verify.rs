//! Verifies a receipt: with the key it names, the only supported algorithm, for the target that
//! reads it, and within its validity. The caller supplies the current time.

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::key::{KeySet, TYPE};
use crate::receipt::Receipt;

/// The expected audience and issuer, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
    /// The current time in seconds since 1970.
    pub now: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("not a receipt")]
    NotAReceipt,
    #[error("signed with the unknown key {id}: refresh the key set once")]
    UnknownKey { id: String },
    #[error("the signature is invalid")]
    WrongSignature,
    #[error("signed by {issuer}, which is not the expected issuer")]
    OtherIssuer { issuer: String },
    #[error("issued for the audience {audience}")]
    OtherAudience { audience: String },
    #[error("the receipt was valid until {until}")]
    RunOut { until: u64 },
    #[error("the receipt was issued in the future, at {issued_at}")]
    NotYet { issued_at: u64 },
    #[error("the receipt was signed for a different body")]
    OtherBody,
}

/// The claims that every kind of token has.
pub(crate) struct Span<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
    pub issued_at: u64,
    pub expires_at: u64,
}

pub(crate) trait Claims: DeserializeOwned {
    /// The type that the header of the token must have.
    const TYPE: &'static str;

    fn span(&self) -> Span<'_>;
}

impl Claims for Receipt {
    const TYPE: &'static str = TYPE;

    fn span(&self) -> Span<'_> {
        Span {
            issuer: &self.issuer,
            audience: &self.audience,
            issued_at: self.issued_at,
            expires_at: self.expires_at,
        }
    }
}

impl KeySet {
    pub fn verify(&self, token: &str, expected: Expected<'_>) -> Result<Receipt, Refused> {
        self.verify_as(token, expected)
    }

    pub(crate) fn verify_as<T: Claims>(
        &self,
        token: &str,
        expected: Expected<'_>,
    ) -> Result<T, Refused> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refused::NotAReceipt)?;
        if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(T::TYPE) {
            return Err(Refused::NotAReceipt);
        }
        let id = header.kid.ok_or(Refused::NotAReceipt)?;
        let Some(key) = self.get(&id) else { return Err(Refused::UnknownKey { id }) };
        let key = DecodingKey::from_ed_components(&key.x).map_err(|_| Refused::WrongSignature)?;
        let read = jsonwebtoken::decode::<T>(token, &key, &only_the_signature());
        let read = read.map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::InvalidSignature => Refused::WrongSignature,
            _ => Refused::NotAReceipt,
        })?;
        judge(&read.claims.span(), expected)?;
        Ok(read.claims)
    }
}

/// Validates only the signature; the claims are checked here, with the time that the caller
/// supplies.
fn only_the_signature() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

fn judge(span: &Span<'_>, expected: Expected<'_>) -> Result<(), Refused> {
    if span.issuer != expected.issuer {
        return Err(Refused::OtherIssuer { issuer: span.issuer.to_owned() });
    }
    if span.audience != expected.audience {
        return Err(Refused::OtherAudience { audience: span.audience.to_owned() });
    }
    if expected.now >= span.expires_at {
        return Err(Refused::RunOut { until: span.expires_at });
    }
    if expected.now < span.issued_at {
        return Err(Refused::NotYet { issued_at: span.issued_at });
    }
    Ok(())
}
