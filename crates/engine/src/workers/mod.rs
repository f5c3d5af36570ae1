//! Workers take no input, read what is due, make the same decisions as commands of callers, and may
//! be run by any number of processes. The registry lists all of them and all loops; the driver runs
//! them.

mod consumers;
mod driver;
mod event_redriver;
mod registry;

pub use driver::{Driver, WorkerPlan, run_once};
pub use registry::all;
