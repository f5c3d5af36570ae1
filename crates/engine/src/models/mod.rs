//! Read models in Redis: tasks and the queues of people, written behind the events and read by
//! whoever says what they know already. They spare PostgreSQL work and decide nothing: who may see
//! something is asked of the rules of the moment, and where a model is missing, late or does not
//! answer at once, the record is read.

mod check;
mod project;
mod read;
mod refill;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{MODEL_MISSED_MAX, MODEL_READ_BUDGET, MODEL_REST, MODEL_TENANTS_PAGE};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::app::App;
use crate::error::Error;

pub use check::{Checked, check, check_some};
pub use project::{CONSUMER, project, rebuild};
pub(crate) use read::{inbox, task};
pub(crate) use refill::refill;

/// What somebody asked for and no model had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missed {
    Task(TenantId, TaskId),
    Queue(TenantId, UserId),
}

#[derive(Debug)]
pub struct Models {
    kept: ade_coord::models::Models,
    /// Nobody here asks before.
    rests_until: Mutex<Option<Instant>>,
    missed: Mutex<BTreeSet<Missed>>,
    /// Something was missed.
    asked: Notify,
    /// The tenant that the checker looked at last.
    sampled: Mutex<Option<TenantId>>,
    /// How far its walk has come in each of them.
    walks: Mutex<BTreeMap<TenantId, TaskId>>,
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

    /// How far the models of this tenant have come, and how many of them were found wrong; nothing
    /// if they do not say so at once.
    pub async fn standing(&self, tenant: TenantId) -> Option<(Option<u64>, u64)> {
        self.at_once(self.kept.differences(tenant, 0)).await
    }

    pub async fn ping(&self) -> Result<(), ade_coord::Error> {
        self.kept.ping().await
    }

    /// The last event that the models of this tenant have seen; nothing if it has none.
    pub async fn head(&self, tenant: TenantId) -> Result<Option<u64>, Error> {
        self.kept.head(tenant).await.map_err(project::away)
    }

    /// Those whose turn it is to be looked at: each of all has one before any has a second.
    pub fn next_sample(&self, all: &[TenantId], most: usize) -> Vec<TenantId> {
        let mut last = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let later = all.iter().filter(|tenant| last.is_none_or(|last| **tenant > last));
        let earlier = all.iter().filter(|tenant| last.is_some_and(|last| **tenant <= last));
        let next: Vec<TenantId> = later.chain(earlier).take(most).copied().collect();
        *last = next.last().copied();
        next
    }

    /// An answer that comes at once, or none: whoever reads has another way.
    async fn at_once<T>(
        &self,
        asked: impl Future<Output = Result<T, ade_coord::Error>>,
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
        tracing::debug!(problem, "models are left alone for a moment");
        *self.rests_until() = Some(Instant::now() + MODEL_REST);
        None
    }

    fn miss(&self, missed: Missed) {
        let mut waiting = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MODEL_MISSED_MAX {
            waiting.insert(missed);
            self.asked.notify_one();
        }
    }

    fn take_missed(&self) -> BTreeSet<Missed> {
        std::mem::take(&mut *self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn rests_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.rests_until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All tenants that anything ever happened in, each with its last event.
pub async fn tenants(app: &App) -> Result<Vec<(TenantId, u64)>, Error> {
    let mut all: Vec<(TenantId, u64)> = Vec::new();
    loop {
        let after = all.last().map(|(tenant, _)| *tenant);
        let pool = &app.pools.worker;
        let found = ade_store::models::tenants(pool, after, MODEL_TENANTS_PAGE).await?;
        if found.is_empty() {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// How a read went; `record` is what PostgreSQL had to answer.
fn count(model: &'static str, outcome: &'static str) {
    metrics::counter!("ade_model_reads_total", "model" => model, "outcome" => outcome).increment(1);
}
