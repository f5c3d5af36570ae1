//! Locks under failures: holders in separate processes acquire, register, work and commit on a real
//! cluster and PostgreSQL, while masters are killed, replaced, flushed and resharded, and holders
//! are stopped. The history of all holders is judged at the end.

mod holder;
mod nemesis;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ade_core::ids::TenantId;
use ade_core::limits::LOCK_COUNTER_BITS;
use ade_engine::admin::bootstrap;
use ade_testkit::lock_history::{HistoryEvent, HistoryVerdict, judge};
use ade_testkit::process::Process;
use ade_testkit::signal::poll_until;
use ade_testkit::{Failure, OwnedCluster};
use anyhow::{Context as _, Result, bail, ensure};

use crate::installation::{DATABASE, Installation, run as run_sql};
pub use holder::{HolderArgs, run as hold};
use nemesis::Nemesis;

const PROCESSES: u32 = 3;
/// The fault that leaves the cluster without a master for a while.
const KILL: &str = "kill";
pub const RESOURCES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Leases must be granted again within this time after any fault, including a failover.
const GAP_MAX: Duration = Duration::from_secs(5);
/// Below this number of gaps, the maximum says nothing about the 99th percentile. Each gap is then
/// compared with `GAP_MAX_OF_FEW`, which only a lock that does not recover exceeds.
const FEW_GAPS: usize = 100;
const GAP_MAX_OF_FEW: Duration = Duration::from_secs(20);
/// The time that waiting leases have to finish at the end.
const DRAIN: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
pub struct FailoverArgs {
    /// Duration of the load in seconds
    #[arg(long)]
    seconds: u64,
    /// Seed of the order of faults and of the random choices of the holders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check holds without locking them; the run must then find stale commits
    #[arg(long)]
    plain: bool,
}

/// Returns the microseconds of the machine's clock, which all processes of a run share.
#[expect(
    clippy::disallowed_methods,
    reason = "holders on one machine, beside a database that fails"
)]
pub fn moment() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

pub async fn run(args: &FailoverArgs) -> Result<()> {
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

fn conclude(verdict: &HistoryVerdict, double: i64) -> Result<()> {
    let failures = verdict.failures();
    if !failures.is_empty() {
        bail!("{} failures:\n{}", failures.len(), failures.join("\n"));
    }
    ensure!(double == 0, "{double} resources have two who could both commit");
    ensure!(verdict.commits > 0 && verdict.registered > 0, "nothing happened");
    // A kill is reported, but the time that Redis takes to elect a master is not judged.
    let gap = verdict.gap_p99(KILL).unwrap_or_default();
    let most = if verdict.gaps.len() < FEW_GAPS { GAP_MAX_OF_FEW } else { GAP_MAX };
    ensure!(gap <= most, "leases were gone for {gap:?}");
    Ok(())
}

async fn prepare(at: &Installation) -> Result<TenantId> {
    let owner_url = at.postgres.url(DATABASE);
    let way_in = bootstrap::bootstrap(&owner_url, &Installation::pepper()?, "acme").await?;
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
    args: &FailoverArgs,
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

fn read(folder: &Path) -> Result<Vec<HistoryEvent>> {
    let mut events = Vec::new();
    for number in 0..PROCESSES {
        let errors = fs::read_to_string(folder.join(format!("{number}.err")))?;
        ensure!(errors.trim().is_empty(), "holder {number} failed: {errors}");
        let path: PathBuf = folder.join(number.to_string());
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in text.lines() {
            events.push(line.parse().map_err(|why: String| anyhow::anyhow!(why))?);
        }
    }
    events.sort_by_key(|event: &HistoryEvent| event.at);
    Ok(events)
}

/// Counts the resources with two holders that could both commit.
async fn count_double_holds(at: &Installation) -> Result<i64> {
    let query = "SELECT count(*) FROM (SELECT resource FROM lock_hold
        WHERE fenced_by IS NULL AND released_at IS NULL AND mode = 'exclusive'
        GROUP BY tenant_id, resource HAVING count(*) > 1) AS twice";
    Ok(sqlx::query_scalar(query).fetch_one(&mut at.owner().await?).await?)
}
