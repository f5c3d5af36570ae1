//! Events after they are written: numbered and relayed, read by consumers, and delivered to
//! listeners. PostgreSQL is authoritative; streams in Redis only make delivery faster.

mod analytics_pipeline;
mod audit_logger;
pub mod consumers;
mod export;
mod listener;
mod partition_maker;
mod reader;
mod relay;
mod rights;
mod tally_keeper;
mod ticket;
mod wait;
mod workers;

pub use listener::{Listener, StreamItem, Wanted, listen};
pub use ticket::{Issued, issue, redeem};
pub(crate) use wait::attend;
pub(crate) use workers::{CONSUMERS, LOOPS, WORKERS};
