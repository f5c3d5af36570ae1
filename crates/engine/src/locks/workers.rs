//! The background work of `locks`, for the registry of all workers.

use super::{epoch_keeper, hold_reaper, lock_sweeper, lock_watcher};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] =
    &[lock_sweeper::WORKER, epoch_keeper::WORKER, hold_reaper::WORKER];

pub(crate) const LOOPS: &[Loop] = &[
    Loop {
        name: "lock_hearer",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(lock_watcher::hear(start.app, start.stopped)),
    },
    Loop {
        name: "lock_poller",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(lock_watcher::poll(start.app, start.stopped)),
    },
    Loop {
        name: "lock_follower",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(lock_watcher::follow(start.app, start.stopped)),
    },
];
