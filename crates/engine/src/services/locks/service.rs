//! The lock queue of this installation, with its settings and the waiters of this process.

use std::sync::Arc;
use std::time::Duration;

use ade_coord::hints::Hints;
use ade_coord::lock::Locks;
use ade_coord::rate::Rates;
use ade_coord::{Cluster, Nodes};
use ade_core::ids::{AgentId, TenantId};
use ade_core::lock::LeaseClass;
use ade_core::rate::Rate;
use ade_store::Pool;

use super::postgres_queue::PgLockQueue;
use super::queue::{LockQueue, LockQueueError};
use super::redis_backend::RedisQueue;
use super::redis_queue::RedisLockQueue;
use super::session_cache::Admitted;
use super::waiters::Waiters;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockSettings {
    /// How long resources stay blocked after a fenced lease has expired.
    pub lock_delay: Duration,
    /// The rate limit of each agent.
    pub rate: Rate,
}

#[derive(Debug)]
pub struct LockService {
    pub queue: Box<dyn LockQueue>,
    pub waiters: Arc<Waiters>,
    pub admitted: Admitted,
    pub settings: LockSettings,
}

impl LockService {
    /// Creates the service over Redis. Must be called within a runtime; connection errors appear at
    /// the first call.
    pub fn redis(
        nodes: &Nodes,
        pool: Pool,
        service: &str,
        settings: LockSettings,
    ) -> Result<Self, LockQueueError> {
        let waiters = Arc::new(Waiters::default());
        let hearer = Arc::clone(&waiters);
        let hints = Hints::open(nodes, move |heard| hearer.hear(heard))?;
        let cluster = Cluster::open(nodes)?;
        let locks = RedisLockQueue::new(Locks::new(cluster.clone()), pool, service);
        let rates = Rates::new(cluster.clone());
        let queue = Box::new(RedisQueue { locks, hints, cluster, rates });
        Ok(Self { queue, waiters, admitted: Admitted::default(), settings })
    }

    /// Creates the service for an installation without Redis: every lease is registered in
    /// PostgreSQL.
    pub fn postgres(pool: Pool, settings: LockSettings) -> Self {
        let waiters: Arc<Waiters> = Arc::default();
        let queue = Box::new(PgLockQueue::new(pool, Arc::clone(&waiters)));
        Self { queue, waiters, admitted: Admitted::default(), settings }
    }

    /// Counts a lock request of this agent. Returns how long it has to wait; `None` if it may
    /// proceed.
    pub async fn rate(
        &self,
        tenant: TenantId,
        agent: AgentId,
    ) -> Result<Option<Duration>, LockQueueError> {
        self.queue.rate(tenant, agent, self.settings.rate).await
    }

    /// The class of a lease. Without Redis every lease is registered; one that need not be fenced
    /// then has no lock delay.
    pub fn class(&self, is_fenced: bool) -> LeaseClass {
        let lock_delay = self.settings.lock_delay;
        if is_fenced { LeaseClass::Fenced { lock_delay } } else { self.queue.unfenced() }
    }
}
