//! The background work of `agents`, for the registry of all workers.

use super::agent_watcher;
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] = &[agent_watcher::WORKER];
