//! The background work of `admin`, for the registry of all workers.

use super::{idempotency_pruner, status};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] = &[idempotency_pruner::WORKER];

pub(crate) const LOOPS: &[Loop] = &[Loop {
    name: "degradation_meter",
    runs: Runs::ForCallers,
    count: 1,
    run: |start| Box::pin(status::measure(start.app, start.stopped)),
}];
