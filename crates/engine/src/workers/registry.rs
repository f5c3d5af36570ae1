//! The list of all background work, collected from the lists of the modules.

use crate::worker::{Loop, Worker};
use crate::{
    admin, agents, events, executions, identity, locks, notifications, read_models, review,
    rule_changes, tasks, webhooks,
};

use super::event_redriver;

const WORKERS: &[&[Worker]] = &[
    review::WORKERS,
    rule_changes::WORKERS,
    tasks::WORKERS,
    admin::WORKERS,
    identity::WORKERS,
    locks::WORKERS,
    executions::WORKERS,
    agents::WORKERS,
    events::WORKERS,
    webhooks::WORKERS,
    notifications::WORKERS,
    read_models::WORKERS,
    &[event_redriver::WORKER],
];

const LOOPS: &[&[Loop]] = &[
    events::LOOPS,
    executions::LOOPS,
    locks::LOOPS,
    tasks::LOOPS,
    read_models::LOOPS,
    admin::LOOPS,
];

/// Returns all workers; each can be run by name.
pub fn all() -> impl DoubleEndedIterator<Item = &'static Worker> {
    WORKERS.iter().flat_map(|list| list.iter())
}

pub(super) fn loops() -> impl Iterator<Item = &'static Loop> {
    LOOPS.iter().flat_map(|list| list.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn registry_lists_each_worker_and_loop_once() {
        let workers: Vec<&str> = all().map(|worker| worker.name).collect();
        let names: BTreeSet<&str> = workers.iter().copied().collect();
        assert_eq!(names.len(), workers.len(), "{workers:?}");
        assert_eq!(workers.len(), 30);
        let loops: Vec<&str> = loops().map(|one| one.name).collect();
        let names: BTreeSet<&str> = loops.iter().copied().collect();
        assert_eq!(names.len(), loops.len(), "{loops:?}");
        let both: Vec<&&str> = loops.iter().filter(|name| workers.contains(name)).collect();
        assert_eq!(both, [&"relay"], "a loop with the name of a worker replaces the driver");
    }
}
