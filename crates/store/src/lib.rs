//! The record in PostgreSQL: the only place that speaks SQL. One state change is one [`Tx`] that
//! writes all of it, with its audit leaf, or nothing; row level security keeps every transaction
//! to its tenant. Decisions are made in `ade-core`, never here.

pub mod audit;
pub mod boot;
pub mod due;
pub mod error;
pub mod idempotency;
pub mod migrate;
mod moment;
pub mod outbox;
pub mod pool;
pub mod tasks;
pub mod tx;

pub use error::{Error, RowError};
pub use pool::{Class, Pool, Pools};
pub use tx::{Gate, Tx};
