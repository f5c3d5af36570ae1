//! One lock that fifty callers always want: how often it changes hands, and the worst wait next to
//! the median. Callers are woken by the hints of the scripts, as in the product.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_coord::keys;
use ade_coord::lock::{LockNamespace, Locks};
use ade_core::lock::{Arrival, LeaseStatus};
use anyhow::{Result, bail};
use redis::{AsyncConnectionConfig, PushKind};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::place::{LockCluster, release, request};
use crate::figure::{Goal, print_plain, quantile};

const CALLERS: usize = 50;
const WAIT: Duration = Duration::from_secs(50);
/// A hint may be lost, so waiters also poll.
const LOOK: Duration = Duration::from_millis(100);

/// The waiters that sleep until their lease is named.
#[derive(Debug, Clone, Default)]
struct Sleepers(Arc<Mutex<HashMap<String, Arc<Notify>>>>);

impl Sleepers {
    fn put(&self, lease: &str, woken: Arc<Notify>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(lease.to_owned(), woken);
    }

    fn take(&self, lease: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(lease);
    }

    fn wake(&self, lease: &str) {
        let sleeping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sleeper) = sleeping.get(lease) {
            sleeper.notify_one();
        }
    }
}

pub async fn run(place: &LockCluster, rounds: usize, calls: usize) -> Result<()> {
    let sleepers = Sleepers::default();
    let _connection = listen(place, sleepers.clone()).await?;
    let (mut rates, mut unluckiest) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let first = place.reserve(calls);
        let began = Instant::now();
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let caller = Caller {
                locks: place.locks.clone(),
                space: place.space,
                sleepers: sleepers.clone(),
                numbers: (caller..calls).step_by(CALLERS).map(|n| first + n as u64).collect(),
            };
            callers.spawn(caller.run());
        }
        let mut waits = Vec::new();
        while let Some(ended) = callers.join_next().await {
            waits.extend(ended??);
        }
        if round > 0 {
            rates.push(f64::from(u32::try_from(calls)?) / began.elapsed().as_secs_f64());
            unluckiest.push(quantile(&waits, 1.0) / quantile(&waits, 0.5));
        }
    }
    print_plain("lock.handoff_per_s", "1/s", &rates, Goal::AtLeast(6_000.0));
    print_plain("lock.handoff_max_over_p50", "", &unluckiest, Goal::AtMost(3.0));
    Ok(())
}

async fn listen(
    place: &LockCluster,
    sleepers: Sleepers,
) -> Result<redis::aio::MultiplexedConnection> {
    let client = redis::Client::open(format!("{}/?protocol=resp3", place.master.url()))?;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let config = AsyncConnectionConfig::new().set_push_sender(sender);
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let channel = keys::LOCK_CHANNEL.of(place.space.tenant);
    redis::cmd("SSUBSCRIBE").arg(channel).query_async::<redis::Value>(&mut connection).await?;
    tokio::spawn(async move {
        while let Some(push) = receiver.recv().await {
            if push.kind != PushKind::SMessage {
                continue;
            }
            let reply = redis::from_redis_value(redis::Value::Array(push.data));
            let Ok((_, hint)) = reply.map(|reply: (String, String)| reply) else { continue };
            sleepers.wake(hint.split(' ').nth(1).unwrap_or_default());
        }
    });
    Ok(connection)
}

struct Caller {
    locks: Locks,
    space: LockNamespace,
    sleepers: Sleepers,
    numbers: Vec<u64>,
}

impl Caller {
    /// Returns the duration of each wait.
    async fn run(self) -> Result<Vec<f64>> {
        let mut waits = Vec::new();
        for number in &self.numbers {
            let began = Instant::now();
            self.wait_for(*number).await?;
            waits.push(began.elapsed().as_secs_f64());
            release(&self.locks, self.space, *number).await?;
        }
        Ok(waits)
    }

    async fn wait_for(&self, number: u64) -> Result<()> {
        let request = request(number, "the-one", WAIT)?;
        let (lease, woken) = (request.lease().to_string(), Arc::new(Notify::new()));
        self.sleepers.put(&lease, woken.clone());
        let reply = self.locks.acquire(self.space, &request, Arrival::New).await?;
        let mut status = reply.answer;
        while matches!(status, Ok(LeaseStatus::Waiting { .. })) {
            if tokio::time::timeout(LOOK, woken.notified()).await.is_ok() {
                break;
            }
            let reply = self.locks.renew(self.space, &[request.lease()]).await?.answer;
            status =
                reply.map(|statuses| statuses.first().copied().unwrap_or(LeaseStatus::Unknown));
        }
        self.sleepers.take(&lease);
        match status {
            Ok(LeaseStatus::Granted { .. } | LeaseStatus::Waiting { .. }) => Ok(()),
            other => bail!("the wait ended with {other:?}"),
        }
    }
}
