//! Administration of an installation and its tenants: the first start, the audit log, statistics,
//! the state of the parts of the system, and the catalogue of resources.

pub mod audit;
pub mod bootstrap;
mod idempotency_pruner;
pub mod resources;
pub mod stats;
pub mod status;
mod workers;

pub(crate) use resources::{import as import_resources, put as put_resource};
pub(crate) use workers::{LOOPS, WORKERS};
