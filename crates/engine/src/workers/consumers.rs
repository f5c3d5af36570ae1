//! The event consumers of all modules.

use ade_core::consumer::Consumer;

use crate::events::consumers::Job;
use crate::{events, notifications, webhooks};

const LISTS: &[&[Job]] = &[webhooks::CONSUMERS, events::CONSUMERS, notifications::CONSUMERS];

pub(super) fn of(group: Consumer) -> Option<Job> {
    LISTS.iter().flat_map(|list| list.iter()).find(|job| job.group == group).copied()
}
