//! One tenant beside a noisy agent of another: previews that sleep, a flood of requests, long
//! waits, and changes that keep their database connections while they wait for a row. `ADE_NOISE_S`
//! sets the seconds of each measurement (240 at night) and `ADE_SEED` the order of the flood.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ade_engine::workers::Driver;
use ade_server::http::state::Shared;
use ade_server::telemetry;
use ade_testkit::{Random, eventually, within};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::organisations::from_environment;
use crate::previews::{change, target};
use crate::test_server::{TestServer, settings};
use crate::world::{Answer, Person, World, path_of, plan, quoted};

/// Enough that three calls are slower than the p99.
const CALLS_MIN: usize = 300;
/// A shorter p99 counts as this: a few milliseconds more or less are the work of the scheduler of
/// the machine, on which this test and the server run together.
const FLOOR: Duration = Duration::from_millis(10);
/// Small, so that the noise would use all of it up.
const CAPACITY: [(&str, &str); 2] = [("requests_max", "128"), ("waits_max", "32")];
const CHANGES: usize = 32;
const PREVIEWS: usize = 12;
const WAITS: usize = 28;
const FLOODS: u64 = 2;
/// The pause of the flood after each call. The noise takes places and connections, and little of
/// the processor: how that is divided is decided by the machine, and limited by the rate limits.
const FLOOD_PAUSE: Duration = Duration::from_millis(50);
/// Ends the wait for the expected answers to the noise.
const NOISE_DEADLINE: Duration = Duration::from_mins(1);
/// The pause of the others after a refusal.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// What the noisy agent does at the same time. Its changes use up the connections that its other
/// calls need, so that only the last attack combines everything.
struct Attack {
    name: &'static str,
    kinds: &'static [&'static str],
    answers: &'static [(&'static str, &'static str)],
}

const ATTACKS: [Attack; 3] = [
    Attack {
        name: "held connections",
        kinds: &["change", "wait"],
        answers: &[("change", "busy"), ("wait", "overloaded")],
    },
    Attack {
        name: "slow previews and a flood",
        kinds: &["preview", "flood", "wait"],
        answers: &[
            ("preview", "ok"),
            ("preview", "rate_limited"),
            ("flood", "ok"),
            ("wait", "overloaded"),
        ],
    },
    Attack {
        name: "everything",
        kinds: &["change", "preview", "flood", "wait"],
        answers: &[("change", "busy"), ("wait", "overloaded")],
    },
];

/// The answers that the noise got, by kind of call: `ok`, or the code of the refusal.
type Heard = Arc<Mutex<BTreeMap<(&'static str, String), usize>>>;

/// A noisy agent: calls that are repeated until they are stopped.
struct Noise {
    heard: Heard,
    calls: JoinSet<()>,
}

impl Noise {
    /// Repeats a call, with this pause after each, or a longer one after a refusal.
    fn repeat(
        &mut self,
        kind: &'static str,
        pause: Duration,
        mut call: impl FnMut() -> RequestBuilder + Send + 'static,
    ) {
        let heard = Arc::clone(&self.heard);
        self.calls.spawn(async move {
            loop {
                let answer = Answer::of(call().send().await.unwrap()).await;
                let refusal = answer.body["code"].as_str();
                let heard_now = (kind, refusal.unwrap_or("ok").to_owned());
                *heard.lock().unwrap().entry(heard_now).or_default() += 1;
                let is_refused = refusal.is_some() && kind != "flood";
                tokio::time::sleep(if is_refused { REFUSED_PAUSE } else { pause }).await;
            }
        });
    }

    /// Begins the kinds of noise that an attack consists of.
    fn begin(attack: &Attack, rig: &TestServer, agent: &Person, task: &Value, seed: u64) -> Self {
        let mut noise = Self { heard: Heard::default(), calls: JoinSet::new() };
        let asked = |method: &str, path: &str, body: Option<Value>| {
            let request = rig.request(method, path).bearer_auth(&agent.token);
            let request = request.header("if-match", quoted(task));
            match body {
                Some(body) => {
                    request.header("content-type", "application/json").body(body.to_string())
                }
                None => request,
            }
        };
        let mut add = |kind, count: usize, request: RequestBuilder| {
            let count = if attack.kinds.contains(&kind) { count } else { 0 };
            for _ in 0..count {
                let request = request.try_clone().unwrap();
                noise.repeat(kind, Duration::ZERO, move || request.try_clone().unwrap());
            }
        };
        let path = path_of(task);
        let amended = json!({ "tags": ["noisy"] });
        add("change", CHANGES, asked("PATCH", &path, Some(amended)));
        let sleeping = change("orders", "SELECT pg_sleep(1)");
        add("preview", PREVIEWS, asked("POST", "/v1/tasks/evaluate", Some(sleeping)));
        let waiting = format!("{path}?wait=55s&since_version={}", task["version"]);
        add("wait", WAITS, asked("GET", &waiting, None));
        let floods = if attack.kinds.contains(&"flood") { FLOODS } else { 0 };
        for number in 0..floods {
            let mut random = Random::new(seed + number);
            let calls = [
                asked("GET", &path, None),
                asked("GET", "/v1/tasks?page_size=50", None),
                asked("POST", "/v1/tasks", Some(plan("Flood"))),
                asked("POST", "/v1/tasks", Some(json!({ "title": "no task" }))),
            ];
            noise.repeat("flood", FLOOD_PAUSE, move || {
                let at = usize::try_from(random.below(4)).unwrap();
                calls[at].try_clone().unwrap()
            });
        }
        noise
    }

    /// Stops the noise when it has got the answers that the attack is known by.
    async fn end(mut self, attack: &Attack) {
        let heard = Arc::clone(&self.heard);
        let is_known = async || {
            let heard = heard.lock().unwrap();
            let missing = attack.answers.iter().find(|(kind, answer)| {
                let answer = (*kind, (*answer).to_owned());
                !heard.contains_key(&answer)
            });
            missing.map_or(Ok(()), |missing| Err(format!("{missing:?} is not in {heard:?}")))
        };
        eventually(attack.name, NOISE_DEADLINE, is_known).await;
        self.calls.shutdown().await;
        println!("{}: the noise heard {:?}", attack.name, self.heard.lock().unwrap());
    }
}

/// The tenant whose calls are measured.
struct Quiet {
    person: Person,
    path: String,
}

impl Quiet {
    /// Makes calls one after another, and returns the p99 of their times.
    async fn p99(&self, rig: &TestServer, lasting: Duration) -> Duration {
        let (begun, mut times) = (Instant::now(), Vec::new());
        while times.len() < CALLS_MIN || begun.elapsed() < lasting {
            let (method, path, expected) = match times.len() % 3 {
                0 => ("GET", self.path.as_str(), 200),
                1 => ("POST", "/v1/tasks", 201),
                _ => ("GET", "/v1/tasks?page_size=20", 200),
            };
            let mut request = rig.request(method, path).bearer_auth(&self.person.token);
            if method == "POST" {
                request = request.header("content-type", "application/json");
                request = request.body(plan("Quiet").to_string());
            }
            let called = Instant::now();
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            let body = answer.text().await.unwrap();
            times.push(called.elapsed());
            assert_eq!(status, expected, "{method} {path}: {body}");
        }
        times.sort_unstable();
        let p99 = times[times.len() * 99 / 100];
        println!("{} calls, median {:?}, p99 {p99:?}", times.len(), times[times.len() / 2]);
        p99
    }
}

/// Asks for the readiness until it is stopped, and fails at the first answer other than 200.
async fn stay_ready(rig: &TestServer) {
    loop {
        let answer = rig.get("/readyz").send().await.unwrap();
        let status = answer.status().as_u16();
        assert_eq!(status, 200, "{}", answer.text().await.unwrap());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn noisy_tenant_does_not_slow_another_down_in_time() {
    let lasting = u64::try_from(from_environment("ADE_NOISE_S", 3)).unwrap();
    let lasting = Duration::from_secs(lasting);
    let seed = u64::try_from(from_environment("ADE_SEED", 1)).unwrap();
    let mut world = World::new().await;
    let _target = target(&world).await;
    let bob = world.person("Bob", &["author"]).await;
    let agent = world.agent("noisy", &bob).await;
    let task = world.draft(&agent, "Busy").await;
    let (_, other) = world.tenant("quiet").await;
    let small = settings(&CAPACITY);
    let shared = Shared::new(Arc::clone(&world.app), small, telemetry::metrics().unwrap());
    // A server that is dropped shuts its process down, which both share.
    let _first = std::mem::replace(&mut world.rig, TestServer::over(shared).await);
    let watching = Driver::watch(&world.app);
    let path = path_of(&world.draft(&other, "Quiet").await);
    let quiet = Quiet { person: other, path };

    // Connections, plans and caches are filled first.
    quiet.p99(&world.rig, Duration::ZERO).await;
    let alone = quiet.p99(&world.rig, lasting).await.max(FLOOR);

    // Every change of this task waits for its row until its lock timeout.
    let uuid = task["id"].as_str().unwrap().parse::<ade_core::ids::TaskId>().unwrap().uuid();
    let mut holder = world.database.session().await;
    holder.run(&format!("BEGIN; SELECT FROM task WHERE id = '{uuid}' FOR UPDATE")).await;
    for attack in &ATTACKS {
        let noise = Noise::begin(attack, &world.rig, &agent, &task, seed);
        // The noise fills its queues first.
        tokio::time::sleep(Duration::from_secs(1)).await;
        tokio::select! {
            () = within(2 * alone, async || quiet.p99(&world.rig, lasting).await) => {}
            () = stay_ready(&world.rig) => {}
        }
        noise.end(attack).await;
    }
    holder.run("COMMIT").await;
    watching.stop().await;
}
