//! The code that a person reads on one screen and types on another. Letters only, without vowels
//! and easily confused letters, so that no code is a word or is misread; there is one canonical
//! spelling. Randomness and permissions are not part of this module.

use std::fmt;

const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;
const GROUP: usize = 4;
/// Longer than any way of typing eight letters.
const TYPED_MAX_BYTES: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserCode(String);

impl UserCode {
    /// Derives a code from random bytes. Bytes that would favour some letters are skipped, so that
    /// all letters are equally likely. Returns `None` if too few bytes are left.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let count = u8::try_from(LETTERS.len()).ok()?;
        let fair = u8::MAX - u8::MAX % count;
        let letters = bytes.iter().filter(|byte| **byte < fair);
        let letters = letters.filter_map(|byte| LETTERS.get(usize::from(byte % count)));
        let code: String = letters.take(LENGTH).copied().map(char::from).collect();
        (code.len() == LENGTH).then_some(Self(code))
    }

    /// Parses a code as people type it: in any case, with or without separators.
    pub fn parse(typed: &str) -> Option<Self> {
        if typed.len() > TYPED_MAX_BYTES {
            return None;
        }
        let code: String = typed
            .chars()
            .filter(|c| !matches!(c, '-' | ' '))
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let is_one = code.len() == LENGTH && code.bytes().all(|byte| LETTERS.contains(&byte));
        is_one.then_some(Self(code))
    }

    /// Returns the letters without separators.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Formats the code in two groups, as it is displayed.
impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, two) = self.0.split_at_checked(GROUP).unwrap_or((&self.0, ""));
        write!(f, "{one}-{two}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn device_code_is_recognized_however_it_is_typed() {
        let code = UserCode::parse("BCDF-GHJK").unwrap();
        assert_eq!(code.to_string(), "BCDF-GHJK");
        assert_eq!(code.as_str(), "BCDFGHJK");
        for typed in ["bcdfghjk", "bcdf ghjk", " BCDF - GHJK ", "B-C-D-F-G-H-J-K"] {
            assert_eq!(UserCode::parse(typed).as_ref(), Some(&code), "{typed}");
        }
        for other in ["", "BCDF", "BCDF-GHJKL", "ACDF-GHJK", "BCDF-GHJ8", "BCDF_GHJK", "BCDFGHJÉ"]
        {
            assert_eq!(UserCode::parse(other), None, "{other}");
        }
        assert_eq!(UserCode::parse(&format!("{}BCDFGHJK", " ".repeat(40))), None, "too long");
    }

    #[test]
    fn device_code_letters_are_equally_likely() {
        let mut seen = std::collections::BTreeMap::new();
        for byte in 0..=u8::MAX {
            let Some(code) = UserCode::from_bytes(&[byte; 8]) else { continue };
            *seen.entry(code).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), LETTERS.len());
        assert!(seen.values().all(|count| *count == 12), "{seen:?}");
        assert_eq!(UserCode::from_bytes(&[0; 7]), None, "too few");
        assert_eq!(UserCode::from_bytes(&[255; 32]), None, "no byte is usable");
    }

    proptest! {
        #[test]
        fn device_code_round_trips_through_its_display(
            bytes in proptest::collection::vec(any::<u8>(), 32),
        ) {
            if let Some(code) = UserCode::from_bytes(&bytes) {
                prop_assert_eq!(UserCode::parse(&code.to_string()), Some(code));
            }
        }
    }
}
