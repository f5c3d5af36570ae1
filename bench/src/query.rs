//! Lists, inbox, explanation and audit with ten thousand tasks and with many more, in turns on one
//! server: their plans, and how much slower the same query becomes. A plan that scans a big table
//! completely fails the run.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ade_core::ids::TaskId;
use ade_core::limits::TASK_LIST_SCAN_MAX;
use ade_engine::admin::bootstrap;
use ade_engine::{Pool, PoolClass, PoolSettings};
use ade_testkit::postgres::PostgresSettings;
use ade_testkit::{OwnedPostgres, database};
use anyhow::{Context as _, Result, bail};
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

use crate::figure::{Goal, Rows, millis, print_ratio, quantile};
use crate::generate::{Shape, TABLES, fill};
use crate::installation::run as execute;
use crate::probe::{FilledDatabase, Probe};

const FEW: u64 = 10_000;
const TENANTS: u64 = 10;
const SAMPLED_TASKS: i64 = 2_000;
/// A plan is logged when its statement ends, so the reader has to wait for it.
const LOG_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub struct QueryArgs {
    /// Few tasks and short rounds
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
    /// How many tasks the larger database has
    #[arg(long, default_value_t = 1_000_000)]
    tasks: u64,
    /// Where to write the plans of the larger database
    #[arg(long)]
    plans: Option<PathBuf>,
}

pub async fn run(args: &QueryArgs) -> Result<()> {
    let tasks = if args.quick { args.tasks.min(200_000) } else { args.tasks };
    let (rounds, calls) = if args.quick { (3, 200) } else { (5, 500) };
    let cellar = Cellar::start().await?;
    let few = cellar.place("few", Shape::crowded(FEW, TENANTS)).await?;
    let began = Instant::now();
    let many = cellar.place("many", Shape::new(tasks, TENANTS)).await?;
    eprintln!("{tasks} tasks in {:.0} s", began.elapsed().as_secs_f64());
    let label = label(tasks);
    for probe in Probe::ALL {
        let plans = cellar.plans("many", &many, probe).await?;
        check(probe, &plans)?;
        if let Some(folder) = &args.plans {
            fs::create_dir_all(folder)?;
            fs::write(folder.join(format!("{}-{label}.txt", probe.name())), &plans)?;
        }
    }
    for probe in Probe::ALL {
        let (mut at_few, mut at_many) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for round in 0..=rounds {
            let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
            for nth in 0..calls {
                few_times.push(millis(few.ask(probe, round * calls + nth).await?));
                many_times.push(millis(many.ask(probe, round * calls + nth).await?));
            }
            // The first round warms up.
            if round > 0 {
                for (nth, share) in [0.5, 0.99].into_iter().enumerate() {
                    keep(&mut at_few, nth, quantile(&few_times, share));
                    keep(&mut at_many, nth, quantile(&many_times, share));
                }
            }
        }
        let name = format!("query.{}_{label}_over_10k", probe.name());
        let ([few_p50, few_p99], [many_p50, many_p99]) = (at_few, at_many);
        print_ratio(&format!("{name}_p50"), "ms", &many_p50, &few_p50, Goal::None);
        print_ratio(&name, "ms p99", &many_p99, &few_p99, Goal::AtMost(2.0));
    }
    Ok(())
}

fn keep(into: &mut [Vec<f64>; 2], nth: usize, value: f64) {
    if let Some(values) = into.get_mut(nth) {
        values.push(value);
    }
}

/// Formats a number of tasks as `200k` or `10m`.
fn label(tasks: u64) -> String {
    match tasks {
        1_000_000.. if tasks.is_multiple_of(1_000_000) => format!("{}m", tasks / 1_000_000),
        _ => format!("{}k", tasks / 1_000),
    }
}

/// Returns the big tables that a plan scans completely, including partitions.
pub fn read_whole(plans: &str) -> Vec<&str> {
    let scans = plans.split("Seq Scan on ").skip(1);
    let names = scans.filter_map(|rest| rest.split_whitespace().next());
    names.filter(|name| TABLES.contains(name) || name.starts_with("audit_entry")).collect()
}

pub fn check(probe: Probe, plans: &str) -> Result<()> {
    if !plans.contains("Index") {
        bail!("{} has no plan: {plans}", probe.name());
    }
    if let Some(table) = read_whole(plans).first() {
        bail!("{} reads all of {table}:\n{plans}", probe.name());
    }
    let wasted = wasted(plans);
    if wasted > u64::from(TASK_LIST_SCAN_MAX) {
        bail!("{} reads {wasted} rows to drop them again:\n{plans}", probe.name());
    }
    if plans.contains("JIT:") {
        bail!("{} is compiled before it runs:\n{plans}", probe.name());
    }
    Ok(())
}

/// Returns the highest number of rows that one step read and discarded, which shows that the wrong
/// index was used.
pub fn wasted(plans: &str) -> u64 {
    let counts = plans.split("Rows Removed by Filter: ").skip(1);
    let counts = counts.filter_map(|rest| rest.split_whitespace().next()?.parse().ok());
    counts.max().unwrap_or(0)
}

/// A server with databases of several sizes.
#[derive(Debug)]
pub struct Cellar {
    postgres: OwnedPostgres,
}

impl Cellar {
    pub async fn start() -> Result<Self> {
        let mut settings = PostgresSettings::test();
        let sizes = [
            ("shared_buffers", "512MB"),
            ("max_wal_size", "4GB"),
            ("maintenance_work_mem", "512MB"),
            ("wal_level", "minimal"),
            ("max_wal_senders", "0"),
        ];
        for (name, value) in sizes {
            settings.options.retain(|(known, _)| known != name);
            settings.options.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { postgres: OwnedPostgres::start(settings).await })
    }

    /// Creates a database of this shape, and a login whose plans are logged.
    pub async fn place(&self, name: &str, shape: Shape) -> Result<FilledDatabase> {
        database::ensure(&self.postgres, name).await?;
        let url = self.postgres.url(name);
        bootstrap::migrate(&url).await?;
        fill(&url, &shape).await?;
        let mut owner = PgConnection::connect(&url).await?;
        let roles = format!(
            "CREATE ROLE {name}_app LOGIN PASSWORD 'x' IN ROLE ade_app;
             CREATE ROLE {name}_plan LOGIN PASSWORD 'x' IN ROLE ade_app;
             LOAD 'auto_explain';
             ALTER ROLE {name}_plan SET session_preload_libraries = 'auto_explain';
             ALTER ROLE {name}_plan SET auto_explain.log_min_duration = 0;
             ALTER ROLE {name}_plan SET auto_explain.log_analyze = on;
             ALTER ROLE {name}_plan SET auto_explain.log_buffers = on"
        );
        execute(&mut owner, &roles).await?;
        let tasks: Vec<Uuid> = sqlx::query_scalar(
            "SELECT id FROM task WHERE tenant_id = $1 ORDER BY md5(id::text) LIMIT $2",
        )
        .bind(Shape::tenant(0).uuid())
        .bind(SAMPLED_TASKS)
        .fetch_all(&mut owner)
        .await?;
        let tasks = tasks.into_iter().map(TaskId::from_uuid).collect();
        let pool = self.pool(name, "app")?;
        Ok(FilledDatabase { pool, shape, tasks })
    }

    fn pool(&self, name: &str, login: &str) -> Result<Pool> {
        let port = self.postgres.port();
        let url = format!("postgres://{name}_{login}:x@127.0.0.1:{port}/{name}?sslmode=disable");
        Ok(Pool::new(&PoolSettings::new(url), PoolClass::Reserved)?)
    }

    /// Returns the plans of all statements of one query, as they were executed.
    pub async fn plans(&self, name: &str, place: &FilledDatabase, probe: Probe) -> Result<String> {
        let pool = self.pool(name, "plan")?;
        let logged = FilledDatabase { pool, shape: place.shape, tasks: place.tasks.clone() };
        logged.ask(probe, 7).await?;
        let before = self.log()?.len();
        logged.ask(probe, 7).await?;
        let log =
            ade_testkit::signal::poll_until("the plans are logged", LOG_DEADLINE, async || {
                let log = self.log().map_err(|error| error.to_string())?;
                let new = log.get(before..).unwrap_or_default();
                if new.contains("plan:") { Ok(new.to_owned()) } else { Err("none yet".to_owned()) }
            });
        let log = log.await?;
        logged.pool.close().await;
        Ok(only_plans(&log))
    }

    fn log(&self) -> Result<String> {
        let path = self.postgres.log_path();
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns the plans of statements that read a table, without the text that the log adds.
fn only_plans(log: &str) -> String {
    let mut kept = String::new();
    let mut is_inside = false;
    for line in log.lines() {
        if !line.starts_with('\t') {
            is_inside = line.contains("plan:");
            continue;
        }
        if is_inside {
            let line = line.strip_prefix('\t').unwrap_or(line);
            if line.starts_with("Query Text:") {
                kept.push('\n');
            }
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept.trim_start().to_owned()
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
