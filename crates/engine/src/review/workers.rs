//! The background work of `review`, for the registry of all workers.

use super::{expiry_warner, override_lapser, review_escalator, review_opener, review_reassigner};
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] = &[
    review_opener::WORKER,
    review_escalator::WORKER,
    review_reassigner::WORKER,
    expiry_warner::WORKER,
    override_lapser::WORKER,
];
