//! How many locks one agent has at once, and for how long it keeps one: the same with either queue.

use std::time::Duration;

use ade_core::limits::{LOCK_HOLD_MAX, LOCKS_PER_AGENT_MAX};
use ade_engine::work::Driver;
use ade_testkit::eventually;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::coverage::on_both;
use crate::hoarding::{ask, fresh};
use crate::locks::{ACQUIRE, HEARTBEAT, bots, lease_of, release, want, with};
use crate::world::{Line, World};

on_both! {
    an_agent_has_no_more_locks_than_it_may:
        Conflict "POST /v1/locks/acquire";
    of_many_at_once_no_more_are_had_than_one_agent_may:
        Conflict "POST /v1/locks/acquire";
    a_fenced_lease_is_kept_no_longer_than_it_may_be:
        Happy "POST /v1/leases/heartbeat";
}

const SOON: Duration = Duration::from_mins(1);
const QUARTER: usize = LOCKS_PER_AGENT_MAX / 4;

/// So many resources whose names begin so, under an id of its own: it can be sent again.
fn wish(of: &str, count: usize, is_fenced: bool) -> Value {
    let names: Vec<String> = (0..count).map(|at| format!("{of}-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let more = json!({ "lease": fresh(), "ttl": "300s", "fenced": is_fenced });
    with(want(&names), &more)
}

/// What is held counts, and what is waited for.
async fn an_agent_has_no_more_locks_than_it_may(world: &World) {
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
        eventually("it stands in line", SOON, async || {
            let seen = world.get(&fair.token, "/v1/locks/db/theirs-0").await;
            if seen.body["waiting"] == 1 { Ok(()) } else { Err(seen.body) }
        })
        .await;
        for is_fenced in [true, false] {
            let told = ask(world, &greedy, &wish("more", QUARTER, is_fenced)).await;
            let told = told.refused(409, "too_many_locks");
            assert_eq!(told["taken"], 3 * QUARTER + 1, "{told}");
            assert_eq!(told["most"], LOCKS_PER_AGENT_MAX, "{told}");
        }
        ask(world, &greedy, &wish("rest", QUARTER - 1, false)).await.expect(200);
        ask(world, &fair, &wish("others", QUARTER, true)).await.expect(200);
        release(world, &fair, lease_of(&theirs)).await.expect(200);
    };
    let (had, ()) = tokio::join!(waits, meanwhile);
    // It was counted while it stood in line, so it is not turned away at the end of it.
    had.expect(200);
    let full = ask(world, &greedy, &wish("four", 1, false)).await.refused(409, "too_many_locks");
    assert_eq!(full["taken"], LOCKS_PER_AGENT_MAX);
    release(world, &greedy, lease_of(&held[0])).await.expect(200);
    ask(world, &greedy, &wish("again", QUARTER, true)).await.expect(200);
    watching.stop().await;
}

async fn of_many_at_once_no_more_are_had_than_one_agent_may(world: &World) {
    const ROOM: usize = 4;
    world.database.be_patient().await;
    let [greedy] = bots(world, ["greedy"]).await;
    for (name, count) in [("a", QUARTER), ("b", QUARTER), ("c", QUARTER), ("d", QUARTER - ROOM)] {
        ask(world, &greedy, &wish(name, count, true)).await.expect(200);
    }
    let wishes: Vec<Value> = (0..6 * ROOM).map(|at| wish(&format!("e{at}"), 1, true)).collect();
    let told = join_all(wishes.iter().map(|wish| ask(world, &greedy, wish))).await;
    let (had, refused): (Vec<_>, Vec<_>) = told.into_iter().partition(|told| told.status == 200);
    assert_eq!(had.len(), ROOM);
    for told in refused {
        told.refused(409, "too_many_locks");
    }
    let open = "SELECT count(*) FROM lock_hold WHERE fenced_by IS NULL AND released_at IS NULL";
    assert_eq!(world.database.number(open).await, i64::try_from(LOCKS_PER_AGENT_MAX).unwrap());
}

async fn a_fenced_lease_is_kept_no_longer_than_it_may_be(world: &World) {
    let [one, other] = bots(world, ["one", "other"]).await;
    let held = world.post(&one.token, ACQUIRE, wish("a", 2, true)).await.expect(200);
    let beat = async || {
        let beat = json!({ "leases": [held["lease"]] });
        world.post(&one.token, HEARTBEAT, beat).await.expect(200)["leases"][0].clone()
    };
    let kept = beat().await;
    assert_eq!((&kept["state"], &kept["refused"]), (&json!("granted"), &Value::Null));

    // A minute is left, which is less than a heartbeat gives.
    let age = LOCK_HOLD_MAX.as_secs() - 60;
    let older = format!(
        "UPDATE lock_hold SET registered_at = clock_timestamp() - interval '{age} seconds'"
    );
    world.database.run(&older).await;
    for _ in 0..2 {
        let told = beat().await;
        assert_eq!(told["refused"], "lease_held_too_long", "{told}");
        assert_eq!(told["state"], "granted", "until it runs out: {told}");
        assert_eq!(told["expires_at"], kept["expires_at"], "it got nothing: {told}");
    }
    let over = "UPDATE lock_hold SET deadline = clock_timestamp() - interval '1 hour'";
    world.database.run(over).await;
    let told = beat().await;
    assert_eq!(told["state"], "expired", "{told}");
    assert_eq!(told["refused"], "lease_held_too_long", "{told}");
    release(world, &one, lease_of(&held)).await.expect(200);
    ask(world, &other, &wish("a", 2, true)).await.expect(200);
}

/// The queue counts what it knows; what is registered counts in any case.
#[tokio::test]
async fn the_record_refuses_what_a_queue_that_forgot_has_granted() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
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
    let told = ask(&world, &greedy, &wish("more", 1, true)).await.refused(409, "too_many_locks");
    assert_eq!(told["taken"], LOCKS_PER_AGENT_MAX, "{told}");
    // Nobody waits for it until its lease has run out.
    ask(&world, &fair, &wish("more", 1, true)).await.expect(200);
}
