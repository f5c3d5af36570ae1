//! Reading a receipt: by the key it names, with the one algorithm there is, for the target that
//! reads it, and in time. Whoever reads says what time it is.

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use thiserror::Error;

use crate::key::{KeySet, TYPE};
use crate::receipt::Receipt;

/// Who the reader is, whose word counts, and what time it is.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
    /// Seconds since 1970.
    pub now: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("this is no receipt")]
    NotAReceipt,
    #[error("signed by key {id}, which is not known: read the keys again, once")]
    UnknownKey { id: String },
    #[error("the signature does not fit")]
    WrongSignature,
    #[error("signed by {issuer}, which is somebody else")]
    OtherIssuer { issuer: String },
    #[error("made for {audience}")]
    OtherAudience { audience: String },
    #[error("it was good until {until}")]
    RunOut { until: u64 },
    #[error("it is from the future: issued at {issued_at}")]
    NotYet { issued_at: u64 },
}

impl KeySet {
    pub fn verify(&self, token: &str, expected: Expected<'_>) -> Result<Receipt, Refused> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refused::NotAReceipt)?;
        if header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(TYPE) {
            return Err(Refused::NotAReceipt);
        }
        let id = header.kid.ok_or(Refused::NotAReceipt)?;
        let Some(key) = self.get(&id) else { return Err(Refused::UnknownKey { id }) };
        let key = DecodingKey::from_ed_components(&key.x).map_err(|_| Refused::WrongSignature)?;
        let receipt = jsonwebtoken::decode::<Receipt>(token, &key, &only_the_signature());
        let receipt = receipt.map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::InvalidSignature => Refused::WrongSignature,
            _ => Refused::NotAReceipt,
        })?;
        judge(receipt.claims, expected)
    }
}

/// What the claims say is judged here, with the time that the reader gives.
fn only_the_signature() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

fn judge(receipt: Receipt, expected: Expected<'_>) -> Result<Receipt, Refused> {
    if receipt.issuer != expected.issuer {
        return Err(Refused::OtherIssuer { issuer: receipt.issuer });
    }
    if receipt.audience != expected.audience {
        return Err(Refused::OtherAudience { audience: receipt.audience });
    }
    if expected.now >= receipt.expires_at {
        return Err(Refused::RunOut { until: receipt.expires_at });
    }
    if expected.now < receipt.issued_at {
        return Err(Refused::NotYet { issued_at: receipt.issued_at });
    }
    Ok(receipt)
}
