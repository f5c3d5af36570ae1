//! The lock queue in Redis, with its hints between processes and its rate limits.

use std::time::Duration;

use ade_coord::hints::Hints;
use ade_coord::keys::RATE;
use ade_coord::lock::{Held, Seen, WaitGraph};
use ade_coord::rate::{Counted, Rates};
use ade_coord::{Cluster, Fitness};
use ade_core::ids::{AgentId, LeaseId, TenantId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{Arrival, Lease, LeaseClass, LeaseStatus, Request};
use ade_core::rate::Rate;
use ade_core::resource::ResourceRef;

use super::queue::{Asking, HoldCursor, HoldPage, LockQueue, QueueReply, RetryStep};
use super::redis_queue::RedisLockQueue;

/// The name of the rate limit on lock requests of agents.
const ACQUIRE: &str = "lock_acquire";

/// How late a waiter sees its grant if the hint is lost: well within the claim window.
const LOCK_POLL_PERIOD: Duration = Duration::from_secs(1);

/// Leases per call to Redis; longer calls would delay other clients.
const LOCK_RENEW_BATCH: usize = 200;

#[derive(Debug)]
pub struct RedisQueue {
    pub locks: RedisLockQueue,
    pub hints: Hints,
    pub cluster: Cluster,
    pub rates: Rates,
}

impl LockQueue for RedisQueue {
    fn is_separate(&self) -> bool {
        true
    }

    fn rate(&self, tenant: TenantId, agent: AgentId, limit: Rate) -> Asking<'_, Option<Duration>> {
        Box::pin(async move {
            let key = RATE.of_endpoint(tenant, ACQUIRE, agent);
            let taken = self.rates.take(&[Counted { key, rate: limit }], 1).await;
            Ok((taken.calls == 0).then_some(taken.wait))
        })
    }

    fn unfenced(&self) -> LeaseClass {
        LeaseClass::Advisory
    }

    fn renew<'a>(
        &'a self,
        tenant: TenantId,
        leases: &'a [LeaseId],
    ) -> Asking<'a, Vec<LeaseStatus>> {
        Box::pin(async move {
            let mut statuses = Vec::with_capacity(leases.len());
            for batch in leases.chunks(LOCK_RENEW_BATCH) {
                statuses.extend(self.locks.renew(tenant, batch).await?.answer);
            }
            Ok(statuses)
        })
    }

    fn poll<'a>(&'a self, tenant: TenantId, leases: &'a [LeaseId]) -> Asking<'a, Vec<LeaseStatus>> {
        self.renew(tenant, leases)
    }

    fn poll_period(&self) -> Duration {
        LOCK_POLL_PERIOD
    }

    fn sweep(&self, tenant: TenantId, limit: usize) -> Asking<'_, usize> {
        Box::pin(async move { Ok(self.locks.sweep(tenant, limit).await?.answer) })
    }

    fn release(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, LeaseStatus> {
        Box::pin(async move { Ok(self.locks.release(tenant, lease).await?.answer) })
    }

    fn break_lease(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, LeaseStatus> {
        Box::pin(async move { Ok(self.locks.break_lease(tenant, lease).await?.answer) })
    }

    fn resource<'a>(
        &'a self,
        tenant: TenantId,
        resource: &'a ResourceRef,
        most: usize,
    ) -> Asking<'a, Seen> {
        Box::pin(self.locks.resource(tenant, resource, most))
    }

    fn leases<'a>(&'a self, tenant: TenantId, wanted: &'a [LeaseId]) -> Asking<'a, Vec<Lease>> {
        Box::pin(self.locks.leases(tenant, wanted))
    }

    fn held<'a>(
        &'a self,
        tenant: TenantId,
        after: Option<&'a HoldCursor>,
        resources: usize,
        holders: usize,
    ) -> Asking<'a, HoldPage> {
        Box::pin(async move {
            let after = after.and_then(HoldCursor::scan);
            let mut held = self.locks.held(tenant, after, resources, holders).await?;
            held.resources.sort();
            // A scan of a hash that is being resized may return a field twice.
            held.resources.dedup_by(|next, kept| next.0 == kept.0);
            let Held { resources, leases, next } = held;
            Ok(HoldPage { resources, leases, next: next.map(HoldCursor::Scan) })
        })
    }

    fn waiting(&self, tenant: TenantId, most: usize) -> Asking<'_, WaitGraph> {
        Box::pin(self.locks.waiting(tenant, most))
    }

    fn ping(&self) -> Asking<'_, ()> {
        Box::pin(async { Ok(self.cluster.ping().await?) })
    }

    fn fitness(&self) -> Asking<'_, Vec<Fitness>> {
        Box::pin(async { Ok(self.cluster.fitness().await?) })
    }

    fn enqueue<'a>(
        &'a self,
        tenant: TenantId,
        request: &'a Request,
        arrival: Arrival,
    ) -> Option<Asking<'a, QueueReply<LeaseStatus>>> {
        Some(Box::pin(self.locks.acquire(tenant, request, arrival)))
    }

    fn adopt<'a>(&'a self, tenant: TenantId, leases: &'a [LeaseId]) -> Asking<'a, ()> {
        Box::pin(self.locks.adopt(tenant, leases))
    }

    fn registered(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, ()> {
        Box::pin(async move { self.locks.registered(tenant, lease).await.map(drop) })
    }

    fn refresh(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, ()> {
        Box::pin(async move { self.locks.renew(tenant, &[lease]).await.map(drop) })
    }

    fn correct<'a>(
        &'a self,
        tenant: TenantId,
        lease: LeaseId,
        refusal: &'a RegisterRefusal,
    ) -> Asking<'a, RetryStep> {
        Box::pin(self.locks.reconcile(tenant, lease, refusal))
    }

    fn is_unregistered(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, bool> {
        Box::pin(async move {
            let known = self.locks.leases(tenant, &[lease]).await?;
            Ok(known.first().is_some_and(|known| known.request.class() == LeaseClass::Advisory))
        })
    }

    fn master(&self, tenant: TenantId) -> Asking<'_, Option<String>> {
        Box::pin(async move { Ok(Some(self.cluster.master_replid(tenant).await?)) })
    }

    fn begin_epoch<'a>(&'a self, tenant: TenantId, reason: &'a str) -> Asking<'a, ()> {
        Box::pin(self.locks.begin_epoch(tenant, reason))
    }

    fn hints(&self) -> Option<&Hints> {
        Some(&self.hints)
    }
}
