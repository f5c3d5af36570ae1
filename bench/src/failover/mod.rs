//! Locks while everything below them breaks: holders in processes of their own take, register,
//! work and commit on a real cluster and PostgreSQL; meanwhile masters are killed, taken over,
//! emptied and resharded, and holders frozen. What all of them saw is judged together.

mod holder;
mod nemesis;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ade_core::ids::TenantId;
use ade_core::limits::LOCK_COUNTER_BITS;
use ade_engine::setup;
use ade_testkit::lock_history::{Event, Verdict, judge};
use ade_testkit::process::Process;
use ade_testkit::signal::poll_until;
use ade_testkit::{Failure, OwnedCluster};
use anyhow::{Context as _, Result, bail, ensure};

use crate::installation::{DATABASE, Installation, run as run_sql};
pub use holder::{Args as HolderArgs, run as hold};
use nemesis::Nemesis;

const PROCESSES: u32 = 3;
/// The fault after which there is no master for a while.
const KILL: &str = "kill";
pub const RESOURCES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Leases are to be had again so soon after whatever happened, a failover among it.
const GAP_MAX: Duration = Duration::from_secs(5);
/// Of fewer than this the greatest says nothing about all but one in a hundred: each of them is
/// held to `GAP_MAX_OF_FEW`, which only a lock that does not come back exceeds.
const FEW_GAPS: usize = 100;
const GAP_MAX_OF_FEW: Duration = Duration::from_secs(20);
/// Whoever still waits at the end gets this much to come to an end of it.
const DRAIN: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How long the load goes on
    #[arg(long)]
    seconds: u64,
    /// Chooses the order of the faults and the dice of the holders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Holders look at their holds without locking them: stale commits must then be found
    #[arg(long)]
    plain: bool,
}

/// Microseconds of the machine's clock, which all processes of a run share.
#[expect(
    clippy::disallowed_methods,
    reason = "holders on one machine, beside a database that fails"
)]
pub fn moment() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

pub async fn run(args: &Args) -> Result<()> {
    let at = Installation::start().await?;
    let servers = ade_testkit::Cluster::owned().await;
    let tenant = prepare(&at).await?;
    let folder = std::env::temp_dir().join(format!("ade-failover-{}", uuid::Uuid::now_v7()));
    fs::create_dir_all(&folder)?;
    let holders = start_holders(args, &at, &servers, tenant, &folder)?;
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let nemesis = Nemesis::new(&servers, tenant, &holders, args.seed).await;
    let faults = nemesis.rage(end).await?;
    for holder in &holders {
        let is_over = async || {
            let still = || Failure::new("end the holders", "one still runs");
            (!holder.is_alive()).then_some(()).ok_or_else(still)
        };
        poll_until("a holder ends", DRAIN, is_over).await?;
    }
    let verdict = judge(&read(&folder)?, &faults, LOCK_COUNTER_BITS);
    println!("{verdict}");
    let double = count_double_holds(&at).await?;
    fs::remove_dir_all(&folder)?;
    if args.plain {
        ensure!(!verdict.stale.is_empty(), "the control let no stale commit through");
        return Ok(());
    }
    conclude(&verdict, double)
}

fn conclude(verdict: &Verdict, double: i64) -> Result<()> {
    let failures = verdict.failures();
    if !failures.is_empty() {
        bail!("{} failures:\n{}", failures.len(), failures.join("\n"));
    }
    ensure!(double == 0, "{double} resources have two who could both commit");
    ensure!(verdict.commits > 0 && verdict.registered > 0, "nothing happened");
    // A kill is told, but how long Redis takes to elect a master is its own affair.
    let gap = verdict.gap_p99(KILL).unwrap_or_default();
    let most = if verdict.gaps.len() < FEW_GAPS { GAP_MAX_OF_FEW } else { GAP_MAX };
    ensure!(gap <= most, "leases were gone for {gap:?}");
    Ok(())
}

async fn prepare(at: &Installation) -> Result<TenantId> {
    let owner_url = at.postgres.url(DATABASE);
    let way_in = setup::bootstrap(&owner_url, &Installation::pepper()?, "acme").await?;
    let mut owner = at.owner().await?;
    let table = "CREATE TABLE target (resource text PRIMARY KEY, value bigint NOT NULL);
        GRANT SELECT, UPDATE ON target TO ade_app";
    run_sql(&mut owner, table).await?;
    for name in RESOURCES {
        run_sql(&mut owner, &format!("INSERT INTO target VALUES ('db:{name}', 0)")).await?;
    }
    Ok(way_in.tenant)
}

fn start_holders(
    args: &Args,
    at: &Installation,
    servers: &OwnedCluster,
    tenant: TenantId,
    folder: &Path,
) -> Result<Vec<Process>> {
    let start = |number: u32| {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.arg("hold").args(["--redis", &servers.urls().join(",")]);
        command.args(["--database", &at.app_url, "--tenant", &tenant.to_string()]);
        command.args(["--seconds", &args.seconds.to_string()]);
        command.args([
            "--seed",
            &args.seed.wrapping_mul(1_000).wrapping_add(u64::from(number)).to_string(),
        ]);
        command.arg("--out").arg(folder.join(number.to_string()));
        if args.plain {
            command.arg("--plain");
        }
        command.stderr(fs::File::create(folder.join(format!("{number}.err")))?);
        Ok(Process::spawn(&mut command)?)
    };
    (0..PROCESSES).map(start).collect()
}

fn read(folder: &Path) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    for number in 0..PROCESSES {
        let told = fs::read_to_string(folder.join(format!("{number}.err")))?;
        ensure!(told.trim().is_empty(), "holder {number} failed: {told}");
        let path: PathBuf = folder.join(number.to_string());
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in text.lines() {
            events.push(line.parse().map_err(|why: String| anyhow::anyhow!(why))?);
        }
    }
    events.sort_by_key(|event: &Event| event.at);
    Ok(events)
}

/// The monitor's question: resources with two who could both commit.
async fn count_double_holds(at: &Installation) -> Result<i64> {
    let query = "SELECT count(*) FROM (SELECT resource FROM lock_hold
        WHERE fenced_by IS NULL AND released_at IS NULL AND mode = 'exclusive'
        GROUP BY tenant_id, resource HAVING count(*) > 1) AS twice";
    Ok(sqlx::query_scalar(query).fetch_one(&mut at.owner().await?).await?)
}
