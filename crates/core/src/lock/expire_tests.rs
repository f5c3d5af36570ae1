//! Deadlines to the millisecond, the lock delay, the longest hold, and how far a sweep goes.

use std::time::Duration;

use super::*;
use crate::limits::{LEASE_TOMBSTONE_TTL, LEASE_TTL_MAX, LOCK_SWEEP_PER_CALL};
use crate::lock::sample::*;
use crate::lock::{Class, RequestDraft, Standing};

fn delayed(number: u128, delay_ms: u64) -> RequestDraft {
    RequestDraft {
        class: Class::Fenced { lock_delay: ms(delay_ms) },
        ..draft(number, number, &[("a", X)])
    }
}

#[test]
fn a_lease_ends_at_its_deadline_not_after() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    assert_eq!(desk.sweep(9, 29_999), 0);
    assert_eq!(desk.state(1), Some(State::Granted));
    assert_eq!(desk.sweep(9, 30_000), 1);
    assert_eq!(desk.events, [Event::Expired { lease: lease(1) }]);
    assert_eq!(desk.state(1), Some(State::Expired));
}

#[test]
fn an_expired_lease_is_not_revived_even_before_the_sweep() {
    let mut desk = Desk::open();
    for number in 0..=u128::try_from(LOCK_SWEEP_PER_CALL).unwrap() {
        desk.hold(ask(number, number, &[(&format!("r{number}"), X)]), 0);
    }
    let last = u128::try_from(LOCK_SWEEP_PER_CALL).unwrap();
    let state = State::Expired;
    assert_eq!(desk.renew(last, 30_000), Standing::Over { state });
}

#[test]
fn every_call_sweeps_a_little() {
    let mut desk = Desk::open();
    let count = LOCK_SWEEP_PER_CALL + 2;
    for number in 0..u128::try_from(count).unwrap() {
        desk.hold(ask(number, number, &[(&format!("r{number}"), X)]), 0);
    }
    desk.renew(999, 30_000);
    assert_eq!(desk.events.len(), LOCK_SWEEP_PER_CALL);
    assert_eq!(desk.state(0), Some(State::Expired), "earliest first");
    assert_eq!(desk.sweep(1, 30_000), 1);
    assert_eq!(desk.sweep(9, 30_000), 1);
    assert_eq!(desk.sweep(0, 99_000), 0);
}

#[test]
fn a_registered_hold_rests_for_its_lock_delay_counted_from_its_deadline() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.register(1, 0).unwrap();
    desk.queue(ask(2, 2, &[("a", X)]), 16_000);
    let until = at(35_000);
    assert_eq!(desk.sweep(9, 31_000), 1);
    assert_eq!(desk.events, [Event::Expired { lease: lease(1) }]);
    assert_eq!(desk.space.standing(lease(1)), Standing::Delayed { until });
    assert_eq!(desk.renew(1, 31_000), Standing::Delayed { until });
    assert_eq!(desk.sweep(9, 34_999), 0);
    assert_eq!(desk.sweep(9, 35_000), 1);
    assert_eq!(desk.state(1), Some(State::Expired));
    assert_eq!(desk.space.standing(lease(2)), granted(2, 38_000));
}

#[test]
fn a_late_sweep_adds_nothing_to_the_delay() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.register(1, 0).unwrap();
    assert_eq!(desk.sweep(9, 35_000), 2, "expiry and delay in one go");
    assert_eq!(desk.events, [Event::Expired { lease: lease(1) }]);
    assert_eq!(desk.state(1), Some(State::Expired));
}

#[test]
fn an_unregistered_hold_and_a_clean_release_have_no_delay() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 5_000)), 0);
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(State::Expired));
    desk.hold(build(delayed(2, 5_000)), 30_000);
    desk.register(2, 30_000).unwrap();
    desk.release(2, 30_001);
    assert_eq!(desk.state(2), Some(State::Released));
    desk.hold(ask(3, 3, &[("a", X)]), 30_001);
}

#[test]
fn a_registered_hold_without_delay_is_free_at_its_deadline() {
    let mut desk = Desk::open();
    desk.hold(build(delayed(1, 0)), 0);
    desk.register(1, 0).unwrap();
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(State::Expired));
}

#[test]
fn a_tombstone_stays_its_time_and_no_longer() {
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
    // It never shows life; the next one has it three seconds later.
    desk.sweep(9, 33_000);
    assert_eq!(desk.state(2), Some(State::Expired));
    assert_eq!(desk.space.standing(lease(3)), granted(3, 36_000));
}

#[test]
fn a_dead_waiter_is_never_handed_the_lock() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let dying = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X)]) };
    desk.queue(build(dying), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.space.release(crate::lock::Epoch::FIRST, lease(1), at(9)).answer.unwrap();
    assert_eq!(desk.state(2), Some(State::Granted), "alive at nine");

    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let dying = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X)]) };
    desk.queue(build(dying), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.release(1, 10);
    assert_eq!(desk.state(2), Some(State::TimedOut));
    assert_eq!(desk.state(3), Some(State::Granted));
}

#[test]
fn an_advisory_lease_is_kept_for_as_long_as_it_may_be_and_then_runs_out() {
    let mut desk = Desk::open();
    let millis = |length: Duration| i64::try_from(length.as_millis()).unwrap();
    let (ttl, end) = (millis(LEASE_TTL_MAX), millis(LOCK_HOLD_MAX));
    let advisory = |number: u128| RequestDraft {
        class: Class::Advisory,
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
    let spent = Standing::Spent { token: token(1), deadline: at(end) };
    assert_eq!(desk.renew(1, last + 1), spent, "it would be kept a moment too long");
    assert_eq!(desk.renew(2, last + 1), granted(2, end + 1), "the record judges this one");
    desk.queue(build(advisory(3)), end - 1_000);
    assert_eq!(desk.renew(1, end - 1), spent, "until then it holds");
    let state = State::Expired;
    assert_eq!(desk.renew(1, end), Standing::Over { state });
    // Counted from its own grant, not from when it began to wait.
    assert_eq!(desk.renew(3, end), granted(3, end + ttl));
}
