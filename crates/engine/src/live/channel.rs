//! The newest events of one tenant, in this process, without a gap. Memory is bounded whatever
//! anybody does: a listener who falls behind it reads the record.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ade_coord::streams::Entry;
use ade_core::actor::Actor;
use ade_core::event::Topic;
use ade_core::ids::TenantId;
use ade_core::limits::{EVENTS_PAGE_MAX, LIVE_RESUME_MAX, LIVE_RING_EVENTS};
use ade_store::events::{self, Numbered};
use ade_store::live::{self, Proposer};
use ade_store::{Gate, Tx};
use bytes::Bytes;
use tokio::sync::{OnceCell, watch};

use super::attend::announce;
use super::written;
use crate::app::App;
use crate::error::Error;

/// One event, written once for all who listen.
#[derive(Debug)]
pub struct Told {
    pub seq: u64,
    pub kind: String,
    pub topic: Topic,
    pub object: String,
    /// The envelope as JSON.
    pub written: Bytes,
    /// Asked for once, by the first who may not see every task.
    proposer: OnceCell<Option<Proposer>>,
}

impl From<Entry> for Told {
    fn from(entry: Entry) -> Self {
        let Entry { seq, topic, kind, object, event, .. } = entry;
        Self { seq, kind, topic, object, written: event.into(), proposer: OnceCell::new() }
    }
}

impl From<&Numbered> for Told {
    fn from(event: &Numbered) -> Self {
        Self {
            seq: event.seq,
            kind: event.kind.clone(),
            topic: Topic::of(&event.kind),
            object: event.object.clone(),
            written: written(event).into(),
            proposer: OnceCell::new(),
        }
    }
}

impl Told {
    /// Whose task it is about; nothing if there is no such task any more.
    pub(super) async fn proposer(
        &self,
        app: &App,
        tenant: TenantId,
    ) -> Result<Option<&Proposer>, Error> {
        let load = async || {
            let Ok(task) = self.object.parse() else { return Ok(None) };
            let mut tx = begin(app, tenant).await?;
            let found = live::proposer(&mut tx, task).await?;
            tx.roll_back().await;
            Ok::<_, Error>(found)
        };
        Ok(self.proposer.get_or_try_init(load).await?.as_ref())
    }
}

#[derive(Debug)]
struct Ring {
    /// The number before the first event that is kept.
    base: u64,
    events: VecDeque<Arc<Told>>,
}

impl Ring {
    fn head(&self) -> u64 {
        self.base + self.events.len() as u64
    }

    /// Whether it was the next one, or one that is known already.
    fn push(&mut self, told: Told) -> bool {
        if told.seq <= self.head() {
            return true;
        }
        if told.seq != self.head() + 1 {
            return false;
        }
        if self.events.len() >= LIVE_RING_EVENTS {
            self.events.pop_front();
            self.base += 1;
        }
        self.events.push_back(Arc::new(told));
        true
    }
}

/// What a listener finds behind its number.
#[derive(Debug)]
pub enum Found {
    Nothing,
    Events(Vec<Arc<Told>>),
    /// Older than what is kept here.
    Forgotten {
        head: u64,
    },
}

#[derive(Debug)]
pub struct Channel {
    pub tenant: TenantId,
    ring: Mutex<Ring>,
    head: watch::Sender<u64>,
    /// Held by whoever reads what is missing.
    filling: tokio::sync::Mutex<()>,
}

impl Channel {
    /// From this number on.
    pub fn new(tenant: TenantId, head: u64) -> Self {
        let ring = Mutex::new(Ring { base: head, events: VecDeque::new() });
        Self { tenant, ring, head: watch::channel(head).0, filling: tokio::sync::Mutex::default() }
    }

    pub fn follow(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    pub fn head(&self) -> u64 {
        self.ring().head()
    }

    pub fn after(&self, seq: u64, most: usize) -> Found {
        let ring = self.ring();
        let head = ring.head();
        if seq >= head {
            return Found::Nothing;
        }
        if seq < ring.base {
            return Found::Forgotten { head };
        }
        let skipped = usize::try_from(seq - ring.base).unwrap_or(usize::MAX);
        Found::Events(ring.events.iter().skip(skipped).take(most).cloned().collect())
    }

    /// Takes what follows without a gap. `false` if something is missing in between.
    pub fn offer(&self, mut entries: Vec<Told>) -> bool {
        entries.sort_by_key(|told| told.seq);
        let (is_whole, head) = {
            let mut ring = self.ring();
            let is_whole = entries.into_iter().all(|told| ring.push(told));
            (is_whole, ring.head())
        };
        self.tell(head);
        is_whole
    }

    /// Reads from the record what is missing here.
    pub async fn fill(&self, app: &App) -> Result<(), Error> {
        let _alone = self.filling.lock().await;
        let mut tx = begin(app, self.tenant).await?;
        let newest = events::head(&mut tx).await?;
        self.forget_before(newest);
        loop {
            let page = events::read_after(&mut tx, self.head(), EVENTS_PAGE_MAX).await?;
            let is_last = page.len() < usize::try_from(EVENTS_PAGE_MAX).unwrap_or(usize::MAX);
            metrics::counter!("ade_live_events_reread_total").increment(page.len() as u64);
            let told: Vec<Told> = page.iter().map(Told::from).collect();
            announce(app, self.tenant, &told);
            if !self.offer(told) {
                // The record itself begins later: those who are behind are told so.
                let first = page.first().map_or(newest, |event| event.seq);
                self.restart(first.saturating_sub(1));
                continue;
            }
            if is_last {
                break;
            }
        }
        tx.roll_back().await;
        Ok(())
    }

    /// After a long silence the newest are enough: nobody is told everything anyway.
    fn forget_before(&self, newest: u64) {
        if newest.saturating_sub(self.head()) > LIVE_RESUME_MAX {
            self.restart(newest - LIVE_RING_EVENTS as u64);
        }
    }

    fn restart(&self, base: u64) {
        *self.ring() = Ring { base, events: VecDeque::new() };
    }

    fn tell(&self, head: u64) {
        self.head.send_if_modified(|known| {
            let has_moved = head > *known;
            *known = head.max(*known);
            has_moved
        });
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For reading events of one tenant.
pub(super) async fn begin(app: &App, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(&app.pools.api, tenant, Actor::system("live"), Gate::Unasked).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(seq: u64) -> Told {
        Told {
            seq,
            kind: "task.created".to_owned(),
            topic: Topic::Task,
            object: "task_x".to_owned(),
            written: Bytes::new(),
            proposer: OnceCell::new(),
        }
    }

    fn numbers(found: Found) -> Vec<u64> {
        match found {
            Found::Events(events) => events.iter().map(|told| told.seq).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_kept_is_whole_and_bounded() {
        let channel = Channel::new(TenantId::from_u128(1), 10);
        assert!(matches!(channel.after(10, 9), Found::Nothing));
        assert!(channel.offer(vec![told(12), told(11), told(11)]), "in any order, and twice");
        assert_eq!(numbers(channel.after(10, 9)), [11, 12]);
        assert_eq!(numbers(channel.after(11, 9)), [12]);
        assert!(!channel.offer(vec![told(14)]), "a gap");
        assert_eq!(channel.head(), 12);
        assert!(matches!(channel.after(9, 9), Found::Forgotten { head: 12 }));
        let more = 2 * LIVE_RING_EVENTS as u64;
        assert!(channel.offer((13..=more).map(told).collect()));
        assert!(matches!(channel.after(12, 9), Found::Forgotten { .. }), "it grew out of it");
        assert_eq!(numbers(channel.after(more - 3, 2)), [more - 2, more - 1]);
    }
}
