//! Edges, cycles, victims and roots in small spaces whose graph can be drawn by hand.

use super::*;
use crate::lock::sample::*;
use crate::lock::{Class, Event, RequestDraft};

fn edges(desk: &Desk, now: i64) -> Vec<(Owner, Owner)> {
    WaitFor::of(&desk.space, at(now)).edges().collect()
}

#[test]
fn a_waiter_points_at_conflicting_holders_and_earlier_waiters() {
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

/// The same graph, from records that were read one by one.
fn from_records(desk: &Desk, now: i64) -> WaitFor {
    let (waiting, holding): (Vec<Lease>, Vec<Lease>) =
        desk.space.leases().cloned().partition(|lease| lease.state == State::Waiting);
    WaitFor::between(&waiting, &holding, at(now))
}

#[test]
fn records_make_the_graph_that_the_space_makes() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S), ("slots", counting(1))]), 0);
    desk.hold(ask(2, 2, &[("a", S), ("b", X)]), 0);
    desk.queue(ask(3, 3, &[("a", X), ("b", S)]), 0);
    desk.queue(ask(4, 4, &[("a", S), ("slots", counting(1))]), 0);
    desk.queue(ask(5, 5, &[("b", X)]), 0);
    for now in [0, 29_999, 30_000, 60_000] {
        assert_eq!(from_records(&desk, now), WaitFor::of(&desk.space, at(now)), "{now}");
    }
    assert!(from_records(&desk, 0).edges().count() > 4);
}

#[test]
fn counting_resources_make_no_edges() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("slots", counting(1))]), 0);
    desk.queue(ask(2, 2, &[("slots", counting(1))]), 0);
    desk.queue(ask(3, 3, &[("slots", X)]), 0);
    desk.queue(ask(4, 4, &[("slots", X)]), 0);
    assert_eq!(edges(&desk, 0), [(owner(4), owner(3))]);
}

#[test]
fn what_time_alone_ends_makes_no_edge() {
    let mut desk = Desk::open();
    let resting = RequestDraft {
        class: Class::Fenced { lock_delay: ms(60_000) },
        ..draft(1, 1, &[("a", X)])
    };
    desk.hold(build(resting), 0);
    desk.register(1, 0).unwrap();
    desk.queue(ask(2, 2, &[("a", X)]), 29_000);
    assert_eq!(edges(&desk, 29_999), [(owner(2), owner(1))]);
    assert_eq!(edges(&desk, 30_000), [], "due, though not yet swept");
    desk.sweep(9, 30_000);
    assert_eq!(desk.state(1), Some(State::Delayed));
    assert_eq!(edges(&desk, 30_000), []);
    desk.queue(ask(3, 3, &[("a", X)]), 30_000);
    assert_eq!(edges(&desk, 30_000), [(owner(3), owner(2))]);
    assert_eq!(edges(&desk, 49_000), [], "a dead waiter blocks nobody for long");
}

#[test]
fn an_expired_hold_closes_no_cycle() {
    let mut desk = Desk::open();
    let resting = RequestDraft {
        class: Class::Fenced { lock_delay: ms(60_000) },
        ..draft(1, 1, &[("a", X)])
    };
    desk.hold(build(resting), 0);
    desk.register(1, 0).unwrap();
    desk.hold(ask(2, 2, &[("b", X)]), 20_000);
    desk.queue(ask(3, 1, &[("b", X)]), 29_000);
    // Owner 1's hold on a is over; it rests, and owner 2 only has to wait for time.
    assert_eq!(desk.queue(ask(4, 2, &[("a", X)]), 30_000), 1);
    assert_eq!(desk.state(3), Some(State::Waiting));
}

#[test]
fn the_gate_opens_only_when_somebody_holds_and_waits() {
    let mut desk = Desk::open();
    let gate = |desk: &Desk, now| WaitFor::may_have_cycle(&desk.space, at(now));
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    assert!(!gate(&desk, 0));
    desk.hold(ask(3, 3, &[("b", X)]), 0);
    desk.queue(ask(4, 3, &[("a", X)]), 0);
    assert!(gate(&desk, 0));
    assert!(!gate(&desk, 30_000), "its hold is due");
}

#[test]
fn the_youngest_of_a_cycle_loses_its_wait_and_keeps_its_hold() {
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
    assert_eq!(desk.events[1], Event::Deadlock { victim, cycle });
    assert_eq!(desk.state(12), Some(State::Victim));
    assert_eq!(desk.state(2), Some(State::Granted));
    desk.release(2, 1);
    assert_eq!(desk.state(11), Some(State::Granted), "the rest goes on");
}

#[test]
fn of_two_born_at_once_the_higher_lease_id_loses() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.queue(ask(21, 1, &[("b", X)]), 0);
    desk.queue(ask(12, 2, &[("a", X)]), 0);
    assert_eq!(desk.state(21), Some(State::Victim));
    assert_eq!(desk.state(12), Some(State::Waiting));
}

#[test]
fn the_cycle_named_is_the_shortest_through_the_victim() {
    let graph = |pairs: &[(u128, u128)]| {
        let mut edges: BTreeMap<Owner, BTreeSet<Owner>> = BTreeMap::new();
        for (from, to) in pairs {
            edges.entry(owner(*from)).or_default().insert(owner(*to));
        }
        let wait =
            |number: u128| Wait { birth: at(i64::try_from(number).unwrap()), lease: lease(number) };
        let waits = (1..=4).map(|number| (owner(number), wait(number)));
        WaitFor { edges, waits: waits.collect() }
    };
    let found = graph(&[(4, 1), (1, 2), (2, 4), (4, 3), (3, 4)]).deadlock();
    let found = found.unwrap();
    assert_eq!(found.victim, lease(4));
    assert_eq!(found.cycle, [lease(4), lease(3)]);
    assert_eq!(graph(&[(1, 2), (2, 3), (1, 3), (3, 4)]).deadlock(), None);
    let alone = graph(&[(2, 2)]).deadlock().unwrap();
    assert_eq!((alone.victim, alone.cycle), (lease(2), vec![lease(2)]));
    let tail = graph(&[(4, 1), (1, 2), (2, 1)]).deadlock().unwrap();
    assert_eq!(tail.victim, lease(2), "4 waits for a cycle but is on none");
}

#[test]
fn root_blockers_are_those_at_whom_waiting_ends_most_blocking_first() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    desk.hold(ask(3, 3, &[("c", X)]), 0);
    desk.queue(ask(12, 2, &[("c", X)]), 0);
    desk.queue(ask(14, 4, &[("b", X)]), 0);
    desk.queue(ask(15, 5, &[("a", X)]), 0);
    let roots = WaitFor::of(&desk.space, at(0)).root_blockers();
    let expected =
        [(3, 2), (1, 1)].map(|(number, blocked)| RootBlocker { owner: owner(number), blocked });
    assert_eq!(roots, expected);
}
