//! Registration and assertion, case by case, each with the boundary on both sides.

use ade_core::limits::LOCKS_PER_AGENT_MAX;
use proptest::prelude::*;

use super::*;
use crate::sample::*;

fn session() -> ProcessId {
    ProcessId::from_u128(1)
}

fn fences() -> Fences {
    let mut fences = Fences::new(Epoch::FIRST);
    fences.keep_session(session(), at(1_000_000));
    fences
}

/// A registration with a deadline at 100 and a delay of 50.
fn registration(number: u128, counter: u64, wanted: &[(&str, Mode)]) -> Registration {
    Registration {
        lease: lease(number),
        session: session(),
        agent: None,
        token: token(counter),
        set: set(wanted),
        deadline: at(100),
        lock_delay: ms(50),
    }
}

fn held(name: &str, by: &[u128]) -> Result<(), RegisterRefusal> {
    Err(RegisterRefusal::Held {
        resource: resource(name),
        by: by.iter().map(|number| lease(*number)).collect(),
    })
}

fn asserts(fences: &Fences, number: u128, counter: u64, count: usize) -> bool {
    fences.assert_holds(lease(number), token(counter), count).is_ok()
}

#[test]
fn hold_is_asserted_by_lease_token_and_count() {
    let mut fences = fences();
    let both = registration(1, 5, &[("a", X), ("b", S)]);
    assert_eq!(fences.register(&both, at(0)), Ok(()));
    assert!(asserts(&fences, 1, 5, 2));
    assert!(!asserts(&fences, 1, 5, 1));
    assert!(!asserts(&fences, 1, 5, 3));
    assert!(!asserts(&fences, 1, 4, 2), "lower token");
    assert!(!asserts(&fences, 1, 6, 2), "higher token");
    assert!(!asserts(&fences, 2, 5, 2), "other lease");
    let (open, expected) = (2, 3);
    let refused = fences.assert_holds(lease(1), token(5), 3);
    assert_eq!(refused, Err(NotHeld { open, expected }));
    assert!(!asserts(&fences, 2, 5, 0), "without holds nothing can be asserted");
}

#[test]
fn hold_past_its_deadline_stands_until_fenced() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", X)]), at(0)).unwrap();
    assert!(asserts(&fences, 1, 5, 1));
    fences.register(&registration(2, 6, &[("a", X)]), at(150)).unwrap();
    assert!(!asserts(&fences, 1, 5, 1));
    assert!(asserts(&fences, 2, 6, 1));
    let row = fences.holds().find(|(_, id, _)| *id == lease(1)).unwrap();
    assert_eq!(row.2.fenced_by, Some(lease(2)));
}

#[test]
fn hold_is_not_fenced_before_deadline_and_delay() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", X)]), at(0)).unwrap();
    let other = registration(2, 6, &[("a", X)]);
    assert_eq!(fences.register(&other, at(149)), held("a", &[1]));
    fences.extend(lease(1), at(200)).unwrap();
    assert_eq!(fences.register(&other, at(249)), held("a", &[1]));
    assert_eq!(fences.register(&other, at(250)), Ok(()));
}

#[test]
fn registration_by_a_dead_session_is_refused() {
    let mut fences = fences();
    let one = registration(1, 5, &[("a", X)]);
    let dead = Err(RegisterRefusal::SessionDead);
    assert_eq!(fences.register(&one, at(1_000_000)), dead);
    fences.close_session(session());
    assert_eq!(fences.register(&one, at(0)), dead);
    fences.keep_session(session(), at(1));
    assert_eq!(fences.register(&one, at(0)), Ok(()));
}

#[test]
fn registration_with_a_token_of_another_epoch_is_refused() {
    let mut fences = fences();
    let two = Epoch::new(2).unwrap();
    fences.bump_epoch(two);
    let one = registration(1, 5, &[("a", X)]);
    let stale = Err(RegisterRefusal::StaleEpoch { current: two });
    assert_eq!(fences.register(&one, at(0)), stale);
    fences.bump_epoch(Epoch::FIRST);
    assert_eq!(fences.epoch(), two, "the epoch never decreases");
    let ahead = FencingToken::new(Epoch::new(3).unwrap(), 1).unwrap();
    let ahead = Registration { token: ahead, ..one };
    assert_eq!(fences.register(&ahead, at(0)), stale);
}

#[test]
fn registration_needs_a_token_above_the_highest_seen() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("b", X)]), at(0)).unwrap();
    fences.release(lease(1));
    let (resource, floor) = (resource("b"), token(5));
    let low = Err(RegisterRefusal::TokenLow { resource, floor });
    let set = [("a", X), ("b", X)];
    assert_eq!(fences.register(&registration(2, 5, &set), at(0)), low);
    assert_eq!(fences.register(&registration(2, 4, &set), at(0)), low);
    assert_eq!(fences.register(&registration(2, 6, &set), at(0)), Ok(()));
}

#[test]
fn registration_refused_changes_nothing() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", X)]), at(0)).unwrap();
    fences.register(&registration(2, 6, &[("b", X)]), at(0)).unwrap();
    fences.extend(lease(2), at(500)).unwrap();
    let before = fences.clone();
    // a could be fenced by now, b cannot.
    let both = registration(3, 7, &[("a", X), ("b", X)]);
    assert_eq!(fences.register(&both, at(200)), held("b", &[2]));
    assert_eq!(fences, before);
}

#[test]
fn readers_share_and_a_writer_fences_all_dead_readers() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", S)]), at(0)).unwrap();
    fences.register(&registration(2, 6, &[("a", S)]), at(0)).unwrap();
    fences.register(&registration(4, 6, &[("b", X)]), at(0)).unwrap();
    let writer = registration(3, 7, &[("a", X)]);
    assert_eq!(fences.register(&writer, at(0)), held("a", &[1, 2]));
    fences.extend(lease(2), at(500)).unwrap();
    assert_eq!(fences.register(&writer, at(150)), held("a", &[2]));
    assert!(asserts(&fences, 1, 5, 1), "the expired hold is not fenced without need");
    assert_eq!(fences.register(&writer, at(550)), Ok(()));
    assert!(!asserts(&fences, 1, 5, 1));
    assert!(!asserts(&fences, 2, 6, 1));
    assert!(asserts(&fences, 4, 6, 1), "on another resource");
}

#[test]
fn counting_holds_are_limited_and_dead_ones_make_room() {
    let mut fences = fences();
    let slot = [("slots", counting(2))];
    fences.register(&registration(1, 1, &slot), at(0)).unwrap();
    fences.register(&registration(2, 2, &slot), at(0)).unwrap();
    let third = registration(3, 3, &slot);
    assert_eq!(fences.register(&third, at(0)), held("slots", &[1, 2]));
    fences.extend(lease(2), at(500)).unwrap();
    assert_eq!(fences.register(&third, at(150)), Ok(()));
    assert!(!asserts(&fences, 1, 1, 1), "expired and blocking");
    assert!(asserts(&fences, 2, 2, 1));
    fences.release(lease(2));
    let fourth = registration(4, 4, &slot);
    assert_eq!(fences.register(&fourth, at(150)), Ok(()));
    assert!(asserts(&fences, 3, 3, 1), "expired too, but not blocking");
}

#[test]
fn registration_repeated_returns_the_first_result() {
    let mut fences = fences();
    let one = registration(1, 5, &[("a", X), ("b", S)]);
    fences.register(&one, at(0)).unwrap();
    let after = fences.clone();
    assert_eq!(fences.register(&one, at(0)), Ok(()));
    assert_eq!(fences, after);
    let spent = Err(RegisterRefusal::LeaseSpent);
    for other in [
        registration(1, 6, &[("a", X), ("b", S)]),
        registration(1, 5, &[("a", X)]),
        registration(1, 5, &[("a", X), ("c", S)]),
        registration(1, 5, &[("a", X), ("b", X)]),
    ] {
        assert_eq!(fences.register(&other, at(0)), spent);
    }
    assert_eq!(fences, after);
}

#[test]
fn registration_of_a_fenced_or_released_lease_is_refused() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", X)]), at(0)).unwrap();
    fences.register(&registration(2, 6, &[("a", X)]), at(150)).unwrap();
    let spent = Err(RegisterRefusal::LeaseSpent);
    assert_eq!(fences.register(&registration(1, 7, &[("a", X)]), at(999)), spent);
    fences.release(lease(2));
    assert_eq!(fences.register(&registration(2, 6, &[("a", X)]), at(999)), spent);
    let (open, expected) = (0, 1);
    let refused = fences.extend(lease(2), at(9_999));
    assert_eq!(refused, Err(NotHeld { open, expected }));
    let rows: Vec<_> = fences.holds().map(|(_, _, hold)| hold.deadline).collect();
    assert_eq!(rows, [at(100), at(100)], "a heartbeat does not extend a lost lease");
}

#[test]
fn fencing_one_resource_ends_the_whole_set() {
    let mut fences = fences();
    fences.register(&registration(1, 5, &[("a", X), ("b", X)]), at(0)).unwrap();
    fences.register(&registration(2, 6, &[("a", X)]), at(150)).unwrap();
    assert!(!asserts(&fences, 1, 5, 2));
    let (open, expected) = (1, 2);
    let refused = fences.extend(lease(1), at(9_999));
    assert_eq!(refused, Err(NotHeld { open, expected }));
    let unknown = fences.extend(lease(9), at(9_999));
    let (open, expected) = (0, 0);
    assert_eq!(unknown, Err(NotHeld { open, expected }));
    let live: Vec<_> = fences.live_leases().into_keys().collect();
    assert_eq!(live, [lease(2)], "the rest of a fenced lease is not live");
    // The rest of the lost set blocks no request.
    let rest = registration(3, 7, &[("b", X)]);
    assert_eq!(fences.register(&rest, at(150)), Ok(()));
    let live = fences.live_leases();
    let ids: Vec<_> = live.keys().copied().collect();
    assert_eq!(ids, [lease(2), lease(3)]);
    assert_eq!(*live[&lease(2)][0].0, resource("a"));
    assert_eq!(live[&lease(2)][0].1.token, token(6));
}

/// Another lease of this agent, with `count` resources of its own.
fn of_agent(number: u128, agent: &str, count: usize) -> Registration {
    let wanted = (0..count).map(|at| (resource(&format!("{agent}-{number}-{at}")), X));
    Registration {
        agent: Some(agent.to_owned()),
        set: LockSet::new(wanted).unwrap(),
        ..registration(number, 1, &[("unused", X)])
    }
}

#[test]
fn registration_over_the_agent_limit_is_refused() {
    let mut fences = fences();
    let set = LOCKS_PER_AGENT_MAX / 4;
    for number in 1..=4 {
        assert_eq!(fences.register(&of_agent(number, "greedy", set), at(0)), Ok(()));
    }
    let taken = LOCKS_PER_AGENT_MAX;
    let full = Err(RegisterRefusal::TooMany { taken });
    assert_eq!(fences.register(&of_agent(5, "greedy", 1), at(0)), full);
    assert_eq!(fences.register(&of_agent(4, "greedy", set), at(0)), Ok(()), "a retry is accepted");
    assert_eq!(fences.register(&of_agent(6, "fair", 1), at(0)), Ok(()), "another agent");
    let of_a_task = Registration { agent: None, ..of_agent(7, "greedy", 1) };
    assert_eq!(fences.register(&of_a_task, at(0)), Ok(()), "an apply is limited by slots instead");

    fences.release(lease(1));
    let taken = LOCKS_PER_AGENT_MAX - set;
    let over = Err(RegisterRefusal::TooMany { taken });
    assert_eq!(fences.register(&of_agent(8, "greedy", set + 1), at(0)), over);
    assert_eq!(fences.register(&of_agent(8, "greedy", set), at(0)), Ok(()));
    // All of them are silent: at the end of the delay they block no request any more.
    assert_eq!(fences.register(&of_agent(9, "greedy", 1), at(149)), full);
    assert_eq!(fences.register(&of_agent(9, "greedy", 1), at(150)), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// For any tokens, in any order, at any time: holders that could commit never conflict. The
    /// pairs are compared here, independently of the rule under test.
    #[test]
    fn exclusivity_of_open_holds_is_independent_of_the_queue(
        steps in prop::collection::vec(
            (0_u128..8, 1_u64..6, 0_usize..5, 0_i64..120, 0_u8..4), 1..40,
        )
    ) {
        let mut fences = fences();
        let mut now = 0;
        for (number, counter, wanted, wait, action) in steps {
            now += wait;
            let wanted: &[(&str, Mode)] = match wanted {
                0 => &[("a", X)],
                1 => &[("a", S)],
                2 => &[("a", S), ("b", X)],
                3 => &[("a", X), ("b", S)],
                _ => &[("b", Mode::Counting { capacity: 2 })],
            };
            match action {
                0 => fences.release(lease(number)),
                1 => drop(fences.extend(lease(number), at(now + 100))),
                _ => {
                    let one = Registration {
                        deadline: at(now + 100),
                        ..registration(number, counter, wanted)
                    };
                    let _ = fences.register(&one, at(now));
                }
            }
            for name in ["a", "b"] {
                let open: Vec<Mode> = fences.holds()
                    .filter(|(held, _, hold)| **held == resource(name)
                        && hold.fenced_by.is_none() && !hold.released)
                    .map(|(_, _, hold)| hold.mode)
                    .collect();
                let writers = open.iter().filter(|mode| **mode == X).count();
                let readers = open.iter().filter(|mode| **mode == S).count();
                let slots = open.len() - writers - readers;
                let kinds = [writers, readers, slots].iter().filter(|count| **count > 0).count();
                prop_assert!(kinds <= 1 && writers <= 1 && slots <= 2, "{:?}", open);
            }
        }
    }
}
