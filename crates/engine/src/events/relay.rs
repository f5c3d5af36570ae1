//! Assigns sequence numbers to events and publishes them to the streams. It polls continuously,
//! more often while events arrive; the leases over shards of tenants only keep several relays
//! apart. Redis is updated after the commit and may miss events: PostgreSQL has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ade_coord::streams::StreamEntry;
use ade_core::event::{Topic, shard_of};
use ade_core::limits::{DATABASE_STATEMENT_TIMEOUT, EVENT_SHARDS, RELAY_LEASE};
use ade_store::events::{self, Numbered};
use ade_store::lease::{self, WorkerLease};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;
use crate::services::event_hub::written;
use crate::worker::{Activation, Done, Worker};

/// Events that one statement sequences.
const RELAY_BATCH: u32 = 500;
/// Poll interval while events arrive.
const RELAY_PAUSE_MIN: Duration = Duration::from_millis(2);
/// Poll interval when idle: the maximum delay of the first event afterwards.
const RELAY_PAUSE_MAX: Duration = Duration::from_millis(50);
/// How often leases are renewed or taken over, and the worker status is written.
const RELAY_LEASE_PERIOD: Duration = Duration::from_secs(1);
/// Batches buffered for a slow Redis; missed events are read from the database.
const RELAY_QUEUE_BATCHES: usize = 64;

/// Runs one round over all shards, for tests and for operators; the driver runs [`drive`].
pub const WORKER: Worker = Worker { name: "relay", period: None, signal: None, run };

/// The SQLSTATE of a statement that exceeded its timeout.
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
                tracing::warn!(worker = WORKER.name, %error, "event sequencing failed; will retry");
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
            tracing::warn!(
                worker = WORKER.name, %error,
                "failed to release worker lease; it will expire"
            );
        }
    }
    drop(round.sender);
    let _ = publisher.await;
}

/// The result of one round.
enum Looked {
    Full,
    Some,
    Nothing,
    /// Other processes hold all shards.
    Idle,
}

struct Round {
    holder: Uuid,
    held: BTreeMap<u8, WorkerLease>,
    /// The events that were sequenced since the worker status was written, by shard.
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
        // Numbers are assigned at the pace of PostgreSQL, however slow Redis is.
        if self.sender.try_send(batch).is_err() {
            metrics::counter!("ade_events_unpublished_total").increment(count);
        }
        Ok(looked)
    }

    /// Renews held leases, takes free ones, and stores the worker status: two statements, because
    /// events wait meanwhile.
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
    // An interrupted statement was either rolled back or committed; the next round handles both.
    let numbered = tokio::time::timeout(DATABASE_STATEMENT_TIMEOUT, numbering).await;
    let batch =
        numbered.map_err(|_| ade_store::StoreError::Busy { code: TIMED_OUT.to_owned() })??;
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

/// Publishes each shard in one round trip, all of them concurrently.
async fn publish(app: &App, batch: Vec<Numbered>) {
    let Some(streams) = &app.live.streams else {
        app.live.hub.poke();
        return;
    };
    let mut shards: BTreeMap<u8, Vec<StreamEntry>> = BTreeMap::new();
    for event in batch {
        let entry = StreamEntry {
            tenant: event.tenant,
            seq: event.seq,
            topic: Topic::of(&event.kind),
            event: written(&event).into_bytes(),
            kind: event.kind,
            object: event.object,
        };
        shards.entry(shard_of(event.tenant)).or_default().push(entry);
    }
    let mut pending = JoinSet::new();
    for (shard, entries) in shards {
        let streams = streams.clone();
        pending.spawn(async move {
            let published = streams.publish(shard, &entries).await;
            published.map_err(|error| (entries.len() as u64, error))
        });
    }
    while let Some(published) = pending.join_next().await {
        if let Ok(Err((count, error))) = published {
            metrics::counter!("ade_events_unpublished_total").increment(count);
            tracing::debug!(
                %error,
                "event publishing to Redis failed; listeners will read the database"
            );
        }
    }
}
