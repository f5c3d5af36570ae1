//! Evidence that cannot be changed unseen: what one act leaves behind (`leaf`), the Merkle tree
//! over all of them (`tree`), proofs about it (`proof`) and the signed statement of its root
//! (`checkpoint`, in the envelope of `note`). Pure: leaves are stored, trees sealed and
//! checkpoints signed elsewhere.

mod checkpoint;
mod leaf;
mod note;
mod proof;
mod tree;

pub use self::checkpoint::{Checkpoint, CheckpointError};
pub use self::leaf::{Kind, Leaf, LeafError, What, Where, Who, Why};
pub use self::note::{KeyId, KeyName, Note, NoteError, Signature};
pub use self::proof::{
    ProofError, consistency_proof, consistency_ranges, inclusion_proof, inclusion_ranges,
    verify_consistency, verify_inclusion,
};
pub use self::tree::{Frontier, FrontierError, empty_root, leaf_hash, root};
