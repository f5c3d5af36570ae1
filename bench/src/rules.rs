//! The cost of the policies at their largest: a draft replayed over a month of tasks, which writes
//! nothing, and two hundred answers in one transaction.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::client::Client;
use crate::figure::{Goal, Rows, millis, print_plain, quantile};
use crate::installation::{Installation, Server, run as execute};
use crate::load::Ballots;
use crate::seed::{Ballot, POLICIES, Seed};

const TASKS: u32 = 100_000;
const ITEMS: usize = 200;
const ROUNDS: usize = 3;

#[derive(Debug, clap::Args)]
pub struct RulesArgs {
    /// Fewer batches
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    rows: Rows,
}

pub async fn run(args: &RulesArgs) -> Result<()> {
    let at = Installation::start().await?;
    let seed = Seed::plant(&at).await?;
    let mut owner = at.owner().await?;
    // The first task is one of them.
    let ballots = Ballots::new(seed.copy(&mut owner, TASKS - 1).await?);
    spread_over_a_month(&mut owner).await?;
    let server = Server::start(&at, at.postgres.port(), false).await?;
    let mut client = Client::connect(&server.address).await?;
    replay(&seed, &mut client, &mut owner).await?;
    let batches = if args.quick { 40 } else { 200 };
    batch(&seed, &ballots, &mut client, batches).await
}

/// Spreads the tasks over a month, and stops all other writes while a replay is observed.
async fn spread_over_a_month(owner: &mut PgConnection) -> Result<()> {
    execute(owner, "ALTER SYSTEM SET autovacuum = off").await?;
    execute(owner, "SELECT pg_reload_conf()").await?;
    let sql = "SET session_replication_role = replica;
        UPDATE task SET submitted_at = submitted_at - (number % 2500000) * interval '1 s';
        SET session_replication_role = origin;";
    execute(owner, sql).await?;
    execute(owner, "VACUUM ANALYZE task").await?;
    execute(owner, "CHECKPOINT").await
}

async fn replay(seed: &Seed, client: &mut Client, owner: &mut PgConnection) -> Result<()> {
    let [_, same, ..] = POLICIES;
    let stricter = same.replace("respond_within: 24h", "respond_within: 1h");
    let (mut of_same, mut of_stricter) = (Vec::new(), Vec::new());
    // The first call also caches the token.
    replay_once(seed, client, same).await?;
    for _ in 0..ROUNDS {
        let before = next_transaction(owner).await?;
        let (unchanged, seconds) = replay_once(seed, client, same).await?;
        of_same.push(seconds);
        let (changed, seconds) = replay_once(seed, client, &stricter).await?;
        of_stricter.push(seconds);
        ensure!(next_transaction(owner).await? == before, "a replay has written something");
        let count = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
        ensure!(count(&unchanged, "examined") == Some(TASKS.into()), "{unchanged}");
        ensure!(count(&unchanged, "same") == Some(TASKS.into()), "{unchanged}");
        ensure!(count(&changed, "stricter") == Some(TASKS.into()), "{changed}");
    }
    print_plain("replay.same_s_at_100k", "s", &of_same, Goal::AtMost(10.0));
    print_plain("replay.stricter_s_at_100k", "s", &of_stricter, Goal::AtMost(10.0));
    Ok(())
}

async fn replay_once(seed: &Seed, client: &mut Client, document: &str) -> Result<(Value, f64)> {
    let asked = json!({ "document": document, "days": 31 });
    let began = Instant::now();
    let path = "/v1/policies/replay";
    let answer = client.ask("POST", path, &seed.admin, Some(&asked), "").await?;
    Ok((answer, began.elapsed().as_secs_f64()))
}

/// Returns the next transaction number. Only a transaction that writes gets one, so an unchanged
/// counter proves that none did.
async fn next_transaction(owner: &mut PgConnection) -> Result<i64> {
    let query = "SELECT txid_snapshot_xmax(txid_current_snapshot())";
    Ok(sqlx::query_scalar(query).fetch_one(owner).await?)
}

async fn batch(seed: &Seed, ballots: &Ballots, client: &mut Client, batches: usize) -> Result<()> {
    let flag = json!({ "enabled": true });
    client.ask("PUT", "/v1/flags/batch_approvals", &seed.admin, Some(&flag), "").await?;
    let mut times: Vec<Vec<f64>> = Vec::new();
    for _ in 0..ROUNDS {
        let mut round = Vec::new();
        for _ in 0..batches {
            let items: Vec<Ballot> = std::iter::from_fn(|| ballots.take())
                .filter(|ballot| ballot.reviewer == 0)
                .take(ITEMS)
                .collect();
            ensure!(items.len() == ITEMS, "no votes are left");
            round.push(millis(approve(seed, client, &items).await?));
        }
        times.push(round);
    }
    let at = |share: f64| times.iter().map(|round| quantile(round, share)).collect::<Vec<_>>();
    print_plain("batch.p50_ms_of_200", "ms", &at(0.5), Goal::None);
    print_plain("batch.p99_ms_of_200", "ms", &at(0.99), Goal::None);
    Ok(())
}

async fn approve(seed: &Seed, client: &mut Client, ballots: &[Ballot]) -> Result<Duration> {
    let (revision, digest) = (seed.task.get("revision"), seed.task.get("digest"));
    let item = |ballot: &Ballot| {
        let approval = ballot.approval;
        json!({ "approval_id": approval, "revision": revision, "digest": digest })
    };
    let items: Vec<Value> = ballots.iter().map(item).collect();
    let asked = json!({ "action": "approve", "items": items });
    let token = seed.reviewers.first().map(|person| &person.token).context("no reviewer")?;
    let began = Instant::now();
    let answer = client.ask("POST", "/v1/approvals/batch", token, Some(&asked), "").await?;
    let took = began.elapsed();
    ensure!(answer.get("is_written") == Some(&Value::Bool(true)), "{answer}");
    Ok(took)
}
