//! One direction of one connection. The current settings of the proxy decide what happens to each
//! chunk. Jitter does not change the order, as in TCP.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::trap::Watcher;
use super::{Direction, Shared};

const CHUNK_BYTES: usize = 16 * 1024;
/// The maximum number of chunks in flight; after that the sender has to wait, as on a full network.
const CHUNKS_UNDER_WAY: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flow {
    #[default]
    Pass,
    /// Delays each chunk by `fixed` plus at most `jitter`.
    Delay { fixed: Duration, jitter: Duration },
    /// Holds everything back until another flow is set, then lets all of it through.
    Hold,
    /// Discards bytes and closing, without a signal to the sender.
    Swallow,
    /// Flips one bit in this percentage of the chunks.
    Corrupt { percent: u8 },
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flows {
    to_server: Flow,
    to_client: Flow,
}

impl Flows {
    pub(super) fn set(&mut self, direction: Direction, flow: Flow) {
        match direction {
            Direction::ToServer => self.to_server = flow,
            Direction::ToClient => self.to_client = flow,
        }
    }

    fn get(&self, direction: Direction) -> Flow {
        match direction {
            Direction::ToServer => self.to_server,
            Direction::ToClient => self.to_client,
        }
    }
}

enum Step {
    Bytes(Vec<u8>),
    Close,
    Reset,
}

/// The connection must be reset, because of a trap or because one side was reset.
pub(super) struct Broken;

pub(super) async fn pump(
    reader: ReadHalf<'_>,
    writer: WriteHalf<'_>,
    direction: Direction,
    shared: &Shared,
) -> Result<(), Broken> {
    let (sender, receiver) = mpsc::channel(CHUNKS_UNDER_WAY);
    // If writing fails, there is no need to wait for reading.
    tokio::try_join!(
        async {
            take(reader, sender, direction, shared).await;
            Ok(())
        },
        give(writer, receiver),
    )
    .map(|_| ())
}

async fn give(
    mut writer: WriteHalf<'_>,
    mut receiver: mpsc::Receiver<(Instant, Step)>,
) -> Result<(), Broken> {
    while let Some((due, step)) = receiver.recv().await {
        sleep_until(due).await;
        match step {
            Step::Bytes(bytes) => writer.write_all(&bytes).await.map_err(|_| Broken)?,
            Step::Close => return writer.shutdown().await.map_err(|_| Broken),
            Step::Reset => return Err(Broken),
        }
    }
    Err(Broken)
}

async fn take(
    mut reader: ReadHalf<'_>,
    sender: mpsc::Sender<(Instant, Step)>,
    direction: Direction,
    shared: &Shared,
) {
    let mut watchers: Vec<Watcher> = Vec::new();
    let mut last_due = Instant::now();
    loop {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        let read = reader.read_buf(&mut bytes).await;
        let mut step = match read {
            Ok(0) => Step::Close,
            Ok(_) => Step::Bytes(bytes),
            Err(_) => Step::Reset,
        };
        let ends = !matches!(step, Step::Bytes(_));
        let flow = settle(direction, shared, ends).await;
        if flow == Flow::Swallow {
            continue;
        }
        let mut fatal = None;
        if let Step::Bytes(bytes) = &mut step {
            fatal = feed(&mut watchers, bytes, direction, shared);
            bytes.truncate(fatal.unwrap_or(bytes.len()));
            corrupt(bytes, flow, shared);
        }
        last_due = due(flow, shared).max(last_due);
        if sender.send((last_due, step)).await.is_err() || ends {
            return;
        }
        if fatal.is_some() {
            let _ = sender.send((last_due, Step::Reset)).await;
            return;
        }
    }
}

/// Returns the flow for this step once it can be decided. Held bytes wait for another flow, and so
/// does an end that would be discarded, because a dead connection cannot report it either.
async fn settle(direction: Direction, shared: &Shared, ends: bool) -> Flow {
    let mut flows = shared.flows.subscribe();
    let decides = |flow| match flow {
        Flow::Hold => false,
        Flow::Swallow => !ends,
        Flow::Pass | Flow::Delay { .. } | Flow::Corrupt { .. } => true,
    };
    let settled = flows.wait_for(|flows| decides(flows.get(direction))).await;
    settled.map(|flows| flows.get(direction)).unwrap_or_default()
}

fn feed(
    watchers: &mut Vec<Watcher>,
    bytes: &[u8],
    direction: Direction,
    shared: &Shared,
) -> Option<usize> {
    for trap in shared.traps.borrow().iter() {
        let is_known = watchers.iter().any(|watcher| watcher.trap.is(trap));
        if trap.direction() == direction && !is_known {
            watchers.push(Watcher::new(trap.clone()));
        }
    }
    watchers.iter_mut().filter_map(|watcher| watcher.feed(bytes)).min()
}

fn corrupt(bytes: &mut [u8], flow: Flow, shared: &Shared) {
    let Flow::Corrupt { percent } = flow else {
        return;
    };
    let len = u64::try_from(bytes.len()).unwrap_or_default();
    let (lot, place, bit) =
        shared.random(|random| (random.below(100), random.below(len), random.below(8)));
    let place = usize::try_from(place).unwrap_or_default();
    if lot < u64::from(percent)
        && let Some(byte) = bytes.get_mut(place)
    {
        *byte ^= 1 << bit;
    }
}

fn due(flow: Flow, shared: &Shared) -> Instant {
    let Flow::Delay { fixed, jitter } = flow else {
        return Instant::now();
    };
    let most = u64::try_from(jitter.as_micros()).unwrap_or(u64::MAX);
    let extra = shared.random(|random| random.below(most.saturating_add(1)));
    Instant::now() + fixed + Duration::from_micros(extra)
}
