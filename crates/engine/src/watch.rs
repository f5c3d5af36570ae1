//! Callers who wait for a task to move. A commit of this process wakes its own at once, events wake
//! those of others, and a slow look per tenant serves all whom no event reached; nothing is held
//! open in PostgreSQL meanwhile.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ade_core::ids::{TaskId, TenantId};
use tokio::sync::watch;

#[derive(Debug, Default)]
pub struct Watch {
    watched: Mutex<BTreeMap<(TenantId, TaskId), watch::Sender<u64>>>,
}

impl Watch {
    /// The versions this process comes to know from now on; starts at the one the caller knows.
    pub fn follow(&self, tenant: TenantId, task: TaskId, known: u64) -> watch::Receiver<u64> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = watched.entry((tenant, task)).or_insert_with(|| watch::channel(known).0);
        sender.subscribe()
    }

    /// Whether anybody here waits for this task.
    pub fn wants(&self, tenant: TenantId, task: TaskId) -> bool {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.get(&(tenant, task)).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Wakes whoever waits for this task.
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

    /// What anybody still waits for, by tenant; forgets what nobody does.
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
    fn only_a_newer_version_wakes_and_nobody_is_remembered_for_ever() {
        let watch = Watch::default();
        let (tenant, task) = (TenantId::from_u128(1), TaskId::from_u128(2));
        let mut waiting = watch.follow(tenant, task, 3);
        watch.tell(tenant, task, 3);
        assert!(!waiting.has_changed().unwrap(), "the version it knows");
        watch.tell(tenant, task, 5);
        assert!(waiting.has_changed().unwrap());
        assert_eq!(*waiting.borrow_and_update(), 5);
        watch.tell(tenant, task, 4);
        assert!(!waiting.has_changed().unwrap(), "older news");
        assert_eq!(watch.wanted()[&tenant], [task]);
        drop(waiting);
        assert!(watch.wanted().is_empty());
    }
}
