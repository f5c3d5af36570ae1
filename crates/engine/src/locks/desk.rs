//! Locks of a tenant: the queue in Redis and the truth in PostgreSQL, kept in one epoch. A queue
//! that lost its memory is rebuilt from the registered holds before anybody is granted anything;
//! where the two disagree, the queue learns. Commits are not here: `ade_store::locks` judges them.

use ade_coord::lock::{Held, Locks, Looks, Seen, Space, Waiting};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::{LEASE_TTL_MAX, LOCK_EPOCH_TRIES, LOCK_EPOCHS_CACHED_MAX};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, Epoch, Event, Lease, LiveHold, Refusal, Reply, Request, Standing, Token,
};
use ade_core::resource::ResourceRef;
use ade_store::locks::{self, epochs};
use ade_store::{Gate, Pool, Tx, audit};
use moka::sync::Cache;
use thiserror::Error;

const WORKER: &str = "locks";

#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Refused(Refusal),
    #[error("the epoch of the locks changes faster than it can be read: try again later")]
    Unsettled,
    #[error(transparent)]
    Redis(#[from] ade_coord::Error),
    #[error(transparent)]
    Store(#[from] ade_store::Error),
}

/// What the queue says, and what happened on the way.
#[derive(Debug)]
pub struct Said<T> {
    pub answer: T,
    pub events: Vec<Event>,
}

/// How to go on after PostgreSQL has refused a registration, which must be rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The same grant under a new token: register again.
    Again(Token),
    /// Back in line, or told how it stands: PostgreSQL knew somebody the queue had forgotten.
    Stands(Standing),
    /// Nothing that the queue could mend: the session or the lease is over, or its agent has as
    /// much as it may have.
    Over,
}

#[derive(Debug, Clone)]
pub struct Desk {
    queue: Locks,
    looks: Looks,
    pool: Pool,
    /// A wrong one costs a call, never more: scripts refuse every epoch but their own.
    epochs: Cache<TenantId, Epoch>,
    service: String,
}

/// The epoch a call believes in, and whether nobody was ever told of a grant in this space.
#[derive(Debug, Clone, Copy)]
struct Belief {
    epoch: Epoch,
    is_new: bool,
}

impl Desk {
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
    ) -> Result<Said<Standing>, Error> {
        self.ask(tenant, move |space| self.queue.acquire(space, request, arrival)).await
    }

    pub async fn renew(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<Said<Vec<Standing>>, Error> {
        self.ask(tenant, move |space| self.queue.renew(space, leases)).await
    }

    pub async fn release(&self, tenant: TenantId, lease: LeaseId) -> Result<Said<Standing>, Error> {
        self.ask(tenant, move |space| self.queue.release(space, lease)).await
    }

    /// Frees what a holder has, who is not asked.
    pub async fn break_lease(
        &self,
        tenant: TenantId,
        lease: LeaseId,
    ) -> Result<Said<Standing>, Error> {
        self.ask(tenant, move |space| self.queue.break_lease(space, lease)).await
    }

    pub async fn resource(
        &self,
        tenant: TenantId,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Seen, Error> {
        let looked = self.ask(tenant, move |space| self.looks.resource(space, resource, most));
        Ok(looked.await?.answer)
    }

    pub async fn leases(&self, tenant: TenantId, wanted: &[LeaseId]) -> Result<Vec<Lease>, Error> {
        let looked = self.ask(tenant, move |space| self.looks.leases(space, wanted));
        Ok(looked.await?.answer)
    }

    pub async fn held(
        &self,
        tenant: TenantId,
        after: Option<u64>,
        resources: usize,
        holders: usize,
    ) -> Result<Held, Error> {
        let looked =
            self.ask(tenant, move |space| self.looks.held(space, after, resources, holders));
        Ok(looked.await?.answer)
    }

    pub async fn waiting(&self, tenant: TenantId, most: usize) -> Result<Waiting, Error> {
        let looked = self.ask(tenant, move |space| self.looks.waiting(space, most));
        Ok(looked.await?.answer)
    }

    /// Ends the epoch, and has the queue begin the next with what is registered. From then on
    /// advisory leases of the old one are refused until the last must have run out.
    pub async fn begin_epoch(&self, tenant: TenantId, reason: &str) -> Result<(), Error> {
        let mut tx = self.begin(tenant).await?;
        let from = epochs::current(&mut tx).await?.epoch;
        if epochs::bump(&mut tx, from, reason).await?.is_some() {
            self.tell(&mut tx, from, reason).await?;
        }
        tx.commit().await?;
        self.epochs.invalidate(&tenant);
        self.sweep(tenant, 0).await?;
        Ok(())
    }

    /// Of what is due, up to `limit`. Any process may do it at any time.
    pub async fn sweep(&self, tenant: TenantId, limit: usize) -> Result<Said<usize>, Error> {
        self.ask(tenant, move |space| self.queue.sweep(space, limit)).await
    }

    /// After the commit that registered it: from now on its expiry needs a lock delay.
    pub async fn registered(
        &self,
        tenant: TenantId,
        lease: LeaseId,
    ) -> Result<Said<Standing>, Error> {
        self.ask(tenant, move |space| self.queue.register(space, lease)).await
    }

    /// Teaches the queue what PostgreSQL knew better.
    pub async fn mend(
        &self,
        tenant: TenantId,
        lease: LeaseId,
        refusal: &RegisterRefusal,
    ) -> Result<Next, Error> {
        match refusal {
            RegisterRefusal::TokenLow { floor, .. } => {
                let minted =
                    self.ask(tenant, move |space| self.queue.refence(space, lease, *floor)).await?;
                Ok(match minted.answer {
                    Standing::Granted { token, .. } => Next::Again(token),
                    other => Next::Stands(other),
                })
            }
            RegisterRefusal::Held { by, .. } => {
                self.adopt(tenant, by).await?;
                let standing = self.renew(tenant, &[lease]).await?.answer;
                Ok(Next::Stands(standing.first().copied().unwrap_or(Standing::Unknown)))
            }
            RegisterRefusal::StaleEpoch { .. } => {
                self.epochs.invalidate(&tenant);
                let standing = self.renew(tenant, &[lease]).await?.answer;
                Ok(Next::Stands(standing.first().copied().unwrap_or(Standing::Unknown)))
            }
            RegisterRefusal::SessionDead
            | RegisterRefusal::LeaseSpent
            | RegisterRefusal::TooMany { .. } => Ok(Next::Over),
        }
    }

    /// Teaches the queue the registered holds of these leases.
    pub async fn adopt(&self, tenant: TenantId, leases: &[LeaseId]) -> Result<(), Error> {
        let mut tx = self.begin(tenant).await?;
        let holds = locks::live(&mut tx).await?;
        tx.commit().await?;
        for hold in holds.iter().filter(|hold| leases.contains(&hold.request.lease())) {
            self.take_over(tenant, hold).await?;
        }
        Ok(())
    }

    async fn take_over(&self, tenant: TenantId, hold: &LiveHold) -> Result<(), Error> {
        self.ask(tenant, move |space| self.queue.adopt(space, hold)).await?;
        Ok(())
    }

    /// In the epoch of the space, whatever it takes to find it: a refused epoch is read again,
    /// and a queue without memory is rebuilt.
    async fn ask<T, F>(
        &self,
        tenant: TenantId,
        call: impl Fn(Space) -> F + Send,
    ) -> Result<Said<T>, Error>
    where
        F: Future<Output = Result<Reply<T>, ade_coord::Error>> + Send,
    {
        let mut belief = match self.epochs.get(&tenant) {
            Some(epoch) => Belief { epoch, is_new: false },
            None => self.read_epoch(tenant).await?,
        };
        for _ in 0..LOCK_EPOCH_TRIES {
            let Reply { answer, events } = call(Space { tenant, epoch: belief.epoch }).await?;
            belief = match answer {
                Ok(answer) => {
                    if belief.is_new {
                        self.note_use(tenant).await?;
                    }
                    self.epochs.insert(tenant, belief.epoch);
                    return Ok(Said { answer, events });
                }
                Err(Refusal::StaleEpoch { stored }) => self.catch_up(tenant, stored).await?,
                Err(Refusal::Rebuild { stored }) => self.rebuild(tenant, belief, stored).await?,
                Err(refusal) => return Err(Error::Refused(refusal)),
            };
        }
        self.epochs.invalidate(&tenant);
        Err(Error::Unsettled)
    }

    async fn begin(&self, tenant: TenantId) -> Result<Tx, Error> {
        let actor = Actor::system(WORKER);
        Ok(Tx::begin(&self.pool, tenant, actor, Gate::Unasked).await?)
    }

    async fn read_epoch(&self, tenant: TenantId) -> Result<Belief, Error> {
        let mut tx = self.begin(tenant).await?;
        let epochs::Current { epoch, is_new } = epochs::current(&mut tx).await?;
        tx.commit().await?;
        Ok(Belief { epoch, is_new })
    }

    /// Redis is ahead of what we knew; and should it be ahead of PostgreSQL, which then has lost
    /// something, PostgreSQL goes on after it.
    async fn catch_up(&self, tenant: TenantId, stored: Epoch) -> Result<Belief, Error> {
        let mut tx = self.begin(tenant).await?;
        let mut current = epochs::current(&mut tx).await?;
        if current.epoch < stored {
            epochs::pass(&mut tx, stored, "Redis was ahead").await?;
            self.tell(&mut tx, current.epoch, "Redis was ahead").await?;
            current = epochs::current(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(Belief { epoch: current.epoch, is_new: current.is_new })
    }

    /// An empty queue has forgotten its tokens too, so it begins a new epoch, unless somebody has
    /// seen it and begun one already. Where nothing was ever registered it may also be one that
    /// others are just beginning to use: a new epoch would take their first grants from them.
    /// Holds are read after the bump has waited for whoever was registering.
    async fn rebuild(
        &self,
        tenant: TenantId,
        belief: Belief,
        stored: Option<Epoch>,
    ) -> Result<Belief, Error> {
        let mut tx = self.begin(tenant).await?;
        let mut epoch = epochs::current(&mut tx).await?.epoch;
        let is_lost = stored.is_none() && locks::has_registered(&mut tx).await?;
        if is_lost && epoch == belief.epoch {
            let reason = "the queue was empty";
            if let Some(next) = epochs::bump(&mut tx, epoch, reason).await? {
                self.tell(&mut tx, epoch, reason).await?;
                epoch = next;
            }
        }
        let holds = locks::live(&mut tx).await?;
        let until = tx.now().plus(LEASE_TTL_MAX);
        tx.commit().await?;
        let space = Space { tenant, epoch };
        let unsure_until = (!belief.is_new).then_some(until);
        let reply = self.queue.rebuild(space, &holds, unsure_until).await?;
        match reply.answer {
            Ok(count) => tracing::info!(%tenant, %epoch, count, "the queue was rebuilt"),
            Err(refusal) => tracing::info!(%tenant, %epoch, %refusal, "somebody was quicker"),
        }
        Ok(Belief { epoch, ..belief })
    }

    async fn note_use(&self, tenant: TenantId) -> Result<(), Error> {
        let mut tx = self.begin(tenant).await?;
        epochs::note_use(&mut tx).await?;
        Ok(tx.commit().await?)
    }

    async fn tell(&self, tx: &mut Tx, from: Epoch, reason: &str) -> Result<(), Error> {
        let what = What {
            from: Some(from.to_string()),
            ..What::new(tx.tenant().to_string(), "lock.rebuild")
        };
        let place = Where { address: None, user_agent: None, service: self.service.clone() };
        let who = Who::System { worker: WORKER.to_owned() };
        let why = Why { reason: Some(reason.to_owned()), ticket: None };
        let leaf = Leaf::new(tx.tenant(), Kind::Change, who, what, tx.now(), place, why);
        audit::append(tx, &[leaf]).await?;
        Ok(())
    }
}
