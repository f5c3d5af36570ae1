//! SHA-256 as text and bytes, written `sha256:<64 hex digits>` everywhere a person sees it.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::text::written_as_text;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not a digest: write it as sha256: followed by 64 lower-case hex digits")]
pub struct DigestError {
    given: String,
}

impl Digest {
    const PREFIX: &'static str = "sha256:";

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let refused = || DigestError { given: text.to_owned() };
        let hex = text.strip_prefix(Self::PREFIX).ok_or_else(refused)?;
        // Only one spelling is accepted: two texts of one digest would be two keys.
        if hex.len() != 64 || !hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(refused());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| refused())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| refused())?;
        }
        Ok(Self(bytes))
    }
}

written_as_text!(Digest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_text_and_bytes_agree() {
        let digest = Digest::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest.to_string(), text);
        assert_eq!(text.parse::<Digest>(), Ok(digest));
    }

    #[test]
    fn digest_has_one_spelling() {
        let text = Digest::of(b"x").to_string();
        for wrong in [text.to_uppercase(), text.replacen("sha256:", "", 1), format!("{text}0")] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
