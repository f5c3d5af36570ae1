//! Epochs: one rebuild wins, what survives it, who returns where, and holders that the space had
//! lost.

use ade_core::lock::{FencingToken, Mode, Order, Request, RequestDraft};

use super::*;
use crate::sample::*;

fn two() -> Epoch {
    Epoch::new(2).unwrap()
}

fn live(request: Request, counter: u64, deadline_ms: i64) -> LiveHold {
    LiveHold { request, token: token(counter), deadline: at(deadline_ms) }
}

#[test]
fn rebuild_of_one_epoch_succeeds_exactly_once() {
    let mut space = Space::default();
    let hold = live(ask(1, 1, &[("a", X)]), 7, 100);
    assert_eq!(space.rebuild(two(), [hold], None).answer, Ok(1));
    let after = space.clone();
    let stale = Err(LockRefusal::StaleEpoch { stored: two() });
    assert_eq!(space.rebuild(two(), [], None).answer, stale);
    assert_eq!(space.rebuild(Epoch::FIRST, [], None).answer, stale);
    assert_eq!(space, after);
    let three = Epoch::new(3).unwrap();
    assert_eq!(space.rebuild(three, [], None).answer, Ok(0));
}

#[test]
fn rebuild_keeps_registered_holds_and_nothing_else() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    let hold = live(ask(1, 1, &[("a", X)]), 1, 30_000);
    assert_eq!(desk.space.rebuild(two(), [hold], None).answer, Ok(1));
    let deadline = at(30_000);
    let token = token(1);
    assert_eq!(desk.space.standing(lease(1)), LeaseStatus::Granted { token, deadline });
    assert!(desk.space.lease(lease(1)).unwrap().registered);
    assert_eq!(desk.state(2), None);
    assert_eq!(desk.line("a"), []);
    assert_eq!(desk.space.epoch(), Some(two()));
    let fresh = desk.space.acquire(two(), ask(4, 4, &[("b", X)]), Arrival::New, at(0));
    let first = FencingToken::new(two(), 1).unwrap();
    assert!(matches!(fresh.answer, Ok(LeaseStatus::Granted { token, .. }) if token == first));
}

#[test]
fn rebuild_returns_waiters_to_their_old_places() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    for number in 2..=4 {
        desk.queue(ask(number, number, &[("a", X)]), 0);
    }
    let old: Vec<Order> =
        (2..=4).map(|number| desk.space.lease(lease(number)).unwrap().order.unwrap()).collect();
    let hold = live(ask(1, 1, &[("a", X)]), 1, 30_000);
    desk.space.rebuild(two(), [hold], None).answer.unwrap();
    let mut come = |number, arrival| {
        let request = ask(number, number, &[("a", X)]);
        desk.space.acquire(two(), request, arrival, at(1)).answer.unwrap()
    };
    come(9, Arrival::New);
    come(4, Arrival::Waited(old[2]));
    come(2, Arrival::Waited(old[0]));
    let third = come(3, Arrival::Waited(old[1]));
    assert!(matches!(third, LeaseStatus::Waiting { order, .. } if order == old[1]));
    let line: Vec<_> = desk.space.queue(&resource("a")).map(|(id, _)| id).collect();
    assert_eq!(line, [lease(2), lease(3), lease(4), lease(9)]);
    assert_eq!(desk.space.orders, 1, "restored places use no new numbers");
}

#[test]
fn rebuild_ignores_a_place_of_the_current_epoch() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    let old = desk.space.lease(lease(2)).unwrap().order.unwrap();
    desk.release(2, 0);
    desk.sweep(9, 10_000);
    desk.space
        .acquire(Epoch::FIRST, ask(2, 2, &[("a", X)]), Arrival::Waited(old), at(10_000))
        .answer
        .unwrap();
    assert_eq!(desk.line("a"), [lease(3), lease(2)]);
}

fn advisory(number: u128, wanted: &[(&str, Mode)]) -> Request {
    build(RequestDraft { class: LeaseClass::Advisory, ..draft(number, number, wanted) })
}

#[test]
fn rebuild_grace_period_admits_only_old_advisory_holders() {
    let until = at(1_000);
    let mut space = Space::default();
    space.rebuild(two(), [], Some(until)).answer.unwrap();
    let mut ask_for = |request: Request, arrival, now| {
        let reply = space.acquire(two(), request, arrival, at(now));
        reply.answer.map(|standing| matches!(standing, LeaseStatus::Granted { .. }))
    };
    let refused = Err(LockRefusal::Unsure { until });
    assert_eq!(ask_for(advisory(1, &[("a", X)]), Arrival::New, 999), refused);
    let current = Arrival::Held(FencingToken::new(two(), 1).unwrap());
    assert_eq!(ask_for(advisory(1, &[("a", X)]), current, 999), refused);
    let before = Arrival::Held(token(5));
    assert_eq!(ask_for(advisory(1, &[("a", X)]), before, 999), Ok(true));
    assert_eq!(ask_for(ask(2, 2, &[("b", X)]), Arrival::New, 0), Ok(true));
    assert_eq!(ask_for(advisory(3, &[("c", X)]), Arrival::New, 1_000), Ok(true));
}

#[test]
fn rebuild_readmits_advisory_holders_unless_a_hold_conflicts() {
    let mut space = Space::default();
    space.rebuild(two(), [], Some(at(1_000))).answer.unwrap();
    let mut come = |request, arrival| {
        let reply = space.acquire(two(), request, arrival, at(0));
        reply.answer.unwrap()
    };
    come(ask(1, 1, &[("a", S), ("b", X)]), Arrival::New);
    come(ask(2, 2, &[("a", X)]), Arrival::New);
    let again = Arrival::Held(token(5));
    let reader = come(advisory(3, &[("a", S)]), again);
    assert!(matches!(reader, LeaseStatus::Granted { .. }));
    let writer = come(advisory(4, &[("a", X)]), again);
    let second = Order::new(two(), 2, 0).unwrap();
    assert!(matches!(writer, LeaseStatus::Waiting { order, position: 2, .. } if order == second));
    let fenced = come(ask(5, 5, &[("a", S)]), again);
    assert!(matches!(fenced, LeaseStatus::Waiting { position: 3, .. }), "not advisory");
    let reply = space.acquire(two(), advisory(6, &[("a", S)]), again, at(999));
    assert!(matches!(reply.answer, Ok(LeaseStatus::Granted { .. })));
    let reply = space.acquire(two(), advisory(7, &[("a", S)]), again, at(1_000));
    let late = reply.answer.unwrap();
    assert!(matches!(late, LeaseStatus::Waiting { position: 4, .. }), "too late to claim");
}

#[test]
fn adopting_a_token_of_an_older_epoch_raises_nothing() {
    let mut space = Space::default();
    space.rebuild(two(), [], None).answer.unwrap();
    let hold = live(ask(1, 1, &[("a", X)]), 50, 5_000);
    space.adopt(two(), hold, at(0)).answer.unwrap();
    let reply = space.acquire(two(), ask(2, 2, &[("b", X)]), Arrival::New, at(0));
    let token = FencingToken::new(two(), 1).unwrap();
    let deadline = at(30_000);
    assert_eq!(reply.answer, Ok(LeaseStatus::Granted { token, deadline }));
}

#[test]
fn adopting_a_lost_hold_returns_the_caller_to_its_place() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X), ("b", X)]), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.queue(ask(4, 4, &[("b", X)]), 0);
    desk.release(1, 0);
    let old = desk.space.lease(lease(2)).unwrap().order;
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
    let standing = desk.adopt(live(ask(9, 9, &[("a", X)]), 50, 5_000), 10);
    assert_eq!(standing, granted(50, 5_000));
    assert_eq!(desk.events, [LockEvent::Displaced { lease: lease(2) }]);
    let back = desk.space.lease(lease(2)).unwrap();
    assert_eq!((back.state, back.order), (LeasePhase::Waiting, old));
    assert_eq!((back.token, back.deadline), (None, at(20_010)));
    assert_eq!(desk.line("a"), [lease(2), lease(3)]);
    assert_eq!(desk.line("b"), [lease(2), lease(4)]);
    desk.release(9, 11);
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
}

#[test]
fn displaced_grant_that_cannot_wait_is_broken_and_freed() {
    let mut desk = Desk::open();
    desk.hold(advisory(1, &[("a", S), ("b", X)]), 0);
    let hasty = RequestDraft { wait: ms(0), ..draft(2, 2, &[("a", S)]) };
    desk.hold(build(hasty), 0);
    desk.hold(ask(3, 3, &[("a", S)]), 0);
    desk.hold(ask(4, 4, &[("a", S)]), 0);
    desk.queue(ask(5, 5, &[("b", X)]), 0);
    desk.queue(ask(6, 3, &[("b", X)]), 0);
    desk.adopt(live(ask(9, 9, &[("a", X)]), 50, 5_000), 10);
    assert_eq!(desk.state(1), Some(LeasePhase::Broken), "advisory");
    assert_eq!(desk.state(2), Some(LeasePhase::Broken), "the request does not wait");
    assert_eq!(desk.state(3), Some(LeasePhase::Broken), "its owner is waiting already");
    assert_eq!(desk.state(4), Some(LeasePhase::Waiting));
    let fresh = desk.space.lease(lease(4)).unwrap().order.unwrap();
    assert_eq!(fresh, Order::new(Epoch::FIRST, 3, 0).unwrap());
    assert_eq!(desk.state(5), Some(LeasePhase::Granted), "b is free again");
    assert!(desk.events.contains(&LockEvent::Broken { lease: lease(1) }));
    desk.sweep(99, 10_009);
    assert_eq!(desk.state(1), Some(LeasePhase::Broken));
    desk.sweep(99, 10_010);
    assert_eq!(desk.state(1), None, "a tombstone like any other");
}

#[test]
fn displaced_grant_that_is_due_expires() {
    let mut desk = Desk::open();
    for number in 100..104 {
        let short =
            RequestDraft { ttl: ms(1), ..draft(number, number, &[(&format!("x{number}"), X)]) };
        desk.hold(build(short), 0);
    }
    let short = RequestDraft { ttl: ms(2), ..draft(1, 1, &[("a", X)]) };
    desk.hold(build(short), 0);
    desk.adopt(live(ask(9, 9, &[("a", X)]), 50, 5_000), 2);
    assert_eq!(desk.state(1), Some(LeasePhase::Expired));
    assert!(desk.events.contains(&LockEvent::Expired { lease: lease(1) }));
}

#[test]
fn adopting_a_slot_displaces_the_youngest_unregistered() {
    let mut desk = Desk::open();
    let slot = [("slots", counting(2))];
    desk.hold(ask(2, 2, &slot), 0);
    desk.hold(ask(1, 1, &slot), 0);
    let mut registered = desk.clone();
    registered.register(1, 0).unwrap();
    desk.adopt(live(ask(9, 9, &slot), 50, 5_000), 0);
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
    assert_eq!(desk.state(1), Some(LeasePhase::Waiting));
    registered.adopt(live(ask(9, 9, &slot), 50, 5_000), 0);
    assert_eq!(registered.state(2), Some(LeasePhase::Waiting));
    assert_eq!(registered.state(1), Some(LeasePhase::Granted));
}

#[test]
fn adopting_a_known_holder_only_marks_it() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let hold = live(ask(1, 1, &[("a", X)]), 50, 5_000);
    assert_eq!(desk.adopt(hold.clone(), 0), granted(50, 30_000));
    assert!(desk.space.lease(lease(1)).unwrap().registered);
    assert_eq!(desk.hold(ask(2, 2, &[("b", X)]), 0), token(51), "the token is not issued again");
    let older = live(ask(2, 2, &[("b", X)]), 7, 5_000);
    assert_eq!(desk.adopt(older, 0), granted(7, 30_000));
    assert_eq!(desk.hold(ask(3, 3, &[("c", X)]), 0), token(52));
    desk.release(1, 1);
    let state = LeasePhase::Released;
    assert_eq!(desk.adopt(hold, 1), LeaseStatus::Over { state });
    assert_eq!(desk.space.holders(&resource("a")).count(), 0);
}

#[test]
fn adopting_a_known_waiter_removes_it_from_the_queue() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X), ("b", X)]), 0);
    desk.queue(ask(3, 3, &[("b", X)]), 0);
    // PostgreSQL has only the part of it that is on a.
    desk.adopt(live(ask(2, 2, &[("a", X)]), 50, 5_000), 0);
    assert_eq!(desk.space.standing(lease(2)), granted(50, 5_000));
    assert_eq!(desk.state(1), Some(LeasePhase::Waiting));
    assert_eq!(desk.state(3), Some(LeasePhase::Granted));
}

#[test]
fn adopting_a_hold_that_closes_a_cycle_breaks_it() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.queue(ask(3, 1, &[("b", X)]), 0);
    // Owner 9 holds nothing here and waits for a; in PostgreSQL it holds b.
    let young = RequestDraft { birth: at(5), ..draft(4, 9, &[("a", X)]) };
    desk.queue(build(young), 0);
    desk.adopt(live(ask(9, 9, &[("b", X)]), 50, 5_000), 0);
    assert_eq!(desk.state(4), Some(LeasePhase::Victim));
    assert_eq!(desk.state(3), Some(LeasePhase::Waiting));
}

#[test]
fn adopting_what_the_owner_waits_for_ends_that_wait() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    desk.adopt(live(ask(9, 2, &[("a", X)]), 50, 5_000), 0);
    assert_eq!(desk.state(2), Some(LeasePhase::Victim), "it would wait for itself");
    assert_eq!(desk.state(1), Some(LeasePhase::Waiting));
}
