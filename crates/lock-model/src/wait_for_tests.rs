//! Edges, cycles, victims and roots in small spaces whose graph can be drawn by hand.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::lock::wait_for::RootBlocker;
use ade_core::lock::{LeaseClass, LockEvent, Owner, RequestDraft};

use super::*;
use crate::sample::*;

fn edges(desk: &Desk, now: i64) -> Vec<(Owner, Owner)> {
    wait_for(&desk.space, at(now)).edges().collect()
}

#[test]
fn wait_graph_points_at_conflicting_holders_and_waiters() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S)]), 0);
    desk.hold(ask(2, 2, &[("a", S)]), 0);
    desk.queue(ask(3, 3, &[("a", X)]), 0);
    desk.queue(ask(4, 4, &[("a", S)]), 0);
    desk.queue(ask(5, 5, &[("a", S)]), 0);
    let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(owner);
    let expected = [(three, one), (three, two), (four, three), (five, three)];
    assert_eq!(edges(&desk, 0), expected);
}

/// Builds the same graph from individual records.
fn from_records(desk: &Desk, now: i64) -> WaitFor {
    let (waiting, holding): (Vec<Lease>, Vec<Lease>) =
        desk.space.leases().cloned().partition(|lease| lease.state == LeasePhase::Waiting);
    WaitFor::between(&waiting, &holding, at(now))
}

#[test]
fn wait_graph_from_records_equals_the_one_from_the_space() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S), ("slots", counting(1))]), 0);
    desk.hold(ask(2, 2, &[("a", S), ("b", X)]), 0);
    desk.queue(ask(3, 3, &[("a", X), ("b", S)]), 0);
    desk.queue(ask(4, 4, &[("a", S), ("slots", counting(1))]), 0);
    desk.queue(ask(5, 5, &[("b", X)]), 0);
    for now in [0, 29_999, 30_000, 60_000] {
        assert_eq!(from_records(&desk, now), wait_for(&desk.space, at(now)), "{now}");
    }
    assert!(from_records(&desk, 0).edges().count() > 4);
}

#[test]
fn wait_graph_has_no_edges_for_counting_resources() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("slots", counting(1))]), 0);
    desk.queue(ask(2, 2, &[("slots", counting(1))]), 0);
    desk.queue(ask(3, 3, &[("slots", X)]), 0);
    desk.queue(ask(4, 4, &[("slots", X)]), 0);
    assert_eq!(edges(&desk, 0), [(owner(4), owner(3))]);
}

#[test]
fn wait_graph_has_no_edge_for_what_expires_by_itself() {
    let mut desk = Desk::open();
    let resting = RequestDraft {
        class: LeaseClass::Fenced { lock_delay: ms(60_000) },
        ..draft(1, 1, &[("a", X)])
    };
    desk.hold(build(resting), 0);
    desk.register(1, 0).unwrap();
    desk.queue(ask(2, 2, &[("a", X)]), 29_000);
    assert_eq!(edges(&desk, 29_999), [(owner(2), owner(1))]);
    assert_eq!(edges(&desk, 30_000), [], "due, though not yet swept");
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(LeasePhase::Delayed));
    assert_eq!(edges(&desk, 30_000), []);
    desk.queue(ask(3, 3, &[("a", X)]), 30_000);
    assert_eq!(edges(&desk, 30_000), [(owner(3), owner(2))]);
    assert_eq!(edges(&desk, 49_000), [], "an expired waiter does not block for long");
}

#[test]
fn wait_graph_ignores_expired_holds() {
    let mut desk = Desk::open();
    let resting = RequestDraft {
        class: LeaseClass::Fenced { lock_delay: ms(60_000) },
        ..draft(1, 1, &[("a", X)])
    };
    desk.hold(build(resting), 0);
    desk.register(1, 0).unwrap();
    desk.hold(ask(2, 2, &[("b", X)]), 20_000);
    desk.queue(ask(3, 1, &[("b", X)]), 29_000);
    // The hold of owner 1 on a is in its lock delay, so owner 2 only has to wait for time to pass.
    assert_eq!(desk.queue(ask(4, 2, &[("a", X)]), 30_000), 1);
    assert_eq!(desk.state(3), Some(LeasePhase::Waiting));
}

#[test]
fn cycle_check_needs_an_owner_that_holds_and_waits() {
    let mut desk = Desk::open();
    let gate = |desk: &Desk, now| may_have_cycle(&desk.space, at(now));
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert!(!gate(&desk, 0));
    desk.hold(ask(3, 3, &[("b", X)]), 0);
    desk.queue(ask(4, 3, &[("a", X)]), 0);
    assert!(gate(&desk, 0));
    assert!(!gate(&desk, 30_000), "its hold is due");
}

#[test]
fn deadlock_aborts_the_youngest_wait_and_keeps_its_hold() {
    let mut desk = Desk::open();
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        desk.hold(ask(number, number, &[(name, X)]), 0);
    }
    let wait = |number, who, birth, name| {
        build(RequestDraft { birth: at(birth), ..draft(number, who, &[(name, X)]) })
    };
    desk.queue(wait(11, 1, 10, "b"), 0);
    desk.queue(wait(12, 2, 30, "c"), 0);
    assert_eq!(desk.queue(wait(13, 3, 20, "a"), 0), 1);
    let victim = lease(12);
    let cycle = vec![lease(12), lease(13), lease(11)];
    assert_eq!(desk.events[1], LockEvent::Deadlock { victim, cycle });
    assert_eq!(desk.state(12), Some(LeasePhase::Victim));
    assert_eq!(desk.state(2), Some(LeasePhase::Granted));
    desk.release(2, 1);
    assert_eq!(desk.state(11), Some(LeasePhase::Granted), "the other waits continue");
}

#[test]
fn deadlock_of_equal_ages_aborts_the_higher_lease_id() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.queue(ask(21, 1, &[("b", X)]), 0);
    desk.queue(ask(12, 2, &[("a", X)]), 0);
    assert_eq!(desk.state(21), Some(LeasePhase::Victim));
    assert_eq!(desk.state(12), Some(LeasePhase::Waiting));
}

#[test]
fn deadlock_names_the_shortest_cycle_through_the_victim() {
    let graph = |pairs: &[(u128, u128)]| {
        let mut edges: BTreeMap<Owner, BTreeSet<Owner>> = BTreeMap::new();
        for (from, to) in pairs {
            edges.entry(owner(*from)).or_default().insert(owner(*to));
        }
        let waiters = (1..=4_u128).map(|number| Waiter {
            owner: owner(number),
            birth: at(i64::try_from(number).unwrap()),
            lease: lease(number),
            behind: edges.remove(&owner(number)).unwrap_or_default(),
        });
        waiters.collect::<WaitFor>()
    };
    let found = graph(&[(4, 1), (1, 2), (2, 4), (4, 3), (3, 4)]).deadlock();
    let found = found.unwrap();
    assert_eq!(found.victim, lease(4));
    assert_eq!(found.cycle, [lease(4), lease(3)]);
    assert_eq!(graph(&[(1, 2), (2, 3), (1, 3), (3, 4)]).deadlock(), None);
    let alone = graph(&[(2, 2)]).deadlock().unwrap();
    assert_eq!((alone.victim, alone.cycle), (lease(2), vec![lease(2)]));
    let tail = graph(&[(4, 1), (1, 2), (2, 1)]).deadlock().unwrap();
    assert_eq!(tail.victim, lease(2), "4 waits for a cycle but is not on it");
}

#[test]
fn root_blockers_are_sorted_by_how_many_they_block() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.hold(ask(3, 3, &[("c", X)]), 0);
    desk.queue(ask(12, 2, &[("c", X)]), 0);
    desk.queue(ask(14, 4, &[("b", X)]), 0);
    desk.queue(ask(15, 5, &[("a", X)]), 0);
    let roots = wait_for(&desk.space, at(0)).root_blockers();
    let expected =
        [(3, 2), (1, 1)].map(|(number, blocked)| RootBlocker { owner: owner(number), blocked });
    assert_eq!(roots, expected);
}
