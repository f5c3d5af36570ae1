//! A cluster of this run with one lock namespace, and the load that all rows use. The baseline uses
//! keys of the same slot, so both sides load the same server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ade_coord::Cluster;
use ade_coord::lock::{LockNamespace, Locks};
use ade_core::ids::{LeaseId, TaskId};
use ade_core::lock::{
    Arrival, Epoch, LeaseClass, LeaseStatus, LockSet, Mode, Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_testkit::redis_node::Node;
use ade_testkit::{Namespace, OwnedCluster};
use anyhow::{Context as _, Result, bail, ensure};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use tokio::task::JoinSet;

/// Long enough for the longest run, because nothing may expire during a measurement.
const TTL: Duration = Duration::from_mins(5);
const FORGET_AT_ONCE: usize = 1_000;

pub struct LockCluster {
    servers: OwnedCluster,
    /// The master of the namespace.
    pub master: Node,
    pub locks: Locks,
    pub space: LockNamespace,
    pub bare: ClusterConnection,
    next: AtomicU64,
}

impl LockCluster {
    pub async fn start() -> Result<Self> {
        let servers = ade_testkit::Cluster::owned().await;
        let space = LockNamespace { tenant: Namespace::fresh().tenant(), epoch: Epoch::FIRST };
        let tag = format!("{{{}}}", space.tenant);
        let master = servers.master_of(servers.slot_of(&tag).await).await.clone();
        let locks = Locks::new(Cluster::open(&servers.urls().into())?);
        let bare = ClusterClient::new(servers.urls())?.get_async_connection().await?;
        let refused = locks.rebuild(space, &[], None).await?.answer;
        refused.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        Ok(Self { servers, master, locks, space, bare, next: AtomicU64::new(1) })
    }

    pub fn urls(&self) -> Vec<String> {
        self.servers.urls()
    }

    /// Reserves numbers that are used only once, and returns the first of them.
    pub fn reserve(&self, count: usize) -> u64 {
        self.next.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed)
    }

    /// Returns a key in the slot of the namespace.
    pub fn key(&self, number: u64) -> String {
        format!("{{{}}}:bare:{number}", self.space.tenant)
    }

    /// Returns the CPU seconds of the master per call.
    pub async fn cpu_of(
        &self,
        calls: usize,
        work: impl Future<Output = Result<()>>,
    ) -> Result<f64> {
        let before = self.cpu().await?;
        work.await?;
        Ok((self.cpu().await? - before) / f64::from(u32::try_from(calls)?))
    }

    async fn cpu(&self) -> Result<f64> {
        Ok(self.fact("cpu", "used_cpu_user").await? + self.fact("cpu", "used_cpu_sys").await?)
    }

    pub async fn memory(&self) -> Result<f64> {
        self.fact("memory", "used_memory").await
    }

    async fn fact(&self, section: &str, name: &str) -> Result<f64> {
        let text: String = self.master.ask(redis::cmd("INFO").arg(section)).await?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(line.with_context(|| format!("no {name}"))?.trim().parse()?)
    }

    pub async fn set_all(&self, calls: usize, width: usize) -> Result<()> {
        let keys: Arc<Vec<String>> = Arc::new((0..calls as u64).map(|n| self.key(n)).collect());
        let bare = self.bare.clone();
        spread(calls, width, move |number| {
            let (keys, mut bare) = (keys.clone(), bare.clone());
            async move {
                let mut command = redis::cmd("SET");
                let key = keys.get(number).context("no such key")?;
                command.arg(key).arg("01arz3ndektsv4rrffq69g5fav").arg("NX").arg("PX").arg(30_000);
                let set: Option<String> = command.query_async(&mut bare).await?;
                ensure!(set.is_some(), "{key} is held already");
                Ok(())
            }
        })
        .await
    }

    pub async fn forget_sets(&self, calls: usize) -> Result<()> {
        let keys: Vec<String> = (0..calls as u64).map(|number| self.key(number)).collect();
        for some in keys.chunks(FORGET_AT_ONCE) {
            redis::cmd("UNLINK").arg(some).query_async::<()>(&mut self.bare.clone()).await?;
        }
        Ok(())
    }

    /// Acquires leases, each with its own resource and owner.
    pub async fn acquire_all(&self, first: u64, calls: usize, width: usize) -> Result<()> {
        let (locks, space) = (self.locks.clone(), self.space);
        spread(calls, width, move |number| {
            let locks = locks.clone();
            async move { acquire_alone(&locks, space, first + number as u64).await }
        })
        .await
    }

    pub async fn release_all(&self, first: u64, calls: usize, width: usize) -> Result<()> {
        let (locks, space) = (self.locks.clone(), self.space);
        spread(calls, width, move |number| {
            let locks = locks.clone();
            async move { release(&locks, space, first + number as u64).await }
        })
        .await
    }
}

pub async fn acquire_alone(locks: &Locks, space: LockNamespace, number: u64) -> Result<()> {
    let request = request(number, &format!("prod-{number:07}"), Duration::ZERO)?;
    match locks.acquire(space, &request, Arrival::New).await?.answer {
        Ok(LeaseStatus::Granted { .. }) => Ok(()),
        other => bail!("not granted: {other:?}"),
    }
}

pub async fn release(locks: &Locks, space: LockNamespace, number: u64) -> Result<()> {
    let released = locks.release(space, LeaseId::from_u128(spread_out(number))).await?;
    released.answer.map(drop).map_err(|refusal| anyhow::anyhow!("{refusal}"))
}

pub fn request(number: u64, resource: &str, wait: Duration) -> Result<Request> {
    Ok(Request::new(RequestDraft {
        lease: LeaseId::from_u128(spread_out(number)),
        owner: Owner::Task(TaskId::from_u128(spread_out(number))),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(1_800_000_000_123_457),
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
        set: LockSet::new([(ResourceRef::new("database", resource)?, Mode::Exclusive)])?,
        ttl: TTL,
        wait,
        boost: 0,
    })?)
}

/// Spreads the ids, because those of real callers are not adjacent.
fn spread_out(number: u64) -> u128 {
    u128::from(number.wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 64 | u128::from(number)
}

/// Runs this many calls by this many concurrent callers, each of which sends its next call as soon
/// as the last one is answered.
pub async fn spread<F, T>(calls: usize, width: usize, call: F) -> Result<()>
where
    F: Fn(usize) -> T + Clone + Send + 'static,
    T: Future<Output = Result<()>> + Send,
{
    let mut callers = JoinSet::new();
    for caller in 0..width {
        let call = call.clone();
        callers.spawn(async move {
            for number in (caller..calls).step_by(width) {
                call(number).await?;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended??;
    }
    Ok(())
}
