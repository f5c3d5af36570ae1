//! Passkeys of one installation: whom it asks for their word, the name by which the keys know it,
//! and whether a signature is theirs. The core says what else an answer must be.

use ade_core::change::Digest;
use ade_core::passkey::{Ceremony, Disbelief, Expected, NoParty, Party, believe, counts_on};
use ade_core::step_up::Rule;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
    VerificationAlgorithm,
};
use thiserror::Error;

use crate::error::Error;

/// By their numbers in COSE, the best first: ECDSA on P-256, Ed25519, and RSA for old Windows.
pub const ALGORITHMS: [i32; 3] = [-7, -8, -257];

#[derive(Debug, Clone, Default)]
pub struct Passkeys {
    rule: Rule,
    /// Without one nobody can have a passkey.
    party: Option<Party>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PasskeyError {
    #[error(transparent)]
    Disbelief(#[from] Disbelief),
    #[error("the key is of a kind that is not taken, or cannot be read")]
    Key,
    #[error("it is not one of your passkeys")]
    Unknown,
    #[error("the signature is wrong")]
    Signature,
    #[error("its counter went back: somebody else may have a copy of the key, so remove it")]
    Copied,
}

/// What a browser hands on from a passkey.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
}

/// A key that is known.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub algorithm: i32,
    pub public_key: &'a [u8],
    pub counter: u32,
}

impl Passkeys {
    /// `page` is where people find this installation. Where nobody could have a passkey, none can
    /// be required.
    pub fn new(rule: Rule, page: &str) -> Result<Self, NoParty> {
        match (rule, Party::of_page(page)) {
            (Rule::Required, Err(none)) => Err(none),
            (rule, party) => Ok(Self { rule, party: party.ok() }),
        }
    }

    pub fn rule(&self) -> Rule {
        self.rule
    }

    pub fn party(&self) -> Result<&Party, Error> {
        self.party.as_ref().ok_or(Error::PasskeysOff)
    }
}

/// The name and the counter of a new key. Nobody vouches for its maker: what counts is that the
/// same key answers later.
pub fn register(
    answer: Answer<'_>,
    algorithm: i32,
    public_key: &[u8],
    challenge: &Digest,
    party: &Party,
) -> Result<(Vec<u8>, u32), PasskeyError> {
    let expected = Expected { ceremony: Ceremony::Create, challenge, party };
    let told = believe(answer.client_data, answer.authenticator_data, &expected)?;
    parse(algorithm, public_key).ok_or(PasskeyError::Key)?;
    let credential = told.credential.ok_or(Disbelief::Credential)?;
    Ok((credential.to_vec(), told.counter))
}

/// How often the key has signed by now.
pub fn verify(
    answer: Answer<'_>,
    signature: &[u8],
    known: Known<'_>,
    challenge: &Digest,
    party: &Party,
) -> Result<u32, PasskeyError> {
    let expected = Expected { ceremony: Ceremony::Get, challenge, party };
    let told = believe(answer.client_data, answer.authenticator_data, &expected)?;
    let key = parse(known.algorithm, known.public_key).ok_or(PasskeyError::Key)?;
    let said = Digest::of(answer.client_data);
    let signed = [answer.authenticator_data, said.bytes()].concat();
    key.verify_sig(&signed, signature).map_err(|_| PasskeyError::Signature)?;
    if !counts_on(known.counter, told.counter) {
        return Err(PasskeyError::Copied);
    }
    Ok(told.counter)
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
