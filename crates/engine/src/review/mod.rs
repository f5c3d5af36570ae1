//! Reviews: requests for approval and the answers to them, delegations, overrides and the view of
//! who can decide.

pub mod approvals;
pub mod batches;
pub mod delegations;
mod expiry_warner;
mod override_lapser;
pub mod overrides;
pub mod resolution;
mod review_escalator;
mod review_opener;
mod review_reassigner;
mod workers;

pub(crate) use delegations::{create as create_delegation, create_for as create_delegation_for};
pub(crate) use workers::WORKERS;
