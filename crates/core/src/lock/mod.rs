//! Locks as rules without I/O. `Space` is the queue (who is next, what Redis runs as scripts);
//! `Fences` is the truth (who may commit, what PostgreSQL runs as functions). Both are reference
//! models: exact, plain, and the oracle that the real ones are compared with.

mod admit;
mod expire;
pub mod fence;
mod lease;
pub mod line;
mod promote;
mod queue;
mod rebuild;
mod request;
mod table;
mod token;
pub mod wait_for;

pub use lease::{Event, Lease, Refusal, Reply, Standing, State};
pub use queue::{Arrival, Space};
pub use rebuild::LiveHold;
pub use request::{Class, LockSet, Mode, Owner, Request, RequestDraft, RequestError, principal_of};
pub use token::{Epoch, Order, Token};

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod trap_tests;
