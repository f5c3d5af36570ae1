//! The locks of a tenant: the queue in Redis and the authoritative rows in PostgreSQL, kept in one
//! epoch. A queue that lost its data is rebuilt from the registered holds before any lock is
//! granted; where the two disagree, the queue is corrected. Commits are checked in
//! `ade_store::locks`.

use ade_coord::lock::{Held, LockNamespace, Locks, Looks, Seen, WaitGraph};
use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::LEASE_TTL_MAX;
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{Arrival, Epoch, Lease, LeaseStatus, LiveHold, LockRefusal, Reply, Request};
use ade_core::resource::ResourceRef;
use ade_store::locks::{self, epochs};
use ade_store::{Pool, TenantLock, Tx, audit};
use moka::sync::Cache;

use super::queue::{LockQueueError, QueueReply, RetryStep};

/// The maximum number of attempts of one call; each refused attempt updates the assumed epoch.
const LOCK_EPOCH_TRIES: usize = 4;
/// The maximum number of namespaces whose epoch is cached; every script checks the epoch again.
const LOCK_EPOCHS_CACHED_MAX: u64 = 10_000;

const WORKER: &str = "locks";

#[derive(Debug, Clone)]
pub struct RedisLockQueue {
    queue: Locks,
    looks: Looks,
    pool: Pool,
    /// The last known epochs. A wrong one costs one call, because scripts refuse it.
    epochs: Cache<TenantId, Epoch>,
    service: String,
}

/// The epoch that a call assumes, and whether the namespace has never announced a grant.
#[derive(Debug, Clone, Copy)]
struct CachedEpoch {
    epoch: Epoch,
    is_new: bool,
}

impl RedisLockQueue {
    pub fn new(queue: Locks, pool: Pool, service: &str) -> Self {
        let epochs = Cache::builder().max_capacity(LOCK_EPOCHS_CACHED_MAX).build();
        let looks = Looks::new(queue.clone());
        Self { queue, looks, pool, epochs, service: service.to_owned() }
    }

    pub async fn acquire(
        &self,
        tenant: TenantId,
        request: &Request,
        arrival: Arrival,
    ) -> Result<QueueReply<LeaseStatus>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.acquire(space, request, arrival)).await
    }

    pub async fn renew(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<QueueReply<Vec<LeaseStatus>>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.renew(space, leases)).await
    }

    pub async fn release(
        &self,
        tenant: TenantId,
        lease: LeaseId,
    ) -> Result<QueueReply<LeaseStatus>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.release(space, lease)).await
    }

    /// Ends a lease without asking its holder.
    pub async fn break_lease(
        &self,
        tenant: TenantId,
        lease: LeaseId,
    ) -> Result<QueueReply<LeaseStatus>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.break_lease(space, lease)).await
    }

    pub async fn resource(
        &self,
        tenant: TenantId,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Seen, LockQueueError> {
        let looked = self.ask(tenant, move |space| self.looks.resource(space, resource, most));
        Ok(looked.await?.answer)
    }

    pub async fn leases(
        &self,
        tenant: TenantId,
        wanted: &[LeaseId],
    ) -> Result<Vec<Lease>, LockQueueError> {
        let looked = self.ask(tenant, move |space| self.looks.leases(space, wanted));
        Ok(looked.await?.answer)
    }

    pub async fn held(
        &self,
        tenant: TenantId,
        after: Option<u64>,
        resources: usize,
        holders: usize,
    ) -> Result<Held, LockQueueError> {
        let looked =
            self.ask(tenant, move |space| self.looks.held(space, after, resources, holders));
        Ok(looked.await?.answer)
    }

    pub async fn waiting(
        &self,
        tenant: TenantId,
        most: usize,
    ) -> Result<WaitGraph, LockQueueError> {
        let looked = self.ask(tenant, move |space| self.looks.waiting(space, most));
        Ok(looked.await?.answer)
    }

    /// Ends the epoch, and starts the next one in the queue with the registered holds. Advisory
    /// leases of the old epoch are refused until the last of them must have expired.
    pub async fn begin_epoch(&self, tenant: TenantId, reason: &str) -> Result<(), LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let from = epochs::current(&mut tx).await?.epoch;
        if epochs::bump(&mut tx, from, reason).await?.is_some() {
            self.record(&mut tx, from, reason).await?;
        }
        tx.commit().await?;
        self.epochs.invalidate(&tenant);
        self.sweep(tenant, 0).await?;
        Ok(())
    }

    /// Expires up to `limit` due entries. Any process may call this at any time.
    pub async fn sweep(
        &self,
        tenant: TenantId,
        limit: usize,
    ) -> Result<QueueReply<usize>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.sweep(space, limit)).await
    }

    /// Marks a lease as registered, after the commit: from now on its expiry needs a lock delay.
    pub async fn registered(
        &self,
        tenant: TenantId,
        lease: LeaseId,
    ) -> Result<QueueReply<LeaseStatus>, LockQueueError> {
        self.ask(tenant, move |space| self.queue.register(space, lease)).await
    }

    /// Corrects the queue after PostgreSQL has refused a registration.
    pub async fn reconcile(
        &self,
        tenant: TenantId,
        lease: LeaseId,
        refusal: &RegisterRefusal,
    ) -> Result<RetryStep, LockQueueError> {
        match refusal {
            RegisterRefusal::TokenLow { floor, .. } => {
                let minted =
                    self.ask(tenant, move |space| self.queue.refence(space, lease, *floor)).await?;
                Ok(match minted.answer {
                    LeaseStatus::Granted { token, .. } => RetryStep::Again(token),
                    other => RetryStep::Stands(other),
                })
            }
            RegisterRefusal::Held { by, .. } => {
                self.adopt(tenant, by).await?;
                let statuses = self.renew(tenant, &[lease]).await?.answer;
                Ok(RetryStep::Stands(statuses.first().copied().unwrap_or(LeaseStatus::Unknown)))
            }
            RegisterRefusal::StaleEpoch { .. } => {
                self.epochs.invalidate(&tenant);
                let statuses = self.renew(tenant, &[lease]).await?.answer;
                Ok(RetryStep::Stands(statuses.first().copied().unwrap_or(LeaseStatus::Unknown)))
            }
            RegisterRefusal::SessionDead
            | RegisterRefusal::LeaseSpent
            | RegisterRefusal::TooMany { .. } => Ok(RetryStep::Over),
        }
    }

    /// Imports the registered holds of these leases into the queue.
    pub async fn adopt(&self, tenant: TenantId, leases: &[LeaseId]) -> Result<(), LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let holds = locks::live(&mut tx).await?;
        tx.commit().await?;
        for hold in holds.iter().filter(|hold| leases.contains(&hold.request.lease())) {
            self.take_over(tenant, hold).await?;
        }
        Ok(())
    }

    async fn take_over(&self, tenant: TenantId, hold: &LiveHold) -> Result<(), LockQueueError> {
        self.ask(tenant, move |space| self.queue.adopt(space, hold)).await?;
        Ok(())
    }

    /// Runs a call in the epoch of the namespace: a refused epoch is read again, and a queue that
    /// lost its data is rebuilt.
    async fn ask<T, F>(
        &self,
        tenant: TenantId,
        call: impl Fn(LockNamespace) -> F + Send,
    ) -> Result<QueueReply<T>, LockQueueError>
    where
        F: Future<Output = Result<Reply<T>, ade_coord::CoordError>> + Send,
    {
        let mut assumed = match self.epochs.get(&tenant) {
            Some(epoch) => CachedEpoch { epoch, is_new: false },
            None => self.read_epoch(tenant).await?,
        };
        for _ in 0..LOCK_EPOCH_TRIES {
            let Reply { answer, events } =
                call(LockNamespace { tenant, epoch: assumed.epoch }).await?;
            assumed = match answer {
                Ok(answer) => {
                    if assumed.is_new {
                        self.note_use(tenant).await?;
                    }
                    self.epochs.insert(tenant, assumed.epoch);
                    return Ok(QueueReply { answer, events });
                }
                Err(LockRefusal::StaleEpoch { stored }) => self.catch_up(tenant, stored).await?,
                Err(LockRefusal::Rebuild { stored }) => {
                    self.rebuild(tenant, assumed, stored).await?
                }
                Err(refusal) => return Err(LockQueueError::Refused(refusal)),
            };
        }
        self.epochs.invalidate(&tenant);
        Err(LockQueueError::Unsettled)
    }

    async fn begin(&self, tenant: TenantId) -> Result<Tx, LockQueueError> {
        let actor = Actor::system(WORKER);
        Ok(Tx::begin(&self.pool, tenant, actor, TenantLock::None).await?)
    }

    async fn read_epoch(&self, tenant: TenantId) -> Result<CachedEpoch, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let epochs::Current { epoch, is_new } = epochs::current(&mut tx).await?;
        tx.commit().await?;
        Ok(CachedEpoch { epoch, is_new })
    }

    /// Adopts the epoch of Redis, which is ahead of the cached one. If it is ahead of PostgreSQL as
    /// well, PostgreSQL has lost data and continues after the epoch of Redis.
    async fn catch_up(
        &self,
        tenant: TenantId,
        stored: Epoch,
    ) -> Result<CachedEpoch, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let mut current = epochs::current(&mut tx).await?;
        if current.epoch < stored {
            epochs::pass(&mut tx, stored, "Redis was ahead").await?;
            self.record(&mut tx, current.epoch, "Redis was ahead").await?;
            current = epochs::current(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(CachedEpoch { epoch: current.epoch, is_new: current.is_new })
    }

    /// Rebuilds the queue. An empty queue has lost its tokens as well, so it starts a new epoch,
    /// unless another process has already started one. If nothing was ever registered, the queue
    /// may also be new, and a new epoch would revoke the first grants. Holds are read after the
    /// epoch change has waited for registrations in progress.
    async fn rebuild(
        &self,
        tenant: TenantId,
        assumed: CachedEpoch,
        stored: Option<Epoch>,
    ) -> Result<CachedEpoch, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let mut epoch = epochs::current(&mut tx).await?.epoch;
        let is_lost = stored.is_none() && locks::has_registered(&mut tx).await?;
        if is_lost && epoch == assumed.epoch {
            let reason = "the queue was empty";
            if let Some(next) = epochs::bump(&mut tx, epoch, reason).await? {
                self.record(&mut tx, epoch, reason).await?;
                epoch = next;
            }
        }
        let holds = locks::live(&mut tx).await?;
        let until = tx.now().plus(LEASE_TTL_MAX);
        tx.commit().await?;
        let space = LockNamespace { tenant, epoch };
        let unsure_until = (!assumed.is_new).then_some(until);
        let reply = self.queue.rebuild(space, &holds, unsure_until).await?;
        match reply.answer {
            Ok(count) => tracing::info!(%tenant, %epoch, count, "lock queue rebuilt"),
            Err(refusal) => {
                tracing::info!(
                    %tenant, %epoch, %refusal,
                    "lock queue already rebuilt by another process"
                );
            }
        }
        Ok(CachedEpoch { epoch, ..assumed })
    }

    async fn note_use(&self, tenant: TenantId) -> Result<(), LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        epochs::note_use(&mut tx).await?;
        Ok(tx.commit().await?)
    }

    /// Appends an audit entry for an epoch change.
    async fn record(&self, tx: &mut Tx, from: Epoch, reason: &str) -> Result<(), LockQueueError> {
        let what = What {
            from: Some(from.to_string()),
            ..What::new(tx.tenant().to_string(), "lock.rebuild")
        };
        let place = Where::service(self.service.as_str());
        let who = Who::System { worker: WORKER.to_owned() };
        let why = Why { reason: Some(reason.to_owned()), ticket: None };
        let entry =
            AuditEntry::new(tx.tenant(), EntryKind::Change, who, what, tx.now(), place, why);
        audit::append(tx, &[entry]).await?;
        Ok(())
    }
}
