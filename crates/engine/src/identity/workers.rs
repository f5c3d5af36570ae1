//! The background work of `identity`, for the registry of all workers.

use super::token_pruner;
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] = &[token_pruner::WORKER];
