//! Locks on a real cluster, next to the bare commands that they consist of and next to other locks
//! on Redis: the cost of a script, the rate of handoffs, and the cost of a million leases. All
//! sides take turns on the same servers over the same kind of connection.

mod handoff;
mod http;
mod peers;
mod place;

use std::time::Duration;

use anyhow::Result;

use crate::figure::{Goal, Rows, SECOND_IN_MICROS, print_plain, print_ratio};
use place::LockCluster;

/// The number of calls in flight where the cost of one call is measured; enough to be sent in one
/// write.
const PIPELINE: usize = 16;
const FEW: usize = 1_000;

#[derive(Debug, clap::Args)]
pub struct LocksArgs {
    /// A tenth of the leases and shorter rounds: about two minutes in all
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
}

struct Plan {
    rounds: usize,
    calls: usize,
    many: usize,
    /// The duration of a round over HTTP.
    lasts: Duration,
}

pub async fn run(args: &LocksArgs) -> Result<()> {
    let plan = if args.quick {
        Plan { rounds: 3, calls: 20_000, many: 100_000, lasts: Duration::from_secs(2) }
    } else {
        Plan { rounds: 5, calls: 50_000, many: 1_000_000, lasts: Duration::from_secs(5) }
    };
    let place = LockCluster::start().await?;
    cost_of_scripts(&place, &plan).await?;
    handoff::run(&place, plan.rounds, plan.calls / 4).await?;
    peers::run(&place, plan.rounds, plan.calls / 2).await?;
    http::run(&place, plan.rounds, plan.lasts, plan.calls).await?;
    drop(place);
    cost_of_many(&plan).await
}

/// Measures the CPU time of the server per call: an uncontended grant and the whole pair, each next
/// to the bare SET NX PX.
async fn cost_of_scripts(place: &LockCluster, plan: &Plan) -> Result<()> {
    let (mut grants, mut pairs, mut sets) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=plan.rounds {
        let set = place.cpu_of(plan.calls, place.set_all(plan.calls, PIPELINE)).await?;
        place.forget_sets(plan.calls).await?;
        let first = place.reserve(plan.calls);
        let grant =
            place.cpu_of(plan.calls, place.acquire_all(first, plan.calls, PIPELINE)).await?;
        let freed = place.release_all(first, plan.calls, PIPELINE);
        let release = place.cpu_of(plan.calls, freed).await?;
        sets.push(set * SECOND_IN_MICROS);
        grants.push(grant * SECOND_IN_MICROS);
        pairs.push((grant + release) * SECOND_IN_MICROS);
    }
    // The first round of each warms up.
    let (sets, grants, pairs) = (sets.split_off(1), grants.split_off(1), pairs.split_off(1));
    print_ratio("lock.script_cpu_over_setnx", "µs", &grants, &sets, Goal::AtMost(5.0));
    print_ratio("lock.pair_cpu_over_setnx", "µs", &pairs, &sets, Goal::None);
    Ok(())
}

/// Measures the same pairs with few and with very many leases held, in turn, and the memory of a
/// lease. Separate clusters are used, because Redis would free the memory of earlier rows during
/// the measurement.
async fn cost_of_many(plan: &Plan) -> Result<()> {
    let (calm, full) = (LockCluster::start().await?, LockCluster::start().await?);
    calm.acquire_all(calm.reserve(FEW), FEW, PIPELINE).await?;
    let before = full.memory().await?;
    full.acquire_all(full.reserve(plan.many), plan.many, PIPELINE * 4).await?;
    let bytes = (full.memory().await? - before) / f64::from(u32::try_from(plan.many)?);
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        few.push(cost_of_pairs(&calm, plan.calls).await?);
        many.push(cost_of_pairs(&full, plan.calls).await?);
    }
    print_ratio("lock.cost_1m_over_1k", "µs", &many, &few, Goal::AtMost(1.3));
    print_plain("lock.bytes_per_lease", "B", &[bytes], Goal::AtMost(500.0));
    eprintln!("{} leases were held at once", plan.many);
    Ok(())
}

async fn cost_of_pairs(place: &LockCluster, calls: usize) -> Result<f64> {
    let first = place.reserve(calls);
    let pairs = async {
        place.acquire_all(first, calls, PIPELINE).await?;
        place.release_all(first, calls, PIPELINE).await
    };
    Ok(place.cpu_of(calls, pairs).await? * SECOND_IN_MICROS)
}
