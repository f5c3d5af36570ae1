//! All Redis nodes die under load, come back empty, are flushed, and fail over. No acknowledged
//! transition is lost, changes stay fast, and the read models agree with the database after each
//! fault. `ADE_SECONDS=60` keeps Redis down for a minute and requires recovery within ten seconds.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_engine::read_models::{Checked, check};
use ade_engine::workers::{Driver, WorkerPlan};
use ade_testkit::{Cluster, OwnedCluster, eventually};
use serde_json::{Value, json};

use crate::world::{LockBackend, Person, World, id, path_of, plan, quoted, seen};

const AUTHORS: usize = 4;
const SOON: Duration = Duration::from_mins(1);
/// How long the models may take to agree with the database in a release run.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// How long the models may take in other runs, which are not measured.
const BACK: Duration = Duration::from_mins(1);
/// The 99th percentile of changes in a release run.
const QUICK: Duration = Duration::from_millis(500);
/// The 99th percentile when tests run in parallel: no change waits for an unavailable Redis.
const NOT_STUCK: Duration = Duration::from_secs(5);

struct Stage {
    world: World,
    authors: Vec<Person>,
    rea: Person,
    is_over: AtomicBool,
    /// Held for writing while the models are compared, so that nothing changes meanwhile.
    pause: tokio::sync::RwLock<()>,
    /// The highest version of each task that was acknowledged to a caller.
    acknowledged: Mutex<BTreeMap<String, u64>>,
    /// How long each change took, before the first fault and after it.
    took: Mutex<[Vec<Duration>; 2]>,
    is_broken: AtomicBool,
}

impl Stage {
    async fn new(cluster: &Cluster) -> Self {
        let world = World::locking(LockBackend::Redis(cluster.urls(), LockBackend::SETTINGS)).await;
        world.database.be_patient().await;
        let mut authors = Vec::new();
        for nth in 0..AUTHORS {
            authors.push(world.person(&format!("Author {nth}"), &["author"]).await);
        }
        let rea = world.person("Rea", &["reviewer"]).await;
        Self {
            world,
            authors,
            rea,
            is_over: AtomicBool::new(false),
            pause: tokio::sync::RwLock::default(),
            acknowledged: Mutex::default(),
            took: Mutex::default(),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Makes one change and records how long it took and which version it acknowledged.
    async fn change(&self, who: &Person, path: &str, body: Value, matching: Option<&str>) -> Value {
        let began = Instant::now();
        let headers: Vec<(&str, &str)> =
            matching.map(|tag| ("if-match", tag)).into_iter().collect();
        let answer = self.world.send("POST", &who.token, path, Some(body), &headers).await;
        let phase = usize::from(self.is_broken.load(Ordering::Relaxed));
        self.took.lock().unwrap()[phase].push(began.elapsed());
        assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
        let task =
            if answer.body["task"].is_object() { &answer.body["task"] } else { &answer.body };
        let version = task["version"].as_u64().unwrap();
        let mut acknowledged = self.acknowledged.lock().unwrap();
        let known = acknowledged.entry(id(task).to_owned()).or_default();
        *known = version.max(*known);
        drop(acknowledged);
        answer.body
    }

    /// Creates, submits and approves tasks in a loop. Every third task is left under review.
    async fn generate_load(&self, author: &Person) {
        for nth in 0_u32.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let _moving = self.pause.read().await;
            let draft = self.change(author, "/v1/tasks", plan(&format!("{nth}")), None).await;
            let path = format!("{}/submit", path_of(&draft));
            self.change(author, &path, json!({}), Some(&quoted(&draft))).await;
            let task = eventually("the task is under review", SOON, async || {
                let task = self.world.task(author, &draft).await;
                if task["state"] == "REVIEWING" { Ok(task) } else { Err(task["state"].clone()) }
            })
            .await;
            if nth % 3 == 0 {
                continue;
            }
            let path = format!("{}/approve", path_of(&task));
            self.change(&self.rea, &path, seen(&task), None).await;
        }
    }

    /// Asserts that the models become complete and agree with the database.
    async fn assert_models_match(&self, after: &str) {
        let _still = self.pause.write().await;
        let began = Instant::now();
        let tenant: TenantId = self.world.tenant.parse().unwrap();
        let models = self.world.app.live.models.as_ref().unwrap();
        let most = if is_for_a_release() { BACK_WITHIN } else { BACK };
        let checked = eventually("the models agree with the database", most, async || {
            let checked: Checked =
                check(&self.world.app, models, tenant).await.map_err(|error| error.to_string())?;
            let open = "SELECT count(*) FROM task WHERE closed_at IS NOT NULL";
            let closed = u64::try_from(self.world.database.number(open).await).unwrap();
            // Closed tasks need not be in the models.
            let is_whole = checked.behind == 0 && checked.missing <= closed;
            if is_whole { Ok(checked) } else { Err(format!("{checked:?}")) }
        })
        .await;
        println!(
            "after {after}: {} tasks and {} queues agree within {:?}; differences: {}",
            checked.tasks,
            checked.queues,
            began.elapsed(),
            checked.differences.len()
        );
        assert_eq!(checked.differences, Vec::<String>::new(), "after {after}");
    }

    async fn assert_nothing_was_lost(&self) {
        let acknowledged = self.acknowledged.lock().unwrap().clone();
        for (task, version) in &acknowledged {
            let path = format!("/v1/tasks/{task}?since_version={version}");
            let seen = self.world.get(&self.rea.token, &path).await.expect(200);
            assert!(seen["version"].as_u64().unwrap() >= *version, "{task}: {version} and {seen}");
        }
        let [before, since] = self.took.lock().unwrap().clone().map(|mut took| {
            took.sort();
            took[took.len() * 99 / 100]
        });
        println!(
            "{} tasks, p99 of changes {before:?} before and {since:?} since",
            acknowledged.len()
        );
        // On a busy machine the exact times say nothing about Redis.
        let most = if is_for_a_release() { QUICK } else { NOT_STUCK };
        assert!(since < most, "{before:?} before, {since:?} since");
    }

    async fn inject_faults(&self, cluster: &OwnedCluster) {
        let with = Duration::from_secs(3);
        tokio::time::sleep(with).await;
        self.assert_models_match("normal operation").await;
        self.is_broken.store(true, Ordering::Relaxed);
        cluster.nodes().iter().for_each(|node| cluster.kill(node));
        tokio::time::sleep(seconds_away()).await;
        for node in cluster.nodes() {
            cluster.restart_empty(node).await;
        }
        cluster.wait_until_ok(SOON).await;
        self.assert_models_match("an outage of Redis").await;
        tokio::time::sleep(with).await;
        cluster.flush().await;
        self.assert_models_match("FLUSHALL").await;
        tokio::time::sleep(with).await;
        let tag = format!("{{{}}}", self.world.tenant);
        let slot = cluster.slot_of(&tag).await;
        let old = cluster.master_of(slot).await;
        cluster.kill(old);
        cluster.wait_for_new_master(slot, old, SOON).await;
        self.assert_models_match("a failover").await;
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn is_for_a_release() -> bool {
    std::env::var_os("ADE_SECONDS").is_some()
}

fn seconds_away() -> Duration {
    let given = std::env::var("ADE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(given.unwrap_or(6))
}

#[tokio::test]
async fn read_models_after_each_redis_fault_agree_with_the_database() {
    let cluster = Cluster::owned().await;
    let stage = Stage::new(&cluster).await;
    let watching = Driver::watch(&stage.world.app);
    let (period, lease) = (Duration::from_millis(100), Duration::from_secs(30));
    let plan = WorkerPlan { run: vec!["all".to_owned()], period, lease };
    let working = Driver::start(&stage.world.app, &plan);
    let going = async {
        let mut all = Vec::new();
        for author in &stage.authors {
            all.push(stage.generate_load(author));
        }
        futures_util::future::join_all(all).await;
    };
    tokio::join!(stage.inject_faults(&cluster), going);
    stage.assert_nothing_was_lost().await;
    working.stop().await;
    watching.stop().await;
}
