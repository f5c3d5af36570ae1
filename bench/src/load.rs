//! Two kinds of load. Saturation: each caller sends its next call as soon as the last one is
//! answered, and throughput counts. Offered: calls start on schedule, whether or not earlier ones
//! are answered, and latency is measured from the scheduled time, so a stall counts for every call
//! it delays.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::bare::BareApproval;
use crate::client::Client;
use crate::figure::millis;
use crate::seed::{Ballot, Seed};

/// The remaining votes; each is given once.
#[derive(Debug)]
pub struct Ballots {
    all: Vec<Ballot>,
    next: AtomicUsize,
}

impl Ballots {
    pub fn new(all: Vec<Ballot>) -> Self {
        Self { all, next: AtomicUsize::new(0) }
    }

    pub fn take(&self) -> Option<Ballot> {
        self.all.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    fn given(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.all.len())
    }
}

/// The number of calls that were answered, and their latencies.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    pub calls: f64,
    pub seconds: f64,
}

impl Done {
    pub fn per_second(self) -> f64 {
        self.calls / self.seconds
    }
}

pub async fn vote(client: &mut Client, seed: &Seed, address: &str, ballot: &Ballot) -> Result<()> {
    let answer = client.send(&seed.vote(address, ballot)).await?;
    if answer.status != 200 {
        bail!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    Ok(())
}

pub async fn saturate_ours(
    address: &str,
    seed: &Arc<Seed>,
    ballots: &Arc<Ballots>,
    callers: usize,
    lasts: Duration,
) -> Result<Done> {
    let mut clients = Vec::new();
    for _ in 0..callers {
        clients.push(Client::connect(address).await?);
    }
    let (began, before) = (Instant::now(), ballots.given());
    let mut callers = JoinSet::new();
    for mut client in clients {
        let (seed, ballots, address) = (Arc::clone(seed), Arc::clone(ballots), address.to_owned());
        callers.spawn(async move {
            while began.elapsed() < lasts {
                let Some(ballot) = ballots.take() else { bail!("no votes are left") };
                vote(&mut client, &seed, &address, &ballot).await?;
            }
            Ok(())
        });
    }
    settle(callers).await?;
    Ok(done(ballots, before, began))
}

/// Runs the baseline, and returns the connections, because a backend that ends takes its CPU times
/// with it.
pub async fn saturate_bare(
    connections: Vec<BareApproval>,
    seed: &Arc<Seed>,
    ballots: &Arc<Ballots>,
    lasts: Duration,
) -> Result<(Done, Vec<BareApproval>)> {
    let (began, before) = (Instant::now(), ballots.given());
    let mut callers = JoinSet::new();
    for mut bare in connections {
        let (seed, ballots) = (Arc::clone(seed), Arc::clone(ballots));
        callers.spawn(async move {
            while began.elapsed() < lasts {
                let Some(ballot) = ballots.take() else { bail!("no votes are left") };
                bare.approve(&seed, &ballot).await?;
            }
            Ok(bare)
        });
    }
    let mut connections = Vec::new();
    while let Some(caller) = callers.join_next().await {
        connections.push(caller??);
    }
    Ok((done(ballots, before, began), connections))
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
fn done(ballots: &Ballots, before: usize, began: Instant) -> Done {
    Done { calls: (ballots.given() - before) as f64, seconds: began.elapsed().as_secs_f64() }
}

/// Returns the milliseconds of each call, counted from its scheduled start.
pub async fn offer(
    address: &str,
    seed: &Arc<Seed>,
    ballots: &Arc<Ballots>,
    per_second: u32,
    connections: usize,
    lasts: Duration,
) -> Result<Vec<f64>> {
    let calls = (f64::from(per_second) * lasts.as_secs_f64()).round();
    let (turn, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let began = Instant::now() + Duration::from_millis(50);
    let mut callers = JoinSet::new();
    for _ in 0..connections {
        let (seed, ballots, address) = (Arc::clone(seed), Arc::clone(ballots), address.to_owned());
        let (turn, refused) = (Arc::clone(&turn), Arc::clone(&refused));
        callers.spawn(async move {
            let mut client = Client::connect(&address).await?;
            let mut times = Vec::new();
            loop {
                let nth = u32::try_from(turn.fetch_add(1, Ordering::Relaxed))?;
                if f64::from(nth) >= calls {
                    return Ok(times);
                }
                let due = began + Duration::from_secs_f64(f64::from(nth) / f64::from(per_second));
                sleep_until(due).await;
                let Some(ballot) = ballots.take() else { bail!("no votes are left") };
                // The call was refused because of overload; its latency counts all the same.
                if client.send(&seed.vote(&address, &ballot)).await?.status != 200 {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                times.push(millis(due.elapsed()));
            }
        });
    }
    let mut times = Vec::new();
    while let Some(caller) = callers.join_next().await {
        times.extend(caller??);
    }
    let answered = f64::from(u32::try_from(times.len())?) / began.elapsed().as_secs_f64();
    let refused = refused.load(Ordering::Relaxed);
    eprintln!("{per_second}/s offered: {answered:.0}/s answered, {refused} of them refused");
    Ok(times)
}

async fn settle(mut callers: JoinSet<Result<()>>) -> Result<()> {
    while let Some(caller) = callers.join_next().await {
        caller??;
    }
    Ok(())
}
