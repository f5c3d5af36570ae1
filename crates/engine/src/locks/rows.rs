//! The queue of an installation without Redis: rows beside the truth, judged by the same rule, one
//! at a time in a tenant. There are no grants that are not registered: whoever may go is told to
//! ask again, and registers in the transaction that judges it.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_coord::lock::{Seen, Waiting};
use ade_core::actor::Actor;
use ade_core::ids::{LeaseId, TenantId};
use ade_core::lock::line::Line;
use ade_core::lock::{Lease, Standing, State};
use ade_core::rate::Rate;
use ade_core::resource::ResourceRef;
use ade_store::locks::{self, line, rate};
use ade_store::{Gate, Pool, Tx};

use super::desk::Error;
use super::keeper::{Page, Place};

const WORKER: &str = "locks";

#[derive(Debug, Clone)]
pub struct Rows {
    pool: Pool,
}

impl Rows {
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    async fn begin(&self, tenant: TenantId) -> Result<Tx, Error> {
        Ok(Tx::begin(&self.pool, tenant, Actor::system(WORKER), Gate::Unasked).await?)
    }

    pub async fn ping(&self) -> Result<(), Error> {
        Ok(self.pool.ping().await?)
    }

    pub async fn rate(
        &self,
        tenant: TenantId,
        caller: &str,
        limit: Rate,
    ) -> Result<Option<Duration>, Error> {
        let mut tx = self.begin(tenant).await?;
        let wait = rate::take(&mut tx, caller, limit.gap(), limit.ahead()).await?;
        tx.commit().await?;
        Ok(wait)
    }

    /// A sign of life of those who wait; holds have theirs in the record already.
    pub async fn renew(
        &self,
        tenant: TenantId,
        leases: &[LeaseId],
    ) -> Result<Vec<Standing>, Error> {
        let mut tx = self.begin(tenant).await?;
        line::touch(&mut tx, leases).await?;
        let (waiting, holding) = (line::waiting(&mut tx).await?, Vec::new());
        let known = line::find(&mut tx, leases).await?;
        let registered = locks::of(&mut tx, leases).await?;
        tx.commit().await?;
        let line = Line { holding: &holding, waiting: &waiting };
        let standing = |lease: &LeaseId| {
            let hold = registered.iter().find(|hold| hold.request.lease() == *lease);
            match (hold, known.iter().find(|known| known.request.lease() == *lease)) {
                (Some(hold), _) => Standing::Granted { token: hold.token, deadline: hold.deadline },
                (None, Some(known)) => standing_of(&line, known),
                (None, None) => Standing::Unknown,
            }
        };
        Ok(leases.iter().map(standing).collect())
    }

    /// As [`Self::renew`]; but whoever may go now is unknown to the line, and has to ask again.
    pub async fn poll(&self, tenant: TenantId, leases: &[LeaseId]) -> Result<Vec<Standing>, Error> {
        let mut tx = self.begin(tenant).await?;
        line::touch(&mut tx, leases).await?;
        let waiting = line::waiting(&mut tx).await?;
        let known = line::find(&mut tx, leases).await?;
        let holding = line::holding(&mut tx, &resources(&waiting)).await?;
        tx.commit().await?;
        let line = Line { holding: &holding, waiting: &waiting };
        let standing = |lease: &LeaseId| {
            let known = known.iter().find(|known| known.request.lease() == *lease);
            let may_go = known.is_some_and(|known| {
                known.state == State::Waiting
                    && known
                        .order
                        .is_some_and(|order| line.blocked_on(&known.request, order).is_none())
            });
            match known {
                Some(known) if !may_go => standing_of(&line, known),
                _ => Standing::Unknown,
            }
        };
        Ok(leases.iter().map(standing).collect())
    }

    /// Leaves the line; what is held was given back in the record.
    pub async fn leave(&self, tenant: TenantId, lease: LeaseId) -> Result<Standing, Error> {
        let mut tx = self.begin(tenant).await?;
        line::end(&mut tx, lease, State::Released).await?;
        let known = line::find(&mut tx, &[lease]).await?;
        tx.commit().await?;
        let state = known.first().map(|known| known.state);
        Ok(state.map_or(Standing::Unknown, |state| Standing::Over { state }))
    }

    pub async fn sweep(&self, tenant: TenantId, limit: usize) -> Result<usize, Error> {
        let mut tx = self.begin(tenant).await?;
        let swept = line::sweep(&mut tx, limit).await?;
        rate::forget(&mut tx).await?;
        tx.commit().await?;
        Ok(usize::try_from(swept).unwrap_or(usize::MAX))
    }

    pub async fn resource(
        &self,
        tenant: TenantId,
        resource: &ResourceRef,
        most: usize,
    ) -> Result<Seen, Error> {
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

    pub async fn leases(&self, tenant: TenantId, wanted: &[LeaseId]) -> Result<Vec<Lease>, Error> {
        let mut tx = self.begin(tenant).await?;
        let now = tx.now();
        let mut known = line::find(&mut tx, wanted).await?;
        let held = locks::of(&mut tx, wanted).await?;
        tx.commit().await?;
        known.extend(held.into_iter().map(|hold| hold.seen_at(now)));
        Ok(known)
    }

    pub async fn held(
        &self,
        tenant: TenantId,
        after: Option<&ResourceRef>,
        most: usize,
    ) -> Result<Page, Error> {
        let mut tx = self.begin(tenant).await?;
        let names = locks::names(&mut tx, after, most).await?;
        let next = names.last().filter(|_| names.len() == most).cloned().map(Place::Name);
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
        Ok(Page { resources: counted.collect(), leases, next })
    }

    pub async fn waiting(&self, tenant: TenantId, most: usize) -> Result<Waiting, Error> {
        let mut tx = self.begin(tenant).await?;
        let mut leases = line::waiting(&mut tx).await?;
        let has_more = leases.len() > most;
        leases.truncate(most);
        let holding = line::holding(&mut tx, &resources(&leases)).await?;
        tx.commit().await?;
        leases.extend(holding);
        Ok(Waiting { has_more, leases })
    }
}

/// Everything that somebody of these wants.
pub fn resources<'a>(leases: impl IntoIterator<Item = &'a Lease>) -> Vec<ResourceRef> {
    let all = leases.into_iter().flat_map(|lease| lease.request.set().resources());
    all.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn standing_of(line: &Line<'_>, known: &Lease) -> Standing {
    match (known.state, known.order) {
        (State::Waiting, Some(order)) => Standing::Waiting {
            position: line.position(&known.request, order),
            order,
            deadline: known.deadline,
        },
        (State::Waiting, None) => Standing::Unknown,
        (state, _) => Standing::Over { state },
    }
}
