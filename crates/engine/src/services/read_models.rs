//! Read models in Redis: tasks and reviewer queues, updated from events and read by callers that
//! send a known version. They only reduce the load on PostgreSQL: permissions come from the current
//! rules, and if a model is missing, late or slow, PostgreSQL is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ade_core::ids::{TaskId, TenantId, UserId};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The time limit of a read from a model; after that, the database is read instead.
const MODEL_READ_BUDGET: Duration = Duration::from_millis(50);
/// How long a process avoids an unresponsive Redis.
const MODEL_REST: Duration = Duration::from_secs(1);
/// The maximum number of missed reads that wait for their model to be written; more are dropped.
const MODEL_MISSED_MAX: usize = 1_000;

/// A read that no model could serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missed {
    Task(TenantId, TaskId),
    Queue(TenantId, UserId),
}

#[derive(Debug)]
pub struct Models {
    pub(crate) kept: ade_coord::models::Models,
    /// Until this time, no read of this process queries Redis.
    rests_until: Mutex<Option<Instant>>,
    pub(crate) missed: Mutex<BTreeSet<Missed>>,
    /// Notified when a read was missed.
    pub(crate) asked: Notify,
    /// The tenant that the checker examined last.
    pub(crate) sampled: Mutex<Option<TenantId>>,
    /// The progress of the checker's walk in each tenant.
    pub(crate) walks: Mutex<BTreeMap<TenantId, TaskId>>,
}

impl Models {
    pub fn new(kept: ade_coord::models::Models) -> Self {
        Self {
            kept,
            rests_until: Mutex::default(),
            missed: Mutex::default(),
            sampled: Mutex::default(),
            asked: Notify::new(),
            walks: Mutex::default(),
        }
    }

    /// Returns the position of this tenant's models and the number of differences found in them, or
    /// `None` if Redis does not respond quickly.
    pub async fn standing(&self, tenant: TenantId) -> Option<(Option<u64>, u64)> {
        self.at_once(self.kept.differences(tenant, 0)).await
    }

    pub async fn ping(&self) -> Result<(), ade_coord::CoordError> {
        self.kept.ping().await
    }

    /// Returns the last event that the models of this tenant have seen, if any.
    pub async fn head(&self, tenant: TenantId) -> Result<Option<u64>, ade_coord::CoordError> {
        self.kept.head(tenant).await
    }

    /// Returns the next tenants to check, in rotation.
    pub fn next_sample(&self, all: &[TenantId], most: usize) -> Vec<TenantId> {
        let mut last = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let later = all.iter().filter(|tenant| last.is_none_or(|last| **tenant > last));
        let earlier = all.iter().filter(|tenant| last.is_some_and(|last| **tenant <= last));
        let next: Vec<TenantId> = later.chain(earlier).take(most).copied().collect();
        *last = next.last().copied();
        next
    }

    /// Returns the response, or `None` if it is not quick: the reader falls back to PostgreSQL.
    pub(crate) async fn at_once<T>(
        &self,
        asked: impl Future<Output = Result<T, ade_coord::CoordError>>,
    ) -> Option<T> {
        if self.rests_until().is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let problem = match tokio::time::timeout(MODEL_READ_BUDGET, asked).await {
            Ok(Ok(answer)) => {
                self.rests_until().take();
                return Some(answer);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} ms", MODEL_READ_BUDGET.as_millis()),
        };
        tracing::debug!(problem, "read models skipped for a moment");
        *self.rests_until() = Some(Instant::now() + MODEL_REST);
        None
    }

    pub(crate) fn miss(&self, missed: Missed) {
        let mut waiting = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MODEL_MISSED_MAX {
            waiting.insert(missed);
            self.asked.notify_one();
        }
    }

    pub(crate) fn take_missed(&self) -> BTreeSet<Missed> {
        std::mem::take(&mut *self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn rests_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.rests_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
