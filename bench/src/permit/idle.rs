//! Very many agents wait for work at one process: what they cost while idle, and how long it takes
//! from the vote that approves a task until one of them has its permit.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{Bench, BenchAgent, claim, part};
use crate::client::Client;
use crate::figure::{Goal, millis, print_plain, quantile};
use crate::installation::Server;
use crate::load::vote;

const MIB: f64 = 1024.0 * 1024.0;
const WAIT_SECONDS: u32 = 55;
/// The time that the claimers have to connect before their waits end.
const SETTLES: Duration = Duration::from_secs(3);
const WATCHED: Duration = Duration::from_secs(15);
const WAKES_WITHIN: Duration = Duration::from_secs(10);
/// The number of connections that are opened at once.
const TOGETHER: usize = 64;

pub async fn run(bench: &Bench, claimers: usize, wakes: usize) -> Result<()> {
    let room = (claimers + 100).to_string();
    let settings =
        [("ADE__SERVER__CONNECTIONS_MAX", room.clone()), ("ADE__SERVER__WAITS_MAX", room)];
    let port = bench.at.postgres.port();
    let server = Server::start_with(&bench.at, port, false, &settings).await?;
    let mut owner = bench.at.owner().await?;
    let ballots = bench.seed.copy(&mut owner, u32::try_from(wakes)?).await?;
    let before = server.memory_bytes();
    let (permits_sender, mut permits) = mpsc::channel(16);
    let mut waiting = JoinSet::new();
    for nth in 0..claimers {
        let agent = bench.agents.get(nth % bench.agents.len()).context("no agent")?.clone();
        waiting.spawn(wait(server.address.clone(), agent, permits_sender.clone()));
        if nth % TOGETHER == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }
    sleep(SETTLES).await;
    let (began, cpu) = (Instant::now(), server.cpu_seconds());
    sleep(WATCHED).await;
    let share = (server.cpu_seconds() - cpu) / began.elapsed().as_secs_f64() * 100.0;
    print_plain(
        "idle.claimers_mib",
        "MiB",
        &[(server.memory_bytes() - before) / MIB],
        Goal::AtMost(400.0),
    );
    print_plain("idle.cpu_pct", "%", &[share], Goal::AtMost(5.0));
    let mut client = Client::connect(&server.address).await?;
    let mut times = Vec::new();
    for ballot in &ballots {
        let sent = Instant::now();
        vote(&mut client, &bench.seed, &server.address, ballot).await?;
        let (agent, permit, at) = timeout(WAKES_WITHIN, permits.recv())
            .await
            .context("no claimer was woken")?
            .context("no claimer waits")?;
        times.push(millis(at - sent));
        finish(&mut client, &agent, &permit).await?;
    }
    print_plain("claim.wake_p50_ms", "ms", &[quantile(&times, 0.5)], Goal::None);
    print_plain("claim.wake_p99_ms", "ms", &[quantile(&times, 0.99)], Goal::AtMost(50.0));
    waiting.abort_all();
    Ok(())
}

/// Waits for work repeatedly, and sends every permit that it gets to the channel.
async fn wait(
    address: String,
    agent: BenchAgent,
    permits_sender: mpsc::Sender<(BenchAgent, Value, Instant)>,
) -> Result<()> {
    let mut client = Client::connect(&address).await?;
    loop {
        let answer = client.send(&claim(&address, &agent, WAIT_SECONDS)).await?;
        let at = Instant::now();
        let claimed = answer.json()?;
        ensure!(answer.status == 200, "{}: {claimed}", answer.status);
        if part(&claimed, "permit").is_object() {
            permits_sender.send((agent.clone(), part(&claimed, "permit").clone(), at)).await?;
        }
    }
}

/// Finishes the task, so that its resource is free for the next one.
async fn finish(client: &mut Client, agent: &BenchAgent, permit: &Value) -> Result<()> {
    let execution = part(permit, "execution_id").as_str().context("no attempt")?;
    let body = serde_json::json!({ "lease_id": part(permit, "lease_id") });
    for verb in ["begin", "finish"] {
        let path = format!("/v1/executions/{execution}/{verb}");
        client.ask("POST", &path, &agent.token, Some(&body), "").await?;
    }
    Ok(())
}
