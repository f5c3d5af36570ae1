//! One regression test for every known trap of lock implementations, each with the smallest case
//! that shows the error.

use ade_core::ids::ProcessId;
use ade_core::limits::{LOCK_QUEUE_DEPTH_MAX, LOCKS_PER_AGENT_MAX};
use ade_core::lock::*;

use super::sample::*;
use super::{Space, wait_for};

#[test]
fn trap_follower_of_a_dead_waiter_is_promoted_elsewhere() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let dying = RequestDraft { wait: ms(10), ..draft(2, 2, &[("a", X), ("b", X)]) };
    desk.queue(build(dying), 0);
    // Queued behind the dying waiter on b only; b is not held.
    desk.queue(ask(3, 3, &[("b", X)]), 0);
    // Enough due records ahead that the sweep of this call does not reach the dead waiter.
    for number in 100..104 {
        let short =
            RequestDraft { ttl: ms(1), ..draft(number, number, &[(&format!("x{number}"), X)]) };
        desk.hold(build(short), 0);
    }
    desk.release(1, 10);
    assert_eq!(desk.state(2), Some(LeasePhase::TimedOut));
    assert_eq!(desk.state(3), Some(LeasePhase::Granted));
}

#[test]
fn trap_equal_places_from_boosts_are_still_ordered() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let boosted =
        |number, boost| build(RequestDraft { boost, ..draft(number, number, &[("a", X)]) });
    desk.queue(boosted(2, 1), 0);
    desk.queue(boosted(3, 2), 0);
    desk.queue(boosted(4, 3), 0);
    let places: Vec<_> =
        [2, 3, 4].map(|number| desk.space.lease(lease(number)).unwrap().order.unwrap()).into();
    assert_eq!(places[0].place(), places[1].place(), "both have the same place");
    assert!(places[0] < places[1] && places[1] < places[2]);
    assert_eq!(desk.line("a"), [lease(2), lease(3), lease(4)]);
}

#[test]
fn trap_boosted_newcomer_that_may_go_is_not_queued() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    let plain = build(RequestDraft { wait: ms(0), ..draft(3, 3, &[("a", S)]) });
    let refused = desk.try_acquire(plain, 0);
    let resource = resource("a");
    assert_eq!(refused, Err(LockRefusal::Busy { resource }));
    let boosted = RequestDraft { boost: 1, ..draft(4, 4, &[("a", S)]) };
    assert_eq!(desk.acquire(build(boosted), 0), granted(2, 30_000));
}

#[test]
fn trap_cycle_closed_by_a_newcomer_without_holds_is_found() {
    let mut desk = Desk::open();
    // Owner 1 holds b and waits for a; owner 2 holds a and waits for nothing.
    desk.hold(ask(1, 1, &[("b", X)]), 0);
    desk.hold(ask(2, 2, &[("a", S)]), 0);
    desk.queue(ask(3, 1, &[("a", X)]), 0);
    // Owner 3 holds nothing, steps ahead of owner 1 on a, and needs b as well.
    let newcomer = RequestDraft { boost: 1, birth: at(5), ..draft(4, 3, &[("a", X), ("b", X)]) };
    let standing = desk.acquire(build(newcomer), 5);
    let state = LeasePhase::Victim;
    assert_eq!(standing, LeaseStatus::Over { state });
    let cycle = vec![lease(4), lease(3)];
    let victim = lease(4);
    assert!(desk.events.contains(&LockEvent::Deadlock { victim, cycle }));
    assert_eq!(desk.state(3), Some(LeasePhase::Waiting));
}

#[test]
fn trap_second_cycle_is_broken_after_the_first_victim() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    for (number, name) in [(2, "b"), (3, "c")] {
        desk.hold(ask(number, number, &[(name, X)]), 0);
    }
    let young = |number, owner, birth, wanted: &[(&str, Mode)]| {
        build(RequestDraft { birth: at(birth), ..draft(number, owner, wanted) })
    };
    // Owners 2 and 3 wait for a as readers, so neither waits for the other.
    desk.queue(young(12, 2, 20, &[("a", S)]), 0);
    desk.queue(young(13, 3, 30, &[("a", S)]), 0);
    // Owner 1, the oldest, closes a cycle with each of them at once.
    desk.queue(young(11, 1, 10, &[("b", X), ("c", X)]), 0);
    assert_eq!(desk.state(12), Some(LeasePhase::Victim));
    assert_eq!(desk.state(13), Some(LeasePhase::Victim));
    assert_eq!(desk.state(11), Some(LeasePhase::Waiting));
    let victims: Vec<_> = desk
        .events
        .iter()
        .filter_map(|event| match event {
            LockEvent::Deadlock { victim, .. } => Some(*victim),
            _ => None,
        })
        .collect();
    assert_eq!(victims, [lease(13), lease(12)], "youngest first");
}

#[test]
fn trap_owner_that_waits_is_granted_nothing_else() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.queue(ask(2, 2, &[("a", X)]), 0);
    let refused = desk.try_acquire(ask(3, 2, &[("free", X)]), 0);
    let lease = lease(2);
    assert_eq!(refused, Err(LockRefusal::AlreadyWaiting { lease }));
    assert_eq!(desk.state(3), None);
}

#[test]
fn trap_owner_does_not_wait_for_itself() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", S), ("slots", counting(1))]), 0);
    for (number, name, mode) in [(2, "a", X), (3, "slots", counting(1))] {
        let refused = desk.try_acquire(ask(number, 1, &[(name, mode)]), 0);
        let resource = resource(name);
        assert_eq!(refused, Err(LockRefusal::SelfConflict { resource }));
    }
    assert!(wait_for(&desk.space, at(0)).edges().next().is_none());
}

#[test]
fn trap_times_keep_every_digit() {
    // Far beyond what six significant digits or a 32-bit number could carry.
    let mut desk = Desk::open();
    let now = 123_456_789;
    assert_eq!(desk.acquire(ask(1, 1, &[("a", X)]), now), granted(1, now + 30_000));
    assert_eq!(desk.renew(1, now + 29_999), granted(1, now + 59_999));
    let state = LeasePhase::Expired;
    assert_eq!(desk.renew(1, now + 59_999), LeaseStatus::Over { state });
}

#[test]
fn trap_cached_epoch_is_refused_by_every_command() {
    let two = Epoch::new(2).unwrap();
    let three = Epoch::new(3).unwrap();
    let mut space = Space::default();
    space.rebuild(two, [], None).answer.unwrap();
    let untouched = space.clone();
    let stale = LockRefusal::StaleEpoch { stored: two };
    let rebuild = LockRefusal::Rebuild { stored: Some(two) };
    let hold = LiveHold { request: ask(2, 2, &[("b", X)]), token: token(1), deadline: at(9) };
    for (epoch, refusal) in [(Epoch::FIRST, stale), (three, rebuild)] {
        let (id, now) = (lease(1), at(0));
        let acquire = space.acquire(epoch, ask(1, 1, &[("a", X)]), Arrival::New, now);
        let refused = [
            acquire.answer.err(),
            space.renew(epoch, &[id], now).answer.err(),
            space.release(epoch, id, now).answer.err(),
            space.cancel(epoch, id, now).answer.err(),
            space.break_lease(epoch, id, now).answer.err(),
            space.refence(epoch, id, token(1), now).answer.err(),
            space.register(epoch, id, now).answer.err(),
            space.adopt(epoch, hold.clone(), now).answer.err(),
            space.sweep(epoch, 9, now).answer.err(),
        ];
        assert_eq!(refused.to_vec(), vec![Some(refusal); 9]);
        assert_eq!(space, untouched);
    }
    let empty = Space::default().sweep(three, 9, at(0)).answer;
    assert_eq!(empty, Err(LockRefusal::Rebuild { stored: None }));
}

/// The walk stops at the first writer that cannot be granted, and continues through readers. (That
/// the script reads such a queue in pages is a property of the script.)
#[test]
fn trap_long_queue_is_walked_no_further_than_needed() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    desk.hold(ask(2, 2, &[("b", X)]), 0);
    let half = u128::try_from(LOCK_QUEUE_DEPTH_MAX / 2).unwrap();
    for number in 0..half {
        desk.queue(ask(1_000 + number, 1_000 + number, &[("a", S)]), 0);
    }
    desk.queue(ask(3, 3, &[("a", X), ("b", X)]), 0);
    let late = RequestDraft { wait: ms(5), ..draft(4, 4, &[("a", X)]) };
    desk.queue(build(late), 0);
    for number in 2..half {
        desk.queue(ask(2_000 + number, 2_000 + number, &[("a", S)]), 0);
    }
    let refused = desk.try_acquire(ask(5, 5, &[("a", S)]), 0);
    let resource = resource("a");
    assert_eq!(refused, Err(LockRefusal::QueueFull { resource }));
    desk.release(1, 4);
    let promoted = desk.events.iter();
    let promoted = promoted.filter(|event| matches!(event, LockEvent::Promoted { .. }));
    assert_eq!(promoted.count(), LOCK_QUEUE_DEPTH_MAX / 2);
    assert_eq!(desk.line("a").len(), LOCK_QUEUE_DEPTH_MAX / 2);
    assert_eq!(desk.line("a")[0], lease(3));
}

/// No command waits for another process: each is one call with one reply, so that a script can
/// implement it (a script must not call WAIT).
#[test]
fn trap_commands_never_wait_for_replicas() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    // A caller that could not confirm its grant elsewhere releases it by id, even twice.
    let state = LeasePhase::Released;
    assert_eq!(desk.release(1, 1), LeaseStatus::Over { state });
    assert_eq!(desk.release(1, 1), LeaseStatus::Over { state });
    desk.hold(ask(2, 2, &[("a", X)]), 1);
}

/// A request with `count` resources of its own.
fn of_agent(number: u128, agent: &str, count: usize) -> RequestDraft {
    let wanted = (0..count).map(|at| (resource(&format!("{number}-{at}")), X));
    RequestDraft {
        // Each is in a process of its own; the limit of the agent applies all the same.
        owner: Owner::Agent(ProcessId::from_u128(number)),
        node: format!("{agent}@node-{number}"),
        set: LockSet::new(wanted).unwrap(),
        ..draft(number, number, &[("unused", X)])
    }
}

#[test]
fn trap_agent_limit_counts_held_and_awaited_resources() {
    let mut desk = Desk::open();
    let most = LOCKS_PER_AGENT_MAX / 4;
    for number in 1..=3 {
        desk.hold(build(of_agent(number, "greedy", most)), 0);
    }
    let theirs = set(&[("theirs", X)]);
    desk.hold(build(RequestDraft { set: theirs.clone(), ..of_agent(4, "fair", 1) }), 0);
    desk.queue(build(RequestDraft { set: theirs, ..of_agent(5, "greedy", 1) }), 0);
    let taken = 3 * most + 1;
    let refused = desk.try_acquire(build(of_agent(6, "greedy", most)), 0);
    assert_eq!(refused, Err(LockRefusal::TooMany { taken }), "waits count as well");
    assert_eq!(desk.space.lease(lease(6)), None, "a refused request leaves no record");
    desk.hold(build(of_agent(6, "greedy", most - 1)), 0);
    desk.hold(build(of_agent(7, "fair", most)), 0);
    desk.hold(ask(8, 8, &[("of-a-task", X)]), 0);
    let again = desk.acquire(build(of_agent(6, "greedy", most - 1)), 0);
    assert!(matches!(again, LeaseStatus::Granted { .. }), "a retry is accepted: {again:?}");

    desk.release(4, 0);
    assert_eq!(desk.state(5), Some(LeasePhase::Granted), "a counted wait can be granted");
    let taken = LOCKS_PER_AGENT_MAX;
    let refused = desk.try_acquire(build(of_agent(9, "greedy", 1)), 0);
    assert_eq!(refused, Err(LockRefusal::TooMany { taken }));
    desk.release(1, 0);
    desk.hold(build(of_agent(9, "greedy", most)), 0);
}
