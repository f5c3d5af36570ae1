//! The background work of `read_models`, for the registry of all workers.

use super::{read_model_checker, read_model_projector, refill};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] = &[read_model_projector::WORKER, read_model_checker::WORKER];

pub(crate) const LOOPS: &[Loop] = &[Loop {
    name: "read_model_refiller",
    runs: Runs::ForCallers,
    count: 1,
    run: |start| Box::pin(refill::refill(start.app, start.stopped)),
}];
