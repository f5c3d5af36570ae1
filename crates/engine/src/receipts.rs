//! Signs what one attempt may do. One key signs; others are only published, so that receipts of
//! the one before count until they have run out.

use std::time::Duration;

pub use ade_receipt::{KeyError, KeySet, Signer};
use ade_receipt::{PublicKey, Receipt};

#[derive(Debug)]
pub struct Receipts {
    signer: Signer,
    keys: KeySet,
    issuer: String,
}

impl Receipts {
    /// The first of these private keys (PKCS#8) signs.
    pub fn new(issuer: &str, signing: &[u8], others: &[Vec<u8>]) -> Result<Self, KeyError> {
        let signer = Signer::from_pkcs8(signing)?;
        let mut keys: Vec<PublicKey> = vec![signer.public().clone()];
        for document in others {
            keys.push(Signer::from_pkcs8(document)?.public().clone());
        }
        Ok(Self { signer, keys: KeySet::new(keys), issuer: issuer.to_owned() })
    }

    /// For a process that lives alone, such as a test.
    pub fn made_up(issuer: &str) -> Result<Self, KeyError> {
        Self::new(issuer, &Signer::generate()?, &[])
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    pub fn sign(&self, receipt: &Receipt) -> Result<String, KeyError> {
        self.signer.sign(receipt)
    }
}

/// Whole seconds since 1970, of a time in microseconds.
pub fn seconds(micros: i64) -> u64 {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default()).as_secs()
}
