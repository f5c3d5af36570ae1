//! Permits: approved tasks claimed over HTTP with everything enabled, compared with the same holds
//! and rows as one bare statement; ten thousand agents that wait for work at one process; and full
//! task lifecycles.

mod bare;
mod idle;
mod lifecycle;
mod queues;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use crate::client::{Client, request};
use crate::figure::{Goal, Rows, millis, print_plain, print_ratio, quantile};
use crate::installation::{Installation, Server};
use crate::load::vote;
use crate::seed::{Ballot, Seed, text};
use bare::{BarePermit, PermitSample};

const CALLERS: usize = 16;
/// Enough agents that each holds few tasks at once, as in production.
const AGENTS: usize = 400;
const AGENT_TASKS: u32 = 1_000;
/// A delay of a claimer must show up in its latency and not end the run.
const PATIENCE_SECONDS: u32 = 30;

#[derive(Debug, clap::Args)]
pub struct PermitArgs {
    /// Shorter rounds and a tenth of the claimers: about two minutes in all
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
}

struct Plan {
    rounds: usize,
    lasts: Duration,
    tasks: u32,
    claimers: usize,
    wakes: usize,
}

/// An agent with its token.
#[derive(Debug, Clone)]
pub struct BenchAgent {
    pub id: String,
    pub token: String,
}

#[derive(Debug)]
struct Bench {
    at: Installation,
    seed: Seed,
    agents: Vec<BenchAgent>,
}

impl Bench {
    /// Returns the agents of one caller.
    fn agents_of(&self, caller: usize) -> Vec<BenchAgent> {
        self.agents.iter().skip(caller).step_by(CALLERS).cloned().collect()
    }
}

pub async fn run(args: &PermitArgs) -> Result<()> {
    let plan = if args.quick {
        Plan { rounds: 3, lasts: Duration::from_secs(3), tasks: 40_000, claimers: 1_000, wakes: 50 }
    } else {
        let lasts = Duration::from_secs(6);
        Plan { rounds: 5, lasts, tasks: 120_000, claimers: 10_000, wakes: 300 }
    };
    let bench = prepare().await?;
    idle::run(&bench, plan.claimers, plan.wakes).await?;
    lifecycle::run(&bench, plan.rounds, plan.lasts).await?;
    against_bare(&bench, &plan).await
}

async fn prepare() -> Result<Bench> {
    let at = Installation::start().await?;
    let seed = Seed::plant(&at).await?;
    let server = Server::start(&at, at.postgres.port(), false).await?;
    let mut client = Client::connect(&server.address).await?;
    let mut agents = Vec::new();
    for nth in 0..AGENTS {
        agents.push(agent(&mut client, &seed, &format!("agent-{nth}")).await?);
    }
    Ok(Bench { at, seed, agents })
}

pub async fn agent(client: &mut Client, seed: &Seed, name: &str) -> Result<BenchAgent> {
    let author = seed.task.get("author_id").context("no author")?;
    let able = json!({
        "name": name, "owner_id": author, "capabilities": ["db.*", "secret.*"],
        "max_tasks": AGENT_TASKS,
    });
    let made = client.ask("POST", "/v1/agents", &seed.admin, Some(&able), "").await?;
    let id = text(&made, "id")?;
    let asked = json!({ "agent_id": id, "scopes": ["read", "propose", "execute"] });
    let token = client.ask("POST", "/v1/tokens", &seed.admin, Some(&asked), "").await?;
    Ok(BenchAgent { id, token: text(&token, "token")? })
}

/// Returns a field of a response, or null if it does not exist.
fn part<'a>(value: &'a Value, name: &str) -> &'a Value {
    &value[name]
}

/// Builds the request of an agent that claims work and waits for this many seconds.
fn claim(address: &str, agent: &BenchAgent, wait: u32) -> Vec<u8> {
    let path = format!("/v1/agents/{}/claim?wait={wait}s", agent.id);
    request(address, "POST", &path, &agent.token, "{}", "")
}

async fn against_bare(bench: &Bench, plan: &Plan) -> Result<()> {
    let mut owner = bench.at.owner().await?;
    let server = Server::start(&bench.at, bench.at.postgres.port(), false).await?;
    let mut client = Client::connect(&server.address).await?;
    approve_template(bench, &server, &mut client).await?;
    let tasks = bench.seed.approved(&mut owner, plan.tasks).await?;
    // Creating the tasks took longer than the idle timeout of the server.
    let mut client = Client::connect(&server.address).await?;
    let permitted = claim_one(&mut client, &server.address, bench.agents.first()).await?;
    let task = part(part(&permitted, "task"), "id").as_str().context("no task")?;
    let task = task.parse::<ade_core::ids::TaskId>()?.uuid();
    let sample = PermitSample::of(&mut owner, &bench.seed, task).await?;
    // Our side claims from the front, so the baseline takes tasks from the back.
    let back = Arc::new(Back { tasks, taken: AtomicUsize::new(0) });
    check_rows(bench, &server, &sample, &back).await?;
    let warm = Duration::from_secs(1);
    let (mut ours, mut bare, mut times) = (Vec::new(), Vec::new(), Vec::new());
    saturate(bench, &server, warm).await?;
    saturate_bare(bench, &sample, &back, warm).await?;
    for _ in 0..plan.rounds {
        bare.push(saturate_bare(bench, &sample, &back, plan.lasts).await?);
        let (rate, took) = saturate(bench, &server, plan.lasts).await?;
        ours.push(rate);
        times.push(quantile(&took, 0.99));
    }
    print_ratio("permit.vs_bare", "1/s", &ours, &bare, Goal::AtLeast(0.5));
    print_plain("permit.p99_ms_at_16", "ms", &times, Goal::None);
    Ok(())
}

/// Approves the task that the others are copied from, through the API.
async fn approve_template(bench: &Bench, server: &Server, client: &mut Client) -> Result<()> {
    let path = "/v1/approvals?page_size=200";
    let reviewer = bench.seed.reviewers.first().context("no reviewer")?;
    let inbox = client.ask("GET", path, &reviewer.token, None, "").await?;
    let id = text(&bench.seed.task, "id")?;
    let items = part(&inbox, "items").as_array().context("no inbox")?;
    let mine = items.iter().find(|item| part(part(item, "task"), "id") == id.as_str());
    let approval = text(mine.context("it is not asked for")?, "id")?.parse()?;
    let task = id.parse::<ade_core::ids::TaskId>()?.uuid();
    let ballot = Ballot { task, approval, reviewer: 0 };
    vote(client, &bench.seed, &server.address, &ballot).await
}

async fn claim_one(
    client: &mut Client,
    address: &str,
    agent: Option<&BenchAgent>,
) -> Result<Value> {
    let agent = agent.context("no agent")?;
    let answer = client.send(&claim(address, agent, PATIENCE_SECONDS)).await?;
    let claimed = answer.json()?;
    ensure!(answer.status == 200, "{}: {claimed}", answer.status);
    ensure!(part(&claimed, "permit").is_object(), "there was nothing to claim");
    Ok(part(&claimed, "permit").clone())
}

#[derive(Debug)]
struct Back {
    tasks: Vec<Uuid>,
    taken: AtomicUsize,
}

impl Back {
    fn take(&self) -> Result<Uuid> {
        let nth = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        let at = self.tasks.len().checked_sub(nth).context("no tasks are left")?;
        self.tasks.get(at).copied().context("no tasks are left")
    }
}

/// Returns permits per second, and the latency of each.
async fn saturate(bench: &Bench, server: &Server, lasts: Duration) -> Result<(f64, Vec<f64>)> {
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let address = server.address.clone();
        let agents = bench.agents_of(caller);
        let mut client = Client::connect(&address).await?;
        callers.spawn(async move {
            let mut times = Vec::new();
            for agent in agents.iter().cycle() {
                if began.elapsed() >= lasts {
                    break;
                }
                let asked = Instant::now();
                claim_one(&mut client, &address, Some(agent)).await?;
                times.push(millis(asked.elapsed()));
            }
            Ok::<_, anyhow::Error>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(caller) = callers.join_next().await {
        times.extend(caller??);
    }
    let count = f64::from(u32::try_from(times.len())?);
    Ok((count / began.elapsed().as_secs_f64(), times))
}

async fn saturate_bare(
    bench: &Bench,
    sample: &PermitSample,
    back: &Arc<Back>,
    lasts: Duration,
) -> Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..CALLERS {
        connections.push(BarePermit::connect(&bench.at, sample).await?);
    }
    let (began, before) = (Instant::now(), back.taken.load(Ordering::Relaxed));
    let mut callers = JoinSet::new();
    for (caller, mut bare) in connections.into_iter().enumerate() {
        let agents = bench.agents_of(caller);
        let back = Arc::clone(back);
        callers.spawn(async move {
            for agent in agents.iter().cycle() {
                if began.elapsed() >= lasts {
                    break;
                }
                bare.permit(back.take()?, agent).await?;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    let done = back.taken.load(Ordering::Relaxed) - before;
    Ok(f64::from(u32::try_from(done)?) / began.elapsed().as_secs_f64())
}

/// Checks that both sides wrote the same rows, because otherwise the comparison would be
/// meaningless.
async fn check_rows(
    bench: &Bench,
    server: &Server,
    sample: &PermitSample,
    back: &Back,
) -> Result<()> {
    let mut owner = bench.at.owner().await?;
    let mut changes = Vec::new();
    let agent = bench.agents.last().context("no agent")?;
    for is_ours in [true, false] {
        let before = bare::rows(&mut owner).await?;
        if is_ours {
            let mut client = Client::connect(&server.address).await?;
            claim_one(&mut client, &server.address, Some(agent)).await?;
        } else {
            BarePermit::connect(&bench.at, sample).await?.permit(back.take()?, agent).await?;
        }
        let after = bare::rows(&mut owner).await?;
        changes.push(after.iter().zip(before).map(|(now, was)| now - was).collect::<Vec<_>>());
    }
    if changes.first() != changes.last() {
        bail!("the two sides write other rows: {changes:?}");
    }
    eprintln!(
        "rows of one permit (attempt, holds, sessions, audit entry, events): {:?}",
        changes.first()
    );
    Ok(())
}
