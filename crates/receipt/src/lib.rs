//! Receipts: what one apply was allowed to do, signed, so that the thing it is applied to can
//! check it without asking anybody. A target that does so refuses work that nobody agreed to, work
//! for another target, and the late writes of a holder that has been overtaken.
//!
//! This crate stands alone: a target needs nothing else of the product.

mod fence;
mod key;
mod receipt;
mod request;
mod verify;

pub use fence::{Overtaken, Watermark};
pub use key::{KeyError, KeySet, PublicKey, Signer};
pub use receipt::{Fenced, Mode, PolicyVersion, Receipt, Voted};
pub use request::SignedRequest;
pub use verify::{Expected, Refused};

#[cfg(test)]
mod tests;
