//! Proofs about the tree, as defined by RFC 6962 and 9162: that an entry is included, and that a
//! larger tree only added to a smaller one. The shape of a proof is given as ranges of entries,
//! whose roots are its hashes; generating and verifying share this definition, and a store that
//! keeps nodes can look the ranges up instead of hashing them.

use std::ops::Range;

use thiserror::Error;

use super::tree::{empty_root, node_hash, root};
use crate::change::Digest;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProofError {
    #[error("no entry {index} in a tree of {size} entries (counted from 0)")]
    NoSuchLeaf { index: u64, size: u64 },
    #[error("a tree of {old} entries cannot precede one of {new}")]
    Backwards { old: u64, new: u64 },
    #[error("a proof in a tree of {size} entries needs all of them, got {known}")]
    TooFewLeaves { size: u64, known: usize },
    #[error("the proof has {given} hashes, expected {needed}: it does not belong to these trees")]
    WrongLength { needed: usize, given: usize },
    #[error("the proof leads to root {found}, not to {expected}: do not trust this log")]
    WrongRoot { expected: Digest, found: Digest },
}

/// Returns the sizes at which a tree can be split, largest first. A tree is split at the largest
/// power of two below its size, and each part is then split at a smaller one.
fn cuts() -> impl Iterator<Item = u64> {
    (0..u64::BITS).rev().map(|level| 1 << level)
}

/// Returns the subtrees that an inclusion proof consists of, from the leaf upwards.
pub fn inclusion_ranges(index: u64, size: u64) -> Result<Vec<Range<u64>>, ProofError> {
    if index >= size {
        return Err(ProofError::NoSuchLeaf { index, size });
    }
    let mut path = Vec::new();
    let (mut start, mut end) = (0, size);
    for cut in cuts() {
        let middle = start + cut;
        if middle >= end {
            continue;
        }
        if index < middle {
            path.push(middle..end);
            end = middle;
        } else {
            path.push(start..middle);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Returns the subtrees that a consistency proof consists of, from the edge of the old tree
/// upwards. The first one ends where the old tree ends. It is left out if it is the whole old tree,
/// because the verifier has the old root.
pub fn consistency_ranges(old: u64, new: u64) -> Result<Vec<Range<u64>>, ProofError> {
    if old > new {
        return Err(ProofError::Backwards { old, new });
    }
    let mut path = Vec::new();
    // Every tree begins with the empty tree, so there is no edge to prove.
    if old == 0 {
        return Ok(path);
    }
    let (mut start, mut end) = (0, new);
    for cut in cuts() {
        if end == old {
            break;
        }
        let middle = start + cut;
        if middle >= end {
            continue;
        }
        if old <= middle {
            path.push(middle..end);
            end = middle;
        } else {
            path.push(start..middle);
            start = middle;
        }
    }
    if start > 0 {
        path.push(start..end);
    }
    path.reverse();
    Ok(path)
}

/// Returns the proof that leaf `index` is in the tree of the first `size` of these leaves.
pub fn inclusion_proof(
    leaves: &[Digest],
    index: u64,
    size: u64,
) -> Result<Vec<Digest>, ProofError> {
    roots(leaves, size, inclusion_ranges(index, size)?)
}

/// Returns the proof that the first `new` leaves begin with the first `old`.
pub fn consistency_proof(leaves: &[Digest], old: u64, new: u64) -> Result<Vec<Digest>, ProofError> {
    roots(leaves, new, consistency_ranges(old, new)?)
}

fn roots(leaves: &[Digest], size: u64, ranges: Vec<Range<u64>>) -> Result<Vec<Digest>, ProofError> {
    let too_few = || ProofError::TooFewLeaves { size, known: leaves.len() };
    let place = |number: u64| usize::try_from(number).map_err(|_| too_few());
    let known = leaves.get(..place(size)?).ok_or_else(too_few)?;
    ranges
        .into_iter()
        .map(|range| {
            let subtree = known.get(place(range.start)?..place(range.end)?);
            subtree.map(root).ok_or_else(too_few)
        })
        .collect()
}

fn expect_length(needed: usize, given: usize) -> Result<(), ProofError> {
    if needed == given { Ok(()) } else { Err(ProofError::WrongLength { needed, given }) }
}

fn expect_root(expected: Digest, found: Digest) -> Result<(), ProofError> {
    if expected == found { Ok(()) } else { Err(ProofError::WrongRoot { expected, found }) }
}

/// Succeeds if the tree of `size` leaves with this root has `leaf` at `index`.
pub fn verify_inclusion(
    leaf: Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: Digest,
) -> Result<(), ProofError> {
    let ranges = inclusion_ranges(index, size)?;
    expect_length(ranges.len(), proof.len())?;
    let steps = ranges.iter().zip(proof);
    let found = steps.fold(leaf, |node, (range, sibling)| {
        if index < range.start { node_hash(&node, sibling) } else { node_hash(sibling, &node) }
    });
    expect_root(root, found)
}

/// Succeeds if the tree of `new` leaves begins with the whole tree of `old` leaves.
pub fn verify_consistency(
    old: u64,
    new: u64,
    old_root: Digest,
    new_root: Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    let ranges = consistency_ranges(old, new)?;
    expect_length(ranges.len(), proof.len())?;
    if old == 0 {
        expect_root(empty_root(), old_root)?;
        return if new == 0 { expect_root(empty_root(), new_root) } else { Ok(()) };
    }
    let mut steps = ranges.iter().zip(proof).peekable();
    // The edge that both trees share: given, or the whole old tree.
    let edge = steps.next_if(|(range, _)| range.end == old).map_or(old_root, |(_, edge)| *edge);
    let (mut old_found, mut new_found) = (edge, edge);
    for (range, sibling) in steps {
        if range.start < old {
            old_found = node_hash(sibling, &old_found);
            new_found = node_hash(sibling, &new_found);
        } else {
            new_found = node_hash(&new_found, sibling);
        }
    }
    expect_root(old_root, old_found)?;
    expect_root(new_root, new_found)
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
