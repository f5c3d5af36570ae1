//! Locks as Redis runs them: every command of the core's `Space` as one atomic script, with the
//! same answers and events. A space is a tenant. Every call is idempotent by lease id and names
//! the epoch its caller believes in.

mod decode;
mod encode;
mod look;
mod scripts;

use std::sync::Arc;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::lock::{Arrival, Epoch, LiveHold, Reply, Request, Standing, Token};
use ade_core::time::Timestamp;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::keys;
use crate::script::Script;
pub use look::{Held, Looks, Seen, Waiting};
use scripts::{Scripts, Sources};

#[derive(Debug, Clone)]
pub struct Locks {
    cluster: Cluster,
    scripts: Arc<Scripts>,
}

/// One space in the epoch the caller believes in; made for a call, never kept: an epoch that is
/// cached outlives its end.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    pub tenant: TenantId,
    pub epoch: Epoch,
}

impl Locks {
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, scripts: Arc::new(Scripts::new(&Sources::default())) }
    }

    pub async fn acquire(
        &self,
        space: Space,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Reply<Standing>, Error> {
        let mut words = encode::arrival(arrival).to_vec();
        words.extend(encode::request(request));
        self.standing(&self.scripts.acquire, space, words).await
    }

    pub async fn renew(
        &self,
        space: Space,
        leases: &[LeaseId],
    ) -> Result<Reply<Vec<Standing>>, Error> {
        let script = &self.scripts.renew;
        let words = leases.iter().map(ToString::to_string).collect();
        let value = self.run(script, space, words).await?;
        decode::reply(script.name(), value, decode::standings)
    }

    pub async fn release(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.release, space, vec![lease.to_string()]).await
    }

    pub async fn cancel(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.cancel, space, vec![lease.to_string()]).await
    }

    pub async fn break_lease(
        &self,
        space: Space,
        lease: LeaseId,
    ) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.break_lease, space, vec![lease.to_string()]).await
    }

    pub async fn refence(
        &self,
        space: Space,
        lease: LeaseId,
        floor: Token,
    ) -> Result<Reply<Standing>, Error> {
        let words = vec![lease.to_string(), floor.to_string()];
        self.standing(&self.scripts.refence, space, words).await
    }

    pub async fn register(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.register, space, vec![lease.to_string()]).await
    }

    pub async fn sweep(&self, space: Space, limit: usize) -> Result<Reply<usize>, Error> {
        let script = &self.scripts.sweep;
        let value = self.run(script, space, vec![limit.to_string()]).await?;
        decode::reply(script.name(), value, |word, words| decode::counted("swept", word, words))
    }

    pub async fn rebuild(
        &self,
        space: Space,
        holds: &[LiveHold],
        unsure_until: Option<Timestamp>,
    ) -> Result<Reply<usize>, Error> {
        let script = &self.scripts.rebuild;
        let mut words = vec![unsure_until.map_or_else(|| "0".to_owned(), encode::moment)];
        words.extend(holds.iter().flat_map(encode::hold));
        let value = self.run(script, space, words).await?;
        decode::reply(script.name(), value, |word, words| decode::counted("rebuilt", word, words))
    }

    pub async fn adopt(&self, space: Space, hold: &LiveHold) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.adopt, space, encode::hold(hold)).await
    }

    async fn standing(
        &self,
        script: &Script,
        space: Space,
        words: Vec<String>,
    ) -> Result<Reply<Standing>, Error> {
        let value = self.run(script, space, words).await?;
        decode::reply(script.name(), value, decode::standing)
    }

    async fn run(
        &self,
        script: &Script,
        space: Space,
        words: Vec<String>,
    ) -> Result<redis::Value, Error> {
        let Space { tenant, epoch } = space;
        let mut args = vec![epoch.to_string(), keys::LOCK_CHANNEL.of(tenant)];
        args.extend(words);
        self.cluster.run(script, &tables(tenant), &args).await
    }
}

/// In the order of `tables.lua`.
fn tables(tenant: TenantId) -> [String; 5] {
    let tables = [
        keys::LOCK_META,
        keys::LOCK_REQUESTS,
        keys::LOCK_HOLDERS,
        keys::LOCK_QUEUE,
        keys::LOCK_REGISTRY,
    ];
    tables.map(|key| key.of(tenant))
}

#[cfg(test)]
mod tests;
