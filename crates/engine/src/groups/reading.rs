//! One round of one group: tenant after tenant, from the cursor on. The cursor moves with what was
//! made of the events, or after they are out; it never passes an event that is neither.

use ade_core::actor::Actor;
use ade_core::group::{After, Fault, Group, after};
use ade_core::ids::TenantId;
use ade_core::limits::{GROUP_BATCH, WORKER_BATCH};
use ade_store::events::{self, Numbered};
use ade_store::groups::{self, Exported};
use ade_store::{Gate, Tx, webhooks};

use super::{Audience, Job, Trouble, Way};
use crate::app::App;
use crate::error::Error;
use crate::work::Done;

/// Each tenant has its turn before any has a second. One that fails keeps no other from its turn.
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
                    tracing::warn!(%group, %tenant, %error, "its events are read later");
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

pub(super) async fn begin(app: &App, group: Group, tenant: TenantId) -> Result<Tx, Error> {
    let actor = Actor::system(group.as_str());
    let mut tx = Tx::begin(&app.pools.worker, tenant, actor, Gate::Unasked).await?;
    groups::queue_up(&mut tx, group).await?;
    Ok(tx)
}

/// The next events of one tenant.
async fn read_on(app: &App, job: Job, tenant: TenantId) -> Result<Done, Error> {
    let group = job.group;
    let mut tx = begin(app, group, tenant).await?;
    let nothing = Done::default();
    let cursor = events::cursor(&mut tx, group.as_str()).await?;
    let trouble = groups::trouble(&mut tx, group).await?;
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

fn count(read: &[Numbered]) -> u64 {
    u64::try_from(read.len()).unwrap_or(u64::MAX)
}

/// Some events on their way into one group.
struct Round<'a> {
    job: Job,
    tenant: TenantId,
    cursor: u64,
    read: &'a [Numbered],
    is_in_trouble: bool,
}

impl Round<'_> {
    /// Whether the cursor has moved: not if somebody else was faster.
    async fn take(&self, app: &App, mut tx: Tx) -> Result<bool, Trouble> {
        match self.job.way {
            Way::Within(take) => {
                if let Err(trouble) = take(app, &mut tx, self.read).await {
                    tx.roll_back().await;
                    return Err(trouble);
                }
                self.move_on(tx, None).await
            }
            // Nobody waits for a collector with a transaction open.
            Way::Outward(send) => {
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
            groups::note_export(&mut tx, group, first.seq, last.seq, &exported).await?;
        }
        if self.is_in_trouble {
            self.calm(&mut tx, last.seq).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// What was tried singly is behind us, or one of it less is before us.
    async fn calm(&self, tx: &mut Tx, seq: u64) -> Result<(), ade_store::Error> {
        let group = self.job.group;
        let Some(trouble) = groups::trouble(tx, group).await? else { return Ok(()) };
        if seq >= trouble.singly_until {
            return groups::clear_trouble(tx, group).await;
        }
        let next = groups::Trouble {
            seq: seq.saturating_add(1),
            tries: 0,
            next_at: tx.now(),
            since: tx.now(),
            ..trouble
        };
        groups::set_trouble(tx, group, &next).await
    }

    /// Nothing was taken: remembers why, and what comes next.
    async fn give_way(&self, app: &App, trouble: &Trouble) -> Result<Done, Error> {
        let Self { job, tenant, .. } = *self;
        let group = job.group;
        let mut tx = begin(app, group, tenant).await?;
        let is_same = events::cursor(&mut tx, group.as_str()).await? == self.cursor;
        let (Some(first), Some(last), true) = (self.read.first(), self.read.last(), is_same) else {
            tx.roll_back().await;
            return Ok(Done { items: 0, has_more: true });
        };
        let before = groups::trouble(&mut tx, group).await?;
        let failed = before.as_ref().filter(|before| before.seq == first.seq);
        let failed_before = failed.map_or(0, |before| before.tries);
        let now = tx.now();
        let problem = trouble.problem.clone();
        let singly = before.as_ref().map_or(0, |before| before.singly_until);
        let stand = |singly_until, tries, next_at| groups::Trouble {
            seq: first.seq,
            singly_until,
            tries,
            problem,
            since: now,
            next_at,
        };
        let has_more = match after(trouble.fault, self.read.len(), failed_before) {
            After::Again { pause, tries } => {
                // What is away says nothing about an event: they stay together.
                let singly_until = match trouble.fault {
                    Fault::Away => singly,
                    Fault::Event => singly.max(first.seq),
                };
                let next = stand(singly_until, tries, now.plus(pause));
                groups::set_trouble(&mut tx, group, &next).await?;
                false
            }
            After::Singly => {
                let next = stand(last.seq, 0, now);
                groups::set_trouble(&mut tx, group, &next).await?;
                true
            }
            After::Dead { tries } => {
                groups::bury(&mut tx, group, first, tries, &trouble.problem).await?;
                events::advance(&mut tx, group.as_str(), first.seq).await?;
                self.calm(&mut tx, first.seq).await?;
                metrics::counter!("ade_group_dead_total", "group" => group.as_str()).increment(1);
                true
            }
        };
        tx.commit().await?;
        let (seq, problem) = (first.seq, &trouble.problem);
        tracing::warn!(%group, %tenant, seq, problem, "events were not taken");
        Ok(Done { items: 0, has_more })
    }
}
