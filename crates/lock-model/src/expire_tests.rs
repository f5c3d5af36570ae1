//! Deadlines to the millisecond, the lock delay, the maximum age, and the extent of a sweep.

use std::time::Duration;

use ade_core::limits::{LEASE_TOMBSTONE_TTL, LEASE_TTL_MAX, LOCK_SWEEP_PER_CALL};
use ade_core::lock::{Epoch, LeaseClass, LeaseStatus, RequestDraft};

use super::*;
use crate::sample::*;

fn delayed(number: u128, delay_ms: u64) -> RequestDraft {
    RequestDraft {
        class: LeaseClass::Fenced { lock_delay: ms(delay_ms) },
        ..draft(number, number, &[("a", X)])
    }
}

#[test]
fn lease_expires_exactly_at_its_deadline() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    assert_eq!(desk.sweep(9, 29_999), 0);
    assert_eq!(desk.state(1), Some(LeasePhase::Granted));
    assert_eq!(desk.sweep(9, 30_000), 1);
    assert_eq!(desk.events, [LockEvent::Expired { lease: lease(1) }]);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
}

#[test]
fn lease_expired_is_not_revived_before_the_sweep() {
    let mut desk = Desk::open();
    for number in 0..=u128::try_from(LOCK_SWEEP_PER_CALL).unwrap() {
        desk.hold(ask(number, number, &[(&format!("r{number}"), X)]), 0);
    }
    let last = u128::try_from(LOCK_SWEEP_PER_CALL).unwrap();
    let state = LeasePhase::Expired;
    assert_eq!(desk.renew(last, 30_000), LeaseStatus::Over { state });
}

#[test]
fn sweep_runs_a_little_with_every_call() {
    let mut desk = Desk::open();
    let count = LOCK_SWEEP_PER_CALL + 2;
    for number in 0..u128::try_from(count).unwrap() {
        desk.hold(ask(number, number, &[(&format!("r{number}"), X)]), 0);
    }
    desk.renew(999, 30_000);
    assert_eq!(desk.events.len(), LOCK_SWEEP_PER_CALL);
    assert_eq!(desk.state(0), Some(LeasePhase::Expired), "earliest first");
    assert_eq!(desk.sweep(1, 30_000), 1);
    assert_eq!(desk.sweep(9, 30_000), 1);
    assert_eq!(desk.sweep(0, 99_000), 0);
}

#[test]
fn lock_delay_of_a_registered_hold_starts_at_its_deadline() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.register(1, 0).unwrap();
    desk.queue(ask(2, 2, &[("a", X)]), 16_000);
    let until = at(35_000);
    assert_eq!(desk.sweep(9, 31_000), 1);
    assert_eq!(desk.events, [LockEvent::Expired { lease: lease(1) }]);
    assert_eq!(desk.space.standing(lease(1)), LeaseStatus::Delayed { until });
    assert_eq!(desk.renew(1, 31_000), LeaseStatus::Delayed { until });
    assert_eq!(desk.sweep(9, 34_999), 0);
    assert_eq!(desk.sweep(9, 35_000), 1);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
    assert_eq!(desk.space.standing(lease(2)), granted(2, 38_000));
}

#[test]
fn lock_delay_is_not_extended_by_a_late_sweep() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.register(1, 0).unwrap();
    assert_eq!(desk.sweep(9, 35_000), 2, "expiry and delay in one go");
    assert_eq!(desk.events, [LockEvent::Expired { lease: lease(1) }]);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
}

#[test]
fn lock_delay_needs_a_registered_hold_that_expired() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
    desk.hold(build(delayed(2, 5_000)), 30_000);
    desk.register(2, 30_000).unwrap();
    desk.release(2, 30_001);
    assert_eq!(desk.state(2), Some(LeasePhase::Released));
    desk.hold(ask(3, 3, &[("a", X)]), 30_001);
}

#[test]
fn registered_hold_without_delay_is_free_at_its_deadline() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 0)), 0);
    desk.register(1, 0).unwrap();
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
}

#[test]
fn tombstone_is_removed_after_its_time() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.release(1, 100);
    let gone = 100 + i64::try_from(LEASE_TOMBSTONE_TTL.as_millis()).unwrap();
    assert_eq!(desk.sweep(9, gone - 1), 0);
    assert_eq!(desk.sweep(9, gone), 1);
    assert_eq!(desk.state(1), None);
    assert_eq!(desk.events, []);
}

#[test]
fn expiry_promotes_and_a_dead_waiter_costs_one_claim() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 15_000);
    desk.queue(ask(3, 3, &[("a", X)]), 15_000);
    desk.sweep(9, 30_000);
    assert_eq!(desk.space.standing(lease(2)), granted(2, 33_000));
    // It never responds; the next one is promoted three seconds later.
    desk.sweep(9, 33_000);
    assert_eq!(desk.state(2), Some(LeasePhase::Expired));
    assert_eq!(desk.space.standing(lease(3)), granted(3, 36_000));
}

#[test]
fn expired_waiter_is_never_granted() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let dying = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X)]) };
    desk.queue(build(dying), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.space.release(Epoch::FIRST, lease(1), at(9)).answer.unwrap();
    assert_eq!(desk.state(2), Some(LeasePhase::Granted), "the wait has not expired yet");

    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let dying = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X)]) };
    desk.queue(build(dying), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.release(1, 10);
    assert_eq!(desk.state(2), Some(LeasePhase::TimedOut));
    assert_eq!(desk.state(3), Some(LeasePhase::Granted));
}

#[test]
fn advisory_lease_expires_at_its_maximum_age() {
    let mut desk = Desk::open();
    let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap();
    let (ttl, end) = (millis(LEASE_TTL_MAX), millis(LOCK_HOLD_MAX));
    let advisory = |number: u128| RequestDraft {
        class: LeaseClass::Advisory,
        ttl: LEASE_TTL_MAX,
        ..draft(number, number, &[("a", X)])
    };
    let fenced = RequestDraft { ttl: LEASE_TTL_MAX, ..draft(2, 2, &[("b", X)]) };
    desk.hold(build(advisory(1)), 0);
    desk.hold(build(fenced), 0);
    let last = end - ttl;
    for now in (0..last).step_by(usize::try_from(ttl / 2).unwrap()).chain([last]) {
        assert_eq!(desk.renew(1, now), granted(1, now + ttl));
        desk.renew(2, now);
    }
    let spent = LeaseStatus::Spent { token: token(1), deadline: at(end) };
    assert_eq!(desk.renew(1, last + 1), spent, "a renewal would exceed the maximum age");
    assert_eq!(desk.renew(2, last + 1), granted(2, end + 1), "PostgreSQL checks this age");
    desk.queue(build(advisory(3)), end - 1_000);
    assert_eq!(desk.renew(1, end - 1), spent, "it is held until its deadline");
    let state = LeasePhase::Expired;
    assert_eq!(desk.renew(1, end), LeaseStatus::Over { state });
    // The age counts from its grant, not from the beginning of its wait.
    assert_eq!(desk.renew(3, end), granted(3, end + ttl));
}
