//! The background work of `tasks`, for the registry of all workers.

use super::{basis_checker, task_expirer, task_watcher};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] = &[task_expirer::WORKER, basis_checker::WORKER];

pub(crate) const LOOPS: &[Loop] = &[Loop {
    name: "task_watcher",
    runs: Runs::ForCallers,
    count: 1,
    run: |start| Box::pin(task_watcher::watch(start.app, start.stopped)),
}];
