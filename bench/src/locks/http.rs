//! Uncontended locks through the API: acquire and release by one caller, by fifty and by five
//! hundred, next to the same scripts called directly. The leases are advisory; a fenced lease adds
//! a row in PostgreSQL, which the permit scenario measures.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::peers::our_pairs;
use super::place::LockCluster;
use crate::client::{Client, request};
use crate::figure::{Goal, millis, print_plain, print_ratio, quantile};
use crate::installation::{Installation, Server};
use crate::permit::{BenchAgent, agent};
use crate::seed::{Seed, text};

const CROWDS: [usize; 3] = [1, 50, 500];
/// The number of callers whose throughput is compared with that of the bare scripts.
const CROWD: usize = 50;
const AGENTS: usize = 100;
/// A rate limit that is never reached during a measurement.
const ACQUIRES_PER_MINUTE: u32 = 600_000;

pub async fn run(place: &LockCluster, rounds: usize, lasts: Duration, pairs: usize) -> Result<()> {
    let at = Installation::start().await?;
    let seed = Seed::plant(&at).await?;
    let more = [
        ("ADE__REDIS__URLS", place.urls().join(",")),
        ("ADE__LOCKS__BACKEND", "redis".to_owned()),
        ("ADE__LOCKS__ACQUIRES_PER_MINUTE", ACQUIRES_PER_MINUTE.to_string()),
        ("ADE__LOCKS__ACQUIRES_BURST", (ACQUIRES_PER_MINUTE / 60).to_string()),
        ("ADE__WORKERS__RUN", "epoch_keeper".to_owned()),
    ];
    let server = Server::start_with(&at, at.postgres.port(), true, &more).await?;
    let mut client = Client::connect(&server.address).await?;
    let mut agents = Vec::new();
    for nth in 0..AGENTS {
        agents.push(agent(&mut client, &seed, &format!("locker-{nth}")).await?);
    }
    for callers in CROWDS {
        let (mut ours, mut bare, mut middle, mut late) = (vec![], vec![], vec![], vec![]);
        // The first round warms up.
        for round in 0..=rounds {
            let (rate, times) = crowd(&server.address, &agents, callers, lasts).await?;
            let beside = our_pairs(place, pairs, callers).await?;
            if round > 0 {
                ours.push(rate);
                bare.push(beside);
                middle.push(quantile(&times, 0.5));
                late.push(quantile(&times, 0.99));
            }
        }
        let named = |what: &str| format!("lock.http_{what}_at_{callers}");
        print_plain(&named("p50_ms"), "ms", &middle, Goal::None);
        print_plain(&named("p99_ms"), "ms", &late, Goal::None);
        print_ratio(&named("pairs"), "1/s", &ours, &bare, Goal::None);
        if callers == CROWD {
            print_ratio("lock.http_throughput", "1/s", &ours, &bare, Goal::AtLeast(0.9));
        }
    }
    Ok(())
}

/// Returns the acquire and release pairs per second, and the latency of each acquire.
async fn crowd(
    address: &str,
    agents: &[BenchAgent],
    callers: usize,
    lasts: Duration,
) -> Result<(f64, Vec<f64>)> {
    let mut clients = Vec::new();
    for nth in 0..callers {
        let agent = agents.get(nth % agents.len()).context("no agent")?.clone();
        clients.push((Client::connect(address).await?, agent));
    }
    let began = Instant::now();
    let mut crowd = JoinSet::new();
    for (nth, (mut client, agent)) in clients.into_iter().enumerate() {
        let address = address.to_owned();
        crowd.spawn(async move {
            let mut times = Vec::new();
            let wanted = json!({ "resources": [format!("database:d{nth}")] });
            let acquire = request(
                &address,
                "POST",
                "/v1/locks/acquire",
                &agent.token,
                &wanted.to_string(),
                "",
            );
            while began.elapsed() < lasts {
                let asked = Instant::now();
                let had = client.send(&acquire).await?;
                times.push(millis(asked.elapsed()));
                let granted = had.json()?;
                ensure!(had.status == 200, "{}: {granted}", had.status);
                let path = format!("/v1/leases/{}/release", text(&granted, "lease_id")?);
                let back = request(&address, "POST", &path, &agent.token, "", "");
                let given = client.send(&back).await?;
                ensure!(given.status == 200, "{}: {}", given.status, given.json()?);
            }
            Ok::<_, anyhow::Error>(times)
        });
    }
    let mut times = Vec::new();
    while let Some(caller) = crowd.join_next().await {
        times.extend(caller??);
    }
    let count = f64::from(u32::try_from(times.len())?);
    Ok((count / began.elapsed().as_secs_f64(), times))
}
