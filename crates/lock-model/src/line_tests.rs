//! `QueueSnapshot` agrees with the model of the queue.

use ade_core::lock::line::{QueueSnapshot, next_place};
use ade_core::lock::{Epoch, Lease, LeasePhase, LeaseStatus};

use crate::sample::*;

/// Returns the live leases of the model as rows: holders and waiters.
fn rows(desk: &Desk) -> (Vec<Lease>, Vec<Lease>) {
    let live = desk.space.leases().filter(|lease| !lease.state.is_over()).cloned();
    live.partition(|lease| lease.state != LeasePhase::Waiting)
}

#[test]
fn rows_are_judged_as_the_model_judges_them() {
    let mut desk = Desk::open();
    let asked = [
        ask(1, 1, &[("a", S), ("b", X)]),
        ask(2, 2, &[("a", S)]),
        ask(3, 3, &[("a", X), ("c", X)]),
        ask(4, 4, &[("a", S)]),
        ask(5, 5, &[("c", X)]),
        ask(6, 6, &[("slots", counting(2))]),
        ask(7, 7, &[("slots", counting(2))]),
        ask(8, 8, &[("slots", counting(2)), ("d", X)]),
        ask(9, 9, &[("d", X)]),
        ask(10, 10, &[("e", X)]),
    ];
    for request in asked {
        let (holding, waiting) = rows(&desk);
        let line = QueueSnapshot { holding: &holding, waiting: &waiting };
        let order = next_place(Epoch::FIRST, 1_000, 0).unwrap();
        let is_blocked = line.blocked_on(&request, order).is_some();
        let position = line.position(&request, order);
        let lease = request.lease();
        match desk.acquire(request, 0) {
            LeaseStatus::Granted { .. } => assert!(!is_blocked, "{lease}"),
            LeaseStatus::Waiting { position: reported, .. } => {
                assert!(is_blocked, "{lease}");
                assert_eq!(position, reported, "{lease}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn owner_does_not_wait_for_itself() {
    let mut desk = Desk::open();
    desk.hold(ask(1, 1, &[("a", X)]), 0);
    let (holding, waiting) = rows(&desk);
    let line = QueueSnapshot { holding: &holding, waiting: &waiting };
    let (own, other) = (ask(2, 1, &[("a", S)]), ask(3, 3, &[("a", S)]));
    assert_eq!(line.own_in_the_way(&own), Some(&resource("a")));
    assert_eq!(line.own_in_the_way(&other), None);
    assert_eq!(line.depth(&other), Some((&resource("a"), 0)));
}
