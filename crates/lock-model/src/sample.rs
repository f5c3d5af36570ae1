//! The helpers of `ade_core::samples::locks`, and a space with every command for tests.

use ade_core::ids::LeaseId;
use ade_core::lock::{
    Arrival, Epoch, FencingToken, LeasePhase, LeaseStatus, LiveHold, LockEvent, LockRefusal, Reply,
    Request,
};
pub use ade_core::samples::locks::*;

use super::Space;

/// A space in its first epoch, with every command at that epoch. Replies must not be refusals
/// unless the name of the method says so.
#[derive(Debug, Clone)]
pub struct Desk {
    pub space: Space,
    pub events: Vec<LockEvent>,
}

impl Desk {
    pub fn open() -> Self {
        let mut space = Space::default();
        space.rebuild(Epoch::FIRST, [], None).answer.unwrap();
        Self { space, events: Vec::new() }
    }

    fn keep<T>(&mut self, reply: Reply<T>) -> Result<T, LockRefusal> {
        self.events = reply.events;
        reply.answer
    }

    pub fn try_acquire(&mut self, request: Request, now: i64) -> Result<LeaseStatus, LockRefusal> {
        let reply = self.space.acquire(Epoch::FIRST, request, Arrival::New, at(now));
        self.keep(reply)
    }

    pub fn acquire(&mut self, request: Request, now: i64) -> LeaseStatus {
        self.try_acquire(request, now).unwrap()
    }

    /// Acquires and must be granted at once; returns the token.
    pub fn hold(&mut self, request: Request, now: i64) -> FencingToken {
        match self.acquire(request, now) {
            LeaseStatus::Granted { token, .. } => token,
            other => panic!("not granted: {other:?}"),
        }
    }

    /// Acquires and must wait; returns the position.
    pub fn queue(&mut self, request: Request, now: i64) -> usize {
        match self.acquire(request, now) {
            LeaseStatus::Waiting { position, .. } => position,
            other => panic!("not queued: {other:?}"),
        }
    }

    pub fn renew(&mut self, number: u128, now: i64) -> LeaseStatus {
        let reply = self.space.renew(Epoch::FIRST, &[lease(number)], at(now));
        self.keep(reply).unwrap().remove(0)
    }

    pub fn release(&mut self, number: u128, now: i64) -> LeaseStatus {
        let reply = self.space.release(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn cancel(&mut self, number: u128, now: i64) -> LeaseStatus {
        let reply = self.space.cancel(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn break_lease(&mut self, number: u128, now: i64) -> LeaseStatus {
        let reply = self.space.break_lease(Epoch::FIRST, lease(number), at(now));
        self.keep(reply).unwrap()
    }

    pub fn register(&mut self, number: u128, now: i64) -> Result<LeaseStatus, LockRefusal> {
        let reply = self.space.register(Epoch::FIRST, lease(number), at(now));
        self.keep(reply)
    }

    pub fn refence(
        &mut self,
        number: u128,
        floor: FencingToken,
        now: i64,
    ) -> Result<LeaseStatus, LockRefusal> {
        let reply = self.space.refence(Epoch::FIRST, lease(number), floor, at(now));
        self.keep(reply)
    }

    pub fn adopt(&mut self, hold: LiveHold, now: i64) -> LeaseStatus {
        let reply = self.space.adopt(Epoch::FIRST, hold, at(now));
        self.keep(reply).unwrap()
    }

    pub fn sweep(&mut self, limit: usize, now: i64) -> usize {
        let reply = self.space.sweep(Epoch::FIRST, limit, at(now));
        self.keep(reply).unwrap()
    }

    pub fn state(&self, number: u128) -> Option<LeasePhase> {
        self.space.lease(lease(number)).map(|lease| lease.state)
    }

    pub fn line(&self, name: &str) -> Vec<LeaseId> {
        self.space.queue(&resource(name)).map(|(id, _)| id).collect()
    }
}
