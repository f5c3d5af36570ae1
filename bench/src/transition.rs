//! One approval that moves a task to APPROVED: over HTTP with everything enabled, compared with the
//! same rows as one bare statement. Both sides alternate on the same tables; the CPU time of each
//! process is read from `/proc`, and round trips are counted on the wire.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::bare::{ApprovalSample, BareApproval, rows};
use crate::client::Client;
use crate::figure::{Goal, Rows, SECOND_IN_MICROS, median, print_plain, print_ratio, quantile};
use crate::installation::{Installation, Server};
use crate::load::{Ballots, Done, offer, saturate_bare, saturate_ours, vote};
use crate::seed::Seed;
use crate::wire::Wire;

const CALLERS: usize = 16;
const OFFERED_PER_SECOND: u32 = 1_000;
/// More connections than are ever in use at once, so that a slow response does not delay other
/// calls.
const OFFERED_CONNECTIONS: usize = 256;
const COUNTED_TRIPS: usize = 41;

#[derive(Debug, clap::Args)]
pub struct TransitionArgs {
    /// Shorter rounds: about a minute in all
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
}

struct Plan {
    rounds: usize,
    lasts: Duration,
    tasks: u32,
}

/// The result of one round of one side.
#[derive(Debug, Clone, Copy)]
struct Round {
    done: Done,
    api_cpu: f64,
    postgres_cpu: f64,
}

struct Bench {
    at: Installation,
    seed: Arc<Seed>,
    ballots: Arc<Ballots>,
    sample: ApprovalSample,
}

pub async fn run(args: &TransitionArgs) -> Result<()> {
    let plan = if args.quick {
        Plan { rounds: 3, lasts: Duration::from_secs(3), tasks: 60_000 }
    } else {
        Plan { rounds: 5, lasts: Duration::from_secs(8), tasks: 250_000 }
    };
    let bench = prepare(plan.tasks).await?;
    count_trips(&bench).await?;
    let server = Server::start(&bench.at, bench.at.postgres.port(), false).await?;
    let warm = Duration::from_secs(1);
    ours(&bench, &server, warm).await?;
    bare(&bench, warm).await?;
    check_rows(&bench, &server).await?;
    let (mut by_bare, mut by_us) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        by_bare.push(bare(&bench, plan.lasts).await?);
        by_us.push(ours(&bench, &server, plan.lasts).await?);
    }
    tell_throughput(&by_us, &by_bare);
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let (address, rate) = (&server.address, OFFERED_PER_SECOND);
        let (seed, ballots, lasts) = (&bench.seed, &bench.ballots, plan.lasts);
        rounds.push(offer(address, seed, ballots, rate, OFFERED_CONNECTIONS, lasts).await?);
    }
    let at = |share: f64| rounds.iter().map(|times| quantile(times, share)).collect::<Vec<_>>();
    print_plain("approve.p50_ms_at_1k", "ms", &at(0.5), Goal::None);
    print_plain("approve.p99_ms_at_1k", "ms", &at(0.99), Goal::AtMost(25.0));
    Ok(())
}

async fn prepare(tasks: u32) -> Result<Bench> {
    let at = Installation::start().await?;
    let seed = Seed::plant(&at).await?;
    let mut owner = at.owner().await?;
    let ballots = Ballots::new(seed.copy(&mut owner, tasks).await?);
    let server = Server::start(&at, at.postgres.port(), false).await?;
    let mut client = Client::connect(&server.address).await?;
    let first = ballots.take();
    let Some(ballot) = first else { anyhow::bail!("no tasks were made") };
    vote(&mut client, &seed, &server.address, &ballot).await?;
    let sample = ApprovalSample::of(&mut owner, &seed, ballot.task).await?;
    Ok(Bench { at, seed: Arc::new(seed), ballots: Arc::new(ballots), sample })
}

/// Counts round trips. The median of many calls counts, because some calls also look up the token.
async fn count_trips(bench: &Bench) -> Result<()> {
    let wire = Wire::to(bench.at.postgres.port()).await?;
    let server = Server::start(&bench.at, wire.port, false).await?;
    let mut client = Client::connect(&server.address).await?;
    let mut counts = Vec::new();
    for _ in 0..COUNTED_TRIPS {
        let Some(ballot) = bench.ballots.take() else { anyhow::bail!("no votes are left") };
        let before = wire.trips();
        vote(&mut client, &bench.seed, &server.address, &ballot).await?;
        // Traffic after the response belongs to the call too.
        tokio::time::sleep(Duration::from_millis(5)).await;
        counts.push(f64::from(u32::try_from(wire.trips() - before)?));
    }
    let settled = counts.split_off(COUNTED_TRIPS / 2);
    print_plain("transition.round_trips", "", &settled, Goal::AtMost(4.0));
    Ok(())
}

async fn ours(bench: &Bench, server: &Server, lasts: Duration) -> Result<Round> {
    let (api, postgres) = (server.cpu_seconds(), bench.at.cpu_seconds());
    let (address, seed, ballots) = (&server.address, &bench.seed, &bench.ballots);
    let done = saturate_ours(address, seed, ballots, CALLERS, lasts).await?;
    Ok(Round {
        done,
        api_cpu: (server.cpu_seconds() - api) / done.calls * SECOND_IN_MICROS,
        postgres_cpu: (bench.at.cpu_seconds() - postgres) / done.calls * SECOND_IN_MICROS,
    })
}

async fn bare(bench: &Bench, lasts: Duration) -> Result<Round> {
    let mut connections = Vec::new();
    for _ in 0..CALLERS {
        connections.push(BareApproval::connect(&bench.at, &bench.sample).await?);
    }
    let postgres = bench.at.cpu_seconds();
    let given = saturate_bare(connections, &bench.seed, &bench.ballots, lasts).await?;
    let (done, connections) = given;
    let postgres_cpu = (bench.at.cpu_seconds() - postgres) / done.calls * SECOND_IN_MICROS;
    drop(connections);
    Ok(Round { done, api_cpu: 0.0, postgres_cpu })
}

/// Checks that both sides wrote the same rows, because otherwise the comparison would be
/// meaningless.
async fn check_rows(bench: &Bench, server: &Server) -> Result<()> {
    let mut owner = bench.at.owner().await?;
    let (seed, ballots) = (&bench.seed, &bench.ballots);
    let mut changes = Vec::new();
    for is_ours in [true, false] {
        let Some(ballot) = ballots.take() else { anyhow::bail!("no votes are left") };
        let before = rows(&mut owner).await?;
        if is_ours {
            let mut client = Client::connect(&server.address).await?;
            vote(&mut client, seed, &server.address, &ballot).await?;
        } else {
            BareApproval::connect(&bench.at, &bench.sample).await?.approve(seed, &ballot).await?;
        }
        let after = rows(&mut owner).await?;
        changes.push(after.iter().zip(before).map(|(now, was)| now - was).collect::<Vec<_>>());
    }
    ensure!(changes.first() == changes.last(), "the two sides write other rows: {changes:?}");
    eprintln!(
        "rows of one approval (vote, audit entry, events, requests, task): {:?}",
        changes.first()
    );
    Ok(())
}

fn tell_throughput(ours: &[Round], bare: &[Round]) {
    let pick = |rounds: &[Round], of: fn(&Round) -> f64| rounds.iter().map(of).collect::<Vec<_>>();
    let rate = |round: &Round| round.done.per_second();
    let (our_rate, bare_rate) = (pick(ours, rate), pick(bare, rate));
    print_ratio("transition.vs_bare_16", "1/s", &our_rate, &bare_rate, Goal::AtLeast(0.6));
    let api = pick(ours, |round| round.api_cpu);
    print_plain("transition.api_cpu_us", "µs", &api, Goal::AtMost(120.0));
    let (ours, bare) =
        (pick(ours, |round| round.postgres_cpu), pick(bare, |round| round.postgres_cpu));
    print_ratio("transition.postgres_cpu_us", "µs", &ours, &bare, Goal::None);
    eprintln!("CPU per approval: API {:.0} µs, PostgreSQL {:.0} µs", median(&api), median(&ours));
}
