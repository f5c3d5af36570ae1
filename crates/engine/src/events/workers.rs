//! The background work of `events`, for the registry of all workers.

use ade_core::limits::EVENT_SHARDS;

use super::consumers::Job;
use super::{analytics_pipeline, audit_logger, partition_maker, reader, relay, tally_keeper};
use crate::worker::{Loop, Runs, Worker};

pub(crate) const WORKERS: &[Worker] = &[
    tally_keeper::WORKER,
    partition_maker::WORKER,
    relay::WORKER,
    audit_logger::WORKER,
    analytics_pipeline::WORKER,
];

pub(crate) const CONSUMERS: &[Job] = &[audit_logger::JOB, analytics_pipeline::JOB];

pub(crate) const LOOPS: &[Loop] = &[
    Loop {
        name: relay::WORKER.name,
        runs: Runs::Planned,
        count: 1,
        run: |start| Box::pin(relay::drive(start.app, start.holder, start.stopped)),
    },
    Loop {
        name: "stream_reader",
        runs: Runs::ForCallers,
        count: EVENT_SHARDS,
        run: |start| Box::pin(reader::read_shard(start.app, start.number, start.stopped)),
    },
    Loop {
        name: "stream_follower",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(reader::follow(start.app, start.stopped)),
    },
    Loop {
        name: "event_poller",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(reader::sweep(start.app, start.stopped)),
    },
    Loop {
        name: "listener_checker",
        runs: Runs::ForCallers,
        count: 1,
        run: |start| Box::pin(reader::check(start.app, start.stopped)),
    },
];
