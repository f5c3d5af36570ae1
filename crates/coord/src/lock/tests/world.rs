//! Random commands over few resources and owners, so that collisions are the rule: what callers,
//! operators and a PostgreSQL that knows more than Redis would send, in any order.

use std::time::Duration;

use ade_core::ids::{AgentSessionId, LeaseId, SessionId, TaskId};
use ade_core::lock::{
    Arrival, Class, LiveHold, LockSet, Mode, Order, Owner, Request, RequestDraft, State, Token,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;

use super::dice::Dice;
use super::rig::{Bench, Call, Rig, Said};

/// Names that begin alike.
const RESOURCES: [(&str, &str); 5] =
    [("db", "a"), ("db", "b"), ("db-x", "c"), ("slots", "d"), ("db", "a:2")];
const OWNERS: u128 = 6;
const LAST_COUNTER: u64 = (1 << 33) - 1;

pub struct World {
    pub rig: Rig,
    dice: Dice,
    asked: Vec<Request>,
    /// What the last rebuild lost: waits with their places, advisory grants with their tokens.
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

    /// One step: time passes or a call is made. Tells what was said, if anything was asked.
    pub async fn step(&mut self) -> Result<Option<Said>, String> {
        if self.rig.model.epoch().is_none() {
            // Whoever comes first finds nothing, and is told to rebuild it.
            self.rig.call(&Call::Sweep(1)).await?;
            return self.rig.call(&Call::Rebuild(Vec::new(), None)).await.map(Some);
        }
        if self.rig.is_worn_out && self.dice.one_in(6) {
            return self.lose().await.map(Some);
        }
        let call = match self.dice.below(46) {
            0..15 => Some(self.ask()),
            15..17 => self.ask_again(),
            17..20 => self.renew(),
            20..25 => self.recent().map(Call::Release),
            25 => self.recent().map(Call::Cancel),
            26 => self.recent().map(Call::Break),
            27..29 => self.refence(),
            29..33 => self.recent().map(Call::Register),
            33 => Some(Call::Sweep(self.dice.below(5))),
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
            1 => Owner::Agent(AgentSessionId::from_u128(number)),
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
            class: delay
                .map_or(Class::Advisory, |delay| Class::Fenced { lock_delay: millis(delay) }),
            set: self.set(),
            ttl: millis(self.dice.pick(&[400, 4_000, 20_000])),
            wait: millis(self.dice.pick(&[0, 500, 500, 5_000, 5_000, 20_000])),
            boost: self.dice.pick(&[0, 0, 0, 0, 1, 2, 3]),
        };
        Request::new(draft).unwrap()
    }

    fn ask(&mut self) -> Call {
        let number = u128::try_from(self.asked.len()).unwrap() + 1;
        // Scattered, so that ids do not sort like arrivals.
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) << 40 | number;
        let request = self.request(LeaseId::from_u128(scattered));
        self.asked.push(request.clone());
        // Some claim a past that they never had.
        let arrival = match self.dice.below(24) {
            0 => self.made_up_place().map_or(Arrival::New, Arrival::Waited),
            1 => self.some_token().map_or(Arrival::New, Arrival::Held),
            _ => Arrival::New,
        };
        Call::Acquire(request, arrival)
    }

    fn made_up_place(&mut self) -> Option<Order> {
        let orders: Vec<Order> = self.rig.model.leases().filter_map(|lease| lease.order).collect();
        self.dice.maybe(&orders)
    }

    fn some_token(&mut self) -> Option<Token> {
        let tokens: Vec<Token> = self.rig.model.leases().filter_map(|lease| lease.token).collect();
        self.dice.maybe(&tokens)
    }

    /// The same id: as it was sent, with another patience, or with another set.
    fn ask_again(&mut self) -> Option<Call> {
        let known = self.recent_request()?;
        let request = match self.dice.below(3) {
            0 => self.request(known.lease()),
            _ => known,
        };
        Some(Call::Acquire(request, Arrival::New))
    }

    fn recent_request(&mut self) -> Option<Request> {
        let from = self.asked.len().saturating_sub(12);
        self.dice.maybe(&self.asked[from..])
    }

    /// Of the last few, mostly: older ones are tombstones or gone.
    fn recent(&mut self) -> Option<LeaseId> {
        self.recent_request().map(|request| request.lease())
    }

    fn renew(&mut self) -> Option<Call> {
        let count = self.dice.below(4) + 1;
        let ids: Option<Vec<LeaseId>> = (0..count).map(|_| self.recent()).collect();
        Some(Call::Renew(ids?))
    }

    fn refence(&mut self) -> Option<Call> {
        let id = self.recent()?;
        let epoch = self.rig.epoch;
        let last = self.rig.model.leases().filter_map(|lease| lease.token).max();
        let last = last.filter(|token| token.epoch() == epoch).map_or(0, Token::counter);
        let above = u64::try_from(self.dice.below(9)).unwrap();
        let floor = match self.dice.below(12) {
            0 => Token::new(epoch.next()?, above),
            1 => self.some_token(),
            2 if self.dice.one_in(4) => {
                self.rig.is_worn_out = true;
                Token::new(epoch, LAST_COUNTER - above % 3)
            }
            _ => Token::new(epoch, (last + above).min(LAST_COUNTER)),
        };
        Some(Call::Refence(id, floor?))
    }

    /// Redis is lost and rebuilt from what PostgreSQL knows; now and then one row comes too late.
    async fn lose(&mut self) -> Result<Said, String> {
        let now = self.rig.now;
        let live = self.rig.model.leases().filter(|lease| !lease.is_due(now));
        self.lost.clear();
        let mut holds = Vec::new();
        for lease in live {
            let request = lease.request.clone();
            match (lease.state, lease.token, lease.order) {
                (State::Waiting, _, Some(order)) => {
                    self.lost.push((request, Arrival::Waited(order)));
                }
                (State::Granted, Some(token), _) if lease.registered => {
                    holds.push(LiveHold { request, token, deadline: lease.deadline });
                }
                (State::Granted, Some(token), _) if request.class() == Class::Advisory => {
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
        self.rig.call(&Call::Rebuild(holds, until)).await
    }

    fn come_back(&mut self) -> Option<Call> {
        if self.lost.is_empty() {
            return self.renew();
        }
        let (request, arrival) = self.lost.remove(self.dice.below(self.lost.len()));
        Some(Call::Acquire(request, arrival))
    }

    fn adopt(&mut self) -> Option<Call> {
        let hold = self.forgotten.take()?;
        self.fits_registered(&hold).then_some(Call::Adopt(hold))
    }

    /// PostgreSQL has registered what Redis still counts as waiting, as granted, or as over.
    fn adopt_known(&mut self) -> Option<Call> {
        let known: Vec<_> = self
            .rig
            .model
            .leases()
            .filter(|lease| lease.request.class() != Class::Advisory)
            .cloned()
            .collect();
        let lease = self.dice.maybe(&known)?;
        let last = known.iter().filter_map(|lease| lease.token).max();
        let counter = last.map_or(0, Token::counter) + 1;
        let token = lease.token.or_else(|| Token::new(self.rig.epoch, counter))?;
        let deadline = self.rig.now.plus(lease.request.ttl());
        let hold = LiveHold { request: lease.request, token, deadline };
        self.fits_registered(&hold).then_some(Call::Adopt(hold))
    }

    /// PostgreSQL does not register two that conflict.
    fn fits_registered(&self, hold: &LiveHold) -> bool {
        let registered: Vec<_> = self
            .rig
            .model
            .leases()
            .filter(|lease| lease.registered && lease.request.lease() != hold.request.lease())
            .filter(|lease| matches!(lease.state, State::Granted | State::Delayed))
            .collect();
        hold.request.set().iter().all(|(resource, mode)| {
            let sets = registered.iter().map(|lease| lease.request.set());
            mode.fits_beside(sets.filter_map(|set| set.mode_of(resource)))
        })
    }

    /// A worker that kept an epoch too long, or that has heard of the next one first.
    async fn ask_in_another_epoch(&mut self) -> Result<Option<Said>, String> {
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
            2 => self.recent().map(Call::Release),
            // To rebuild what is there already, or what is newer.
            _ if other < own => Some(Call::Rebuild(Vec::new(), None)),
            _ => Some(Call::Sweep(3)),
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
