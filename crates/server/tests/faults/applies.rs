//! Searches for a change that is applied twice. Agents in separate processes claim, begin, write to
//! a target and report. Between any two steps they may die or pause for longer than their lease;
//! some of their requests are sent twice, and other agents lock the same resources. The target
//! keeps its own ledger and checks receipts and fences. The assertions use only that ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ade_receipt::{Expected, Fenced, KeySet, LockMode, Watermark};
use ade_testkit::Random;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{LockBackend, Person, World, id};

const TTL: &str = "2s";
/// One pack is four agents and one locker that compete for six databases. A larger number of tasks
/// gets more packs, so that the contention in each pack stays the same.
const DATABASES: usize = 6;
const AGENTS: usize = 4;
const TASKS_OF_A_PACK: usize = 500;
const PACKS: usize = 6;
/// Agents die and pause now and then. A paused agent resumes after more than its lease and the lock
/// delay. Sometimes other agents find a dead holder before the server does.
const HUNT: FaultRates = FaultRates {
    dies: 24,
    stops: 24,
    stopped: Duration::from_millis(3_500),
    rescue: Duration::from_secs(4),
};
/// Agents mostly pause, and the server detects dead holders late.
const CONTROL: FaultRates = FaultRates {
    dies: 1_000,
    stops: 4,
    stopped: Duration::from_secs(6),
    rescue: Duration::from_secs(30),
};
const SOON: Duration = Duration::from_mins(10);
const SOON_OF_A_TASK: Duration = Duration::from_millis(250);

/// How often an agent dies or pauses (one step in so many), and for how long.
#[derive(Clone, Copy)]
struct FaultRates {
    dies: u64,
    stops: u64,
    stopped: Duration,
    rescue: Duration,
}

/// The state of the target.
#[derive(Default)]
struct Ledger {
    marks: BTreeMap<String, Watermark>,
    /// For each task, the attempts that applied its change.
    made: BTreeMap<String, Vec<String>>,
    /// Attempts that the target refused because their fence was too old.
    refused: BTreeSet<String>,
    /// Attempts that were reconciled: everything that they send afterwards must be refused.
    looked_after: BTreeSet<String>,
    /// How far the clock of the database is ahead of the real one, in seconds.
    ahead: u64,
}

impl Ledger {
    /// Attempts that were allowed to begin although another holder had taken over.
    fn overtaken(&self) -> Vec<&String> {
        self.refused.difference(&self.looked_after).collect()
    }
}

#[derive(Clone)]
struct Target {
    ledger: Arc<Mutex<Ledger>>,
    keys: Arc<KeySet>,
}

impl Target {
    async fn start(world: &World) -> (Self, String) {
        let keys = world.get("", "/.well-known/jwks.json").await.expect(200).to_string();
        let keys = Arc::new(KeySet::from_json(&keys).unwrap());
        let target = Self { ledger: Arc::default(), keys };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let served = target.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served.clone().answer(stream));
            }
        });
        (target, address)
    }

    /// Reads a receipt from one line and replies whether its change was applied.
    async fn answer(self, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut receipt = String::new();
        stream.read_line(&mut receipt).await?;
        let is_made = self.write(receipt.trim());
        stream.write_all(if is_made { b"made" } else { b"no" }).await
    }

    /// Checks the fence and applies the change in one atomic step.
    fn write(&self, receipt: &str) -> bool {
        let mut ledger = self.ledger.lock().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + ledger.ahead + 1;
        let expected = Expected { issuer: "ade", audience: "ade", now };
        let receipt = self.keys.verify(receipt, expected).unwrap();
        let made = ledger.made.get(&receipt.task);
        if made.is_some_and(|made| made.contains(&receipt.nonce)) {
            return true;
        }
        let mut marks = ledger.marks.clone();
        for fenced in &receipt.resources {
            let mark = marks.entry(fenced.resource.clone()).or_default();
            let Ok(next) = mark.admit(fenced) else {
                ledger.refused.insert(receipt.nonce);
                return false;
            };
            *mark = next;
        }
        ledger.marks = marks;
        ledger.made.entry(receipt.task).or_default().push(receipt.nonce);
        true
    }

    /// Records that another holder works on the resource.
    fn touch(&self, resource: &str, fence: u64) {
        let mut ledger = self.ledger.lock().unwrap();
        let next = Fenced { resource: resource.to_owned(), mode: LockMode::Exclusive, fence };
        let mark = ledger.marks.entry(resource.to_owned()).or_default();
        *mark = mark.admit(&next).unwrap_or(*mark);
    }

    /// Refuses everything up to this attempt's fence from now on. Returns whether the change was
    /// applied.
    fn look(&self, task: &str, attempt: &Value, resource: &str) -> bool {
        self.touch(resource, attempt["fence"].as_u64().unwrap() + 1);
        let mut ledger = self.ledger.lock().unwrap();
        ledger.looked_after.insert(id(attempt).to_owned());
        ledger.made.contains_key(task)
    }
}

/// Sends a receipt and returns whether the target reports the change as applied.
async fn send(target: &str, receipt: &str) -> bool {
    let sent = async {
        let mut stream = TcpStream::connect(target).await?;
        stream.write_all(format!("{receipt}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer == "made")
    };
    sent.await.unwrap_or_default()
}

/// Sometimes kills this process, or pauses it until the test resumes it.
fn risk(random: &mut Random, [dies, stops]: [u64; 2]) {
    let own = rustix::process::getpid();
    if random.below(dies) == 0 {
        kill_process(own, Signal::KILL).unwrap();
    }
    if random.below(stops) == 0 {
        kill_process(own, Signal::STOP).unwrap();
    }
}

/// An agent process: claims, begins, writes and reports in a loop until it is killed.
#[tokio::test]
#[ignore = "child process of the tests below"]
async fn agent_process() {
    // This process ends with the test, however the test ends.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let setting = |name: &str| std::env::var(format!("ADE_TEST_{name}")).unwrap();
    let (url, token, target) = (setting("URL"), setting("TOKEN"), setting("TARGET"));
    let mut random = Random::new(setting("SEED").parse().unwrap());
    let sides = ["DIES", "STOPS"].map(|name| setting(name).parse().unwrap());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = async |path: String, body: &Value| -> Option<(u16, Value)> {
        let asked = client.post(path).bearer_auth(&token);
        let asked = asked.header("content-type", "application/json").body(body.to_string());
        let answer = asked.send().await.ok()?;
        Some((answer.status().as_u16(), answer.json().await.unwrap_or_default()))
    };
    let claim = format!("{url}/v1/agents/{}/claim?wait=2s", setting("AGENT"));
    loop {
        let Some((200, claimed)) = post(claim.clone(), &json!({ "ttl_seconds": TTL })).await else {
            continue;
        };
        let permit = &claimed["permit"];
        let Some(execution) = permit["execution_id"].as_str() else { continue };
        let lease = json!({ "lease_id": permit["lease_id"] });
        let path = |verb: &str| format!("{url}/v1/executions/{execution}/{verb}");
        risk(&mut random, sides);
        if !matches!(post(path("begin"), &lease).await, Some((200, _))) {
            continue;
        }
        risk(&mut random, sides);
        let receipt = permit["receipt"].as_str().unwrap();
        let mut is_made = send(&target, receipt).await;
        if random.below(4) == 0 {
            is_made = send(&target, receipt).await;
        }
        risk(&mut random, sides);
        if !is_made {
            continue;
        }
        let repeats = if random.below(4) == 0 { 2 } else { 1 };
        for _ in 0..repeats {
            post(path("finish"), &lease).await;
        }
        risk(&mut random, sides);
    }
}

struct Hunt {
    world: World,
    target: Target,
    address: String,
    author: Person,
    bots: Vec<Person>,
    packs: usize,
    tasks: Vec<Value>,
    fault_rates: FaultRates,
}

const POLICY: &str = "name: approve-automatically
match: {task_types: [\"db.*\"]}
require:
  - {roles: [reviewer], min: 1}
auto_approve_if: {risk_below: 100, accept_declared_effect: true}";

impl Hunt {
    async fn new(tasks: usize, fault_rates: FaultRates) -> Self {
        let line = LockBackend::redis(LockBackend::SETTINGS).await;
        let world = World::locking(line).await;
        world.policy(POLICY).await;
        let author = world.person("Bob", &["author"]).await;
        let (target, address) = Target::start(&world).await;
        let mut bots = Vec::new();
        let packs = tasks.div_ceil(TASKS_OF_A_PACK).min(PACKS);
        for nth in 0..AGENTS * packs {
            let bot = world.agent(&format!("bot-{nth}"), &author).await;
            let path = format!("/v1/agents/{}", bot.id);
            let able = json!({ "capabilities": ["db.*"], "max_tasks": 10_000 });
            world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
            bots.push(bot);
        }
        let mut hunt =
            Self { world, target, address, author, bots, packs, tasks: Vec::new(), fault_rates };
        for nth in 0..tasks {
            hunt.propose(nth).await;
        }
        hunt
    }

    async fn propose(&mut self, nth: usize) {
        let resource = format!("database:d{}", nth % (DATABASES * self.packs));
        let wanted = json!({
            "title": format!("Change {nth}"), "type": "db.change", "parameters": { "nth": nth },
            "resources": [{ "resource": resource }],
            "plan": { "changes": [{
                "resource": resource, "action": "change", "irreversible": false, "summary": "one"
            }] }
        });
        let task = self.world.post(&self.author.token, "/v1/tasks", wanted).await.expect(201);
        self.world.submit(&self.author, &task).await;
        self.tasks.push(task);
    }

    fn agent(&self, bot: &Person, seed: u64) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["applies::agent_process", "--exact", "--ignored", "--nocapture"])
            .env("ADE_TEST_URL", format!("http://{}", self.world.rig.address))
            .env("ADE_TEST_TOKEN", &bot.token)
            .env("ADE_TEST_AGENT", &bot.id)
            .env("ADE_TEST_TARGET", &self.address)
            .env("ADE_TEST_SEED", seed.to_string())
            .env("ADE_TEST_DIES", self.fault_rates.dies.to_string())
            .env("ADE_TEST_STOPS", self.fault_rates.stops.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    async fn states(&self) -> BTreeMap<String, i64> {
        let mut states = BTreeMap::new();
        for state in ["SUBMITTED", "APPROVED", "APPLYING", "UNKNOWN", "COMPLETED", "FAILED"] {
            let count = format!("SELECT count(*) FROM task WHERE state = '{state}'");
            states.insert(state.to_owned(), self.world.database.number(&count).await);
        }
        states
    }

    /// Reconciles every task in state UNKNOWN, as a person would.
    async fn reconcile(&self) {
        let admin = &self.world.admin.token;
        let unknown = self.world.get(admin, "/v1/tasks?state=UNKNOWN&page_size=200").await;
        for task in unknown.expect(200)["items"].as_array().unwrap() {
            let path = format!("/v1/tasks/{}", id(task));
            let tries = self.world.get(admin, &format!("{path}/executions")).await.expect(200);
            let whole = self.world.get(admin, &path).await.expect(200);
            let resource = whole["resources"][0]["resource"].as_str().unwrap();
            let was_made = self.target.look(id(task), &tries["items"][0], resource);
            let found = if was_made { "completed" } else { "not_applied" };
            let body = json!({ "found": found, "reason": "asked the target" });
            let version = format!("\"{}\"", whole["version"]);
            let matching = [("if-match", version.as_str())];
            let path = format!("{path}/reconcile");
            self.world.send("POST", admin, &path, Some(body), &matching).await;
        }
    }

    /// Locks the databases of a pack in turn, in competition with the tasks.
    async fn lock(&self, pack: usize) {
        let bot = self.world.agent(&format!("locker-{pack}"), &self.author).await;
        for nth in 0.. {
            let database = format!("d{}", pack * DATABASES + nth % DATABASES);
            let wanted = json!({
                "resources": [format!("database:{database}")], "fenced": true,
                "ttl_seconds": 1, "wait": "1s"
            });
            let had = self.world.post(&bot.token, "/v1/locks/acquire", wanted).await;
            if had.status != 200 {
                continue;
            }
            let fence = had.body["fence"].as_u64().unwrap();
            self.target.touch(&format!("database:{database}"), fence);
            let path = format!("/v1/leases/{}/release", had.body["lease_id"].as_str().unwrap());
            self.world.post(&bot.token, &path, json!({})).await;
        }
    }

    /// Retries the tasks that failed five times, as their author.
    async fn retry(&self) {
        let failed = self.world.get(&self.author.token, "/v1/tasks?state=FAILED&page_size=200");
        for task in failed.await.expect(200)["items"].as_array().unwrap() {
            let path = format!("/v1/tasks/{}/retry", id(task));
            self.world.matching("POST", &self.author.token, &path, None, task).await.expect(202);
        }
    }

    async fn run(&self, seed: u64, is_over: impl Fn(&Ledger) -> bool) {
        let lockers = futures_util::future::join_all((0..self.packs).map(|pack| self.lock(pack)));
        tokio::select! {
            () = self.drive(seed, is_over) => {}
            _ = lockers => {}
        }
    }

    /// Runs until every task is completed. Agents that died are replaced.
    async fn drive(&self, seed: u64, is_over: impl Fn(&Ledger) -> bool) {
        let watching = ade_engine::workers::Driver::watch(&self.world.app);
        let mut seeds = seed * 1_000_000..;
        let mut next_agent = |bot| (self.agent(bot, seeds.next().unwrap()), None::<Instant>);
        let mut agents: Vec<_> = self.bots.iter().map(&mut next_agent).collect();
        let soon = SOON + SOON_OF_A_TASK * u32::try_from(self.tasks.len()).unwrap();
        let (began, mut rescued) = (Instant::now(), Instant::now());
        loop {
            self.world.work("review_opener").await;
            // This runs late, so that other agents sometimes find a dead holder first.
            if rescued.elapsed() > self.fault_rates.rescue {
                self.world.work("apply_rescuer").await;
                rescued = Instant::now();
            }
            self.reconcile().await;
            self.retry().await;
            for ((child, stopped), bot) in agents.iter_mut().zip(&self.bots) {
                let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
                let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
                match waitpid(Some(pid), options) {
                    Ok(Some((_, status))) if status.stopped() => *stopped = Some(Instant::now()),
                    Ok(None) => {}
                    _ => (*child, *stopped) = next_agent(bot),
                }
                if stopped.is_some_and(|since| since.elapsed() > self.fault_rates.stopped) {
                    kill_process(pid, Signal::CONT).unwrap();
                    *stopped = None;
                }
            }
            let states = self.states().await;
            let is_done = states["COMPLETED"] == i64::try_from(self.tasks.len()).unwrap();
            if is_done || is_over(&self.target.ledger.lock().unwrap()) {
                break;
            }
            assert!(began.elapsed() < soon, "{states:?}");
            // Scheduled work follows the shifted clock, while a lease expires by real time.
            let ahead = {
                let mut ledger = self.target.ledger.lock().unwrap();
                ledger.ahead += 2;
                Duration::from_secs(ledger.ahead)
            };
            self.world.pass(ahead).await;
        }
        for (mut child, _) in agents {
            let _ = child.kill();
            let _ = child.wait();
        }
        watching.stop().await;
    }
}

fn tasks() -> usize {
    let rounds = std::env::var("ADE_ROUNDS").ok().and_then(|text| text.parse().ok());
    rounds.unwrap_or(60)
}

#[tokio::test]
async fn apply_with_dying_agents_makes_each_change_once() {
    let hunt = Hunt::new(tasks(), HUNT).await;
    hunt.run(1, |_| false).await;
    let ledger = hunt.target.ledger.lock().unwrap();
    for task in &hunt.tasks {
        let made = ledger.made.get(id(task)).map_or(0, Vec::len);
        assert_eq!(made, 1, "{} was applied {made} times", id(task));
    }
    assert_eq!(ledger.overtaken(), Vec::<&String>::new(), "allowed to begin although overtaken");
    let lost = ledger.refused.len();
    println!("{} tasks, each applied once; {lost} attempts came too late", hunt.tasks.len());
}

/// The control: without the check that the lease is still valid, the same search must find an agent
/// that was allowed to begin although another one had taken over.
#[tokio::test]
async fn apply_without_the_lease_check_lets_an_overtaken_agent_begin() {
    let hunt = Hunt::new(60, CONTROL).await;
    hunt.world
        .database
        .run(
            "CREATE OR REPLACE FUNCTION apply_assert(lease uuid, token_of_lease bigint)
             RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        )
        .await;
    hunt.run(2, |ledger| !ledger.overtaken().is_empty()).await;
    let ledger = hunt.target.ledger.lock().unwrap();
    assert!(!ledger.overtaken().is_empty(), "the search would miss the defect");
}
