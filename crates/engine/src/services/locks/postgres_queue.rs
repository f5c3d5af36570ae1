//! The lock queue of an installation without Redis: rows in PostgreSQL, decided by the same rules,
//! one request at a time per tenant. There are no unregistered grants: a request that may proceed
//! is asked to call again, and registers in the transaction that decides it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ade_coord::lock::{Seen, WaitGraph};
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, LeaseId, TenantId};
use ade_core::lock::line::QueueSnapshot;
use ade_core::lock::{Lease, LeaseClass, LeasePhase, LeaseStatus};
use ade_core::rate::Rate;
use ade_core::resource::ResourceRef;
use ade_store::locks::{self, line, rate};
use ade_store::{Pool, TenantLock, Tx};

use super::queue::{Asking, HoldCursor, HoldPage, LockQueue, LockQueueError};
use super::waiters::Waiters;

const WORKER: &str = "locks";

/// The poll period, which bounds how late a waiter sees a change made by another process.
const WATCH_PERIOD: Duration = Duration::from_millis(200);

#[derive(Debug, Clone)]
pub struct PgLockQueue {
    pool: Pool,
    /// The waiters of this process, which are woken by a release.
    waiters: Arc<Waiters>,
}

impl PgLockQueue {
    pub fn new(pool: Pool, waiters: Arc<Waiters>) -> Self {
        Self { pool, waiters }
    }

    async fn begin(&self, tenant: TenantId) -> Result<Tx, LockQueueError> {
        Ok(Tx::begin(&self.pool, tenant, Actor::system(WORKER), TenantLock::None).await?)
    }

    async fn take_rate(
        &self,
        tenant: TenantId,
        caller: &str,
        limit: Rate,
    ) -> Result<Option<Duration>, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let wait = rate::take(&mut tx, caller, limit.gap(), limit.ahead()).await?;
        tx.commit().await?;
        Ok(wait)
    }

    /// Keeps waiting requests alive. Holds are already renewed in PostgreSQL.
    async fn touch(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<Vec<LeaseStatus>, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        line::touch(&mut tx, leases).await?;
        let (waiting, holding) = (line::waiting(&mut tx).await?, Vec::new());
        let known = line::find(&mut tx, leases).await?;
        let registered = locks::of(&mut tx, leases).await?;
        tx.commit().await?;
        let line = QueueSnapshot { holding: &holding, waiting: &waiting };
        let status = |lease: &LeaseId| {
            let hold = registered.iter().find(|hold| hold.request.lease() == *lease);
            match (hold, known.iter().find(|known| known.request.lease() == *lease)) {
                (Some(hold), _) => {
                    LeaseStatus::Granted { token: hold.token, deadline: hold.deadline }
                }
                (None, Some(known)) => status_of(&line, known),
                (None, None) => LeaseStatus::Unknown,
            }
        };
        Ok(leases.iter().map(status).collect())
    }

    /// Keeps waiting requests alive, like [`Self::touch`]. A request that may proceed now is
    /// reported as unknown, so that its caller calls again.
    async fn look(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<Vec<LeaseStatus>, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        line::touch(&mut tx, leases).await?;
        let waiting = line::waiting(&mut tx).await?;
        let known = line::find(&mut tx, leases).await?;
        let holding = line::holding(&mut tx, &resources(&waiting)).await?;
        tx.commit().await?;
        let line = QueueSnapshot { holding: &holding, waiting: &waiting };
        let status = |lease: &LeaseId| {
            let known = known.iter().find(|known| known.request.lease() == *lease);
            let may_go = known.is_some_and(|known| {
                known.state == LeasePhase::Waiting
                    && known
                        .order
                        .is_some_and(|order| line.blocked_on(&known.request, order).is_none())
            });
            match known {
                Some(known) if !may_go => status_of(&line, known),
                _ => LeaseStatus::Unknown,
            }
        };
        Ok(leases.iter().map(status).collect())
    }

    /// Removes a request from the queue; held locks were already released in PostgreSQL.
    async fn leave(&self, tenant: TenantId, lease: LeaseId) -> Result<LeaseStatus, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        line::end(&mut tx, lease, LeasePhase::Released).await?;
        let known = line::find(&mut tx, &[lease]).await?;
        tx.commit().await?;
        let state = known.first().map(|known| known.state);
        Ok(state.map_or(LeaseStatus::Unknown, |state| LeaseStatus::Over { state }))
    }

    async fn end_due(&self, tenant: TenantId, limit: usize) -> Result<usize, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let swept = line::sweep(&mut tx, limit).await?;
        rate::forget(&mut tx).await?;
        tx.commit().await?;
        Ok(usize::try_from(swept).unwrap_or(usize::MAX))
    }

    async fn seen(
        &self,
        tenant: TenantId,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Seen, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let holding = line::holding(&mut tx, std::slice::from_ref(resource)).await?;
        let waiting = line::waiting(&mut tx).await?;
        tx.commit().await?;
        let wants = |lease: &Lease| lease.request.set().mode_of(resource).is_some();
        let holding: Vec<Lease> = holding.into_iter().filter(wants).collect();
        let waiting: Vec<Lease> = waiting.into_iter().filter(wants).collect();
        let counts = (holding.len(), waiting.len());
        let leases = holding.into_iter().take(most).chain(waiting.into_iter().take(most));
        Ok(Seen { holding: counts.0, waiting: counts.1, leases: leases.collect() })
    }

    async fn known(
        &self,
        tenant: TenantId,
        wanted: &[LeaseId],
    ) -> Result<Vec<Lease>, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let now = tx.now();
        let mut known = line::find(&mut tx, wanted).await?;
        let held = locks::of(&mut tx, wanted).await?;
        tx.commit().await?;
        known.extend(held.into_iter().map(|hold| hold.seen_at(now)));
        Ok(known)
    }

    async fn page(
        &self,
        tenant: TenantId,
        after: Option<&ResourceRef>,
        most: usize,
    ) -> Result<HoldPage, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let names = locks::names(&mut tx, after, most).await?;
        let next = names.last().filter(|_| names.len() == most).cloned().map(HoldCursor::Name);
        let leases = line::holding(&mut tx, &names).await?;
        let waiting = line::waiting(&mut tx).await?;
        tx.commit().await?;
        let count = |leases: &[Lease], on: &ResourceRef| {
            leases.iter().filter(|lease| lease.request.set().mode_of(on).is_some()).count()
        };
        let counted = names.into_iter().map(|name| {
            let (holds, waits) = (count(&leases, &name), count(&waiting, &name));
            (name, holds, waits)
        });
        Ok(HoldPage { resources: counted.collect(), leases, next })
    }

    async fn in_line(&self, tenant: TenantId, most: usize) -> Result<WaitGraph, LockQueueError> {
        let mut tx = self.begin(tenant).await?;
        let mut leases = line::waiting(&mut tx).await?;
        let has_more = leases.len() > most;
        leases.truncate(most);
        let holding = line::holding(&mut tx, &resources(&leases)).await?;
        tx.commit().await?;
        leases.extend(holding);
        Ok(WaitGraph { has_more, leases })
    }
}

impl LockQueue for PgLockQueue {
    fn is_separate(&self) -> bool {
        false
    }

    fn rate(&self, tenant: TenantId, agent: AgentId, limit: Rate) -> Asking<'_, Option<Duration>> {
        Box::pin(async move { self.take_rate(tenant, &agent.to_string(), limit).await })
    }

    fn unfenced(&self) -> LeaseClass {
        LeaseClass::Fenced { lock_delay: Duration::ZERO }
    }

    fn renew<'a>(
        &'a self,
        tenant: TenantId,
        leases: &'a [LeaseId],
    ) -> Asking<'a, Vec<LeaseStatus>> {
        Box::pin(self.touch(tenant, leases))
    }

    fn poll<'a>(&'a self, tenant: TenantId, leases: &'a [LeaseId]) -> Asking<'a, Vec<LeaseStatus>> {
        Box::pin(self.look(tenant, leases))
    }

    fn poll_period(&self) -> Duration {
        WATCH_PERIOD
    }

    fn sweep(&self, tenant: TenantId, limit: usize) -> Asking<'_, usize> {
        Box::pin(self.end_due(tenant, limit))
    }

    fn release(&self, tenant: TenantId, lease: LeaseId) -> Asking<'_, LeaseStatus> {
        Box::pin(async move {
            let left = self.leave(tenant, lease).await?;
            self.waiters.stir(tenant);
            Ok(left)
        })
    }

    /// Reports the lease as broken: PostgreSQL has already ended it, and there is no other state.
    fn break_lease(&self, _tenant: TenantId, _lease: LeaseId) -> Asking<'_, LeaseStatus> {
        Box::pin(async { Ok(LeaseStatus::Over { state: LeasePhase::Broken }) })
    }

    fn resource<'a>(
        &'a self,
        tenant: TenantId,
        resource: &'a ResourceRef,
        most: usize,
    ) -> Asking<'a, Seen> {
        Box::pin(self.seen(tenant, resource, most))
    }

    fn leases<'a>(&'a self, tenant: TenantId, wanted: &'a [LeaseId]) -> Asking<'a, Vec<Lease>> {
        Box::pin(self.known(tenant, wanted))
    }

    fn held<'a>(
        &'a self,
        tenant: TenantId,
        after: Option<&'a HoldCursor>,
        resources: usize,
        _holders: usize,
    ) -> Asking<'a, HoldPage> {
        Box::pin(self.page(tenant, after.and_then(HoldCursor::name), resources))
    }

    fn waiting(&self, tenant: TenantId, most: usize) -> Asking<'_, WaitGraph> {
        Box::pin(self.in_line(tenant, most))
    }

    fn ping(&self) -> Asking<'_, ()> {
        Box::pin(async { Ok(self.pool.ping().await?) })
    }
}

/// Returns all resources that these requests want.
pub fn resources<'a>(leases: impl IntoIterator<Item = &'a Lease>) -> Vec<ResourceRef> {
    let all = leases.into_iter().flat_map(|lease| lease.request.set().resources());
    all.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn status_of(line: &QueueSnapshot<'_>, known: &Lease) -> LeaseStatus {
    match (known.state, known.order) {
        (LeasePhase::Waiting, Some(order)) => LeaseStatus::Waiting {
            position: line.position(&known.request, order),
            order,
            deadline: known.deadline,
        },
        (LeasePhase::Waiting, None) => LeaseStatus::Unknown,
        (state, _) => LeaseStatus::Over { state },
    }
}
