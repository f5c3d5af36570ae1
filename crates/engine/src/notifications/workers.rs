//! The background work of `notifications`, for the registry of all workers.

use super::{message_sender, notification_service};
use crate::events::consumers::Job;
use crate::worker::Worker;

pub(crate) const WORKERS: &[Worker] = &[notification_service::WORKER, message_sender::WORKER];

pub(crate) const CONSUMERS: &[Job] = &[notification_service::JOB];
