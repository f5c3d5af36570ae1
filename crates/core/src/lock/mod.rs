//! Locks as data and rules without I/O: what is requested, what is held, who is next in line and
//! who waits for whom. The queue runs in Redis as scripts or in PostgreSQL as rows, and PostgreSQL
//! decides who may commit. The `lock-model` crate has a reference model of each, with which tests
//! compare them.

pub mod fence;
mod lease;
pub mod line;
mod request;
mod token;
pub mod wait_for;

pub use lease::{Arrival, Lease, LeasePhase, LeaseStatus, LiveHold, LockEvent, LockRefusal, Reply};
pub use request::{
    LeaseClass, LockSet, Mode, Owner, Request, RequestDraft, RequestError, principal_of,
};
pub use token::{Epoch, FencingToken, Order};
