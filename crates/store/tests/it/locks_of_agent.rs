//! The limits of one agent on a real PostgreSQL: concurrent registrations count each other, and no
//! heartbeat extends a hold past its end.

use std::sync::Arc;

use ade_core::limits::{LOCK_HOLD_MAX, LOCKS_PER_AGENT_MAX};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{LockSet, Mode, Owner, Request, RequestDraft};
use ade_store::locks;
use ade_store::locks::many::{self, RenewedLease};
use tokio::task::JoinSet;

use crate::locks::{ask, draft, lease, open, pass, register, resource, session, token};
use crate::test_database::{SOON, TestDatabase};

const QUARTER: usize = LOCKS_PER_AGENT_MAX / 4;

/// A request for this many resources that no other request uses.
fn wish(number: u128, agent: &str, count: usize) -> Request {
    let wanted = (0..count).map(|at| (resource(&format!("{number}-{at}")), Mode::Exclusive));
    let draft = RequestDraft {
        // Each is in a separate process; the agent's limit still applies.
        owner: Owner::Agent(session(number)),
        node: format!("{agent}@node-{number}"),
        set: LockSet::new(wanted).unwrap(),
        ..draft(number, &[("unused", Mode::Exclusive)])
    };
    Request::new(draft).unwrap()
}

async fn take(
    rig: &TestDatabase,
    number: u128,
    agent: &str,
    count: usize,
) -> Result<(), RegisterRefusal> {
    register(rig, &wish(number, agent, count), session(1), token(1)).await
}

async fn give_back(rig: &TestDatabase, number: u128) {
    let mut tx = rig.begin().await;
    assert!(locks::release(&mut tx, lease(number)).await.unwrap() > 0);
    rig.keep(tx).await;
}

async fn taken(rig: &TestDatabase, agent: &str) -> usize {
    let mut tx = rig.begin().await;
    locks::taken(&mut tx, agent).await.unwrap()
}

fn too_many(taken: usize) -> Result<(), RegisterRefusal> {
    Err(RegisterRefusal::TooMany { taken })
}

#[tokio::test]
async fn agent_cannot_register_more_resources_than_its_limit() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    for number in 1..=4 {
        assert_eq!(take(&rig, number, "greedy", QUARTER).await, Ok(()));
    }
    assert_eq!(take(&rig, 5, "greedy", 1).await, too_many(LOCKS_PER_AGENT_MAX));
    assert_eq!(take(&rig, 4, "greedy", QUARTER).await, Ok(()), "the same again");
    assert_eq!(take(&rig, 6, "fair", QUARTER).await, Ok(()), "another has its own count");
    let of_a_task = ask(7, &[("of-a-task", Mode::Exclusive)]);
    assert_eq!(register(&rig, &of_a_task, session(1), token(1)).await, Ok(()), "has slots");

    give_back(&rig, 1).await;
    assert_eq!(taken(&rig, "greedy").await, 3 * QUARTER);
    assert_eq!(take(&rig, 8, "greedy", QUARTER + 1).await, too_many(3 * QUARTER));
    assert_eq!(take(&rig, 8, "greedy", QUARTER).await, Ok(()));
    // Expired holds can be taken by any request, so they do not count.
    pass(&rig, 2).await;
    assert_eq!(take(&rig, 9, "greedy", 1).await, Ok(()));
    assert_eq!(taken(&rig, "greedy").await, 1);
    // A heartbeat does not revive it next to what was taken since.
    assert!(!beat(&rig, 8).await.is_open);
    assert_eq!(taken(&rig, "greedy").await, 1);
}

#[tokio::test]
async fn agent_limit_counts_concurrent_registrations() {
    let rig = TestDatabase::patient().await;
    open(&rig, 1).await;
    for number in 1..=3 {
        assert_eq!(take(&rig, number, "greedy", QUARTER).await, Ok(()));
    }
    assert_eq!(take(&rig, 4, "greedy", QUARTER - 1).await, Ok(()));
    let rig = Arc::new(rig);
    let mut watcher = rig.database.session().await;
    for (number, is_kept) in [(10, false), (20, true)] {
        let mut first = rig.begin().await;
        let one = wish(number, "greedy", 1);
        locks::register(&mut first, &one, session(1), token(1)).await.unwrap().unwrap();
        let second = tokio::spawn({
            let rig = rig.clone();
            async move { take(&rig, number + 1, "greedy", 1).await }
        });
        watcher.wait_for_waiting(1, SOON).await;
        assert_eq!(take(&rig, number + 2, "fair", 1).await, Ok(()), "does not have to wait");
        if is_kept {
            rig.keep(first).await;
            assert_eq!(second.await.unwrap(), too_many(LOCKS_PER_AGENT_MAX));
        } else {
            first.roll_back().await;
            assert_eq!(second.await.unwrap(), Ok(()), "there was room after all");
            give_back(&rig, number + 1).await;
        }
    }
}

#[tokio::test]
async fn agent_limit_holds_under_many_concurrent_registrations() {
    const ROOM: usize = 2;
    let rig = TestDatabase::patient().await;
    open(&rig, 1).await;
    for number in 1..=3 {
        assert_eq!(take(&rig, number, "greedy", QUARTER).await, Ok(()));
    }
    assert_eq!(take(&rig, 4, "greedy", QUARTER - ROOM).await, Ok(()));
    let rig = Arc::new(rig);
    let mut asking = JoinSet::new();
    // As many as there are connections.
    for number in 10..14 {
        let rig = rig.clone();
        asking.spawn(async move { take(&rig, number, "greedy", 1).await });
    }
    let results = asking.join_all().await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), ROOM, "{results:?}");
    assert_eq!(taken(&rig, "greedy").await, LOCKS_PER_AGENT_MAX);
}

async fn beat(rig: &TestDatabase, number: u128) -> RenewedLease {
    let mut tx = rig.begin().await;
    let mut kept = many::extend(&mut tx, &[lease(number)]).await.unwrap();
    tx.commit().await.unwrap();
    kept.pop().unwrap()
}

/// Ages a hold so that this much is left of its maximum age.
async fn age(rig: &TestDatabase, seconds_left: u64) {
    let held = LOCK_HOLD_MAX.as_secs() - seconds_left;
    let sql = format!(
        "UPDATE lock_hold SET registered_at = clock_timestamp() - interval '{held} seconds'"
    );
    rig.database.run(&sql).await;
}

#[tokio::test]
async fn heartbeat_cannot_extend_a_hold_past_its_end() {
    let rig = TestDatabase::new().await;
    open(&rig, 1).await;
    assert_eq!(take(&rig, 1, "greedy", 2).await, Ok(()));
    let of_a_task = ask(2, &[("of-a-task", Mode::Exclusive)]);
    assert_eq!(register(&rig, &of_a_task, session(1), token(1)).await, Ok(()));
    let first = beat(&rig, 1).await;
    assert!(first.is_open && !first.is_spent, "{first:?}");
    age(&rig, 3_600).await;
    let later = beat(&rig, 1).await;
    assert!(later.is_open && !later.is_spent && later.deadline > first.deadline, "{later:?}");

    // Less than its minute is left: it is not extended at all.
    age(&rig, 59).await;
    for _ in 0..2 {
        let refused = beat(&rig, 1).await;
        assert_eq!(refused, RenewedLease { is_spent: true, ..later }, "as it was, and no more");
    }
    let apply = beat(&rig, 2).await;
    assert!(apply.is_open && !apply.is_spent, "ends by its own timeout: {apply:?}");
    pass(&rig, 2).await;
    let over = beat(&rig, 1).await;
    assert!(over.is_spent && !over.is_open, "it ran out like any other: {over:?}");
    let next = wish(1, "fair", 2);
    let next = RequestDraft {
        set: next.set().clone(),
        owner: Owner::Agent(session(3)),
        node: next.node().to_owned(),
        ..draft(3, &[("unused", Mode::Exclusive)])
    };
    let next = Request::new(next).unwrap();
    assert_eq!(register(&rig, &next, session(1), token(2)).await, Ok(()), "and is free");
    let fenced = beat(&rig, 1).await;
    assert!(
        !fenced.is_open && !fenced.is_spent,
        "a fenced holder is reported as fenced: {fenced:?}"
    );
}
