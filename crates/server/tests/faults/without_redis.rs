//! All Redis nodes die under load and come back empty a while later. Approvals, permits and reports
//! continue with the database alone, no two attempts work on one resource at the same time, and
//! after the recovery locks are granted in the order of the requests. `ADE_SECONDS=60` keeps Redis
//! down for a whole minute.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ade_engine::workers::{Driver, WorkerPlan};
use ade_testkit::{Cluster, eventually};
use serde_json::{Value, json};

use crate::world::{LockBackend, Person, World, path_of, seen};

const DATABASES: usize = 4;
const AGENTS: usize = 3;
const SOON: Duration = Duration::from_mins(2);
/// The outage is divided into parts; there has to be progress in each of them.
const PARTS: usize = 3;

fn seconds_away() -> u64 {
    let given = std::env::var("ADE_SECONDS").ok().and_then(|text| text.parse().ok());
    given.unwrap_or(12)
}

/// For each resource, the attempt that works on it and the last fence.
#[derive(Default)]
struct Target {
    at: Mutex<BTreeMap<String, (Option<String>, u64)>>,
}

impl Target {
    fn enter(&self, permit: &Value) {
        let (resource, execution) = (&permit["resources"][0], permit["execution_id"].to_string());
        let fence = resource["fence"].as_u64().unwrap();
        let mut at = self.at.lock().unwrap();
        let (who, last) = at.entry(resource["resource"].to_string()).or_default();
        assert_eq!(*who, None, "two attempts work on {resource}");
        assert!(fence > *last, "{fence} after {last} at {resource}");
        (*who, *last) = (Some(execution), fence);
    }

    fn leave(&self, permit: &Value) {
        let mut at = self.at.lock().unwrap();
        at.get_mut(&permit["resources"][0]["resource"].to_string()).unwrap().0 = None;
    }
}

/// How many approvals, permits and reports were made.
#[derive(Default)]
struct Counts {
    approvals: AtomicUsize,
    permits: AtomicUsize,
    reports: AtomicUsize,
}

impl Counts {
    fn now(&self) -> [usize; 3] {
        [&self.approvals, &self.permits, &self.reports].map(|count| count.load(Ordering::Relaxed))
    }
}

struct Stage {
    world: World,
    bob: Person,
    rea: Person,
    target: Target,
    counts: Counts,
    is_over: AtomicBool,
    slowest: Mutex<Duration>,
}

impl Stage {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Creates and approves one task after the other.
    async fn review(&self) {
        for nth in 0.. {
            if !self.goes_on() {
                return;
            }
            let resource = format!("database:d{}", nth % DATABASES);
            let wanted = json!({
                "title": format!("Change {nth}"), "type": "db.change",
                "parameters": { "nth": nth }, "resources": [{ "resource": resource }],
                "plan": { "changes": [{
                    "resource": resource, "action": "change", "irreversible": false,
                    "summary": "one"
                }] }
            });
            let task = self.world.post(&self.bob.token, "/v1/tasks", wanted).await.expect(201);
            self.world.submit(&self.bob, &task).await;
            let task = eventually("the task is under review", SOON, async || {
                let task = self.world.task(&self.bob, &task).await;
                if task["state"] == "REVIEWING" { Ok(task) } else { Err(task["state"].clone()) }
            })
            .await;
            let path = format!("{}/approve", path_of(&task));
            let began = Instant::now();
            self.world.post(&self.rea.token, &path, seen(&task)).await.expect(200);
            let mut slowest = self.slowest.lock().unwrap();
            *slowest = began.elapsed().max(*slowest);
            self.counts.approvals.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn apply(&self, bot: &Person) {
        while self.goes_on() {
            let path = format!("/v1/agents/{}/claim?wait=2s", bot.id);
            let claimed = self.world.post(&bot.token, &path, json!({ "ttl_seconds": 30 })).await;
            let permit = &claimed.expect(200)["permit"];
            let Some(execution) = permit["execution_id"].as_str() else { continue };
            self.counts.permits.fetch_add(1, Ordering::Relaxed);
            let report = async |verb: &str| {
                let path = format!("/v1/executions/{execution}/{verb}");
                let body = json!({ "lease_id": permit["lease_id"] });
                self.world.post(&bot.token, &path, body).await.expect(200);
            };
            report("begin").await;
            self.target.enter(permit);
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.target.leave(permit);
            report("finish").await;
            self.counts.reports.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Asserts that three requests for a held lock are granted in the order of their arrival.
    async fn assert_waits_are_fair(&self, bots: &[Person]) {
        let ask = |wait: &str| {
            json!({
                "resources": ["queue:one"], "fenced": true,
                "ttl_seconds": 30, "wait": wait,
            })
        };
        let holder = eventually("the queue is back", SOON, async || {
            let had = self.world.post(&bots[0].token, "/v1/locks/acquire", ask("0s")).await;
            if had.status == 200 { Ok(had.body) } else { Err(had.body["code"].clone()) }
        })
        .await;
        let order = Mutex::new(Vec::new());
        let release = async |bot: &Person, lease: &Value| {
            let path = format!("/v1/leases/{}/release", lease.as_str().unwrap());
            self.world.post(&bot.token, &path, json!({})).await.expect(200);
        };
        let wait = async |nth: usize| {
            let path = "/v1/locks/queue/one";
            eventually("the requests before it are queued", SOON, async || {
                let seen = self.world.get(&bots[0].token, path).await.expect(200);
                let waiting = seen["queue"].as_array().map_or(0, Vec::len);
                if waiting + 1 == nth { Ok(()) } else { Err(waiting) }
            })
            .await;
            let bot = &bots[nth % bots.len()];
            let had = self.world.post(&bot.token, "/v1/locks/acquire", ask("50s")).await;
            order.lock().unwrap().push(nth);
            release(bot, &had.expect(200)["lease_id"]).await;
        };
        let let_go = async {
            eventually("all requests are queued", SOON, async || {
                let seen = self.world.get(&bots[0].token, "/v1/locks/queue/one").await.expect(200);
                let waiting = seen["queue"].as_array().map_or(0, Vec::len);
                if waiting == 3 { Ok(()) } else { Err(waiting) }
            })
            .await;
            release(&bots[0], &holder["lease_id"]).await;
        };
        tokio::join!(wait(1), wait(2), wait(3), let_go);
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
    }
}

async fn stage(cluster: &Cluster) -> (Stage, Vec<Person>) {
    let world = World::locking(LockBackend::Redis(cluster.urls(), LockBackend::SETTINGS)).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let mut bots = Vec::new();
    for nth in 0..AGENTS {
        let bot = world.agent(&format!("bot-{nth}"), &bob).await;
        let able = json!({ "capabilities": ["db.*"], "max_tasks": 4 });
        let path = format!("/v1/agents/{}", bot.id);
        world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
        bots.push(bot);
    }
    let stage = Stage {
        world,
        bob,
        rea,
        target: Target::default(),
        counts: Counts::default(),
        is_over: AtomicBool::new(false),
        slowest: Mutex::default(),
    };
    (stage, bots)
}

#[tokio::test]
async fn redis_outage_stops_nothing_and_locks_stay_fair_afterwards() {
    let cluster = Cluster::owned().await;
    let (stage, bots) = stage(&cluster).await;
    let watching = Driver::watch(&stage.world.app);
    let (period, lease) = (Duration::from_millis(100), Duration::from_secs(30));
    let plan = WorkerPlan { run: vec!["all".to_owned()], period, lease };
    let working = Driver::start(&stage.world.app, &plan);
    let breaking = async {
        let with = Duration::from_secs(3);
        tokio::time::sleep(with).await;
        cluster.nodes().iter().for_each(|node| cluster.kill(node));
        let part = Duration::from_secs(seconds_away()) / u32::try_from(PARTS).unwrap();
        let mut before = stage.counts.now();
        for nth in 0..PARTS {
            let began = Instant::now();
            tokio::time::sleep(part).await;
            // On a slow machine a short part may end before there was any progress.
            before = eventually("there is progress without Redis", SOON, async || {
                let now = stage.counts.now();
                let done: Vec<usize> = now.iter().zip(before).map(|(now, was)| now - was).collect();
                let progress = format!("part {nth} without Redis, {:?}: {done:?}", began.elapsed());
                if done.contains(&0) {
                    return Err(progress);
                }
                println!("{progress} approvals, permits and reports");
                Ok(now)
            })
            .await;
        }
        for node in cluster.nodes() {
            cluster.restart_empty(node).await;
        }
        cluster.wait_until_ok(SOON).await;
        tokio::time::sleep(with).await;
        assert!(stage.counts.now()[2] > before[2], "there is progress with Redis");
        stage.is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(
        breaking,
        stage.review(),
        stage.apply(&bots[0]),
        stage.apply(&bots[1]),
        stage.apply(&bots[2]),
    );
    println!("the slowest approval took {:?}", stage.slowest.lock().unwrap());
    stage.assert_waits_are_fair(&bots).await;
    working.stop().await;
    watching.stop().await;
}
