//! Receipts: signed statements of what one apply is allowed to do, so that the target system can
//! check them offline. A target that does so refuses work that was not approved, work for another
//! target, and late writes of a holder that was fenced off.
//!
//! This crate has no dependencies on the rest of the product.

mod fence;
mod key;
mod receipt;
mod request;
mod verify;

pub use fence::{Overtaken, Watermark};
pub use key::{KeyError, KeySet, PublicKey, Signer};
pub use receipt::{Fenced, LockMode, PolicyVersion, Receipt, Voted};
pub use request::SignedRequest;
pub use verify::{Expected, Refused};

#[cfg(test)]
mod tests;
