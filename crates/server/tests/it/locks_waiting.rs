//! Queued lock requests, and what happens to them when Redis is unavailable, loses data, or is
//! overloaded.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::ids::{LeaseId, TaskId, TenantId};
use ade_core::limits::LOCK_WAIT_MAX;
use ade_core::lock::{
    Arrival, LeaseClass, LeaseStatus, LockSet, Mode, Owner, Request, RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_engine::admin::bootstrap;
use ade_engine::services::locks::{LockSettings, Rate};
use ade_engine::workers::Driver;
use ade_testkit::Cluster;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::locks::{ACQUIRE, HEARTBEAT, bots, lease_of, release, want, with};
use crate::world::{LockBackend, Person, World};

const SOON: Duration = Duration::from_mins(1);

async fn both() -> [World; 2] {
    let redis = LockBackend::redis(LockBackend::SETTINGS).await;
    [World::new().await, World::locking(redis).await]
}

/// Waits until so many requests are queued for `db:a`.
async fn until_waiting(world: &World, who: &Person, count: u64) {
    let began = Instant::now();
    loop {
        let seen = world.get(&who.token, "/v1/locks/db/a").await.expect(200);
        if seen["waiting"].as_u64() == Some(count) {
            return;
        }
        assert!(began.elapsed() < SOON, "{seen}");
        tokio::task::yield_now().await;
    }
}

fn patient(fenced: bool) -> Value {
    with(want(&["a"]), &json!({ "wait": "50s", "fenced": fenced }))
}

#[tokio::test]
async fn lock_queue_serves_requests_in_order() {
    for world in both().await {
        let [one, other] = bots(&world, ["one", "other"]).await;
        let watching = Driver::watch(&world.app);
        let held = world.post(&one.token, ACQUIRE, patient(true)).await.expect(200);
        let wait = async || world.post(&other.token, ACQUIRE, patient(true)).await.expect(200);
        let serve = async |first: Value| {
            release(&world, &other, lease_of(&first)).await.expect(200);
            first
        };
        let first = async { serve(wait().await).await };
        let second = async {
            until_waiting(&world, &one, 1).await;
            serve(wait().await).await
        };
        let third = async {
            until_waiting(&world, &one, 2).await;
            let boosted = with(patient(true), &json!({ "priority": 1 }));
            serve(world.post(&other.token, ACQUIRE, boosted).await.expect(200)).await
        };
        let let_go = async {
            until_waiting(&world, &one, 3).await;
            release(&world, &one, lease_of(&held)).await.expect(200);
        };
        let (first, second, third, ()) = tokio::join!(first, second, third, let_go);
        let tokens = [&first, &third, &second].map(|lease| lease["fence"].as_u64().unwrap());
        assert!(tokens.is_sorted(), "a boost of one overtakes one: {tokens:?}");
        let events = "SELECT count(*) FROM outbox WHERE kind IN ('lock.queued', 'lock.promoted')";
        assert_eq!(world.database.number(events).await, 6);
        watching.stop().await;
    }
}

/// Collects the name of every resource in a response, wherever it occurs.
fn named(shown: &Value, found: &mut Vec<String>) {
    match shown {
        Value::String(text) if text.starts_with("db:") => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| named(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| named(field, found)),
        _ => {}
    }
}

#[tokio::test]
async fn lock_list_names_each_resource_once() {
    for world in both().await {
        let [one, other] = bots(&world, ["one", "other"]).await;
        let locks = json!({ "resources": [
            "db:a",
            { "resource": "db:b", "mode": "shared" },
            { "resource": "db:c", "mode": "counting", "capacity": 2 },
        ] });
        let held = world.post(&one.token, ACQUIRE, locks).await.expect(200);
        let asked = with(want(&["a", "b", "c"]), &json!({ "wait": "1ms" }));
        let queued = world.post(&other.token, ACQUIRE, asked).await.refused(423, "lock_held");

        let all = world.get(&world.admin.token, "/v1/locks").await.expect(200);
        let mut found = Vec::new();
        named(&all, &mut found);
        found.sort();
        assert_eq!(found, ["db:a", "db:b", "db:c"], "{all}");
        let mut modes = Vec::new();
        for lock in all["items"].as_array().unwrap() {
            assert_eq!((&lock["holding"], &lock["waiting"]), (&json!(1), &json!(1)), "{lock}");
            let holder = &lock["holders"][0];
            assert_eq!(holder["lease_hash"], held["lease_hash"], "{lock}");
            modes.push([&lock["resource"], &holder["mode"], &holder["capacity"]]);
        }
        modes.sort_by_key(|lock| lock[0].to_string());
        let expected =
            json!([["db:a", "exclusive", null], ["db:b", "shared", null], ["db:c", "counting", 2]]);
        assert_eq!(json!(modes), expected);

        let one_lock = world.get(&one.token, "/v1/locks/db/b").await.expect(200);
        let mut found = Vec::new();
        named(&one_lock, &mut found);
        assert_eq!(found, ["db:b"], "{one_lock}");
        assert_eq!(one_lock["queue"][0]["mode"], "exclusive");
        assert_eq!(one_lock["queue"][0]["agent_id"], json!(other.id));
        release(&world, &other, lease_of(&queued)).await.expect(200);
    }
}

/// With polling alone, twenty grants would take ten seconds.
#[tokio::test]
async fn lock_release_in_another_process_wakes_waiters_in_time() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let watching = Driver::watch(&world.app);
    let beside = world.beside().await;
    let mut held = world.post(&one.token, ACQUIRE, patient(false)).await.expect(200);
    let mut waited = Duration::ZERO;
    for _ in 0..20 {
        let wait = world.post(&other.token, ACQUIRE, patient(false));
        let let_go = async {
            until_waiting(&world, &one, 1).await;
            let path = format!("/v1/leases/{}/release", lease_of(&held));
            let asked = beside.request("POST", &path);
            let asked = asked.header("authorization", format!("Bearer {}", one.token));
            assert_eq!(asked.send().await.unwrap().status(), 200);
            Instant::now()
        };
        let (next, given) = tokio::join!(wait, let_go);
        waited += given.elapsed();
        held = next.expect(200);
    }
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    watching.stop().await;
}

/// A caller that disconnects leaves the queue soon after.
#[tokio::test]
async fn lock_request_of_a_disconnected_caller_is_dropped() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let watching = Driver::watch(&world.app);
    world.post(&one.token, ACQUIRE, patient(false)).await.expect(200);
    let asked = world.rig.json(ACQUIRE, patient(false).to_string());
    let asked = asked.header("authorization", format!("Bearer {}", other.token)).send();
    let gone = tokio::time::timeout(Duration::from_millis(300), asked).await;
    assert!(gone.is_err(), "the request waits");
    let keeper = world.app.locks.as_ref().unwrap();
    let began = Instant::now();
    while !keeper.waiters.wanted().is_empty() {
        assert!(began.elapsed() < SOON, "the request is still queued");
        tokio::task::yield_now().await;
    }
    watching.stop().await;
}

const WAITERS: u128 = 10_000;
/// The number of queues; each of them holds up to a thousand requests.
const LINES: u128 = 20;

/// A request for `db:{name}` by an owner of its own.
pub fn request(number: u128, name: &str, mode: Mode, wait: Duration) -> Request {
    let resource = ResourceRef::new("db", name).unwrap();
    Request::new(RequestDraft {
        lease: LeaseId::from_uuid(uuid::Uuid::now_v7()),
        owner: Owner::Task(TaskId::from_u128(number)),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(1),
        class: LeaseClass::Advisory,
        set: LockSet::new([(resource, mode)]).unwrap(),
        ttl: Duration::from_mins(5),
        wait,
        boost: 0,
    })
    .unwrap()
}

/// Pauses before a call to an overloaded Redis is repeated. The status is unknown until then.
async fn come_back(began: Instant, error: &impl Debug) -> LeaseStatus {
    assert!(began.elapsed() < Duration::from_mins(3), "{error:?}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    LeaseStatus::Unknown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_queue_with_ten_thousand_waiters_serves_all() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let tenant: TenantId = world.tenant.parse().unwrap();
    let watching = Driver::watch(&world.app);
    let began = Instant::now();
    // The number of concurrent calls is that of a real server.
    let calls = Arc::new(Semaphore::new(64));
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..WAITERS {
        let (app, calls) = (Arc::clone(&world.app), Arc::clone(&calls));
        waiting.spawn(async move {
            let keeper = app.locks.as_ref().unwrap();
            let line = (number % LINES).to_string();
            // The longest wait: a slow machine sends the heartbeats of ten thousand waits late.
            let request = request(number, &line, Mode::Exclusive, LOCK_WAIT_MAX);
            let mut news = keeper.waiters.follow(tenant, request.lease());
            let mut standing = LeaseStatus::Unknown;
            while !matches!(standing, LeaseStatus::Granted { .. }) {
                // The request is not in the queue yet.
                if standing == LeaseStatus::Unknown {
                    let _permit = calls.acquire().await.unwrap();
                    let reply = keeper.queue.enqueue(tenant, &request, Arrival::New).unwrap().await;
                    standing = match reply {
                        Ok(reply) => reply.answer,
                        Err(error) => come_back(began, &error).await,
                    };
                    continue;
                }
                assert!(matches!(standing, LeaseStatus::Waiting { .. }), "{standing:?}");
                news.changed().await.unwrap();
                standing = news.borrow_and_update().unwrap_or(standing);
            }
            let _permit = calls.acquire().await.unwrap();
            while let Err(error) = keeper.queue.release(tenant, request.lease()).await {
                come_back(began, &error).await;
            }
        });
    }
    let served = async {
        while let Some(ended) = waiting.join_next().await {
            ended.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_mins(3), served).await.expect("every request is served");
    let keeper = world.app.locks.as_ref().unwrap();
    assert!(keeper.waiters.wanted().is_empty(), "no waiter is left");
    assert!(keeper.queue.held(tenant, None, 10, 10).await.unwrap().resources.is_empty());
    watching.stop().await;
}

#[tokio::test]
async fn locks_without_a_queue_are_refused_and_the_rest_works() {
    let away = LockBackend::Redis(vec!["redis://127.0.0.1:1".to_owned()], LockBackend::SETTINGS);
    for line in [LockBackend::Off, away] {
        let world = World::locking(line).await;
        let [one] = bots(&world, ["one"]).await;
        for fenced in [true, false] {
            let asked = with(want(&["a"]), &json!({ "fenced": fenced }));
            let refused = world.post(&one.token, ACQUIRE, asked).await;
            let refused = refused.refused(503, "locks_unavailable");
            assert!(!refused.to_string().contains("127.0.0.1"), "{refused}");
        }
        world.get(&one.token, "/v1/locks").await.refused(503, "locks_unavailable");
        let ready = world.get("", "/readyz").await.expect(200);
        assert_eq!((&ready["readiness"], &ready["locks"]), (&json!("ready"), &json!(false)));
        let status = world.get(&one.token, "/v1/status").await.expect(200);
        let parts = status["degradations"].as_array().unwrap().iter();
        assert!(parts.map(|one| &one["part"]).any(|part| part == "locks"), "{status}");
        let bob = world.person("Bo", &["author"]).await;
        world.draft(&bob, "x").await;
    }
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    assert_eq!(world.get("", "/readyz").await.expect(200)["locks"], true);
}

#[tokio::test]
async fn lock_checks_report_the_redis_and_postgres_settings() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let checks = bootstrap::lock_checks(&world.app).await;
    let of = |setting: &str| -> Vec<&Result<(), String>> {
        let named = checks.iter().filter(|(name, _)| name.ends_with(setting));
        named.map(|(_, checked)| checked).collect()
    };
    assert_eq!(of("maxmemory-policy"), [&Ok(()), &Ok(()), &Ok(())], "{checks:?}");
    let alone = of("min-replicas-to-write");
    assert_eq!(alone.len(), 3, "{checks:?}");
    assert!(alone.iter().all(|one| matches!(one, Err(why) if why.contains("`0`"))), "{checks:?}");
    assert_eq!(of("synchronous replication"), [&Ok(())], "there is no standby: {checks:?}");
    let off = World::locking(LockBackend::Off).await;
    let checks = bootstrap::lock_checks(&off.app).await;
    assert!(matches!(checks.as_slice(), [(_, Ok(()))]), "{checks:?}");
}

#[tokio::test]
async fn lock_requests_over_the_rate_limit_are_refused() {
    // The rate is so low that a slow test run cannot recover a token.
    let rate = Rate { per_minute: 1, burst: 2 };
    let settings = LockSettings { rate, ..LockBackend::SETTINGS };
    for line in [LockBackend::Rows(settings), LockBackend::redis(settings).await] {
        let world = World::locking(line).await;
        let [one, other] = bots(&world, ["one", "other"]).await;
        for name in ["a", "b"] {
            world.post(&one.token, ACQUIRE, want(&[name])).await.expect(200);
        }
        let limited = world.post(&one.token, ACQUIRE, want(&["c"])).await;
        let limited = limited.refused(429, "rate_limited");
        let wait = limited["retry_after_ms"].as_u64().unwrap();
        assert!((1..=60_000).contains(&wait), "{limited}");
        world.post(&other.token, ACQUIRE, want(&["c"])).await.expect(200);
        // The rate is shared by all processes.
        let beside = world.beside().await;
        let asked = beside.json(ACQUIRE, want(&["d"]).to_string());
        let asked = asked.header("authorization", format!("Bearer {}", one.token));
        let response = asked.send().await.unwrap();
        assert_eq!(response.status(), 429);
        let seconds: u64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
}

/// After a failover, data that was not replicated is lost, but registered leases are kept, and
/// queued requests keep their place.
#[tokio::test]
async fn redis_failover_keeps_registered_leases_and_waiters() {
    let cluster = Cluster::owned().await;
    let world = World::locking(LockBackend::Redis(cluster.urls(), LockBackend::SETTINGS)).await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let long = |fenced: bool| json!({ "fenced": fenced, "ttl_seconds": 300 });
    let held = with(want(&["a"]), &long(true));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let advisory = with(want(&["b"]), &long(false));
    let advisory = world.post(&one.token, ACQUIRE, advisory).await.expect(200);
    world.work("epoch_keeper").await;
    assert_eq!(world.work("epoch_keeper").await.items, 0, "the master is the same");
    let watching = Driver::watch(&world.app);

    let wait = world.post(&other.token, ACQUIRE, patient(true));
    let fail_over = async {
        until_waiting(&world, &one, 1).await;
        let slot = cluster.slot_of(&format!("{{{}}}", world.tenant)).await;
        let old = cluster.master_of(slot).await.clone();
        cluster.kill(&old);
        cluster.wait_for_new_master(slot, &old, SOON).await;
        let began = Instant::now();
        while world.try_work("epoch_keeper").await.is_none_or(|done| done.items == 0) {
            assert!(began.elapsed() < SOON, "no new epoch");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let bumps = "SELECT count(*) FROM audit_entry WHERE action = 'lock.rebuild'";
        assert_eq!(world.database.number(bumps).await, 1);
        let beats = json!({ "lease_ids": [held["lease_id"], advisory["lease_id"]] });
        let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
        assert_eq!(beats["leases"][0]["state"], "GRANTED", "{beats}");
        assert_eq!(beats["leases"][1]["state"], "UNKNOWN", "{beats}");
        let newcomer = with(want(&["b"]), &long(false));
        world.post(&other.token, ACQUIRE, newcomer).await.refused(503, "locks_uncertain");
        let claim = json!({ "lease_id": advisory["lease_id"], "held_fence": advisory["fence"] });
        let claim = with(with(want(&["b"]), &long(false)), &claim);
        world.post(&one.token, ACQUIRE, claim).await.expect(200);
        until_waiting(&world, &one, 1).await;
        release(&world, &one, lease_of(&held)).await.expect(200);
    };
    let (served, ()) = tokio::join!(wait, fail_over);
    let served = served.expect(200);
    assert!(served["fence"].as_u64() > held["fence"].as_u64(), "{served} after {held}");
    watching.stop().await;
}

/// The locks of the tenant that the worker handles first are broken.
#[tokio::test]
async fn lock_sweeper_skips_a_tenant_whose_locks_fail() {
    let world = World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await;
    let (tenant, admin) = world.tenant("other").await;
    let [one] = bots(&world, ["one"]).await;
    let bob = world.person_of(&admin, "Bob", &["author"]).await;
    let other = world.agent_of(&admin, "other", &bob).await;
    let short = with(want(&["a"]), &json!({ "ttl_seconds": 1 }));
    for agent in [&one, &other] {
        world.post(&agent.token, ACQUIRE, short.clone()).await.expect(200);
    }
    let mut spaces = [(world.tenant.clone(), &one), (tenant, &other)];
    spaces.sort_by(|one, other| one.0.cmp(&other.0));
    let [(spoilt, _), (_, lives)] = spaces;
    Cluster::shared().await.spoil(&spoilt).await;
    let began = Instant::now();
    loop {
        world.try_work("lock_sweeper").await;
        let seen = world.get(&lives.token, "/v1/locks/db/a").await;
        if seen.status == 404 {
            return;
        }
        assert!(began.elapsed() < SOON, "no lease expires any more: {}", seen.body);
    }
}
