//! The Merkle tree of RFC 6962 over leaf hashes: how leaves and nodes are hashed, and the root of a
//! list. A leaf and a node can never be confused, because each hash begins with its own byte.
//! Storage is not part of this module.

use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::change::Digest;
use crate::limits::AUDIT_LEAVES_MAX;

const LEAF_PREFIX: [u8; 1] = [0];
const NODE_PREFIX: [u8; 1] = [1];

/// Returns the hash of the bytes of one leaf.
pub fn leaf_hash(bytes: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(LEAF_PREFIX);
    hasher.update(bytes);
    Digest::from_bytes(hasher.finalize().into())
}

pub(super) fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(NODE_PREFIX);
    hasher.update(left.bytes());
    hasher.update(right.bytes());
    Digest::from_bytes(hasher.finalize().into())
}

/// Returns the root of a tree without leaves: the hash of an empty string.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// Returns the root over these leaf hashes, in their order.
pub fn root(leaves: &[Digest]) -> Digest {
    let mut frontier = Frontier::default();
    for leaf in leaves {
        frontier.push(*leaf);
    }
    frontier.root()
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrontierError {
    #[error("a tree of {size} entries has {needed} peaks, got {given}: seal it again")]
    WrongPeaks { size: u64, needed: u32, given: usize },
    #[error("a tree has at most {AUDIT_LEAVES_MAX} entries, got {size}")]
    TooLarge { size: u64 },
}

/// The right edge of a growing tree: the roots of its perfect subtrees, largest first. It suffices
/// to append leaves and to compute the root, however many leaves came before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    /// One peak for each bit set in `size`, the highest bit first.
    peaks: Vec<Digest>,
}

impl Frontier {
    /// Restores a frontier from the values of [`Frontier::size`] and [`Frontier::peaks`].
    pub fn restore(size: u64, peaks: Vec<Digest>) -> Result<Self, FrontierError> {
        if size > AUDIT_LEAVES_MAX {
            return Err(FrontierError::TooLarge { size });
        }
        let needed = size.count_ones();
        if u32::try_from(peaks.len()) != Ok(needed) {
            return Err(FrontierError::WrongPeaks { size, needed, given: peaks.len() });
        }
        Ok(Self { size, peaks })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn peaks(&self) -> &[Digest] {
        &self.peaks
    }

    pub fn push(&mut self, leaf: Digest) {
        let mut node = leaf;
        // Each low bit that is set is a perfect subtree as large as the one just completed. They
        // are joined, like carrying when one is added to a number.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = node_hash(&left, &node);
            }
        }
        self.peaks.push(node);
        self.size += 1;
    }

    pub fn root(&self) -> Digest {
        self.peaks
            .iter()
            .copied()
            .rev()
            .reduce(|right, left| node_hash(&left, &right))
            .unwrap_or_else(empty_root)
    }
}
