//! The reply of each command, case by case. Properties over random sequences are in
//! `property_tests`, known traps in `trap_tests`.

use ade_core::limits::LEASE_CLAIM_TTL;
use ade_core::lock::{Order, RequestDraft};

use super::*;
use crate::sample::*;

const OVER_RELEASED: LeaseStatus = LeaseStatus::Over { state: LeasePhase::Released };

fn waiting(position: usize, counter: u64, deadline_ms: i64) -> LeaseStatus {
    LeaseStatus::Waiting {
        position,
        order: Order::new(Epoch::FIRST, counter, 0).unwrap(),
        deadline: at(deadline_ms),
    }
}

#[test]
fn acquire_of_a_free_set_is_granted_with_the_full_ttl() {
    let mut desk = Desk::open();
    let standing = desk.acquire(ask(1, 1, &[("a", X), ("b", S)]), 5);
    assert_eq!(standing, granted(1, 30_005));
    let (lease, token) = (lease(1), token(1));
    assert_eq!(desk.events, [LockEvent::Acquired { lease, token }]);
    let holders = |name| desk.space.holders(&resource(name)).collect::<Vec<_>>();
    assert_eq!(holders("a"), [(lease, X)]);
    assert_eq!(holders("b"), [(lease, S)]);
    assert_eq!(desk.space.leases().count(), 1);
    assert_eq!(desk.space.epoch(), Some(Epoch::FIRST));
}

#[test]
fn acquire_of_a_blocked_set_takes_nothing_and_waits() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("b", X)]), 0);
    let standing = desk.acquire(ask(2, 2, &[("a", X), ("b", X)]), 7);
    assert_eq!(standing, waiting(1, 1, 20_007));
    let (lease, position) = (lease(2), 1);
    assert_eq!(desk.events, [LockEvent::Queued { lease, position }]);
    assert_eq!(desk.space.holders(&resource("a")).count(), 0);
    assert_eq!(desk.line("a"), [lease]);
    assert_eq!(desk.line("b"), [lease]);
}

#[test]
fn position_is_the_one_in_the_longest_queue() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X), ("b", X)]), 0);
    assert_eq!(desk.queue(ask(2, 2, &[("b", X)]), 0), 1);
    assert_eq!(desk.queue(ask(3, 3, &[("b", X)]), 0), 2);
    assert_eq!(desk.queue(ask(4, 4, &[("a", X), ("b", X)]), 0), 3);
    assert_eq!(desk.queue(ask(5, 5, &[("a", X)]), 0), 2);
}

#[test]
fn acquire_with_the_same_id_is_idempotent() {
    let mut desk = Desk::open();
    let first = desk.acquire(ask(1, 1, &[("a", X)]), 0);
    assert_eq!(desk.acquire(ask(1, 1, &[("a", X)]), 9), first);
    assert_eq!(desk.events, []);
    let second = desk.acquire(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.acquire(ask(2, 2, &[("a", X)]), 9), second);
    assert_eq!(desk.line("a"), [lease(2)]);
}

#[test]
fn acquire_with_the_same_id_for_another_set_is_refused() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let refused = desk.try_acquire(ask(1, 1, &[("b", X)]), 0);
    assert_eq!(refused, Err(LockRefusal::OtherRequest));
}

#[test]
fn acquire_duplicate_is_answered_by_the_tombstone() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    assert_eq!(desk.release(1, 5), OVER_RELEASED);
    assert_eq!(desk.acquire(ask(1, 1, &[("a", X)]), 10_004), OVER_RELEASED);
    assert_eq!(desk.acquire(ask(1, 1, &[("a", X)]), 10_005), granted(2, 40_005));
}

#[test]
fn busy_names_the_first_blocking_resource() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("b", X), ("c", X)]), 0);
    let request =
        build(RequestDraft { wait: ms(0), ..draft(2, 2, &[("c", X), ("b", S), ("a", X)]) });
    let refused = desk.try_acquire(request, 0);
    let resource = resource("b");
    assert_eq!(refused, Err(LockRefusal::Busy { resource }));
    assert_eq!(desk.state(2), None);
}

#[test]
fn acquire_refused_uses_no_place() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let request = build(RequestDraft { wait: ms(0), boost: 5, ..draft(2, 2, &[("a", X)]) });
    desk.try_acquire(request, 0).unwrap_err();
    assert_eq!(desk.acquire(ask(3, 3, &[("a", X)]), 0), waiting(1, 1, 20_000));
    assert_eq!(desk.acquire(ask(4, 4, &[("a", X)]), 0), waiting(2, 2, 20_000));
}

#[test]
fn acquire_after_an_expired_wait_is_allowed() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    for number in 100..104 {
        let short =
            RequestDraft { ttl: ms(1), ..draft(number, number, &[(&format!("x{number}"), X)]) };
        desk.hold(build(short), 0);
    }
    let short = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X)]) };
    desk.queue(build(short), 0);
    let refused = desk.clone().try_acquire(ask(3, 2, &[("b", X)]), 9);
    let lease = lease(2);
    assert_eq!(refused, Err(LockRefusal::AlreadyWaiting { lease }));
    desk.hold(ask(3, 2, &[("b", X)]), 10);
    assert!(desk.events.contains(&LockEvent::TimedOut { lease }));
}

#[test]
fn own_hold_refuses_only_what_it_alone_blocks() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S), ("slots", counting(2))]), 0);
    desk.hold(ask(2, 2, &[("slots", counting(2))]), 0);
    // The other holder may leave, so this wait can end.
    assert_eq!(desk.queue(ask(3, 1, &[("slots", counting(2))]), 0), 1);
    // Shared holds of one owner do not conflict.
    desk.hold(ask(4, 4, &[("a", S)]), 0);
    desk.hold(ask(5, 4, &[("a", S)]), 0);
}

#[test]
fn acquire_waits_for_an_own_hold_in_its_lock_delay() {
    let mut desk = Desk::open();
    let lock_delay = ms(5_000);
    let registered =
        RequestDraft { class: LeaseClass::Fenced { lock_delay }, ..draft(1, 1, &[("a", X)]) };
    desk.hold(build(registered), 0);
    desk.register(1, 0).unwrap();
    assert_eq!(desk.queue(ask(2, 1, &[("a", X)]), 30_000), 1);
    desk.sweep(9, 35_000);
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
}

#[test]
fn acquire_waits_for_an_own_hold_that_is_due() {
    let mut desk = Desk::open();
    for number in 100..104 {
        let shorter =
            RequestDraft { ttl: ms(1), ..draft(number, number, &[(&format!("x{number}"), X)]) };
        desk.hold(build(shorter), 0);
    }
    let short = RequestDraft { ttl: ms(2), ..draft(1, 1, &[("a", X)]) };
    desk.hold(build(short), 0);
    // The small sweep of this call is used up by the four others.
    let mut late = desk.clone();
    assert_eq!(late.queue(ask(2, 1, &[("a", X)]), 2), 1);
    assert_eq!(late.sweep(9, 2), 1);
    assert_eq!(late.state(2), Some(LeasePhase::Granted));
    let refused = desk.try_acquire(ask(2, 1, &[("a", X)]), 1);
    let resource = resource("a");
    assert_eq!(refused, Err(LockRefusal::SelfConflict { resource }));
}

#[test]
fn promotion_grants_a_claim_until_the_first_renewal() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    let brief = RequestDraft { ttl: ms(100), ..draft(3, 3, &[("a", X)]) };
    desk.queue(build(brief), 0);
    desk.release(1, 50);
    let (promoted, second) = (lease(2), token(2));
    assert_eq!(
        desk.events,
        [
            LockEvent::Released { lease: lease(1) },
            LockEvent::Promoted { lease: promoted, token: second }
        ]
    );
    let claim = i64::try_from(LEASE_CLAIM_TTL.as_millis()).unwrap();
    assert_eq!(desk.space.standing(promoted), granted(2, 50 + claim));
    assert_eq!(desk.renew(2, 60), granted(2, 30_060));
    desk.release(2, 70);
    assert_eq!(desk.space.standing(lease(3)), granted(3, 170), "never longer than requested");
}

#[test]
fn renewal_is_the_heartbeat_of_a_wait() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.renew(2, 19_999), waiting(1, 1, 39_999));
    let state = LeasePhase::TimedOut;
    assert_eq!(desk.renew(2, 39_999), LeaseStatus::Over { state });
}

#[test]
fn renewal_answers_for_each_lease_in_turn() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.release(2, 0);
    let leases = [lease(9), lease(2), lease(1)];
    let reply = desk.space.renew(Epoch::FIRST, &leases, at(3));
    let expected = vec![LeaseStatus::Unknown, OVER_RELEASED, granted(1, 30_003)];
    assert_eq!(reply.answer, Ok(expected));
}

#[test]
fn release_ends_a_grant_or_a_wait_once() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.release(2, 1), OVER_RELEASED);
    assert_eq!(desk.events, [LockEvent::Released { lease: lease(2) }]);
    assert_eq!(desk.line("a"), []);
    assert_eq!(desk.release(1, 1), OVER_RELEASED);
    assert_eq!(desk.release(1, 2), OVER_RELEASED);
    assert_eq!(desk.events, [], "nothing happened the second time");
    assert_eq!(desk.release(9, 2), LeaseStatus::Unknown);
    assert_eq!(desk.space.holders(&resource("a")).count(), 0);
}

#[test]
fn cancel_takes_back_a_wait_but_not_a_grant() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.cancel(2, 1), OVER_RELEASED);
    assert_eq!(desk.cancel(1, 1), granted(1, 30_000));
    assert_eq!(desk.cancel(9, 1), LeaseStatus::Unknown);
}

#[test]
fn break_frees_a_holder_and_promotes_but_leaves_waits() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.break_lease(2, 1), waiting(1, 1, 20_000));
    let state = LeasePhase::Broken;
    assert_eq!(desk.break_lease(1, 1), LeaseStatus::Over { state });
    assert_eq!(desk.events[0], LockEvent::Broken { lease: lease(1) });
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
    assert_eq!(desk.renew(1, 2), LeaseStatus::Over { state });
    assert_eq!(desk.release(1, 2), LeaseStatus::Over { state });
}

#[test]
fn break_and_release_end_a_lock_delay() {
    let lock_delay = ms(5_000);
    let mut desk = Desk::open();
    for number in [1, 2] {
        let registered = RequestDraft {
            class: LeaseClass::Fenced { lock_delay },
            ..draft(number, number, &[(&format!("r{number}"), X)])
        };
        desk.hold(build(registered), 0);
        desk.register(number, 0).unwrap();
    }
    let until = at(35_000);
    assert_eq!(desk.renew(1, 30_000), LeaseStatus::Delayed { until });
    assert_eq!(desk.cancel(1, 30_000), LeaseStatus::Delayed { until });
    let state = LeasePhase::Broken;
    assert_eq!(desk.break_lease(1, 30_001), LeaseStatus::Over { state });
    assert_eq!(desk.release(2, 30_001), OVER_RELEASED);
}

#[test]
fn refence_raises_the_floor_and_mints_above_it() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    assert_eq!(desk.refence(1, token(40), 1), Ok(granted(41, 30_000)));
    assert_eq!(desk.hold(ask(2, 2, &[("b", X)]), 1), token(42));
    // A floor that is already passed only mints a new token.
    assert_eq!(desk.refence(1, token(3), 1), Ok(granted(43, 30_000)));
}

#[test]
fn refence_needs_a_live_unregistered_grant_of_this_epoch() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.refence(9, token(4), 0), Ok(LeaseStatus::Unknown));
    assert_eq!(desk.refence(2, token(4), 0), Ok(waiting(1, 1, 20_000)));
    let ahead = FencingToken::new(Epoch::new(2).unwrap(), 1).unwrap();
    let stored = Some(Epoch::FIRST);
    assert_eq!(desk.refence(1, ahead, 0), Err(LockRefusal::Rebuild { stored }));
    desk.register(1, 0).unwrap();
    let refused = desk.refence(1, token(4), 0);
    assert_eq!(refused, Err(LockRefusal::AlreadyRegistered));
    assert_eq!(desk.space.standing(lease(1)), granted(1, 30_000));
    let state = LeasePhase::Expired;
    assert_eq!(desk.refence(1, token(4), 30_000), Ok(LeaseStatus::Over { state }));
}

#[test]
fn refence_floor_of_an_older_epoch_is_ignored() {
    let two = Epoch::new(2).unwrap();
    let mut space = Space::default();
    space.rebuild(two, [], None).answer.unwrap();
    let request = ask(1, 1, &[("a", X)]);
    space.acquire(two, request, Arrival::New, at(0)).answer.unwrap();
    let answer = space.refence(two, lease(1), token(40), at(0)).answer;
    let token = FencingToken::new(two, 2).unwrap();
    let deadline = at(30_000);
    assert_eq!(answer, Ok(LeaseStatus::Granted { token, deadline }));
}

#[test]
fn exhausted_tokens_need_a_new_epoch_and_never_repeat() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    let last = token((1 << 33) - 1);
    let stored = Some(Epoch::FIRST);
    assert_eq!(desk.refence(1, last, 0), Err(LockRefusal::Rebuild { stored }));
    let refused = desk.try_acquire(ask(3, 3, &[("b", X)]), 0);
    assert_eq!(refused, Err(LockRefusal::Rebuild { stored }));
    desk.release(1, 0);
    assert_eq!(desk.state(2), Some(LeasePhase::Waiting), "no grant without a token");
}

#[test]
fn exhausted_places_need_a_new_epoch() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.space.orders = (1 << 33) - 1;
    let stored = Some(Epoch::FIRST);
    let refused = desk.try_acquire(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(refused, Err(LockRefusal::Rebuild { stored }));
    assert_eq!(desk.space.orders, (1 << 33) - 1);
}

#[test]
fn registration_mark_needs_a_live_fenced_grant() {
    let mut desk = Desk::open();
    let advisory = RequestDraft { class: LeaseClass::Advisory, ..draft(1, 1, &[("a", X)]) };
    desk.hold(build(advisory), 0);
    assert_eq!(desk.register(1, 0), Err(LockRefusal::NotFenced));
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert_eq!(desk.register(2, 0), Ok(waiting(1, 1, 20_000)));
    assert!(!desk.space.lease(lease(2)).unwrap().registered);
    desk.hold(ask(3, 3, &[("b", X)]), 0);
    assert_eq!(desk.register(3, 0), Ok(granted(2, 30_000)));
    assert!(desk.space.lease(lease(3)).unwrap().registered);
    assert_eq!(desk.register(9, 0), Ok(LeaseStatus::Unknown));
}

#[test]
fn counting_waiters_keep_room_for_those_before_them() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X), ("slots", counting(3))]), 0);
    // Waits for a only, but its slot is reserved.
    desk.queue(ask(2, 2, &[("a", X), ("slots", counting(3))]), 0);
    desk.hold(ask(3, 3, &[("slots", counting(3))]), 0);
    assert_eq!(desk.queue(ask(4, 4, &[("slots", counting(3))]), 0), 2);
    desk.release(3, 1);
    assert_eq!(desk.state(4), Some(LeasePhase::Granted));
    desk.release(1, 1);
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
}
