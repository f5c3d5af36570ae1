//! The background work of `executions`, for the registry of all workers.

use super::{apply_rescuer, apply_runner, apply_timer, claim_matcher, output_archiver};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] =
    &[apply_rescuer::WORKER, apply_timer::WORKER, output_archiver::WORKER];

pub(crate) const LOOPS: &[Loop] = &[
    Loop {
        name: apply_runner::NAME,
        runs: Runs::Planned,
        count: 1,
        run: |start| Box::pin(apply_runner::run_due(start.app, start.stopped)),
    },
    Loop {
        name: "claim_matcher",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(claim_matcher::matching(start.app, start.stopped)),
    },
    Loop {
        name: "claim_announcer",
        runs: Runs::Everywhere,
        count: 1,
        run: |start| Box::pin(claim_matcher::announce(start.app, start.stopped)),
    },
    Loop {
        name: "claim_poller",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(claim_matcher::poll(start.app, start.stopped)),
    },
];
