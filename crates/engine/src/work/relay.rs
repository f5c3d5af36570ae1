//! Gives events their numbers and tells the streams. It looks all the time, more often while there
//! is something to see; the leases over shards of tenants only keep several of them out of each
//! other's way. Redis is told after the commit and may miss it: the record has the event.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ade_coord::streams::Entry;
use ade_core::event::{Topic, shard_of};
use ade_core::limits::{
    DATABASE_STATEMENT_TIMEOUT, EVENT_SHARDS, RELAY_BATCH, RELAY_LEASE, RELAY_LEASE_PERIOD,
    RELAY_PAUSE_MAX, RELAY_PAUSE_MIN, RELAY_QUEUE_BATCHES,
};
use ade_store::events::{self, Numbered};
use ade_store::lease::{self, Lease};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Activation, Done, Worker};
use crate::app::App;
use crate::error::Error;
use crate::live::written;

/// One look at all shards, for tests and for a person at a terminal; the driver runs [`drive`].
pub const WORKER: Worker = Worker { name: "relay", period: None, signal: None, run };

/// As PostgreSQL says it of a statement that takes too long.
const TIMED_OUT: &str = "57014";

fn run(app: &App) -> Activation<'_> {
    Box::pin(async move {
        let shards: Vec<u8> = (0..EVENT_SHARDS).collect();
        let batch = number(app, &shards).await?;
        let has_more = is_full(&batch);
        let items = batch.len() as u64;
        publish(app, batch).await;
        Ok(Done { items, has_more })
    })
}

pub async fn drive(app: Arc<App>, holder: Uuid, mut stopped: watch::Receiver<bool>) {
    let (sender, batches) = mpsc::channel(RELAY_QUEUE_BATCHES);
    let publisher = tokio::spawn(publishing(Arc::clone(&app), batches));
    let mut round =
        Round { holder, held: BTreeMap::new(), items: BTreeMap::new(), sender, tended_at: None };
    let mut pause = RELAY_PAUSE_MIN;
    while !*stopped.borrow() {
        pause = match round.turn(&app).await {
            Ok(Looked::Full) => Duration::ZERO,
            Ok(Looked::Some) => RELAY_PAUSE_MIN,
            Ok(Looked::Nothing) => (pause * 2).clamp(RELAY_PAUSE_MIN, RELAY_PAUSE_MAX),
            Ok(Looked::Idle) => RELAY_LEASE_PERIOD,
            Err(error) => {
                tracing::warn!(worker = WORKER.name, %error, "events wait for their numbers");
                RELAY_LEASE_PERIOD
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.wake.relay.notified() => pause = RELAY_PAUSE_MIN,
            _ = stopped.changed() => {}
        }
    }
    for lease in round.held.into_values() {
        if let Err(error) = lease::release(&app.pools.worker, &lease).await {
            tracing::warn!(worker = WORKER.name, %error, "its lease runs out by itself");
        }
    }
    drop(round.sender);
    let _ = publisher.await;
}

/// What one look brought.
enum Looked {
    Full,
    Some,
    Nothing,
    /// Others hold every shard.
    Idle,
}

struct Round {
    holder: Uuid,
    held: BTreeMap<u8, Lease>,
    /// Numbered since the board was written.
    items: BTreeMap<u8, u64>,
    sender: mpsc::Sender<Vec<Numbered>>,
    tended_at: Option<Instant>,
}

impl Round {
    async fn turn(&mut self, app: &App) -> Result<Looked, Error> {
        if self.tended_at.is_none_or(|at| at.elapsed() >= RELAY_LEASE_PERIOD) {
            self.tend(app).await?;
            self.tended_at = Some(Instant::now());
        }
        let shards: Vec<u8> = self.held.keys().copied().collect();
        if shards.is_empty() {
            return Ok(Looked::Idle);
        }
        let batch = number(app, &shards).await?;
        if batch.is_empty() {
            return Ok(Looked::Nothing);
        }
        for event in &batch {
            *self.items.entry(shard_of(event.tenant)).or_default() += 1;
        }
        let looked = if is_full(&batch) { Looked::Full } else { Looked::Some };
        let count = batch.len() as u64;
        // Numbers are given at the pace of PostgreSQL, however slow Redis is.
        if self.sender.try_send(batch).is_err() {
            metrics::counter!("ade_events_unpublished_total").increment(count);
        }
        Ok(looked)
    }

    /// Renews what is held, takes what nobody holds, and tells the board what was done: two
    /// statements, since events wait meanwhile.
    async fn tend(&mut self, app: &App) -> Result<(), Error> {
        let (pool, name, holder) = (&app.pools.worker, WORKER.name, self.holder);
        let all: Vec<u8> = (0..EVENT_SHARDS).collect();
        let leases = lease::acquire_many(pool, name, &all, holder, RELAY_LEASE).await?;
        let numbered = leases.into_iter().filter_map(|lease| {
            let shard = u8::try_from(lease.shard).ok()?;
            Some((shard, lease))
        });
        self.held = numbered.collect();
        if !self.items.is_empty() {
            let done: Vec<(u8, u64)> = std::mem::take(&mut self.items).into_iter().collect();
            lease::report_many(pool, name, holder, &done).await?;
        }
        Ok(())
    }
}

fn is_full(batch: &[Numbered]) -> bool {
    batch.len() >= usize::try_from(RELAY_BATCH).unwrap_or(usize::MAX)
}

async fn number(app: &App, shards: &[u8]) -> Result<Vec<Numbered>, Error> {
    let numbering = events::number(&app.pools.worker, shards, RELAY_BATCH);
    // Whatever was under way is rolled back or done; both are found by the next look.
    let numbered = tokio::time::timeout(DATABASE_STATEMENT_TIMEOUT, numbering).await;
    let batch = numbered.map_err(|_| ade_store::Error::Busy { code: TIMED_OUT.to_owned() })??;
    metrics::counter!("ade_events_relayed_total").increment(batch.len() as u64);
    if !batch.is_empty() {
        app.wake.readers();
    }
    Ok(batch)
}

async fn publishing(app: Arc<App>, mut batches: mpsc::Receiver<Vec<Numbered>>) {
    let mut waiting = Vec::new();
    while batches.recv_many(&mut waiting, RELAY_QUEUE_BATCHES).await > 0 {
        publish(&app, waiting.drain(..).flatten().collect()).await;
    }
}

/// Each shard in one round trip, all beside each other.
async fn publish(app: &App, batch: Vec<Numbered>) {
    let Some(streams) = &app.live.streams else {
        app.live.hub.poke();
        return;
    };
    let mut shards: BTreeMap<u8, Vec<Entry>> = BTreeMap::new();
    for event in batch {
        let entry = Entry {
            tenant: event.tenant,
            seq: event.seq,
            topic: Topic::of(&event.kind),
            event: written(&event).into_bytes(),
            kind: event.kind,
            object: event.object,
        };
        shards.entry(shard_of(event.tenant)).or_default().push(entry);
    }
    let mut telling = JoinSet::new();
    for (shard, entries) in shards {
        let streams = streams.clone();
        telling.spawn(async move {
            let told = streams.publish(shard, &entries).await;
            told.map_err(|error| (entries.len() as u64, error))
        });
    }
    while let Some(told) = telling.join_next().await {
        if let Ok(Err((count, error))) = told {
            metrics::counter!("ade_events_unpublished_total").increment(count);
            tracing::debug!(%error, "listeners find these events in the record");
        }
    }
}
