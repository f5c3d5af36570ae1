//! Every bound of a request, on both sides; and the compatibility of modes against a table.

use super::*;
use crate::samples::locks::*;
use proptest::prelude::*;

#[test]
fn modes_conflict_as_in_the_table() {
    let table = [
        (X, X, true),
        (X, S, true),
        (X, counting(2), true),
        (S, S, false),
        (S, counting(2), true),
        (counting(2), counting(3), false),
    ];
    for (a, b, conflict) in table {
        assert_eq!(a.conflicts_with(b), conflict, "{a:?} {b:?}");
        assert_eq!(b.conflicts_with(a), conflict, "{b:?} {a:?}");
    }
}

#[test]
fn mode_alone_always_fits() {
    for mode in [X, S, counting(1)] {
        assert!(mode.fits_beside([]));
    }
}

#[test]
fn capacity_counts_all_holders_and_the_smallest_applies() {
    assert!(counting(2).fits_beside([counting(2)]));
    assert!(!counting(2).fits_beside([counting(2), counting(2)]));
    assert!(!counting(1).fits_beside([counting(9)]), "the own capacity is smaller");
    assert!(!counting(9).fits_beside([counting(1)]), "the other capacity is smaller");
    assert!(counting(9).fits_beside([counting(3), counting(9)]));
    assert!(!counting(9).fits_beside([counting(9), counting(9), counting(3)]));
    assert!(!counting(9).fits_beside([S]));
    assert!(!S.fits_beside([S, counting(9)]));
    assert!(S.fits_beside(vec![S; 100]));
}

#[test]
fn set_has_one_to_the_maximum_of_distinct_resources() {
    let many =
        |count: usize| LockSet::new((0..count).map(|number| (resource(&format!("r{number}")), X)));
    assert_eq!(many(0), Err(RequestError::NoResource));
    assert_eq!(many(1).unwrap().len(), 1);
    assert_eq!(many(LOCK_SET_MAX).unwrap().len(), LOCK_SET_MAX);
    assert_eq!(many(LOCK_SET_MAX + 1), Err(RequestError::TooManyResources));
    let twice = LockSet::new([(resource("a"), X), (resource("a"), S)]);
    let resource = resource("a");
    assert_eq!(twice, Err(RequestError::Duplicate { resource }));
}

#[test]
fn capacity_is_between_one_and_its_bound() {
    let with = |capacity| LockSet::new([(resource("a"), counting(capacity))]);
    for capacity in [1, LOCK_COUNTING_CAPACITY_MAX] {
        assert!(with(capacity).is_ok());
    }
    for capacity in [0, LOCK_COUNTING_CAPACITY_MAX + 1] {
        let resource = resource("a");
        assert_eq!(with(capacity), Err(RequestError::BadCapacity { resource, capacity }));
    }
}

fn changed(change: impl FnOnce(&mut RequestDraft)) -> Result<Request, RequestError> {
    let mut draft = draft(1, 1, &[("a", X)]);
    change(&mut draft);
    Request::new(draft)
}

#[test]
fn ttl_is_above_zero_and_bounded() {
    assert!(changed(|d| d.ttl = ms(1)).is_ok());
    assert!(changed(|d| d.ttl = LEASE_TTL_MAX).is_ok());
    for given in [Duration::ZERO, LEASE_TTL_MAX + ms(1)] {
        let refused = changed(|d| d.ttl = given);
        assert_eq!(refused, Err(RequestError::BadTtl { given }));
    }
}

#[test]
fn wait_may_be_zero_and_is_bounded() {
    assert!(changed(|d| d.wait = Duration::ZERO).is_ok());
    assert!(changed(|d| d.wait = LOCK_WAIT_MAX).is_ok());
    let given = LOCK_WAIT_MAX + ms(1);
    let refused = changed(|d| d.wait = given);
    assert_eq!(refused, Err(RequestError::BadWait { given }));
}

#[test]
fn lock_delay_is_bounded() {
    let with = |lock_delay| changed(|d| d.class = LeaseClass::Fenced { lock_delay });
    assert!(with(LOCK_DELAY_MAX).is_ok());
    let given = LOCK_DELAY_MAX + ms(1);
    assert_eq!(with(given), Err(RequestError::BadDelay { given }));
    assert_eq!(LeaseClass::Advisory.lock_delay(), Duration::ZERO);
}

#[test]
fn request_durations_are_whole_milliseconds() {
    let given = Duration::from_micros(1_500);
    let refused = Err(RequestError::TooFine { given });
    assert_eq!(changed(|d| d.ttl = given), refused);
    assert_eq!(changed(|d| d.wait = given), refused);
    let class = LeaseClass::Fenced { lock_delay: given };
    assert_eq!(changed(|d| d.class = class), refused);
}

#[test]
fn boost_is_bounded() {
    assert!(changed(|d| d.boost = LOCK_BOOST_MAX).is_ok());
    let given = LOCK_BOOST_MAX + 1;
    let refused = changed(|d| d.boost = given);
    assert_eq!(refused, Err(RequestError::BadBoost { given }));
}

#[test]
fn node_is_a_short_printable_name() {
    assert!(changed(|d| d.node = "n".repeat(NAME_MAX_BYTES)).is_ok());
    for given in
        [String::new(), "n".repeat(NAME_MAX_BYTES + 1), "a b".to_owned(), "a\u{1f}".to_owned()]
    {
        let refused = changed(|d| d.node.clone_from(&given));
        assert_eq!(refused, Err(RequestError::BadNode { given }));
    }
}

#[test]
fn request_keeps_its_arguments() {
    let request = build(RequestDraft {
        boost: 3,
        class: LeaseClass::Advisory,
        birth: at(7),
        ..draft(1, 2, &[("b", S), ("a", X)])
    });
    assert_eq!(request.lease(), lease(1));
    assert_eq!(request.owner(), owner(2));
    assert_eq!(request.node(), "node-1");
    assert_eq!(request.birth(), at(7));
    assert_eq!(request.class(), LeaseClass::Advisory);
    assert_eq!((request.ttl(), request.wait()), (ms(30_000), ms(20_000)));
    assert_eq!(request.boost(), 3);
    let names: Vec<_> = request.set().resources().cloned().collect();
    assert_eq!(names, [resource("a"), resource("b")], "canonical order");
    let modes: Vec<_> = request.set().iter().map(|(_, mode)| mode).collect();
    assert_eq!(modes, [X, S]);
    assert_eq!(request.set().mode_of(&resource("b")), Some(S));
    assert_eq!(request.set().mode_of(&resource("c")), None);
}

#[test]
fn request_retry_may_change_its_wait_but_not_its_set() {
    let first = ask(1, 1, &[("a", X)]);
    let patient = build(RequestDraft { wait: ms(1), boost: 1, ..draft(1, 1, &[("a", X)]) });
    assert!(first.asks_the_same_as(&patient));
    for other in [
        ask(2, 1, &[("a", X)]),
        ask(1, 2, &[("a", X)]),
        ask(1, 1, &[("a", S)]),
        ask(1, 1, &[("a", X), ("b", X)]),
    ] {
        assert!(!first.asks_the_same_as(&other));
    }
}

#[test]
fn owner_is_written_as_its_id() {
    let (task, agent, user) =
        (TaskId::from_u128(1), ProcessId::from_u128(1), SessionId::from_u128(1));
    let owners = [Owner::Agent(agent), Owner::User(user), Owner::Task(task)];
    let texts = [agent.to_string(), user.to_string(), task.to_string()];
    assert_eq!(owners.map(|owner| owner.to_string()), texts);
    assert_eq!(texts.clone().map(|text| text.parse()), owners.map(Ok));
    assert!(owners.is_sorted() && texts.is_sorted(), "owners sort like their texts");
    assert!(LeaseId::from_u128(1).to_string().parse::<Owner>().is_err());
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(X), Just(S), (1_u32..4).prop_map(counting)]
}

proptest! {
    #[test]
    fn conflict_is_symmetric(a in any_mode(), b in any_mode()) {
        prop_assert_eq!(a.conflicts_with(b), b.conflicts_with(a));
    }

    /// A mode that fits next to some holders also fits next to fewer of them.
    #[test]
    fn mode_fitting_is_monotone(
        mode in any_mode(),
        others in prop::collection::vec(any_mode(), 0..5),
    ) {
        if mode.fits_beside(others.iter().copied()) {
            for left_out in 0..others.len() {
                let mut fewer = others.clone();
                fewer.remove(left_out);
                prop_assert!(mode.fits_beside(fewer));
            }
        }
    }
}
