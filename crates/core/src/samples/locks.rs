//! Short helpers for lock tests: one-letter resources, numbered leases and owners, milliseconds.
#![expect(clippy::unwrap_used, reason = "the samples are valid")]

use std::time::Duration;

use crate::ids::{LeaseId, TaskId};
use crate::lock::{
    Epoch, FencingToken, LeaseClass, LeaseStatus, LockSet, Mode, Owner, Request, RequestDraft,
};
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

/// A fenced request with a TTL of 30 s, a wait of 20 s, no boost, and an owner born at `at(0)`.
pub fn draft(lease_number: u128, owner_number: u128, wanted: &[(&str, Mode)]) -> RequestDraft {
    RequestDraft {
        lease: lease(lease_number),
        owner: owner(owner_number),
        node: "node-1".to_owned(),
        birth: at(0),
        class: LeaseClass::Fenced { lock_delay: Duration::ZERO },
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

pub fn token(counter: u64) -> FencingToken {
    FencingToken::new(Epoch::FIRST, counter).unwrap()
}

pub fn granted(counter: u64, deadline_ms: i64) -> LeaseStatus {
    LeaseStatus::Granted { token: token(counter), deadline: at(deadline_ms) }
}
