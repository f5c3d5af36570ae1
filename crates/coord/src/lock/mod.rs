//! Locks as Redis runs them: every command of the core's `Space` as one atomic script, with the
//! same answers and events. A space is a tenant. Every call is idempotent by lease id and names
//! the epoch its caller believes in.

mod decode;
mod encode;
mod look;
mod scripts;

use std::sync::Arc;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::limits::LOCK_REBUILD_PAGE;
use ade_core::lock::{Arrival, Epoch, LiveHold, Refusal, Reply, Request, Standing, Token};
use ade_core::time::Timestamp;
use uuid::Uuid;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::keys;
use crate::script::Script;
use encode::Word;
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

/// What one call of a rebuild brings.
struct Page<T> {
    /// Another one with every rebuild.
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
        space: Space,
        request: &Request,
        arrival: Arrival,
    ) -> Result<Reply<Standing>, Error> {
        let mut words = vec![encode::request(request)];
        words.extend(encode::arrival(arrival));
        self.standing(&self.scripts.acquire, space, request.lease(), words).await
    }

    pub async fn renew(
        &self,
        space: Space,
        leases: &[LeaseId],
    ) -> Result<Reply<Vec<Standing>>, Error> {
        let script = &self.scripts.renew;
        let words = leases.iter().map(|id| encode::word(&encode::lease(*id))).collect();
        let value = self.run(script, space, words).await?;
        decode::reply(script.name(), value, decode::standings)
    }

    pub async fn release(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.release, space, lease, Vec::new()).await
    }

    pub async fn cancel(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.cancel, space, lease, Vec::new()).await
    }

    pub async fn break_lease(
        &self,
        space: Space,
        lease: LeaseId,
    ) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.break_lease, space, lease, Vec::new()).await
    }

    pub async fn refence(
        &self,
        space: Space,
        lease: LeaseId,
        floor: Token,
    ) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.refence, space, lease, vec![encode::word(&floor)]).await
    }

    pub async fn register(&self, space: Space, lease: LeaseId) -> Result<Reply<Standing>, Error> {
        self.standing(&self.scripts.register, space, lease, Vec::new()).await
    }

    pub async fn sweep(&self, space: Space, limit: usize) -> Result<Reply<usize>, Error> {
        let script = &self.scripts.sweep;
        let value = self.run(script, space, vec![encode::word(&limit)]).await?;
        decode::reply(script.name(), value, |word, words| decode::counted("swept", word, words))
    }

    /// In pages, so that no call keeps Redis from all others. Until the last of them the space
    /// lets nobody in; of several who rebuild it one goes on and the others are told so.
    pub async fn rebuild(
        &self,
        space: Space,
        holds: &[LiveHold],
        unsure_until: Option<Timestamp>,
    ) -> Result<Reply<usize>, Error> {
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
        space: Space,
        page: Page<impl Iterator<Item = &'a LiveHold>>,
    ) -> Result<Result<usize, Refusal>, Error> {
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

    pub async fn adopt(&self, space: Space, hold: &LiveHold) -> Result<Reply<Standing>, Error> {
        let [_, token, deadline, request] = encode::hold(hold);
        let words = vec![token, deadline, request];
        self.standing(&self.scripts.adopt, space, hold.request.lease(), words).await
    }

    /// A command about one lease, whose id goes first.
    async fn standing(
        &self,
        script: &Script,
        space: Space,
        lease: LeaseId,
        more: Vec<Word>,
    ) -> Result<Reply<Standing>, Error> {
        let mut words = vec![encode::word(&encode::lease(lease))];
        words.extend(more);
        let value = self.run(script, space, words).await?;
        decode::standing_of(script.name(), value, lease)
    }

    async fn run(
        &self,
        script: &Script,
        space: Space,
        words: Vec<Word>,
    ) -> Result<redis::Value, Error> {
        let Space { tenant, epoch } = space;
        let mut args = vec![encode::word(&epoch)];
        args.extend(words);
        self.cluster.run(script, &tables(tenant), &args).await
    }
}

/// In the order of `tables.lua`.
fn tables(tenant: TenantId) -> [String; 4] {
    let tables = [keys::LOCK_BOOK, keys::LOCK_HOLDERS, keys::LOCK_QUEUE, keys::LOCK_REGISTRY];
    tables.map(|key| key.of(tenant))
}

#[cfg(test)]
mod tests;
