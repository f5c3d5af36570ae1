//! One round of one group: tenant after tenant, from the cursor on. The cursor advances together
//! with the processing of the events, or after they were sent; it never passes an unprocessed
//! event.

use ade_core::actor::Actor;
use ade_core::consumer::{After, Consumer, ConsumerFault, after};
use ade_core::ids::TenantId;
use ade_core::limits::{GROUP_BATCH, WORKER_BATCH};
use ade_store::consumers::{self, Exported};
use ade_store::events::{self, Numbered};
use ade_store::{StoreError, TenantLock, Tx, tenants, webhooks};

use super::{Audience, DeliveryMode, Job};
use crate::app::App;
use crate::error::Error;
use crate::services::export::Trouble;
use crate::worker::Done;

/// Reads the next events of each tenant. Each tenant has its turn before any has a second one, and
/// a tenant that fails does not block the others.
pub(crate) async fn read_all(app: &App, job: Job) -> Result<Done, Error> {
    let mut done = Done::default();
    if !(job.is_on)(app) {
        return Ok(done);
    }
    let mut after = None;
    loop {
        let page = tenants(app, job, after).await?;
        after = page.last().copied();
        for tenant in page {
            match read_on(app, job, tenant).await {
                Ok(read) => {
                    done.items += read.items;
                    done.has_more |= read.has_more;
                }
                Err(error) => {
                    let group = job.group;
                    tracing::warn!(
                        %group, %tenant, %error,
                        "consumer group read failed; will retry"
                    );
                }
            }
        }
        if after.is_none() {
            return Ok(done);
        }
    }
}

async fn tenants(app: &App, job: Job, after: Option<TenantId>) -> Result<Vec<TenantId>, Error> {
    let (pool, name) = (&app.pools.worker, job.group.as_str());
    Ok(match job.audience {
        Audience::Everybody => events::behind(pool, name, after, WORKER_BATCH).await?,
        Audience::WithEndpoints => {
            webhooks::tenants_to_tell(pool, name, after, WORKER_BATCH).await?
        }
    })
}

pub(super) async fn begin(app: &App, group: Consumer, tenant: TenantId) -> Result<Tx, Error> {
    let actor = Actor::system(group.as_str());
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, TenantLock::None).await?;
    consumers::queue_up(&mut tx, group).await?;
    Ok(tx)
}

/// Processes the next events of one tenant.
async fn read_on(app: &App, job: Job, tenant: TenantId) -> Result<Done, Error> {
    let group = job.group;
    let mut tx = begin(app, group, tenant).await?;
    let nothing = Done::default();
    if matches!(job.way, DeliveryMode::Outward(_)) && !is_exported(app, &mut tx).await? {
        tx.roll_back().await;
        return Ok(nothing);
    }
    let cursor = events::cursor(&mut tx, group.as_str()).await?;
    let trouble = consumers::trouble(&mut tx, group).await?;
    if trouble.as_ref().is_some_and(|trouble| trouble.next_at > tx.now()) {
        tx.roll_back().await;
        return Ok(nothing);
    }
    let is_singly = trouble.as_ref().is_some_and(|trouble| cursor < trouble.singly_until);
    let limit = if is_singly { 1 } else { GROUP_BATCH };
    let read = events::read_after(&mut tx, cursor, limit).await?;
    if read.is_empty() {
        tx.roll_back().await;
        return Ok(nothing);
    }
    let round = Round { job, tenant, cursor, read: &read, is_in_trouble: trouble.is_some() };
    match round.take(app, tx).await {
        Ok(has_moved) => {
            (job.then)(app);
            let items = if has_moved { count(&read) } else { 0 };
            metrics::counter!("ade_group_events_total", "group" => group.as_str()).increment(items);
            let is_full = count(&read) >= u64::from(limit);
            Ok(Done { items, has_more: has_moved && is_full })
        }
        Err(trouble) => round.give_way(app, &trouble).await,
    }
}

/// Returns whether the events of the transaction's tenant are exported.
pub(super) async fn is_exported(app: &App, tx: &mut Tx) -> Result<bool, StoreError> {
    let Some(sink) = &app.sink else { return Ok(false) };
    let tenant = tenants::identity(tx).await?;
    Ok(tenant.is_some_and(|tenant| sink.serves(&tenant)))
}

fn count(read: &[Numbered]) -> u64 {
    u64::try_from(read.len()).unwrap_or(u64::MAX)
}

/// A batch of events that one group processes.
struct Round<'a> {
    job: Job,
    tenant: TenantId,
    cursor: u64,
    read: &'a [Numbered],
    is_in_trouble: bool,
}

impl Round<'_> {
    /// Processes the batch. Returns whether the cursor has advanced, which it has not if another
    /// process was faster.
    async fn take(&self, app: &App, mut tx: Tx) -> Result<bool, Trouble> {
        match self.job.way {
            DeliveryMode::Transactional(take) => {
                if let Err(trouble) = take(app, &mut tx, self.read).await {
                    tx.roll_back().await;
                    return Err(trouble);
                }
                self.move_on(tx, None).await
            }
            // No transaction stays open while waiting for a collector.
            DeliveryMode::Outward(send) => {
                tx.roll_back().await;
                let exported = send(app, self.read).await?;
                let tx = begin(app, self.job.group, self.tenant).await?;
                self.move_on(tx, Some(exported)).await
            }
        }
    }

    async fn move_on(&self, mut tx: Tx, exported: Option<Exported>) -> Result<bool, Trouble> {
        let group = self.job.group;
        let Some((first, last)) = self.read.first().zip(self.read.last()) else {
            return Ok(false);
        };
        if exported.is_some() && events::cursor(&mut tx, group.as_str()).await? != self.cursor {
            tx.roll_back().await;
            return Ok(false);
        }
        events::advance(&mut tx, group.as_str(), last.seq).await?;
        if let Some(exported) = exported {
            consumers::note_export(&mut tx, group, first.seq, last.seq, &exported).await?;
        }
        if self.is_in_trouble {
            self.calm(&mut tx, last.seq).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Ends the mode in which events are processed one by one, once it has passed the failing
    /// event.
    async fn calm(&self, tx: &mut Tx, seq: u64) -> Result<(), StoreError> {
        let group = self.job.group;
        let Some(trouble) = consumers::trouble(tx, group).await? else { return Ok(()) };
        if seq >= trouble.singly_until {
            return consumers::clear_trouble(tx, group).await;
        }
        let next = consumers::Trouble {
            seq: seq.saturating_add(1),
            tries: 0,
            next_at: tx.now(),
            since: tx.now(),
            ..trouble
        };
        consumers::set_trouble(tx, group, &next).await
    }

    /// Records why no event was processed, and decides what comes next.
    async fn give_way(&self, app: &App, trouble: &Trouble) -> Result<Done, Error> {
        let Self { job, tenant, .. } = *self;
        let group = job.group;
        let mut tx = begin(app, group, tenant).await?;
        let is_same = events::cursor(&mut tx, group.as_str()).await? == self.cursor;
        let (Some(first), Some(last), true) = (self.read.first(), self.read.last(), is_same) else {
            tx.roll_back().await;
            return Ok(Done { items: 0, has_more: true });
        };
        let before = consumers::trouble(&mut tx, group).await?;
        let failed = before.as_ref().filter(|before| before.seq == first.seq);
        let failed_before = failed.map_or(0, |before| before.tries);
        let now = tx.now();
        let problem = trouble.problem.clone();
        let singly = before.as_ref().map_or(0, |before| before.singly_until);
        let stand = |singly_until, tries, next_at| consumers::Trouble {
            seq: first.seq,
            singly_until,
            tries,
            problem,
            since: now,
            next_at,
        };
        let has_more = match after(trouble.fault, self.read.len(), failed_before) {
            After::Again { pause, tries } => {
                // An unavailable dependency says nothing about a single event: the batch stays
                // together.
                let singly_until = match trouble.fault {
                    ConsumerFault::Away => singly,
                    ConsumerFault::Event => singly.max(first.seq),
                };
                let next = stand(singly_until, tries, now.plus(pause));
                consumers::set_trouble(&mut tx, group, &next).await?;
                false
            }
            After::Singly => {
                let next = stand(last.seq, 0, now);
                consumers::set_trouble(&mut tx, group, &next).await?;
                true
            }
            After::Dead { tries } => {
                consumers::bury(&mut tx, group, first, tries, &trouble.problem).await?;
                events::advance(&mut tx, group.as_str(), first.seq).await?;
                self.calm(&mut tx, first.seq).await?;
                metrics::counter!("ade_group_dead_total", "group" => group.as_str()).increment(1);
                true
            }
        };
        tx.commit().await?;
        let (seq, problem) = (first.seq, &trouble.problem);
        tracing::warn!(%group, %tenant, seq, problem, "consumer group failed to process events");
        Ok(Done { items: 0, has_more })
    }
}
