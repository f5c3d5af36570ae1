//! Passkeys of one installation: when a confirmation is required, the relying party, and the
//! verification of signatures. The core checks the other parts of a response.

use std::time::Duration;

use ade_core::change::Digest;
use ade_core::passkey::{
    Ceremony, ExpectedCeremony, NoParty, Party, PasskeyRejection, believe, counts_on,
};
use ade_core::step_up::Rule;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    VerificationAlgorithm,
};
use thiserror::Error;

/// The accepted algorithms by their COSE numbers, in order of preference: ECDSA on P-256, Ed25519,
/// and RSA for old Windows versions.
pub const ALGORITHMS: [i32; 3] = [-7, -8, -257];

#[derive(Debug, Clone)]
pub struct Passkeys {
    rule: Rule,
    decide_within: Duration,
    /// The relying party; `None` if passkeys are not available.
    party: Option<Party>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasskeyError {
    #[error(transparent)]
    Disbelief(#[from] PasskeyRejection),
    #[error("the public key cannot be parsed or has an unsupported type")]
    Key,
    #[error("the passkey is not registered to you")]
    Unknown,
    #[error("the signature is invalid")]
    Signature,
    #[error(
        "the signature counter went backwards, so the key may have been copied: remove this \
             passkey"
    )]
    Copied,
}

/// The response of a passkey, as the browser passes it on.
#[derive(Debug, Clone, Copy)]
pub struct PasskeyResponse<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
}

/// A registered passkey.
#[derive(Debug, Clone, Copy)]
pub struct RegisteredKey<'a> {
    pub algorithm: i32,
    pub public_key: &'a [u8],
    pub counter: u32,
}

impl Passkeys {
    /// Reads the settings. `page` is the public URL of this installation. If passkeys are not
    /// available there, they cannot be required.
    pub fn new(rule: Rule, decide_within: Duration, page: &str) -> Result<Self, NoParty> {
        match (rule, Party::of_page(page)) {
            (Rule::Required, Err(none)) => Err(none),
            (rule, party) => Ok(Self { rule, decide_within, party: party.ok() }),
        }
    }

    /// Returns how long after a sign-in a person may decide without a passkey.
    pub fn decide_within(&self) -> Duration {
        self.decide_within
    }

    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Returns the relying party, or `None` if passkeys are not available.
    pub fn party(&self) -> Option<&Party> {
        self.party.as_ref()
    }
}

/// Verifies a registration. Returns the credential id and the counter of the new passkey.
/// Attestation is not checked: it only matters that the same key responds later.
pub fn register(
    answer: PasskeyResponse<'_>,
    algorithm: i32,
    public_key: &[u8],
    challenge: &Digest,
    party: &Party,
) -> Result<(Vec<u8>, u32), PasskeyError> {
    let expected = ExpectedCeremony { ceremony: Ceremony::Create, challenge, party };
    let authenticator = believe(answer.client_data, answer.authenticator_data, &expected)?;
    parse(algorithm, public_key).ok_or(PasskeyError::Key)?;
    let credential = authenticator.credential.ok_or(PasskeyRejection::Credential)?;
    Ok((credential.to_vec(), authenticator.counter))
}

/// Verifies an assertion. Returns the key's signature counter.
pub fn verify(
    answer: PasskeyResponse<'_>,
    signature: &[u8],
    known: RegisteredKey<'_>,
    challenge: &Digest,
    party: &Party,
) -> Result<u32, PasskeyError> {
    let expected = ExpectedCeremony { ceremony: Ceremony::Get, challenge, party };
    let authenticator = believe(answer.client_data, answer.authenticator_data, &expected)?;
    let key = parse(known.algorithm, known.public_key).ok_or(PasskeyError::Key)?;
    let client_hash = Digest::of(answer.client_data);
    let signed = [answer.authenticator_data, client_hash.bytes()].concat();
    key.verify_sig(&signed, signature).map_err(|_| PasskeyError::Signature)?;
    if !counts_on(known.counter, authenticator.counter) {
        return Err(PasskeyError::Copied);
    }
    Ok(authenticator.counter)
}

fn parse(algorithm: i32, public_key: &[u8]) -> Option<ParsedPublicKey> {
    let algorithm: &'static dyn VerificationAlgorithm = match algorithm {
        -7 => &ECDSA_P256_SHA256_ASN1,
        -8 => &ED25519,
        -257 => &RSA_PKCS1_2048_8192_SHA256,
        _ => return None,
    };
    ParsedPublicKey::new(algorithm, public_key).ok()
}

#[cfg(test)]
#[path = "passkey_tests.rs"]
mod tests;
