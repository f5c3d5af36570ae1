//! Tasks: proposed, changed, handed in, taken back, looked at. One file per kind of verb.

mod explain;
mod permission;
mod propose;
mod read;
mod simulate;
mod withdraw;

pub use ade_store::tasks::Filter;
pub use explain::explain;
pub use propose::{amend, create, resubmit, submit};
pub(super) use propose::{proposal_of, rate};
pub(super) use read::visible_in;
pub use read::{approvals, comments, get, get_since, list, revision, revisions, risk, wait};
pub use simulate::simulate;
pub use withdraw::{cancel, comment, delete, extend, retry};
