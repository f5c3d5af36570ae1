//! All of Redis dies under load, comes back empty, is emptied once more and fails over. No
//! transition that was acknowledged is lost, calls that change something stay quick, and the read
//! models are as the record each time. `ADE_SECONDS=60` for a whole minute without Redis, and then
//! within ten seconds.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_engine::models::{Checked, check};
use ade_engine::work::{Driver, Plan};
use ade_testkit::{Cluster, OwnedCluster, eventually};
use serde_json::{Value, json};

use crate::world::{Line, Person, World, id, path_of, plan, quoted, seen};

const AUTHORS: usize = 4;
const SOON: Duration = Duration::from_mins(1);
/// How long the models may take to be as the record, and longer where tests are not measured.
const BACK_WITHIN: Duration = Duration::from_secs(10);
const BACK: Duration = Duration::from_mins(1);
const QUICK: Duration = Duration::from_millis(500);
/// The same where tests run beside each other: nobody waits for a Redis that is away.
const NOT_STUCK: Duration = Duration::from_secs(5);

struct Stage {
    world: World,
    authors: Vec<Person>,
    rea: Person,
    is_over: AtomicBool,
    /// Held while somebody looks at the models: nothing moves meanwhile.
    pause: tokio::sync::RwLock<()>,
    /// The highest version of each task that its caller was told of.
    told: Mutex<BTreeMap<String, u64>>,
    /// How long each change took: before anything was broken, and since.
    took: Mutex<[Vec<Duration>; 2]>,
    is_broken: AtomicBool,
}

impl Stage {
    async fn new(cluster: &Cluster) -> Self {
        let world = World::locking(Line::Redis(cluster.urls(), Line::SETTINGS)).await;
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
            told: Mutex::default(),
            took: Mutex::default(),
            is_broken: AtomicBool::new(false),
        }
    }

    /// One call that changes something, its time, and the version it speaks of.
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
        let mut told = self.told.lock().unwrap();
        let known = told.entry(id(task).to_owned()).or_default();
        *known = version.max(*known);
        drop(told);
        answer.body
    }

    /// Proposes, submits and has reviewed, over and over; every third is left waiting.
    async fn go_on(&self, author: &Person) {
        for nth in 0_u32.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let _moving = self.pause.read().await;
            let draft = self.change(author, "/v1/tasks", plan(&format!("{nth}")), None).await;
            let path = format!("{}/submit", path_of(&draft));
            self.change(author, &path, json!({}), Some(&quoted(&draft))).await;
            let task = eventually("it is reviewed", SOON, async || {
                let task = self.world.task(author, &draft).await;
                if task["state"] == "REVIEWING" { Ok(task) } else { Err(task["state"].clone()) }
            })
            .await;
            if nth % 3 == 0 {
                continue;
            }
            let asked = format!("{}/approvals", path_of(&task));
            let asked = self.world.get(&self.rea.token, &asked).await.expect(200);
            let mut asked = asked["approvals"].as_array().unwrap().iter();
            let request = asked.find(|one| one["reviewer"] == json!(self.rea.id)).unwrap();
            let path = format!("/v1/approvals/{}/approve", id(request));
            self.change(&self.rea, &path, seen(&task), None).await;
        }
    }

    /// The models are as the record, and that all of it is there.
    async fn models_are_right(&self, after: &str) {
        let _still = self.pause.write().await;
        let began = Instant::now();
        let tenant: TenantId = self.world.tenant.parse().unwrap();
        let models = self.world.app.live.models.as_ref().unwrap();
        let most = if is_for_a_release() { BACK_WITHIN } else { BACK };
        let checked = eventually("the models are as the record", most, async || {
            let checked: Checked =
                check(&self.world.app, models, tenant).await.map_err(|error| error.to_string())?;
            let open = "SELECT count(*) FROM task WHERE closed_at IS NOT NULL";
            let closed = u64::try_from(self.world.database.number(open).await).unwrap();
            // Those that are over need not be kept.
            let is_whole = checked.behind == 0 && checked.missing <= closed;
            if is_whole { Ok(checked) } else { Err(format!("{checked:?}")) }
        })
        .await;
        println!(
            "after {after}: {} tasks and {} queues as in the record within {:?}; differences: {}",
            checked.tasks,
            checked.queues,
            began.elapsed(),
            checked.differences.len()
        );
        assert_eq!(checked.differences, Vec::<String>::new(), "after {after}");
    }

    async fn nothing_was_lost(&self) {
        let told = self.told.lock().unwrap().clone();
        for (task, version) in &told {
            let path = format!("/v1/tasks/{task}?since_version={version}");
            let seen = self.world.get(&self.rea.token, &path).await.expect(200);
            assert!(seen["version"].as_u64().unwrap() >= *version, "{task}: {version} and {seen}");
        }
        let [before, since] = self.took.lock().unwrap().clone().map(|mut took| {
            took.sort();
            took[took.len() * 99 / 100]
        });
        println!("{} tasks, p99 of changes {before:?} before and {since:?} since", told.len());
        // A machine that does other things too says nothing about Redis.
        let most = if is_for_a_release() { QUICK } else { NOT_STUCK };
        assert!(since < most, "{before:?} before, {since:?} since");
    }

    async fn break_it(&self, cluster: &OwnedCluster) {
        let with = Duration::from_secs(3);
        tokio::time::sleep(with).await;
        self.models_are_right("a quiet time").await;
        self.is_broken.store(true, Ordering::Relaxed);
        cluster.nodes().iter().for_each(|node| cluster.kill(node));
        tokio::time::sleep(seconds_away()).await;
        for node in cluster.nodes() {
            cluster.restart_empty(node).await;
        }
        cluster.wait_until_ok(SOON).await;
        self.models_are_right("a time without Redis").await;
        tokio::time::sleep(with).await;
        cluster.flush().await;
        self.models_are_right("FLUSHALL").await;
        tokio::time::sleep(with).await;
        let tag = format!("{{{}}}", self.world.tenant);
        let slot = cluster.slot_of(&tag).await;
        let old = cluster.master_of(slot).await;
        cluster.kill(old);
        cluster.wait_for_new_master(slot, old, SOON).await;
        self.models_are_right("a failover").await;
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
async fn models_are_as_the_record_after_whatever_happens_to_redis() {
    let cluster = Cluster::owned().await;
    let stage = Stage::new(&cluster).await;
    let watching = Driver::watch(&stage.world.app);
    let (period, lease) = (Duration::from_millis(100), Duration::from_secs(30));
    let plan = Plan { run: vec!["all".to_owned()], period, lease };
    let working = Driver::start(&stage.world.app, &plan);
    let going = async {
        let mut all = Vec::new();
        for author in &stage.authors {
            all.push(stage.go_on(author));
        }
        futures_util::future::join_all(all).await;
    };
    tokio::join!(stage.break_it(&cluster), going);
    stage.nothing_was_lost().await;
    working.stop().await;
    watching.stop().await;
}
