//! One space, in the model and in Redis. Every call goes to both; replies, events and all tables
//! must be equal. A difference is returned as an error, so that mutants can be counted.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::{LeaseId, TenantId};
use ade_core::lock::{
    Arrival, Epoch, FencingToken, LeaseStatus, LiveHold, LockEvent, LockRefusal, Reply, Request,
};
use ade_core::time::Timestamp;
use ade_lock_model::Space as Model;
use ade_testkit::Namespace;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use uuid::Uuid;

use super::super::scripts::{Scripts, Sources};
use super::super::{LockNamespace, Locks, Page};
use super::oracles;
use super::tables::Tables;
use crate::cluster::{Cluster, PATIENCE};
use crate::error::CoordError;
use crate::keys;

/// The virtual time of the scripts is stored next to the space.
const CLOCK: &str = "#!lua\nlocal now = tonumber(redis.call('GET', KEYS[1] .. '-now'))\n";

#[derive(Debug, Clone)]
pub enum LockCall {
    Acquire(Request, Arrival),
    Renew(Vec<LeaseId>),
    Release(LeaseId),
    Cancel(LeaseId),
    Break(LeaseId),
    Refence(LeaseId, FencingToken),
    Register(LeaseId),
    Sweep(usize),
    Rebuild(Vec<LiveHold>, Option<Timestamp>),
    Adopt(LiveHold),
}

/// The common reply of model and Redis.
#[derive(Debug, Clone)]
pub struct ModelReplies {
    pub standings: Vec<LeaseStatus>,
    pub refusal: Option<LockRefusal>,
    pub events: Vec<LockEvent>,
}

#[derive(Clone)]
pub struct Bench {
    locks: Locks,
    connection: ClusterConnection,
}

/// The sources with a virtual clock.
pub fn sources() -> Sources {
    let mut sources = Sources::default();
    CLOCK.clone_into(&mut sources.first[0].text);
    assert_eq!(sources.first[0].name, "clock");
    sources
}

impl Bench {
    pub async fn open() -> Self {
        Self::at(&ade_testkit::Cluster::shared().await).await
    }

    pub async fn at(cluster: &ade_testkit::Cluster) -> Self {
        let client =
            ClusterClient::builder(cluster.urls()).response_timeout(PATIENCE).build().unwrap();
        let connection = client.get_async_connection().await.unwrap();
        let cluster = Cluster::patient(&cluster.urls().into());
        let locks = Locks { cluster, scripts: Arc::new(Scripts::new(&sources())) };
        Self { locks, connection }
    }

    /// Uses the same connections with other scripts.
    pub fn changed(&self, sources: &Sources) -> Self {
        let locks =
            Locks { cluster: self.locks.cluster.clone(), scripts: Arc::new(Scripts::new(sources)) };
        Self { locks, connection: self.connection.clone() }
    }

    /// Returns an empty space without an epoch.
    pub fn space(&self) -> ModelHarness {
        ModelHarness {
            bench: self.clone(),
            tenant: Namespace::fresh().tenant(),
            model: Model::default(),
            epoch: Epoch::FIRST,
            now: Timestamp::from_micros(1_800_000_000_123_457),
            is_worn_out: false,
            last_token: None,
        }
    }
}

pub struct ModelHarness {
    bench: Bench,
    pub tenant: TenantId,
    pub model: Model,
    /// The epoch that calls name.
    pub epoch: Epoch,
    pub now: Timestamp,
    /// Whether the counter of this epoch may be exhausted.
    pub is_worn_out: bool,
    last_token: Option<FencingToken>,
}

impl ModelHarness {
    pub fn pass(&mut self, micros: u64) {
        self.now = self.now.plus(Duration::from_micros(micros));
    }

    pub async fn call(&mut self, call: &LockCall) -> Result<ModelReplies, String> {
        let before = self.model.clone();
        let said = self.call_compared(call).await?;
        self.tokens_rise(&said)?;
        if self.is_worn_out {
            // Without numbers, grantable waiters keep waiting until the next epoch.
            return Ok(said);
        }
        oracles::check(&before, &self.model, self.now, call, &said)
            .map_err(|message| format!("{message}\nafter {call:?}"))?;
        Ok(said)
    }

    /// Runs a call without the oracles, which are slow for long queues.
    pub async fn call_compared(&mut self, call: &LockCall) -> Result<ModelReplies, String> {
        let said = self.call_quietly(call).await?;
        let found = Tables::read(&mut self.bench.connection, self.tenant).await;
        let found = found.map_err(|error| format!("{error}\nafter {call:?}"))?;
        same("tables", &found, &Tables::of(&self.model))
            .map_err(|message| format!("{message}\nafter {call:?}"))?;
        Ok(said)
    }

    /// Runs a call without comparing the tables, for the many calls that only prepare a case.
    pub async fn call_quietly(&mut self, call: &LockCall) -> Result<ModelReplies, String> {
        self.compare(call).await.map_err(|message| format!("{message}\nafter {call:?}"))
    }

    async fn compare(&mut self, call: &LockCall) -> Result<ModelReplies, String> {
        self.set_clock().await.map_err(|error| error.to_string())?;
        let space = LockNamespace { tenant: self.tenant, epoch: self.epoch };
        let (locks, model, epoch, now) =
            (self.bench.locks.clone(), &mut self.model, self.epoch, self.now);
        let one = |found: Result<Reply<LeaseStatus>, CoordError>, expected: Reply<LeaseStatus>| {
            settle(found, expected, |standing| vec![standing])
        };
        match call.clone() {
            LockCall::Acquire(request, arrival) => one(
                locks.acquire(space, &request, arrival).await,
                model.acquire(epoch, request, arrival, now),
            ),
            LockCall::Renew(ids) => {
                let expected = model.renew(epoch, &ids, now);
                settle(locks.renew(space, &ids).await, expected, |standings| standings)
            }
            LockCall::Release(id) => {
                one(locks.release(space, id).await, model.release(epoch, id, now))
            }
            LockCall::Cancel(id) => {
                one(locks.cancel(space, id).await, model.cancel(epoch, id, now))
            }
            LockCall::Break(id) => {
                one(locks.break_lease(space, id).await, model.break_lease(epoch, id, now))
            }
            LockCall::Refence(id, floor) => {
                one(locks.refence(space, id, floor).await, model.refence(epoch, id, floor, now))
            }
            LockCall::Register(id) => {
                one(locks.register(space, id).await, model.register(epoch, id, now))
            }
            LockCall::Adopt(hold) => {
                one(locks.adopt(space, &hold).await, model.adopt(epoch, hold, now))
            }
            LockCall::Sweep(limit) => {
                let expected = model.sweep(epoch, limit, now);
                settle(locks.sweep(space, limit).await, expected, |_| Vec::new())
            }
            LockCall::Rebuild(holds, until) => {
                let found = locks.rebuild(space, &holds, until).await;
                settle(found, model.rebuild(epoch, holds, until), |_| Vec::new())
            }
        }
    }

    /// Runs a script without the model, which is never half rebuilt.
    pub async fn alone(
        &mut self,
        request: &Request,
        arrival: Arrival,
    ) -> Result<LeaseStatus, LockRefusal> {
        self.set_clock().await.unwrap();
        let space = LockNamespace { tenant: self.tenant, epoch: self.epoch };
        self.bench.locks.acquire(space, request, arrival).await.unwrap().answer
    }

    /// Sends one page of a rebuild without the model, which has no pages.
    pub async fn page(
        &mut self,
        builder: u128,
        number: usize,
        is_last: bool,
        holds: &[LiveHold],
    ) -> Result<usize, LockRefusal> {
        self.set_clock().await.unwrap();
        let space = LockNamespace { tenant: self.tenant, epoch: self.epoch };
        let builder = Uuid::from_u128(builder);
        let page = Page { builder, number, is_last, unsure_until: None, holds: holds.iter() };
        self.bench.locks.rebuild_page(space, page).await.unwrap()
    }

    async fn set_clock(&mut self) -> Result<(), redis::RedisError> {
        let mut command = redis::cmd("SET");
        command.arg(self.clock()).arg(self.now.micros());
        command.query_async(&mut self.bench.connection).await
    }

    fn clock(&self) -> String {
        format!("{}-now", keys::LOCK_BOOK.of(self.tenant))
    }

    /// Tokens must be unique over all epochs of the space.
    fn tokens_rise(&mut self, said: &ModelReplies) -> Result<(), String> {
        for event in &said.events {
            if let LockEvent::Acquired { token, .. } | LockEvent::Promoted { token, .. } = event {
                if Some(*token) <= self.last_token {
                    return Err(format!("token {token} after {:?}", self.last_token));
                }
                self.last_token = Some(*token);
            }
        }
        Ok(())
    }

    pub async fn clear(mut self) {
        let mut command = redis::cmd("UNLINK");
        command.arg(&super::super::tables(self.tenant)).arg(self.clock());
        let _ = command.query_async::<i64>(&mut self.bench.connection).await;
    }
}

fn settle<T: PartialEq + Debug + Clone>(
    found: Result<Reply<T>, CoordError>,
    expected: Reply<T>,
    standings: impl FnOnce(T) -> Vec<LeaseStatus>,
) -> Result<ModelReplies, String> {
    let found = found.map_err(|error| error.to_string())?;
    same("reply", &found, &expected)?;
    let Reply { answer, events } = expected;
    let refusal = answer.as_ref().err().cloned();
    let standings = answer.ok().map(standings).unwrap_or_default();
    Ok(ModelReplies { standings, refusal, events })
}

fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: Redis has\n{found:#?}\nthe model has\n{expected:#?}"))
}
