//! Workers: they take no input, read what is due, go through the same decisions as everybody and
//! may be run by any number of processes. Here is the list of all of them; the driver runs them.

mod basis_checker;
mod driver;
mod expiry_warner;
mod idempotency_pruner;
mod override_lapser;
mod partition_maker;
mod review_escalator;
mod review_opener;
mod review_reassigner;
mod tally_keeper;
mod task_expirer;
mod task_watcher;

use std::pin::Pin;
use std::time::Duration;

use tokio::sync::Notify;

use crate::app::App;
use crate::error::Error;

pub use driver::{Driver, Plan, run_once};

/// What one activation did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    pub items: u64,
    /// As much as one activation may do: there is probably more.
    pub has_more: bool,
}

pub type Activation<'a> = Pin<Box<dyn Future<Output = Result<Done, Error>> + Send + 'a>>;

#[derive(Debug, Clone, Copy)]
pub struct Worker {
    pub name: &'static str,
    /// Of its own, where the plan's would be too often or too rare.
    pub period: Option<Duration>,
    /// Ends a wait early; a hint only.
    pub signal: Option<fn(&App) -> &Notify>,
    pub run: fn(&App) -> Activation<'_>,
}

pub const WORKERS: &[Worker] = &[
    review_opener::WORKER,
    review_escalator::WORKER,
    review_reassigner::WORKER,
    expiry_warner::WORKER,
    task_expirer::WORKER,
    override_lapser::WORKER,
    basis_checker::WORKER,
    tally_keeper::WORKER,
    idempotency_pruner::WORKER,
    partition_maker::WORKER,
];
