//! The queue of this installation and its settings, whichever way it is kept: the same questions,
//! the same answers.

use std::sync::Arc;
use std::time::Duration;

use ade_coord::hints::Hints;
use ade_coord::keys::RATE;
use ade_coord::lock::{Held, Locks, Seen, Waiting};
use ade_coord::rate::{Counted, Rates};
use ade_coord::{Cluster, Fitness, Nodes};
use ade_core::ids::{AgentId, LeaseId, TenantId};
use ade_core::limits::{LOCK_POLL_PERIOD, LOCK_RENEW_BATCH, WATCH_PERIOD};
use ade_core::lock::{Class, Lease, Standing, State};
use ade_core::rate::Rate;
use ade_core::resource::ResourceRef;
use ade_store::Pool;
use serde::{Deserialize, Serialize};

use super::admitted::Admitted;
use super::desk::{Desk, Error};
use super::rows::Rows;
use super::waiters::Waiters;

/// What the rate of agents that ask for locks is counted under.
const ACQUIRE: &str = "lock_acquire";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long resources rest after a fenced lease has run out.
    pub lock_delay: Duration,
    /// Of each agent.
    pub rate: Rate,
}

#[derive(Debug)]
pub struct Keeper {
    pub queue: Queue,
    pub waiters: Arc<Waiters>,
    pub admitted: Admitted,
    pub settings: Settings,
}

#[derive(Debug)]
pub enum Queue {
    Redis(Box<RedisQueue>),
    Postgres(Rows),
}

#[derive(Debug)]
pub struct RedisQueue {
    pub desk: Desk,
    pub hints: Hints,
    pub cluster: Cluster,
    rates: Rates,
}

/// Where a page of what is held ended. One of another queue than the one that is asked begins
/// anew: it was given before the queue was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Name(ResourceRef),
    /// In Redis' walk over the book.
    Scan(u64),
}

impl Place {
    fn name(&self) -> Option<&ResourceRef> {
        match self {
            Self::Name(name) => Some(name),
            Self::Scan(_) => None,
        }
    }

    fn scan(&self) -> Option<u64> {
        match self {
            Self::Name(_) => None,
            Self::Scan(place) => Some(*place),
        }
    }
}

/// What is held: each resource with how many hold it and how many wait for it, and who they are.
#[derive(Debug)]
pub struct Page {
    pub resources: Vec<(ResourceRef, usize, usize)>,
    pub leases: Vec<Lease>,
    pub next: Option<Place>,
}

impl Keeper {
    /// Needs a runtime to connect in; whether anybody answers shows with the first call.
    pub fn redis(
        nodes: &Nodes,
        pool: Pool,
        service: &str,
        settings: Settings,
    ) -> Result<Self, Error> {
        let waiters = Arc::new(Waiters::default());
        let hearer = Arc::clone(&waiters);
        let hints = Hints::open(nodes, move |heard| hearer.hear(heard))?;
        let cluster = Cluster::open(nodes)?;
        let desk = Desk::new(Locks::new(cluster.clone()), pool, service);
        let rates = Rates::new(cluster.clone());
        let queue = Queue::Redis(Box::new(RedisQueue { desk, hints, cluster, rates }));
        Ok(Self { queue, waiters, admitted: Admitted::default(), settings })
    }

    /// For an installation without Redis: every lease is registered there.
    pub fn postgres(pool: Pool, settings: Settings) -> Self {
        let queue = Queue::Postgres(Rows::new(pool));
        Self { queue, waiters: Arc::default(), admitted: Admitted::default(), settings }
    }

    /// `None` if this agent may ask for a lock now, else how long it has to wait.
    pub async fn rate(&self, tenant: TenantId, agent: AgentId) -> Result<Option<Duration>, Error> {
        match &self.queue {
            Queue::Redis(redis) => {
                let key = RATE.of_endpoint(tenant, ACQUIRE, agent);
                let counted = Counted { key, rate: self.settings.rate };
                let taken = redis.rates.take(&[counted], 1).await;
                Ok((taken.calls == 0).then_some(taken.wait))
            }
            Queue::Postgres(rows) => {
                rows.rate(tenant, &agent.to_string(), self.settings.rate).await
            }
        }
    }

    /// Without Redis everything is registered; what need not be fenced then rests for no time.
    pub fn class(&self, is_fenced: bool) -> Class {
        let lock_delay = self.settings.lock_delay;
        match (&self.queue, is_fenced) {
            (_, true) => Class::Fenced { lock_delay },
            (Queue::Redis(_), false) => Class::Advisory,
            (Queue::Postgres(_), false) => Class::Fenced { lock_delay: Duration::ZERO },
        }
    }

    /// How each of them stands, in their order, and longer alive if it is.
    pub async fn renew(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<Vec<Standing>, Error> {
        let mut standings = Vec::with_capacity(leases.len());
        for some in leases.chunks(LOCK_RENEW_BATCH) {
            standings.extend(match &self.queue {
                Queue::Redis(redis) => redis.desk.renew(tenant, some).await?.answer,
                Queue::Postgres(rows) => rows.renew(tenant, some).await?,
            });
        }
        Ok(standings)
    }

    /// As [`Self::renew`], for those who stand in line.
    pub async fn poll(&self, tenant: TenantId, leases: &[LeaseId]) -> Result<Vec<Standing>, Error> {
        match &self.queue {
            Queue::Redis(_) => self.renew(tenant, leases).await,
            Queue::Postgres(rows) => rows.poll(tenant, leases).await,
        }
    }

    pub fn poll_period(&self) -> Duration {
        match &self.queue {
            Queue::Redis(_) => LOCK_POLL_PERIOD,
            Queue::Postgres(_) => WATCH_PERIOD,
        }
    }

    /// Of what is due, up to `limit`; how many it was.
    pub async fn sweep(&self, tenant: TenantId, limit: usize) -> Result<usize, Error> {
        match &self.queue {
            Queue::Redis(redis) => Ok(redis.desk.sweep(tenant, limit).await?.answer),
            Queue::Postgres(rows) => rows.sweep(tenant, limit).await,
        }
    }

    pub async fn release(&self, tenant: TenantId, lease: LeaseId) -> Result<Standing, Error> {
        match &self.queue {
            Queue::Redis(redis) => Ok(redis.desk.release(tenant, lease).await?.answer),
            Queue::Postgres(rows) => {
                let left = rows.leave(tenant, lease).await?;
                self.waiters.stir(tenant);
                Ok(left)
            }
        }
    }

    pub async fn break_lease(&self, tenant: TenantId, lease: LeaseId) -> Result<Standing, Error> {
        match &self.queue {
            Queue::Redis(redis) => Ok(redis.desk.break_lease(tenant, lease).await?.answer),
            // The record has ended it, and there is nothing beside the record.
            Queue::Postgres(_) => Ok(Standing::Over { state: State::Broken }),
        }
    }

    /// The queue learns what was registered without it.
    pub async fn adopt(&self, tenant: TenantId, leases: &[LeaseId]) -> Result<(), Error> {
        match &self.queue {
            Queue::Redis(redis) => redis.desk.adopt(tenant, leases).await,
            Queue::Postgres(_) => Ok(()),
        }
    }

    pub async fn resource(
        &self,
        tenant: TenantId,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Seen, Error> {
        match &self.queue {
            Queue::Redis(redis) => redis.desk.resource(tenant, resource, most).await,
            Queue::Postgres(rows) => rows.resource(tenant, resource, most).await,
        }
    }

    pub async fn leases(&self, tenant: TenantId, wanted: &[LeaseId]) -> Result<Vec<Lease>, Error> {
        match &self.queue {
            Queue::Redis(redis) => redis.desk.leases(tenant, wanted).await,
            Queue::Postgres(rows) => rows.leases(tenant, wanted).await,
        }
    }

    pub async fn held(
        &self,
        tenant: TenantId,
        after: Option<&Place>,
        resources: usize,
        holders: usize,
    ) -> Result<Page, Error> {
        match &self.queue {
            Queue::Redis(redis) => {
                let after = after.and_then(Place::scan);
                let mut held = redis.desk.held(tenant, after, resources, holders).await?;
                held.resources.sort();
                let Held { resources, leases, next } = held;
                Ok(Page { resources, leases, next: next.map(Place::Scan) })
            }
            Queue::Postgres(rows) => {
                rows.held(tenant, after.and_then(Place::name), resources).await
            }
        }
    }

    pub async fn waiting(&self, tenant: TenantId, most: usize) -> Result<Waiting, Error> {
        match &self.queue {
            Queue::Redis(redis) => redis.desk.waiting(tenant, most).await,
            Queue::Postgres(rows) => rows.waiting(tenant, most).await,
        }
    }

    /// Whether the queue answers.
    pub async fn ping(&self) -> Result<(), Error> {
        match &self.queue {
            Queue::Redis(redis) => Ok(redis.cluster.ping().await?),
            Queue::Postgres(rows) => rows.ping().await,
        }
    }

    /// Settings of others that locks depend on.
    pub async fn fitness(&self) -> Result<Vec<Fitness>, Error> {
        match &self.queue {
            Queue::Redis(redis) => Ok(redis.cluster.fitness().await?),
            Queue::Postgres(_) => Ok(Vec::new()),
        }
    }
}
