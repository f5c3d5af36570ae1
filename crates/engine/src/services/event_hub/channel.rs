//! The newest events of one tenant, in this process, without gaps. Memory is bounded: a listener
//! that falls behind reads from PostgreSQL.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ade_coord::streams::StreamEntry;
use ade_core::actor::Actor;
use ade_core::event::Topic;
use ade_core::ids::{TaskId, TenantId};
use ade_core::limits::{EVENTS_PAGE_MAX, LIVE_RESUME_MAX, LIVE_RING_EVENTS};
use ade_store::events::{self, Numbered};
use ade_store::live::{self, Proposer};
use ade_store::{Pool, StoreError, TenantLock, Tx};
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::{OnceCell, watch};

use super::written;
use crate::services::task_versions::Watch;

/// One event, serialized once for all listeners.
#[derive(Debug)]
pub struct StreamedEvent {
    pub seq: u64,
    pub kind: String,
    pub topic: Topic,
    pub object: String,
    /// The envelope as JSON.
    pub written: Bytes,
    /// Loaded once, for the first listener that may not see every task.
    proposer: OnceCell<Option<Proposer>>,
}

impl From<StreamEntry> for StreamedEvent {
    fn from(entry: StreamEntry) -> Self {
        let StreamEntry { seq, topic, kind, object, event, .. } = entry;
        Self { seq, kind, topic, object, written: event.into(), proposer: OnceCell::new() }
    }
}

impl From<&Numbered> for StreamedEvent {
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

impl StreamedEvent {
    /// Returns the proposer of the event's task, or `None` if there is no such task.
    pub(crate) async fn proposer(
        &self,
        pool: &Pool,
        tenant: TenantId,
    ) -> Result<Option<&Proposer>, StoreError> {
        let load = async || {
            let Ok(task) = self.object.parse() else { return Ok(None) };
            let mut tx = begin(pool, tenant).await?;
            let found = live::proposer(&mut tx, task).await?;
            tx.roll_back().await;
            Ok::<_, StoreError>(found)
        };
        Ok(self.proposer.get_or_try_init(load).await?.as_ref())
    }
}

#[derive(Debug)]
struct Ring {
    /// The sequence number before the first buffered event.
    base: u64,
    events: VecDeque<Arc<StreamedEvent>>,
}

impl Ring {
    fn head(&self) -> u64 {
        self.base + self.events.len() as u64
    }

    /// Appends the next event. Returns `false` if there is a gap; a known event is ignored.
    fn push(&mut self, event: StreamedEvent) -> bool {
        if event.seq <= self.head() {
            return true;
        }
        if event.seq != self.head() + 1 {
            return false;
        }
        if self.events.len() >= LIVE_RING_EVENTS {
            self.events.pop_front();
            self.base += 1;
        }
        self.events.push_back(Arc::new(event));
        true
    }
}

/// What a listener finds after its position.
#[derive(Debug)]
pub enum ChannelRead {
    Nothing,
    Events(Vec<Arc<StreamedEvent>>),
    /// The position is older than the buffer.
    Forgotten {
        head: u64,
    },
}

#[derive(Debug)]
pub struct Channel {
    pub tenant: TenantId,
    ring: Mutex<Ring>,
    head: watch::Sender<u64>,
    /// Held while missing events are read.
    filling: tokio::sync::Mutex<()>,
}

impl Channel {
    /// Creates a channel that begins after the sequence number `head`.
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

    pub fn after(&self, seq: u64, most: usize) -> ChannelRead {
        let ring = self.ring();
        let head = ring.head();
        if seq >= head {
            return ChannelRead::Nothing;
        }
        if seq < ring.base {
            return ChannelRead::Forgotten { head };
        }
        let skipped = usize::try_from(seq - ring.base).unwrap_or(usize::MAX);
        ChannelRead::Events(ring.events.iter().skip(skipped).take(most).cloned().collect())
    }

    /// Appends events that follow without a gap. Returns `false` if some are missing in between.
    pub fn offer(&self, mut entries: Vec<StreamedEvent>) -> bool {
        entries.sort_by_key(|event| event.seq);
        let (is_whole, head) = {
            let mut ring = self.ring();
            let is_whole = entries.into_iter().all(|event| ring.push(event));
            (is_whole, ring.head())
        };
        self.tell(head);
        is_whole
    }

    /// Reads the missing events from PostgreSQL.
    pub async fn fill(&self, pool: &Pool, watch: &Watch) -> Result<(), StoreError> {
        let _alone = self.filling.lock().await;
        let mut tx = begin(pool, self.tenant).await?;
        let newest = events::head(&mut tx).await?;
        self.forget_before(newest);
        loop {
            let page = events::read_after(&mut tx, self.head(), EVENTS_PAGE_MAX).await?;
            let is_last = page.len() < usize::try_from(EVENTS_PAGE_MAX).unwrap_or(usize::MAX);
            metrics::counter!("ade_live_events_reread_total").increment(page.len() as u64);
            let missed: Vec<StreamedEvent> = page.iter().map(StreamedEvent::from).collect();
            announce(watch, self.tenant, &missed);
            if !self.offer(missed) {
                // The stored events begin later: listeners that are behind are informed.
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

    /// Skips ahead after a long pause and keeps only the newest events: older ones are never
    /// delivered anyway.
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

#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

/// Wakes the callers that wait for the tasks of these events.
pub(crate) fn announce(watch: &Watch, tenant: TenantId, events: &[StreamedEvent]) {
    for reported in events {
        let Ok(task) = reported.object.parse::<TaskId>() else { continue };
        if !watch.wants(tenant, task) {
            continue;
        }
        let version = serde_json::from_slice::<Versioned>(&reported.written).ok();
        if let Some(version) = version.and_then(|event| event.version) {
            watch.tell(tenant, task, version);
        }
    }
}

/// Begins a transaction for reading events of one tenant.
pub(crate) async fn begin(pool: &Pool, tenant: TenantId) -> Result<Tx, StoreError> {
    Tx::begin(pool, tenant, Actor::system("live"), TenantLock::None).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64) -> StreamedEvent {
        StreamedEvent {
            seq,
            kind: "task.created".to_owned(),
            topic: Topic::Task,
            object: "task_x".to_owned(),
            written: Bytes::new(),
            proposer: OnceCell::new(),
        }
    }

    fn numbers(found: ChannelRead) -> Vec<u64> {
        match found {
            ChannelRead::Events(events) => events.iter().map(|event| event.seq).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn live_channel_keeps_events_without_gaps_and_bounded() {
        let channel = Channel::new(TenantId::from_u128(1), 10);
        assert!(matches!(channel.after(10, 9), ChannelRead::Nothing));
        assert!(channel.offer(vec![event(12), event(11), event(11)]), "out of order and repeated");
        assert_eq!(numbers(channel.after(10, 9)), [11, 12]);
        assert_eq!(numbers(channel.after(11, 9)), [12]);
        assert!(!channel.offer(vec![event(14)]), "a gap");
        assert_eq!(channel.head(), 12);
        assert!(matches!(channel.after(9, 9), ChannelRead::Forgotten { head: 12 }));
        let more = 2 * LIVE_RING_EVENTS as u64;
        assert!(channel.offer((13..=more).map(event).collect()));
        assert!(
            matches!(channel.after(12, 9), ChannelRead::Forgotten { .. }),
            "the buffer has moved on"
        );
        assert_eq!(numbers(channel.after(more - 3, 2)), [more - 2, more - 1]);
    }
}
