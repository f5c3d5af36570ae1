//! Callers that wait for a task to change. A commit of this process wakes its own callers
//! immediately, events wake those of other processes, and a slow poll per tenant serves those that
//! no event reached. Waiting callers hold nothing open in PostgreSQL.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ade_core::ids::{TaskId, TenantId};
use tokio::sync::watch;

#[derive(Debug, Default)]
pub struct Watch {
    watched: Mutex<BTreeMap<(TenantId, TaskId), watch::Sender<u64>>>,
}

impl Watch {
    /// Follows the versions that this process learns about, starting with the one the caller knows.
    pub fn follow(&self, tenant: TenantId, task: TaskId, known: u64) -> watch::Receiver<u64> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = watched.entry((tenant, task)).or_insert_with(|| watch::channel(known).0);
        sender.subscribe()
    }

    /// Returns whether a caller of this process waits for this task.
    pub fn wants(&self, tenant: TenantId, task: TaskId) -> bool {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.get(&(tenant, task)).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Wakes the callers that wait for this task, if the version is newer than the known one.
    pub fn tell(&self, tenant: TenantId, task: TaskId, version: u64) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(&(tenant, task)) {
            sender.send_if_modified(|known| {
                let moved = version > *known;
                *known = version.max(*known);
                moved
            });
        }
    }

    /// Returns the tasks that callers wait for, by tenant, and forgets the others.
    pub fn wanted(&self) -> BTreeMap<TenantId, Vec<TaskId>> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, sender| sender.receiver_count() > 0);
        let mut wanted: BTreeMap<TenantId, Vec<TaskId>> = BTreeMap::new();
        for (tenant, task) in watched.keys() {
            wanted.entry(*tenant).or_default().push(*task);
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_watch_wakes_on_newer_versions_and_forgets_waiters() {
        let watch = Watch::default();
        let (tenant, task) = (TenantId::from_u128(1), TaskId::from_u128(2));
        let mut waiting = watch.follow(tenant, task, 3);
        watch.tell(tenant, task, 3);
        assert!(!waiting.has_changed().unwrap(), "the known version");
        watch.tell(tenant, task, 5);
        assert!(waiting.has_changed().unwrap());
        assert_eq!(*waiting.borrow_and_update(), 5);
        watch.tell(tenant, task, 4);
        assert!(!waiting.has_changed().unwrap(), "an older version");
        assert_eq!(watch.wanted()[&tenant], [task]);
        drop(waiting);
        assert!(watch.wanted().is_empty());
    }
}
