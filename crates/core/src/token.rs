//! The text of an API token: `ade_<kind>_<key id>_<secret><checksum>`. It has one spelling and a
//! checksum, so that a typing error costs no query and scanners recognize a leaked token. Debug
//! output and errors never contain the secret. Randomness, hashing and lookup are not part of this
//! module.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

pub const KEY_ID_LEN: usize = 16;
pub const SECRET_LEN: usize = 43;
const CHECKSUM_LEN: usize = 6;
const TAIL_LEN: usize = SECRET_LEN + CHECKSUM_LEN;
/// The prefix of every token.
pub const PREFIX: &str = "ade_";
const KIND_LEN: usize = 3;
pub const LEN: usize = PREFIX.len() + KIND_LEN + 1 + KEY_ID_LEN + 1 + TAIL_LEN;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The kind of principal or use of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    User,
    Agent,
    /// The session of a person's browser, stored in a cookie.
    Session,
    /// A single-use invitation. It opens a session for the invited person, and is accepted neither
    /// as a bearer token nor as a cookie.
    Invitation,
}

/// The part by which a token is looked up; it is not secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

/// The secret part. It deliberately has no `Display` and no equality: it is compared by its keyed
/// hash and shown once, when it is created.
#[derive(Clone)]
pub struct Secret(String);

#[derive(Debug, Clone)]
pub struct Token {
    pub kind: TokenKind,
    pub key_id: KeyId,
    pub secret: Secret,
}

/// Why a text is not a token. It never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    #[error("a token starts with `ade_usr_`, `ade_agt_`, `ade_ses_` or `ade_inv_`")]
    Prefix,
    #[error(
        "after the prefix a token has {KEY_ID_LEN} letters or digits, `_`, and {TAIL_LEN} more"
    )]
    Shape,
    #[error("the checksum does not match: a character is wrong or missing")]
    Checksum,
}

impl TokenKind {
    pub const ALL: [Self; 4] = [Self::User, Self::Agent, Self::Session, Self::Invitation];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "usr",
            Self::Agent => "agt",
            Self::Session => "ses",
            Self::Invitation => "inv",
        }
    }
}

impl KeyId {
    /// Creates a key id from the most bytes that 16 digits can carry.
    pub fn from_bytes(bytes: [u8; 11]) -> Self {
        Self(digits(&bytes, KEY_ID_LEN))
    }

    pub fn parse(text: &str) -> Result<Self, TokenError> {
        checked(text, KEY_ID_LEN).map(|text| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Secret {
    /// Creates a secret. All 256 bits fit into 43 digits.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(digits(&bytes, SECRET_LEN))
    }

    /// Parses a secret alone, without the rest of a token.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        checked(text, SECRET_LEN).map(|text| Self(text.to_owned()))
    }

    /// Returns the secret for hashing. It must not be logged or stored.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl Token {
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let rest = text.strip_prefix(PREFIX).ok_or(TokenError::Prefix)?;
        let (kind, rest) = rest.split_once('_').ok_or(TokenError::Prefix)?;
        let kind = TokenKind::ALL
            .into_iter()
            .find(|known| known.as_str() == kind)
            .ok_or(TokenError::Prefix)?;
        let (key_id, tail) = rest.split_once('_').ok_or(TokenError::Shape)?;
        let tail = checked(tail, TAIL_LEN)?;
        let (secret, checksum) = tail.split_at_checked(SECRET_LEN).ok_or(TokenError::Shape)?;
        let key_id = KeyId::parse(key_id)?;
        let body = text.strip_suffix(checksum).ok_or(TokenError::Shape)?;
        if checksum_of(body) != checksum {
            return Err(TokenError::Checksum);
        }
        Ok(Self { kind, key_id, secret: Secret(secret.to_owned()) })
    }

    /// Returns the whole text, for the one time that it is shown.
    pub fn reveal(&self) -> String {
        let Self { kind, key_id, secret } = self;
        let body = format!("{PREFIX}{}_{key_id}_{}", kind.as_str(), secret.reveal());
        let checksum = checksum_of(&body);
        body + &checksum
    }
}

/// Returns the text with the secrets of all tokens removed, for texts that are stored.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(found) = out.get(from..).and_then(|rest| rest.find(PREFIX)) {
        let start = from.saturating_add(found);
        let (end, tail) = (start.saturating_add(LEN), start.saturating_add(LEN - TAIL_LEN));
        let is_token = out.get(start..end).is_some_and(|text| Token::parse(text).is_ok());
        if is_token {
            out.to_mut().replace_range(tail..end, "…");
        }
        from = start.saturating_add(PREFIX.len());
    }
    out
}

fn checksum_of(body: &str) -> String {
    digits(&crc32fast::hash(body.as_bytes()).to_be_bytes(), CHECKSUM_LEN)
}

fn checked(text: &str, length: usize) -> Result<&str, TokenError> {
    let is_well_formed =
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_well_formed.then_some(text).ok_or(TokenError::Shape)
}

/// Writes a number, highest byte first, with `count` digits; the highest are lost if there are too
/// few.
fn digits(bytes: &[u8], count: usize) -> String {
    let mut number = bytes.to_vec();
    let mut out = vec![b'0'; count];
    for place in out.iter_mut().rev() {
        let mut rest: u16 = 0;
        for byte in &mut number {
            let part = (rest << 8) | u16::from(*byte);
            *byte = u8::try_from(part / 62).unwrap_or_default();
            rest = part % 62;
        }
        *place = ALPHABET.get(usize::from(rest)).copied().unwrap_or(b'0');
    }
    out.into_iter().map(char::from).collect()
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
