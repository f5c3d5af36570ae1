//! A checkpoint (C2SP tlog-checkpoint) names a log, its number of entries and its root hash, as the
//! text of a signed note. It has a single spelling, so that the signed text can be rebuilt from the
//! values. Signatures and the consistency of the log are verified elsewhere.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use super::tree::empty_root;
use crate::change::Digest;
use crate::limits::AUDIT_LEAVES_MAX;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckpointError {
    #[error(
        "`{given}` is not a valid checkpoint line: it must not be empty or contain control \
             characters"
    )]
    BadLine { given: String },
    #[error(
        "`{given}` is not a valid tree size: use digits without a leading zero, at most \
             {AUDIT_LEAVES_MAX}"
    )]
    BadSize { given: String },
    #[error("`{given}` is not a valid root: expected 32 bytes in base64")]
    BadRoot { given: String },
    #[error("an empty tree has root {}, not {given}", empty_root())]
    NotEmptyRoot { given: Digest },
    #[error("a checkpoint has three lines, each ending in a newline: origin, size and root")]
    TooShort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Digest,
    extensions: Vec<String>,
}

impl Checkpoint {
    /// Creates a checkpoint. The origin names the log permanently and is used for no other log; it
    /// is best without a scheme and equal to the name of its key.
    pub fn new(
        origin: &str,
        size: u64,
        root: Digest,
        extensions: &[&str],
    ) -> Result<Self, CheckpointError> {
        if size > AUDIT_LEAVES_MAX {
            let given = size.to_string();
            return Err(CheckpointError::BadSize { given });
        }
        if size == 0 && root != empty_root() {
            return Err(CheckpointError::NotEmptyRoot { given: root });
        }
        Ok(Self {
            origin: line(origin)?,
            size,
            root,
            extensions: extensions
                .iter()
                .map(|extension| line(extension))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Parses the text that [`fmt::Display`] writes, and nothing else.
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let text = text.strip_suffix('\n').ok_or(CheckpointError::TooShort)?;
        let mut lines = text.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(CheckpointError::TooShort);
        };
        let extensions: Vec<_> = lines.collect();
        Self::new(origin, parse_size(size)?, parse_root(root)?, &extensions)
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Digest {
        self.root
    }

    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = STANDARD.encode(self.root.bytes());
        writeln!(f, "{}\n{}\n{root}", self.origin, self.size)?;
        self.extensions.iter().try_for_each(|extension| writeln!(f, "{extension}"))
    }
}

fn line(text: &str) -> Result<String, CheckpointError> {
    if text.is_empty() || text.contains(|c: char| c < ' ') {
        let given = text.to_owned();
        return Err(CheckpointError::BadLine { given });
    }
    Ok(text.to_owned())
}

fn parse_size(text: &str) -> Result<u64, CheckpointError> {
    text.parse()
        .ok()
        // `parse` also accepts a sign and leading zeros.
        .filter(|size: &u64| size.to_string() == text)
        .ok_or_else(|| CheckpointError::BadSize {
            given: text.to_owned(),
        })
}

fn parse_root(text: &str) -> Result<Digest, CheckpointError> {
    STANDARD
        .decode(text)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .map(Digest::from_bytes)
        .ok_or_else(|| CheckpointError::BadRoot { given: text.to_owned() })
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
