//! Short words for lock tests: one-letter resources, numbered leases and owners, milliseconds.

use std::time::Duration;

use super::*;
use crate::ids::{LeaseId, TaskId};
use crate::resource::ResourceRef;
use crate::time::Timestamp;

pub const X: Mode = Mode::Exclusive;
pub const S: Mode = Mode::Shared;

pub fn counting(capacity: u32) -> Mode {
    Mode::Counting { capacity }
}

pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + ms * 1_000)
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn lease(number: u128) -> LeaseId {
    LeaseId::from_u128(number)
}

pub fn owner(number: u128) -> Owner {
    Owner::Task(TaskId::from_u128(number))
}

pub fn resource(name: &str) -> ResourceRef {
    ResourceRef::new("db", name).unwrap()
}

pub fn set(wanted: &[(&str, Mode)]) -> LockSet {
    LockSet::new(wanted.iter().map(|(name, mode)| (resource(name), *mode))).unwrap()
}

/// Fenced, 30 s of lease, 20 s of wait, no boost, born at `at(0)`.
pub fn draft(lease_number: u128, owner_number: u128, wanted: &[(&str, Mode)]) -> RequestDraft {
    RequestDraft {
        lease: lease(lease_number),
        owner: owner(owner_number),
        node: "node-1".to_owned(),
        birth: at(0),
        class: Class::Fenced { lock_delay: Duration::ZERO },
        set: set(wanted),
        ttl: ms(30_000),
        wait: ms(20_000),
        boost: 0,
    }
}

pub fn build(draft: RequestDraft) -> Request {
    Request::new(draft).unwrap()
}

pub fn ask(lease_number: u128, owner_number: u128, wanted: &[(&str, Mode)]) -> Request {
    build(draft(lease_number, owner_number, wanted))
}

pub fn token(counter: u64) -> Token {
    Token::new(Epoch::FIRST, counter).unwrap()
}

pub fn granted(counter: u64, deadline_ms: i64) -> Standing {
    Standing::Granted { token: token(counter), deadline: at(deadline_ms) }
}

/// A space in its first epoch, with every command at that epoch; answers must not be refused
/// unless the name of the call says so.
#[derive(Debug, Clone)]
pub struct Desk {
    pub space: Space,
    pub events: Vec<Event>,
}

impl Desk {
    pub fn open() -> Self {
        let mut space = Space::default();
        space.rebuild(Epoch::FIRST, [], None).answer.unwrap();
        Self { space, events: Vec::new() }
    }

    fn keep<T>(&mut self, reply: Reply<T>) -> Result<T, Refusal> {
        self.events = reply.events;
        reply.answer
    }

    pub fn try_acquire(&mut self, request: Request, now: i64) -> Result<Standing, Refusal> {
        let reply = self.space.acquire(Epoch::FIRST, request, Arrival::New, at(now));
        self.keep(reply)
    }

    pub fn acquire(&mut self, request: Request, now: i64) -> Standing {
        self.try_acquire(request, now).unwrap()
    }

    /// Holds at once, with this token.
    pub fn hold(&mut self, request: Request, now: i64) -> Token {
        match self.acquire(request, now) {
            Standing::Granted { token, .. } => token,
            other => panic!("not granted: {other:?}"),
        }
    }

    /// Waits, at this position.
    pub fn queue(&mut self, request: Request, now: i64) -> usize {
        match self.acquire(request, now) {
            Standing::Waiting { position, .. } => position,
            other => panic!("not queued: {other:?}"),
        }
    }

    pub fn renew(&mut self, number: u128, now: i64) -> Standing {
        let reply = self.space.renew(Epoch::FIRST, &[lease(number)], at(now));
        self.keep(reply).unwrap().remove(0)
    }

    pub fn release(&mut self, number: u128, now: i64) -> Standing {
        let reply = self.space.release(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn cancel(&mut self, number: u128, now: i64) -> Standing {
        let reply = self.space.cancel(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn break_lease(&mut self, number: u128, now: i64) -> Standing {
        let reply = self.space.break_lease(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn register(&mut self, number: u128, now: i64) -> Result<Standing, Refusal> {
        let reply = self.space.register(Epoch::FIRST, lease(number), at(now));
        self.keep(reply)
    }

    pub fn refence(&mut self, number: u128, floor: Token, now: i64) -> Result<Standing, Refusal> {
        let reply = self.space.refence(Epoch::FIRST, lease(number), floor, at(now));
        self.keep(reply)
    }

    pub fn adopt(&mut self, hold: LiveHold, now: i64) -> Standing {
        let reply = self.space.adopt(Epoch::FIRST, hold, at(now));
        self.keep(reply).unwrap()
    }

    pub fn sweep(&mut self, limit: usize, now: i64) -> usize {
        let reply = self.space.sweep(Epoch::FIRST, limit, at(now));
        self.keep(reply).unwrap()
    }

    pub fn state(&self, number: u128) -> Option<State> {
        self.space.lease(lease(number)).map(|lease| lease.state)
    }

    pub fn line(&self, name: &str) -> Vec<LeaseId> {
        self.space.queue(&resource(name)).map(|(id, _)| id).collect()
    }
}
