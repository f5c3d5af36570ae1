//! The tree and its proofs, compared with the definitions of RFC 6962, section 2.1, and with every
//! way to tamper with a proof.

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::super::tree::{Frontier, FrontierError, leaf_hash};
use super::*;
use crate::limits::AUDIT_LEAVES_MAX;

/// All sizes up to this are tried: past the sixth power of two, so that every shape of edge occurs.
const SIZES: u64 = 70;

fn sha256(parts: &[&[u8]]) -> Digest {
    let bytes: Vec<u8> = parts.concat();
    Digest::from_bytes(Sha256::digest(bytes).into())
}

fn largest_power_of_two_below(size: usize) -> usize {
    let mut power = 1;
    while power * 2 < size {
        power *= 2;
    }
    power
}

/// The function MTH of the RFC.
fn defined_root(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => sha256(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(largest_power_of_two_below(leaves.len()));
            let (left, right) = (defined_root(left), defined_root(right));
            sha256(&[&[1], left.bytes(), right.bytes()])
        }
    }
}

/// The function PATH of the RFC.
fn defined_path(index: usize, leaves: &[Digest]) -> Vec<Digest> {
    if leaves.len() == 1 {
        return vec![];
    }
    let k = largest_power_of_two_below(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut path, other) = if index < k {
        (defined_path(index, left), right)
    } else {
        (defined_path(index - k, right), left)
    };
    path.push(defined_root(other));
    path
}

/// The function SUBPROOF of the RFC; PROOF is this with `is_whole`.
fn defined_subproof(old: usize, leaves: &[Digest], is_whole: bool) -> Vec<Digest> {
    if old == leaves.len() {
        return if is_whole { vec![] } else { vec![defined_root(leaves)] };
    }
    let k = largest_power_of_two_below(leaves.len());
    let (left, right) = leaves.split_at(k);
    let (mut proof, other) = if old <= k {
        (defined_subproof(old, left, is_whole), right)
    } else {
        (defined_subproof(old - k, right, false), left)
    };
    proof.push(defined_root(other));
    proof
}

fn leaves(count: u64) -> Vec<Digest> {
    (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

fn flipped(digest: Digest, bit: usize) -> Digest {
    let mut bytes = *digest.bytes();
    bytes[bit / 8 % 32] ^= 1 << (bit % 8);
    Digest::from_bytes(bytes)
}

#[test]
fn tree_hashes_follow_the_standard() {
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty_root().to_string(), empty);
    assert_eq!(root(&[]), empty_root());
    assert_eq!(leaf_hash(b"abc"), sha256(&[&[0], b"abc"]));
    assert_eq!(root(&[leaf_hash(b"abc")]), leaf_hash(b"abc"));
}

#[test]
fn tree_roots_follow_the_definition() {
    let all = leaves(SIZES);
    for size in 0..=all.len() {
        assert_eq!(root(&all[..size]), defined_root(&all[..size]), "{size}");
    }
}

#[test]
fn frontier_gives_every_root_and_round_trips() {
    let all = leaves(SIZES);
    let mut frontier = Frontier::default();
    assert_eq!(frontier.root(), empty_root());
    for (count, leaf) in all.iter().enumerate() {
        frontier.push(*leaf);
        assert_eq!(place(frontier.size()), count + 1);
        assert_eq!(frontier.root(), defined_root(&all[..=count]));
        assert!(frontier.peaks().len() <= 7, "a peak for each bit");
        let stored = (frontier.size(), frontier.peaks().to_vec());
        assert_eq!(Frontier::restore(stored.0, stored.1), Ok(frontier.clone()));
    }
}

#[test]
fn frontier_that_is_impossible_is_refused() {
    let peaks = leaves(3);
    assert!(Frontier::restore(7, peaks.clone()).is_ok());
    assert_eq!(
        Frontier::restore(8, peaks.clone()),
        Err(FrontierError::WrongPeaks { size: 8, needed: 1, given: 3 })
    );
    assert!(Frontier::restore(15, peaks.clone()).is_err());
    let most = leaves(u64::from(AUDIT_LEAVES_MAX.count_ones()));
    assert!(Frontier::restore(AUDIT_LEAVES_MAX, most).is_ok());
    let size = AUDIT_LEAVES_MAX + 1;
    let too_large = Frontier::restore(size, leaves(u64::from(size.count_ones())));
    assert_eq!(too_large, Err(FrontierError::TooLarge { size }));
}

#[test]
fn inclusion_proofs_follow_the_definition_and_hold() {
    let all = leaves(SIZES);
    for size in 1..=SIZES {
        let tree = &all[..place(size)];
        let top = defined_root(tree);
        for index in 0..size {
            let proof = inclusion_proof(&all, index, size).unwrap();
            assert_eq!(proof, defined_path(place(index), tree), "{index} of {size}");
            let leaf = all[place(index)];
            assert_eq!(verify_inclusion(leaf, index, size, &proof, top), Ok(()));
        }
    }
}

#[test]
fn consistency_proofs_follow_the_definition_and_hold() {
    let all = leaves(SIZES);
    let tops: Vec<Digest> = (0..=all.len()).map(|size| defined_root(&all[..size])).collect();
    for new in 0..=SIZES {
        let tree = &all[..place(new)];
        for old in 0..=new {
            let proof = consistency_proof(&all, old, new).unwrap();
            if old > 0 {
                assert_eq!(proof, defined_subproof(place(old), tree, true), "{old} to {new}");
            } else {
                assert!(proof.is_empty());
            }
            let (before, after) = (tops[place(old)], tops[place(new)]);
            assert_eq!(verify_consistency(old, new, before, after, &proof), Ok(()));
        }
    }
}

#[test]
fn inclusion_proof_holds_for_its_own_position_only() {
    let all = leaves(20);
    for size in 1..=20_u64 {
        let top = root(&all[..place(size)]);
        for index in 0..size {
            let proof = inclusion_proof(&all, index, size).unwrap();
            let leaf = all[place(index)];
            let holds = |leaf, at, of| verify_inclusion(leaf, at, of, &proof, top).is_ok();
            for other in (0..size + 3).filter(|other| *other != index) {
                assert!(!holds(leaf, other, size), "{index} taken for {other} of {size}");
                let foreign = all[place(other % 20)];
                assert!(foreign == leaf || !holds(foreign, index, size));
            }
        }
    }
}

#[test]
fn consistency_proof_holds_for_its_own_trees_only() {
    let all = leaves(20);
    let tops: Vec<Digest> = (0..=20).map(|size| root(&all[..size])).collect();
    let top = |size: u64| tops[place(size)];
    for new in 1..=20_u64 {
        for old in 1..=new {
            let proof = consistency_proof(&all, old, new).unwrap();
            for wrong in (0..=20_u64).filter(|size| *size != old) {
                let verdict = verify_consistency(old, new, top(wrong), top(new), &proof);
                assert!(verdict.is_err(), "root of {wrong} taken for {old} of {new}");
            }
            for wrong in (0..=20_u64).filter(|size| *size != new) {
                let verdict = verify_consistency(old, new, top(old), top(wrong), &proof);
                assert!(verdict.is_err(), "root of {wrong} taken for {new} from {old}");
            }
        }
    }
}

/// A path alone does not determine the size: trees that differ only to the right of a perfect
/// subtree can share it. The size comes from the signed checkpoint together with the root, and a
/// wrong root or a path of another shape is still refused.
#[test]
fn proof_with_a_size_of_another_shape_is_refused() {
    let all = leaves(20);
    let mut refused = 0;
    for size in 1..=20_u64 {
        let top = root(&all[..place(size)]);
        for index in 0..size {
            let proof = inclusion_proof(&all, index, size).unwrap();
            let shape = |of| {
                let ranges = inclusion_ranges(index, of).unwrap();
                ranges.iter().map(|range| range.start < index).collect::<Vec<_>>()
            };
            for other in (index + 1..=20).filter(|other| shape(*other) != shape(size)) {
                let verdict = verify_inclusion(all[place(index)], index, other, &proof, top);
                assert!(verdict.is_err(), "leaf {index}: size {size} taken for {other}");
                refused += 1;
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

#[test]
fn proof_arguments_that_are_invalid_are_refused() {
    let all = leaves(5);
    let (a, b) = (all[0], all[1]);
    assert_eq!(inclusion_proof(&all, 5, 5), Err(ProofError::NoSuchLeaf { index: 5, size: 5 }));
    assert_eq!(
        verify_inclusion(a, 0, 0, &[], empty_root()),
        Err(ProofError::NoSuchLeaf { index: 0, size: 0 })
    );
    let too_few = ProofError::TooFewLeaves { size: 6, known: 5 };
    assert_eq!(inclusion_proof(&all, 0, 6), Err(too_few.clone()));
    assert_eq!(consistency_proof(&all, 2, 6), Err(too_few.clone()));
    assert_eq!(consistency_proof(&all, 6, 6), Err(too_few));
    let backwards = ProofError::Backwards { old: 4, new: 3 };
    assert_eq!(consistency_proof(&all, 4, 3), Err(backwards.clone()));
    assert_eq!(verify_consistency(4, 3, a, b, &[]), Err(backwards));
    assert_eq!(
        verify_inclusion(a, 0, 2, &[], b),
        Err(ProofError::WrongLength { needed: 1, given: 0 })
    );
    assert_eq!(
        verify_inclusion(a, 0, 1, &[], b),
        Err(ProofError::WrongRoot { expected: b, found: a })
    );
    // The empty tree is a prefix of every tree, and no other tree is.
    assert!(verify_consistency(0, 3, empty_root(), a, &[]).is_ok());
    assert!(verify_consistency(0, 3, a, b, &[]).is_err());
    assert!(verify_consistency(0, 3, empty_root(), a, &[b]).is_err());
    assert!(verify_consistency(0, 0, empty_root(), a, &[]).is_err());
    assert!(verify_consistency(3, 3, a, a, &[]).is_ok());
    assert!(verify_consistency(3, 3, a, b, &[]).is_err());
}

#[test]
fn proof_in_the_largest_tree_is_short() {
    let path = inclusion_ranges(AUDIT_LEAVES_MAX - 1, AUDIT_LEAVES_MAX).unwrap();
    assert!(path.len() <= 63);
    let steps = consistency_ranges(AUDIT_LEAVES_MAX / 3, AUDIT_LEAVES_MAX).unwrap();
    assert!(steps.len() <= 64);
    assert!(inclusion_ranges(u64::MAX - 1, u64::MAX).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tree_roots_of_larger_trees_follow_the_definition(
        size in 71_u64..1500,
        at in any::<prop::sample::Index>(),
        before in any::<prop::sample::Index>(),
    ) {
        let all = leaves(size);
        let top = defined_root(&all);
        prop_assert_eq!(root(&all), top);
        let index = at.index(all.len());
        let proof = inclusion_proof(&all, index as u64, size).unwrap();
        prop_assert_eq!(&proof, &defined_path(index, &all));
        prop_assert_eq!(verify_inclusion(all[index], index as u64, size, &proof, top), Ok(()));

        let old = before.index(all.len()) + 1;
        let proof = consistency_proof(&all, old as u64, size).unwrap();
        prop_assert_eq!(&proof, &defined_subproof(old, &all, true));
        let old_top = defined_root(&all[..old]);
        prop_assert_eq!(verify_consistency(old as u64, size, old_top, top, &proof), Ok(()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn inclusion_proof_that_was_tampered_with_is_refused(
        size in 1_u64..200,
        at in any::<prop::sample::Index>(),
        step in any::<prop::sample::Index>(),
        bit in 0_usize..256,
    ) {
        let all = leaves(size);
        let (index, top) = (at.index(all.len()), root(&all));
        let (leaf, index) = (all[index], index as u64);
        let proof = inclusion_proof(&all, index, size).unwrap();
        let holds = |leaf, proof: &[Digest], top| {
            verify_inclusion(leaf, index, size, proof, top).is_ok()
        };
        prop_assert!(holds(leaf, &proof, top));
        prop_assert!(!holds(flipped(leaf, bit), &proof, top));
        prop_assert!(!holds(leaf, &proof, flipped(top, bit)));
        let extended: Vec<_> = proof.iter().copied().chain([top]).collect();
        prop_assert!(!holds(leaf, &extended, top));
        if !proof.is_empty() {
            let step = step.index(proof.len());
            let mut wrong = proof.clone();
            wrong[step] = flipped(wrong[step], bit);
            prop_assert!(!holds(leaf, &wrong, top));
            let mut short = proof.clone();
            short.remove(step);
            prop_assert!(!holds(leaf, &short, top));
            let mut swapped = proof.clone();
            swapped.rotate_left(1);
            prop_assert!(swapped == proof || !holds(leaf, &swapped, top));
        }
    }

    #[test]
    fn consistency_proof_that_was_tampered_with_is_refused(
        new in 1_u64..200,
        before in any::<prop::sample::Index>(),
        step in any::<prop::sample::Index>(),
        bit in 0_usize..256,
    ) {
        let all = leaves(new);
        let old = before.index(all.len()) as u64 + 1;
        let (old_top, top) = (root(&all[..place(old)]), root(&all));
        let proof = consistency_proof(&all, old, new).unwrap();
        let holds = |old_top, top, proof: &[Digest]| {
            verify_consistency(old, new, old_top, top, proof).is_ok()
        };
        prop_assert!(holds(old_top, top, &proof));
        prop_assert!(!holds(flipped(old_top, bit), top, &proof));
        prop_assert!(!holds(old_top, flipped(top, bit), &proof));
        let extended: Vec<_> = proof.iter().copied().chain([top]).collect();
        prop_assert!(!holds(old_top, top, &extended));
        if !proof.is_empty() {
            let step = step.index(proof.len());
            let mut wrong = proof.clone();
            wrong[step] = flipped(wrong[step], bit);
            prop_assert!(!holds(old_top, top, &wrong));
            let mut short = proof.clone();
            short.remove(step);
            prop_assert!(!holds(old_top, top, &short));
        }
    }

    /// A log that rewrote an entry cannot prove that it only grew.
    #[test]
    fn tree_with_rewritten_history_has_no_consistency_proof(
        new in 2_u64..100,
        before in any::<prop::sample::Index>(),
        rewritten in any::<prop::sample::Index>(),
    ) {
        let honest = leaves(new);
        let old = before.index(honest.len() - 1) as u64 + 1;
        let mut forged = honest.clone();
        let victim = rewritten.index(place(old));
        forged[victim] = leaf_hash(b"it never happened");
        let proof = consistency_proof(&forged, old, new).unwrap();
        let seen = root(&honest[..place(old)]);
        prop_assert!(verify_consistency(old, new, seen, root(&forged), &proof).is_err());
    }
}
