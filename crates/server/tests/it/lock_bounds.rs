//! Limits on the number of locks of an agent and on the time it keeps one, with the lock queue in
//! PostgreSQL and in Redis.

use std::time::Duration;

use ade_core::limits::{LOCK_HOLD_MAX, LOCKS_PER_AGENT_MAX};
use ade_engine::workers::Driver;
use ade_testkit::eventually;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::hoarding::{ask, fresh};
use crate::locks::{ACQUIRE, HEARTBEAT, bots, lease_of, release, want, with};
use crate::world::{LockBackend, World};

on_both! {
    lock_request_over_the_agent_limit_is_refused:
        Conflict "POST /v1/locks/acquire";
    lock_requests_made_concurrently_stay_within_the_limit:
        Conflict "POST /v1/locks/acquire";
    fenced_lease_held_too_long_is_not_extended:
        Happy "POST /v1/leases/heartbeat";
}

const SOON: Duration = Duration::from_mins(1);
const QUARTER: usize = LOCKS_PER_AGENT_MAX / 4;

/// A request for `count` resources with this prefix. It has its own lease id, so it can be
/// repeated.
fn wish(of: &str, count: usize, is_fenced: bool) -> Value {
    let names: Vec<String> = (0..count).map(|at| format!("{of}-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let more = json!({ "lease_id": fresh(), "ttl_seconds": 300, "fenced": is_fenced });
    with(want(&names), &more)
}

/// Both held and queued locks count.
async fn lock_request_over_the_agent_limit_is_refused(world: &World) {
    world.database.be_patient().await;
    let [greedy, fair] = bots(world, ["greedy", "fair"]).await;
    let watching = Driver::watch(&world.app);
    let mut held = Vec::new();
    for (name, is_fenced) in [("one", true), ("two", false), ("three", true)] {
        held.push(ask(world, &greedy, &wish(name, QUARTER, is_fenced)).await.expect(200));
    }
    let theirs = ask(world, &fair, &wish("theirs", 1, true)).await.expect(200);
    let patient = with(wish("theirs", 1, true), &json!({ "wait": "50s" }));
    let waits = ask(world, &greedy, &patient);
    let meanwhile = async {
        eventually("the request is queued", SOON, async || {
            let seen = world.get(&fair.token, "/v1/locks/db/theirs-0").await;
            if seen.body["waiting"] == 1 { Ok(()) } else { Err(seen.body) }
        })
        .await;
        for is_fenced in [true, false] {
            let refused = ask(world, &greedy, &wish("more", QUARTER, is_fenced)).await;
            let refused = refused.refused(409, "too_many_locks");
            assert_eq!(refused["taken"], 3 * QUARTER + 1, "{refused}");
            assert_eq!(refused["most"], LOCKS_PER_AGENT_MAX, "{refused}");
        }
        ask(world, &greedy, &wish("rest", QUARTER - 1, false)).await.expect(200);
        ask(world, &fair, &wish("others", QUARTER, true)).await.expect(200);
        release(world, &fair, lease_of(&theirs)).await.expect(200);
    };
    let (had, ()) = tokio::join!(waits, meanwhile);
    // The request was counted while it was queued, so it is granted in the end.
    had.expect(200);
    let full = ask(world, &greedy, &wish("four", 1, false)).await.refused(409, "too_many_locks");
    assert_eq!(full["taken"], LOCKS_PER_AGENT_MAX);
    release(world, &greedy, lease_of(&held[0])).await.expect(200);
    ask(world, &greedy, &wish("again", QUARTER, true)).await.expect(200);
    watching.stop().await;
}

async fn lock_requests_made_concurrently_stay_within_the_limit(world: &World) {
    const ROOM: usize = 4;
    world.database.be_patient().await;
    let [greedy] = bots(world, ["greedy"]).await;
    for (name, count) in [("a", QUARTER), ("b", QUARTER), ("c", QUARTER), ("d", QUARTER - ROOM)] {
        ask(world, &greedy, &wish(name, count, true)).await.expect(200);
    }
    let wishes: Vec<Value> = (0..6 * ROOM).map(|at| wish(&format!("e{at}"), 1, true)).collect();
    let answers = join_all(wishes.iter().map(|wish| ask(world, &greedy, wish))).await;
    let (had, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(had.len(), ROOM);
    for answer in refused {
        answer.refused(409, "too_many_locks");
    }
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL AND released_at IS NULL";
    assert_eq!(world.database.number(open).await, i64::try_from(LOCKS_PER_AGENT_MAX).unwrap());
}

async fn fenced_lease_held_too_long_is_not_extended(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, wish("a", 2, true)).await.expect(200);
    let beat = async || {
        let beat = json!({ "lease_ids": [held["lease_id"]] });
        world.post(&one.token, HEARTBEAT, beat).await.expect(200)["leases"][0].clone()
    };
    let kept = beat().await;
    assert_eq!((&kept["state"], &kept["refused"]), (&json!("GRANTED"), &Value::Null));

    // The remaining minute is less than a heartbeat would add.
    let age = LOCK_HOLD_MAX.as_secs() - 60;
    let older = format!(
        "UPDATE lock_hold SET registered_at = clock_timestamp() - interval '{age} seconds'"
    );
    world.database.run(&older).await;
    for _ in 0..2 {
        let extended = beat().await;
        assert_eq!(extended["refused"], "lease_held_too_long", "{extended}");
        assert_eq!(extended["state"], "GRANTED", "the lease lasts until it expires: {extended}");
        assert_eq!(
            extended["expires_at"], kept["expires_at"],
            "the lease is not extended: {extended}"
        );
    }
    let over = "UPDATE lock_hold SET deadline = clock_timestamp() - interval '1 hour'";
    world.database.run(over).await;
    let expired = beat().await;
    assert_eq!(expired["state"], "EXPIRED", "{expired}");
    assert_eq!(expired["refused"], "lease_held_too_long", "{expired}");
    release(world, &one, lease_of(&held)).await.expect(200);
    ask(world, &other, &wish("a", 2, true)).await.expect(200);
}

/// The queue counts only the locks it knows, while the database counts all registered ones.
#[tokio::test]
async fn lock_limit_holds_when_the_queue_has_lost_data() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let [greedy, fair] = bots(&world, ["greedy", "fair"]).await;
    ask(&world, &greedy, &wish("known", 1, true)).await.expect(200);
    let forgotten = LOCKS_PER_AGENT_MAX - 1;
    let sql = format!(
        "INSERT INTO lock_fence (tenant_id, resource)
         SELECT tenant_id, 'db:old-' || n FROM lock_hold, generate_series(1, {forgotten}) AS n;
         INSERT INTO lock_hold (tenant_id, resource, lease_id, session_id, mode, token, owner, node,
                                born_at, ttl, lock_delay, registered_at, deadline)
         SELECT tenant_id, 'db:old-' || n, gen_random_uuid(), session_id, mode, token, owner, node,
                born_at, ttl, lock_delay, registered_at, deadline
           FROM lock_hold, generate_series(1, {forgotten}) AS n"
    );
    world.database.run(&sql).await;
    let full = ask(&world, &greedy, &wish("more", 1, true)).await.refused(409, "too_many_locks");
    assert_eq!(full["taken"], LOCKS_PER_AGENT_MAX, "{full}");
    // The refused request does not block others until its lease expires.
    ask(&world, &fair, &wish("more", 1, true)).await.expect(200);
}
