//! Locks in Redis: every command of `LockNamespace` in the core as one atomic script, with the same
//! replies and events. A space belongs to a tenant. Every call is idempotent by lease id and names
//! the epoch that its caller expects.

mod decode;
mod encode;
mod look;
mod scripts;

use std::sync::Arc;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::LOCK_REBUILD_PAGE;
use ade_core::lock::{
    Arrival, Epoch, FencingToken, LeaseStatus, LiveHold, LockRefusal, Reply, Request,
};
use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::error::CoordError;
use crate::keys;
use crate::script::Script;
use encode::Word;
pub use look::{Held, Looks, Seen, WaitGraph};
use scripts::{Scripts, Sources};

#[derive(Debug, Clone)]
pub struct Locks {
    cluster: Cluster,
    scripts: Arc<Scripts>,
}

/// One space in the epoch that the caller expects. It is created for a call and never stored,
/// because the epoch may end.
#[derive(Debug, Clone, Copy)]
pub struct LockNamespace {
    pub tenant: TenantId,
    pub epoch: Epoch,
}

/// The content of one rebuild call.
struct Page<T> {
    /// The id of the builder, which is different for every rebuild.
    builder: Uuid,
    number: usize,
    is_last: bool,
    unsure_until: Option<Timestamp>,
    holds: T,
}

impl Locks {
    pub fn new(cluster: Cluster) -> Self {
        Self { cluster, scripts: Arc::new(Scripts::new(&Sources::default())) }
    }

    pub async fn acquire(
        &self,
        space: LockNamespace,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        let mut words = vec![encode::request(request)];
        words.extend(encode::arrival(arrival));
        self.on_lease(&self.scripts.acquire, space, request.lease(), words).await
    }

    pub async fn renew(
        &self,
        space: LockNamespace,
        leases: &[LeaseId],
    ) -> Result<Reply<Vec<LeaseStatus>>, CoordError> {
        let script = &self.scripts.renew;
        let words = leases.iter().map(|id| encode::word(&encode::lease(*id))).collect();
        let value = self.run(script, space, words).await?;
        decode::reply(script.name(), value, decode::standings)
    }

    pub async fn release(
        &self,
        space: LockNamespace,
        lease: LeaseId,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        self.on_lease(&self.scripts.release, space, lease, Vec::new()).await
    }

    pub async fn cancel(
        &self,
        space: LockNamespace,
        lease: LeaseId,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        self.on_lease(&self.scripts.cancel, space, lease, Vec::new()).await
    }

    pub async fn break_lease(
        &self,
        space: LockNamespace,
        lease: LeaseId,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        self.on_lease(&self.scripts.break_lease, space, lease, Vec::new()).await
    }

    pub async fn refence(
        &self,
        space: LockNamespace,
        lease: LeaseId,
        floor: FencingToken,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        self.on_lease(&self.scripts.refence, space, lease, vec![encode::word(&floor)]).await
    }

    pub async fn register(
        &self,
        space: LockNamespace,
        lease: LeaseId,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        self.on_lease(&self.scripts.register, space, lease, Vec::new()).await
    }

    pub async fn sweep(
        &self,
        space: LockNamespace,
        limit: usize,
    ) -> Result<Reply<usize>, CoordError> {
        let script = &self.scripts.sweep;
        let value = self.run(script, space, vec![encode::word(&limit)]).await?;
        decode::reply(script.name(), value, |word, words| decode::counted("swept", word, words))
    }

    /// Rebuilds the space in pages, so that no call blocks Redis for long. Until the last page the
    /// namespace grants nothing; of several concurrent rebuilds one continues and the others are
    /// refused.
    pub async fn rebuild(
        &self,
        space: LockNamespace,
        holds: &[LiveHold],
        unsure_until: Option<Timestamp>,
    ) -> Result<Reply<usize>, CoordError> {
        let builder = Uuid::now_v7();
        let pages = holds.len().div_ceil(LOCK_REBUILD_PAGE).max(1);
        let mut answer = Ok(0);
        for number in 1..=pages {
            let first = (number - 1) * LOCK_REBUILD_PAGE;
            let page = Page {
                builder,
                number,
                is_last: number == pages,
                unsure_until,
                holds: holds.iter().skip(first).take(LOCK_REBUILD_PAGE),
            };
            let brought = self.rebuild_page(space, page).await?;
            answer = answer.and_then(|before: usize| brought.map(|count| before + count));
            if answer.is_err() {
                break;
            }
        }
        Ok(Reply { answer, events: Vec::new() })
    }

    async fn rebuild_page<'a>(
        &self,
        space: LockNamespace,
        page: Page<impl Iterator<Item = &'a LiveHold>>,
    ) -> Result<Result<usize, LockRefusal>, CoordError> {
        let script = &self.scripts.rebuild;
        let unsure_until = page.unsure_until.map_or_else(|| "0".to_owned(), encode::moment);
        let mut words = vec![
            encode::word(&unsure_until),
            encode::word(&page.builder),
            encode::word(&page.number),
            encode::word(if page.is_last { "last" } else { "more" }),
        ];
        words.extend(page.holds.flat_map(encode::hold));
        let value = self.run(script, space, words).await?;
        let read = |word: &str, words: &mut _| decode::counted("rebuilt", word, words);
        Ok(decode::reply(script.name(), value, read)?.answer)
    }

    pub async fn adopt(
        &self,
        space: LockNamespace,
        hold: &LiveHold,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        let [_, token, deadline, request] = encode::hold(hold);
        let words = vec![token, deadline, request];
        self.on_lease(&self.scripts.adopt, space, hold.request.lease(), words).await
    }

    /// Runs a command on one lease, whose id is the first argument.
    async fn on_lease(
        &self,
        script: &Script,
        space: LockNamespace,
        lease: LeaseId,
        more: Vec<Word>,
    ) -> Result<Reply<LeaseStatus>, CoordError> {
        let mut words = vec![encode::word(&encode::lease(lease))];
        words.extend(more);
        let value = self.run(script, space, words).await?;
        decode::standing_of(script.name(), value, lease)
    }

    async fn run(
        &self,
        script: &Script,
        space: LockNamespace,
        words: Vec<Word>,
    ) -> Result<redis::Value, CoordError> {
        let LockNamespace { tenant, epoch } = space;
        let mut args = vec![encode::word(&epoch)];
        args.extend(words);
        self.cluster.run(script, &tables(tenant), &args).await
    }
}

/// The tables in the order of `tables.lua`.
fn tables(tenant: TenantId) -> [String; 4] {
    let tables = [keys::LOCK_BOOK, keys::LOCK_HOLDERS, keys::LOCK_QUEUE, keys::LOCK_REGISTRY];
    tables.map(|key| key.of(tenant))
}

#[cfg(test)]
mod tests;
