//! Random commands over few resources and owners, so that most of them collide. They come in any
//! order from callers, from operators, and from a PostgreSQL that has more data than Redis.

use std::time::Duration;

use ade_core::ids::{LeaseId, ProcessId, SessionId, TaskId};
use ade_core::lock::{
    Arrival, FencingToken, LeaseClass, LeasePhase, LiveHold, LockSet, Mode, Order, Owner, Request,
    RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::dice::Dice;
use super::rig::{Bench, LockCall, ModelHarness, ModelReplies};

/// Names with common prefixes.
const RESOURCES: [(&str, &str); 5] =
    [("db", "a"), ("db", "b"), ("db-x", "c"), ("slots", "d"), ("db", "a:2")];
const OWNERS: u128 = 6;
const LAST_COUNTER: u64 = (1 << 33) - 1;

pub struct World {
    pub rig: ModelHarness,
    dice: Dice,
    asked: Vec<Request>,
    /// The losses of the last rebuild: waits with their places, advisory grants with their tokens.
    lost: Vec<(Request, Arrival)>,
    forgotten: Option<LiveHold>,
}

impl World {
    pub fn new(bench: &Bench, seed: u64) -> Self {
        Self {
            rig: bench.space(),
            dice: Dice::new(seed),
            asked: Vec::new(),
            lost: Vec::new(),
            forgotten: None,
        }
    }

    /// Runs one step: time passes or a call is made. Returns the reply, if there was a call.
    pub async fn step(&mut self) -> Result<Option<ModelReplies>, String> {
        if self.rig.model.epoch().is_none() {
            // The first caller finds no epoch and is asked to rebuild the space.
            self.rig.call(&LockCall::Sweep(1)).await?;
            return self.rig.call(&LockCall::Rebuild(Vec::new(), None)).await.map(Some);
        }
        if self.rig.is_worn_out && self.dice.one_in(6) {
            return self.lose().await.map(Some);
        }
        let call = match self.dice.below(46) {
            0..15 => Some(self.ask()),
            15..17 => self.ask_again(),
            17..20 => self.renew(),
            20..25 => self.recent().map(LockCall::Release),
            25 => self.recent().map(LockCall::Cancel),
            26 => self.recent().map(LockCall::Break),
            27..29 => self.refence(),
            29..33 => self.recent().map(LockCall::Register),
            33 => Some(LockCall::Sweep(self.dice.below(5))),
            34..39 => {
                let passed = [1, 999, 399_000, 1_000_000, 3_500_000, 12_000_000];
                let passed = self.dice.pick(&passed);
                self.rig.pass(passed);
                None
            }
            39 => return self.lose().await.map(Some),
            40..43 => self.come_back(),
            43 => self.adopt(),
            44 => return self.ask_in_another_epoch().await,
            _ => self.adopt_known(),
        };
        match call {
            Some(call) => self.rig.call(&call).await.map(Some),
            None => Ok(None),
        }
    }

    fn set(&mut self) -> LockSet {
        loop {
            let mut wanted = Vec::new();
            for (kind, id) in RESOURCES {
                let mode = match self.dice.below(9) {
                    0 => Mode::Exclusive,
                    1 => Mode::Shared,
                    2 if kind == "slots" || self.dice.one_in(3) => {
                        let capacity = u32::try_from(self.dice.below(4) + 1).unwrap();
                        Mode::Counting { capacity }
                    }
                    _ => continue,
                };
                wanted.push((ResourceRef::new(kind, id).unwrap(), mode));
            }
            if let Ok(set) = LockSet::new(wanted) {
                return set;
            }
        }
    }

    fn owner(&mut self) -> Owner {
        let number = u128::try_from(self.dice.below(usize::try_from(OWNERS).unwrap())).unwrap();
        match number % 3 {
            0 => Owner::Task(TaskId::from_u128(number)),
            1 => Owner::Agent(ProcessId::from_u128(number)),
            _ => Owner::User(SessionId::from_u128(number)),
        }
    }

    fn request(&mut self, lease: LeaseId) -> Request {
        let millis = |ms| Duration::from_millis(ms);
        let delays = [None, Some(0), Some(700), Some(6_000)];
        let delay = self.dice.pick(&delays);
        let draft = RequestDraft {
            lease,
            owner: self.owner(),
            node: "node-1".to_owned(),
            birth: Timestamp::from_micros(i64::try_from(self.dice.below(3)).unwrap()),
            class: delay.map_or(LeaseClass::Advisory, |delay| LeaseClass::Fenced {
                lock_delay: millis(delay),
            }),
            set: self.set(),
            ttl: millis(self.dice.pick(&[400, 4_000, 20_000])),
            wait: millis(self.dice.pick(&[0, 500, 500, 5_000, 5_000, 20_000])),
            boost: self.dice.pick(&[0, 0, 0, 0, 1, 2, 3]),
        };
        Request::new(draft).unwrap()
    }

    fn ask(&mut self) -> LockCall {
        let number = u128::try_from(self.asked.len()).unwrap() + 1;
        // Scattered, so that ids do not sort like arrivals.
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) << 40 | number;
        let request = self.request(LeaseId::from_u128(scattered));
        self.asked.push(request.clone());
        // Some claim an earlier place that they never had.
        let arrival = match self.dice.below(24) {
            0 => self.made_up_place().map_or(Arrival::New, Arrival::Waited),
            1 => self.some_token().map_or(Arrival::New, Arrival::Held),
            _ => Arrival::New,
        };
        LockCall::Acquire(request, arrival)
    }

    fn made_up_place(&mut self) -> Option<Order> {
        let orders: Vec<Order> = self.rig.model.leases().filter_map(|lease| lease.order).collect();
        self.dice.maybe(&orders)
    }

    fn some_token(&mut self) -> Option<FencingToken> {
        let tokens: Vec<FencingToken> =
            self.rig.model.leases().filter_map(|lease| lease.token).collect();
        self.dice.maybe(&tokens)
    }

    /// Sends the same id again: unchanged, with another wait, or with another set.
    fn ask_again(&mut self) -> Option<LockCall> {
        let known = self.recent_request()?;
        let request = match self.dice.below(3) {
            0 => self.request(known.lease()),
            _ => known,
        };
        Some(LockCall::Acquire(request, Arrival::New))
    }

    fn recent_request(&mut self) -> Option<Request> {
        let from = self.asked.len().saturating_sub(12);
        self.dice.maybe(&self.asked[from..])
    }

    /// Returns one of the last few leases, mostly: older ones are tombstones or gone.
    fn recent(&mut self) -> Option<LeaseId> {
        self.recent_request().map(|request| request.lease())
    }

    fn renew(&mut self) -> Option<LockCall> {
        let count = self.dice.below(4) + 1;
        let ids: Option<Vec<LeaseId>> = (0..count).map(|_| self.recent()).collect();
        Some(LockCall::Renew(ids?))
    }

    fn refence(&mut self) -> Option<LockCall> {
        let id = self.recent()?;
        let epoch = self.rig.epoch;
        let last = self.rig.model.leases().filter_map(|lease| lease.token).max();
        let last = last.filter(|token| token.epoch() == epoch).map_or(0, FencingToken::counter);
        let above = u64::try_from(self.dice.below(9)).unwrap();
        let floor = match self.dice.below(12) {
            0 => FencingToken::new(epoch.next()?, above),
            1 => self.some_token(),
            2 if self.dice.one_in(4) => {
                self.rig.is_worn_out = true;
                FencingToken::new(epoch, LAST_COUNTER - above % 3)
            }
            _ => FencingToken::new(epoch, (last + above).min(LAST_COUNTER)),
        };
        Some(LockCall::Refence(id, floor?))
    }

    /// Redis loses its data and is rebuilt from PostgreSQL; now and then one row comes too late.
    async fn lose(&mut self) -> Result<ModelReplies, String> {
        let now = self.rig.now;
        let live = self.rig.model.leases().filter(|lease| !lease.is_due(now));
        self.lost.clear();
        let mut holds = Vec::new();
        for lease in live {
            let request = lease.request.clone();
            match (lease.state, lease.token, lease.order) {
                (LeasePhase::Waiting, _, Some(order)) => {
                    self.lost.push((request, Arrival::Waited(order)));
                }
                (LeasePhase::Granted, Some(token), _) if lease.registered => {
                    holds.push(LiveHold { request, token, deadline: lease.deadline });
                }
                (LeasePhase::Granted, Some(token), _)
                    if request.class() == LeaseClass::Advisory =>
                {
                    self.lost.push((request, Arrival::Held(token)));
                }
                _ => {}
            }
        }
        self.forgotten = None;
        if !holds.is_empty() && self.dice.one_in(2) {
            self.forgotten = Some(holds.remove(self.dice.below(holds.len())));
        }
        let until = (!self.dice.one_in(3)).then(|| now.plus(Duration::from_secs(2)));
        self.rig.epoch = self.rig.epoch.next().ok_or("no epoch is left")?;
        self.rig.is_worn_out = false;
        self.rig.call(&LockCall::Rebuild(holds, until)).await
    }

    fn come_back(&mut self) -> Option<LockCall> {
        if self.lost.is_empty() {
            return self.renew();
        }
        let (request, arrival) = self.lost.remove(self.dice.below(self.lost.len()));
        Some(LockCall::Acquire(request, arrival))
    }

    fn adopt(&mut self) -> Option<LockCall> {
        let hold = self.forgotten.take()?;
        self.fits_registered(&hold).then_some(LockCall::Adopt(hold))
    }

    /// PostgreSQL has registered a lease that Redis still counts as waiting, as granted, or as
    /// over.
    fn adopt_known(&mut self) -> Option<LockCall> {
        let known: Vec<_> = self
            .rig
            .model
            .leases()
            .filter(|lease| lease.request.class() != LeaseClass::Advisory)
            .cloned()
            .collect();
        let lease = self.dice.maybe(&known)?;
        let last = known.iter().filter_map(|lease| lease.token).max();
        let counter = last.map_or(0, FencingToken::counter) + 1;
        let token = lease.token.or_else(|| FencingToken::new(self.rig.epoch, counter))?;
        let deadline = self.rig.now.plus(lease.request.ttl());
        let hold = LiveHold { request: lease.request, token, deadline };
        self.fits_registered(&hold).then_some(LockCall::Adopt(hold))
    }

    /// PostgreSQL does not register two leases that conflict.
    fn fits_registered(&self, hold: &LiveHold) -> bool {
        let registered: Vec<_> = self
            .rig
            .model
            .leases()
            .filter(|lease| lease.registered && lease.request.lease() != hold.request.lease())
            .filter(|lease| matches!(lease.state, LeasePhase::Granted | LeasePhase::Delayed))
            .collect();
        hold.request.set().iter().all(|(resource, mode)| {
            let sets = registered.iter().map(|lease| lease.request.set());
            mode.fits_beside(sets.filter_map(|set| set.mode_of(resource)))
        })
    }

    /// A worker uses an outdated epoch, or already knows the next one.
    async fn ask_in_another_epoch(&mut self) -> Result<Option<ModelReplies>, String> {
        let own = self.rig.epoch;
        let other = match self.dice.below(2) {
            0 => own.next(),
            _ => ade_core::lock::Epoch::new(own.number() - 1),
        };
        let Some(other) = other else {
            return Ok(None);
        };
        let call = match self.dice.below(4) {
            0 => Some(self.ask()),
            1 => self.renew(),
            2 => self.recent().map(LockCall::Release),
            // Rebuilds an epoch that exists already, or an older one.
            _ if other < own => Some(LockCall::Rebuild(Vec::new(), None)),
            _ => Some(LockCall::Sweep(3)),
        };
        let Some(call) = call else {
            return Ok(None);
        };
        self.rig.epoch = other;
        let said = self.rig.call(&call).await;
        self.rig.epoch = own;
        said.map(Some)
    }
}
