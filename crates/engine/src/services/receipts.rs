//! Signs receipts for attempts. One key signs; the others are only published, so that receipts
//! signed with a previous key stay valid until they expire.

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
    /// Creates a signer. `signing` is the private key (PKCS#8) that signs; the public keys of
    /// `others` are only published.
    pub fn new(issuer: &str, signing: &[u8], others: &[Vec<u8>]) -> Result<Self, KeyError> {
        let signer = Signer::from_pkcs8(signing)?;
        let mut keys: Vec<PublicKey> = vec![signer.public().clone()];
        for document in others {
            keys.push(Signer::from_pkcs8(document)?.public().clone());
        }
        Ok(Self { signer, keys: KeySet::new(keys), issuer: issuer.to_owned() })
    }

    /// Creates a signer with a random key, for a single process such as a test.
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

/// Converts microseconds to whole seconds since 1970.
pub fn seconds(micros: i64) -> u64 {
    Duration::from_micros(u64::try_from(micros).unwrap_or_default()).as_secs()
}
