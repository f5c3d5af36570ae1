//! Those who stand in line for locks, and what happens to them when Redis is away, forgets, or
//! is asked too much.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ade_core::ids::{LeaseId, TaskId, TenantId};
use ade_core::lock::{Arrival, Class, LockSet, Mode, Owner, Request, RequestDraft, Standing};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_engine::locks::{Queue, Rate, Settings};
use ade_engine::setup;
use ade_engine::work::Driver;
use ade_testkit::Cluster;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::locks::{ACQUIRE, HEARTBEAT, bots, lease_of, release, want, with};
use crate::world::{Line, Person, World};

const SOON: Duration = Duration::from_secs(30);

async fn both() -> [World; 2] {
    let redis = Line::redis(Line::SETTINGS).await;
    [World::new().await, World::locking(redis).await]
}

/// Until so many wait for `db:a`.
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
async fn whoever_came_first_is_served_first() {
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
        let tokens = [&first, &third, &second].map(|lease| lease["token"].as_u64().unwrap());
        assert!(tokens.is_sorted(), "a boost of one overtakes one: {tokens:?}");
        let told = "SELECT count(*) FROM outbox WHERE kind IN ('lock.queued', 'lock.promoted')";
        assert_eq!(world.database.number(told).await, 6);
        watching.stop().await;
    }
}

/// By polls alone twenty of them would take ten seconds.
#[tokio::test]
async fn hints_reach_those_who_wait_in_another_process_in_time() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
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

/// A caller that goes away leaves its place soon after.
#[tokio::test]
async fn nobody_waits_for_a_caller_that_has_gone() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let watching = Driver::watch(&world.app);
    world.post(&one.token, ACQUIRE, patient(false)).await.expect(200);
    let asked = world.rig.json(ACQUIRE, patient(false).to_string());
    let asked = asked.header("authorization", format!("Bearer {}", other.token)).send();
    let gone = tokio::time::timeout(Duration::from_millis(300), asked).await;
    assert!(gone.is_err(), "it waits");
    let keeper = world.app.locks.as_ref().unwrap();
    let began = Instant::now();
    while !keeper.waiters.wanted().is_empty() {
        assert!(began.elapsed() < SOON, "somebody still waits for it");
        tokio::task::yield_now().await;
    }
    watching.stop().await;
}

const WAITERS: u128 = 10_000;
/// A line holds a thousand.
const LINES: u128 = 20;

/// For `db:{name}`, as somebody who is in nobody else's way.
pub fn request(number: u128, name: &str, mode: Mode, wait: Duration) -> Request {
    let resource = ResourceRef::new("db", name).unwrap();
    Request::new(RequestDraft {
        lease: LeaseId::from_uuid(uuid::Uuid::now_v7()),
        owner: Owner::Task(TaskId::from_u128(number)),
        node: "node-1".to_owned(),
        birth: Timestamp::from_micros(1),
        class: Class::Advisory,
        set: LockSet::new([(resource, mode)]).unwrap(),
        ttl: Duration::from_mins(5),
        wait,
        boost: 0,
    })
    .unwrap()
}

/// A Redis that is late under all of them is asked again. How it stands is not known then.
async fn come_back(began: Instant, error: &impl Debug) -> Standing {
    assert!(began.elapsed() < Duration::from_mins(3), "{error:?}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    Standing::Unknown
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_wait_in_one_process_and_all_are_served() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    let tenant: TenantId = world.tenant.parse().unwrap();
    let watching = Driver::watch(&world.app);
    let began = Instant::now();
    // As many calls at once as a server makes.
    let calls = Arc::new(Semaphore::new(64));
    let mut waiting = tokio::task::JoinSet::new();
    for number in 0..WAITERS {
        let (app, calls) = (Arc::clone(&world.app), Arc::clone(&calls));
        waiting.spawn(async move {
            let keeper = app.locks.as_ref().unwrap();
            let Queue::Redis(redis) = &keeper.queue else { panic!("not on Redis") };
            let (line, wait) = ((number % LINES).to_string(), Duration::from_secs(10));
            let request = request(number, &line, Mode::Exclusive, wait);
            let mut news = keeper.waiters.follow(tenant, request.lease());
            let mut standing = Standing::Unknown;
            while !matches!(standing, Standing::Granted { .. }) {
                // Not yet there when the first round looked.
                if standing == Standing::Unknown {
                    let _permit = calls.acquire().await.unwrap();
                    let said = redis.desk.acquire(tenant, &request, Arrival::New).await;
                    standing = match said {
                        Ok(said) => said.answer,
                        Err(error) => come_back(began, &error).await,
                    };
                    continue;
                }
                assert!(matches!(standing, Standing::Waiting { .. }), "{standing:?}");
                news.changed().await.unwrap();
                standing = news.borrow_and_update().unwrap_or(standing);
            }
            let _permit = calls.acquire().await.unwrap();
            while let Err(error) = keeper.release(tenant, request.lease()).await {
                come_back(began, &error).await;
            }
        });
    }
    let served = async {
        while let Some(ended) = waiting.join_next().await {
            ended.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_mins(3), served).await.expect("somebody was lost");
    let keeper = world.app.locks.as_ref().unwrap();
    assert!(keeper.waiters.wanted().is_empty(), "nobody is remembered");
    assert!(keeper.held(tenant, None, 10, 10).await.unwrap().resources.is_empty());
    watching.stop().await;
}

#[tokio::test]
async fn without_a_queue_locks_are_refused_and_the_rest_goes_on() {
    let away = Line::Redis(vec!["redis://127.0.0.1:1".to_owned()], Line::SETTINGS);
    for line in [Line::Off, away] {
        let world = World::locking(line).await;
        let [one] = bots(&world, ["one"]).await;
        for fenced in [true, false] {
            let asked = with(want(&["a"]), &json!({ "fenced": fenced }));
            let told = world.post(&one.token, ACQUIRE, asked).await;
            let told = told.refused(503, "locks_unavailable");
            assert!(!told.to_string().contains("127.0.0.1"), "{told}");
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
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    assert_eq!(world.get("", "/readyz").await.expect(200)["locks"], true);
}

#[tokio::test]
async fn what_locks_depend_on_is_checked() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    let checks = setup::lock_checks(&world.app).await;
    let of = |setting: &str| -> Vec<&Result<(), String>> {
        let named = checks.iter().filter(|(name, _)| name.ends_with(setting));
        named.map(|(_, checked)| checked).collect()
    };
    assert_eq!(of("maxmemory-policy"), [&Ok(()), &Ok(()), &Ok(())], "{checks:?}");
    let alone = of("min-replicas-to-write");
    assert_eq!(alone.len(), 3, "{checks:?}");
    assert!(alone.iter().all(|one| matches!(one, Err(why) if why.contains("`0`"))), "{checks:?}");
    assert_eq!(of("whole"), [&Ok(())], "no standby follows: {checks:?}");
    let off = World::locking(Line::Off).await;
    let checks = setup::lock_checks(&off.app).await;
    assert!(matches!(checks.as_slice(), [(_, Ok(()))]), "{checks:?}");
}

#[tokio::test]
async fn an_agent_that_asks_too_often_is_told_to_wait() {
    // Slower than a test on a busy machine.
    let rate = Rate { per_minute: 1, burst: 2 };
    let settings = Settings { rate, ..Line::SETTINGS };
    for line in [Line::Rows(settings), Line::redis(settings).await] {
        let world = World::locking(line).await;
        let [one, other] = bots(&world, ["one", "other"]).await;
        for name in ["a", "b"] {
            world.post(&one.token, ACQUIRE, want(&[name])).await.expect(200);
        }
        let told = world.post(&one.token, ACQUIRE, want(&["c"])).await.refused(429, "rate_limited");
        let wait = told["retry_after_ms"].as_u64().unwrap();
        assert!((1..=60_000).contains(&wait), "{told}");
        world.post(&other.token, ACQUIRE, want(&["c"])).await.expect(200);
        // Counted for all processes together.
        let beside = world.beside().await;
        let asked = beside.json(ACQUIRE, want(&["d"]).to_string());
        let asked = asked.header("authorization", format!("Bearer {}", one.token));
        let told = asked.send().await.unwrap();
        assert_eq!(told.status(), 429);
        let seconds: u64 = told.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds), "{seconds}");
    }
}

/// Another master answers: what it was not told of is lost, what is registered is not, and
/// whoever waited keeps its place.
#[tokio::test]
async fn a_failover_loses_no_registered_lease_and_no_waiter() {
    let cluster = Cluster::owned().await;
    let world = World::locking(Line::Redis(cluster.urls(), Line::SETTINGS)).await;
    let [one, other] = bots(&world, ["one", "other"]).await;
    let long = |fenced: bool| json!({ "fenced": fenced, "ttl": "300s" });
    let held = with(want(&["a"]), &long(true));
    let held = world.post(&one.token, ACQUIRE, held).await.expect(200);
    let advisory = with(want(&["b"]), &long(false));
    let advisory = world.post(&one.token, ACQUIRE, advisory).await.expect(200);
    world.work("epoch_keeper").await;
    assert_eq!(world.work("epoch_keeper").await.items, 0, "the same master");
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
        let bumps = "SELECT count(*) FROM audit_leaf WHERE action = 'lock.rebuild'";
        assert_eq!(world.database.number(bumps).await, 1);
        let beats = json!({ "leases": [held["lease"], advisory["lease"]] });
        let beats = world.post(&one.token, HEARTBEAT, beats).await.expect(200);
        assert_eq!(beats["leases"][0]["state"], "granted", "{beats}");
        assert_eq!(beats["leases"][1]["state"], "unknown", "{beats}");
        let newcomer = with(want(&["b"]), &long(false));
        world.post(&other.token, ACQUIRE, newcomer).await.refused(503, "locks_unsure");
        let claim = json!({ "lease": advisory["lease"], "held_token": advisory["token"] });
        let claim = with(with(want(&["b"]), &long(false)), &claim);
        world.post(&one.token, ACQUIRE, claim).await.expect(200);
        until_waiting(&world, &one, 1).await;
        release(&world, &one, lease_of(&held)).await.expect(200);
    };
    let (served, ()) = tokio::join!(wait, fail_over);
    let served = served.expect(200);
    assert!(served["token"].as_u64() > held["token"].as_u64(), "{served} after {held}");
    watching.stop().await;
}

/// Whoever comes first in the round of a worker is the one whose locks fail.
#[tokio::test]
async fn a_tenant_whose_locks_fail_keeps_no_other_from_its_turn() {
    let world = World::locking(Line::redis(Line::SETTINGS).await).await;
    let (tenant, admin) = world.tenant("other").await;
    let [one] = bots(&world, ["one"]).await;
    let bob = world.person_of(&admin, "Bob", &["author"]).await;
    let other = world.agent_of(&admin, "other", &bob).await;
    let short = with(want(&["a"]), &json!({ "ttl": "1s" }));
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
        assert!(began.elapsed() < SOON, "nothing runs out any more: {}", seen.body);
    }
}
