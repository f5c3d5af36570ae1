//! Tamper-evident audit: the entries (`entry`), the Merkle tree over all of them (`tree`), proofs
//! about it (`proof`) and the signed statement of its root (`checkpoint`, in the envelope of
//! `note`). All functions are pure; storing, sealing and signing happen elsewhere.

mod checkpoint;
mod entry;
mod note;
mod proof;
mod tree;

pub use self::checkpoint::{Checkpoint, CheckpointError};
pub use self::entry::{
    Assertion, AuditEntry, EntryKind, LeafError, RequestOrigin, What, Where, Who, Why,
};
pub use self::note::{KeyName, Note, NoteError, NoteKeyId, Signature};
pub use self::proof::{
    ProofError, consistency_proof, consistency_ranges, inclusion_proof, inclusion_ranges,
    verify_consistency, verify_inclusion,
};
pub use self::tree::{Frontier, FrontierError, empty_root, leaf_hash, root};
