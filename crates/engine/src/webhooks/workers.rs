//! The background work of `webhooks`, for the registry of all workers.

use super::{dispatcher_worker, pruner_worker, sender_worker};
use crate::events::consumers::Job;
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] =
    &[dispatcher_worker::WORKER, sender_worker::WORKER, pruner_worker::WORKER];

pub(crate) const CONSUMERS: &[Job] = &[dispatcher_worker::JOB];
