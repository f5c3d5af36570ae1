//! Single flight of workers: one holder per name and shard until a deadline by the database's
//! clock. The fence grows with every change of holder, so that a holder that slept through its
//! deadline is detected. Needs a login that may act as `ade_worker`.

use std::time::Duration;

use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;

/// Length of a failure shown in the worker status; up to four bytes per character.
const WORKER_FAILURE_MAX_CHARS: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerLease {
    pub name: &'static str,
    pub shard: u32,
    pub holder: Uuid,
    pub fence: u64,
    pub deadline: Timestamp,
}

struct LeaseRow {
    fence: i64,
    deadline: PgTimestamp,
}

const REPORT: &str = "
    UPDATE worker_lease
       SET ran_at = clock_timestamp(), runs = runs + $5, items = items + $6, failure = $7
     WHERE name = $1 AND shard = $2 AND holder = $3 AND fence = $4";
// Shards are locked in one order, so that two callers cannot deadlock.
const ACQUIRE_MANY: &str = "
    INSERT INTO worker_lease AS held (name, shard, holder, fence, deadline)
    SELECT $1, wanted.shard, $3, 1, clock_timestamp() + make_interval(secs => $4)
      FROM unnest($2::int4[]) AS wanted (shard) ORDER BY wanted.shard
    ON CONFLICT ON CONSTRAINT worker_lease_pkey DO UPDATE
       SET holder = excluded.holder,
           deadline = clock_timestamp() + make_interval(secs => $4),
           fence = held.fence + (held.holder <> excluded.holder)::integer
     WHERE held.holder = excluded.holder OR held.deadline <= clock_timestamp()
    RETURNING shard, fence, deadline";
const REPORT_MANY: &str = "
    UPDATE worker_lease l
       SET ran_at = clock_timestamp(), runs = runs + 1, items = l.items + done.items, failure = NULL
      FROM unnest($2::int4[], $4::int8[]) AS done (shard, items)
     WHERE l.name = $1 AND l.shard = done.shard AND l.holder = $3";
const BOARD: &str = "
    SELECT name, shard, deadline > clock_timestamp(), ran_at, runs, items, failure
      FROM worker_lease ORDER BY name, shard";

/// Acquires the lease or renews it if the caller already holds it; `None` while another process
/// holds it.
pub async fn acquire(
    pool: &Pool,
    name: &'static str,
    shard: u32,
    holder: Uuid,
    ttl: Duration,
) -> Result<Option<WorkerLease>, StoreError> {
    let mut connection = pool.acquire().await?;
    // `clock_timestamp()` is evaluated after the wait for the row; `now()` is from before.
    let query = query_as!(
        LeaseRow,
        r#"INSERT INTO worker_lease AS held (name, shard, holder, fence, deadline)
           VALUES ($1, $2, $3, 1, clock_timestamp() + make_interval(secs => $4))
           ON CONFLICT ON CONSTRAINT worker_lease_pkey DO UPDATE
              SET holder = excluded.holder,
                  deadline = clock_timestamp() + make_interval(secs => $4),
                  fence = held.fence + (held.holder <> excluded.holder)::integer
            WHERE held.holder = excluded.holder OR held.deadline <= clock_timestamp()
           RETURNING fence, deadline AS "deadline: PgTimestamp""#,
        name,
        stored(shard)?,
        holder,
        ttl.as_secs_f64(),
    );
    let row = query.fetch_optional(connection.get()?).await?;
    row.map(|row| lease(name, shard, holder, &row)).transpose()
}

/// Acquires or renews, in one statement, those of these shards that no other process holds.
pub async fn acquire_many(
    pool: &Pool,
    name: &'static str,
    shards: &[u8],
    holder: Uuid,
    ttl: Duration,
) -> Result<Vec<WorkerLease>, StoreError> {
    let mut connection = pool.acquire().await?;
    let wanted: Vec<i32> = shards.iter().copied().map(i32::from).collect();
    let query = query_as::<_, (i32, i64, PgTimestamp)>(ACQUIRE_MANY)
        .bind(name)
        .bind(wanted)
        .bind(holder)
        .bind(ttl.as_secs_f64());
    let rows = query.fetch_all(connection.get()?).await?;
    connection.give_back();
    let held = rows.into_iter().map(|(shard, fence, deadline)| {
        let shard = u32::try_from(shard).unwrap_or_default();
        lease(name, shard, holder, &LeaseRow { fence, deadline })
    });
    held.collect()
}

/// Stores the worker status of each of these shards; skips shards whose lease another process
/// holds.
pub async fn report_many(
    pool: &Pool,
    name: &'static str,
    holder: Uuid,
    items: &[(u8, u64)],
) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    let shards: Vec<i32> = items.iter().map(|(shard, _)| i32::from(*shard)).collect();
    let counts: Vec<i64> =
        items.iter().map(|(_, count)| i64::try_from(*count).unwrap_or(i64::MAX)).collect();
    query(REPORT_MANY)
        .bind(name)
        .bind(shards)
        .bind(holder)
        .bind(counts)
        .execute(connection.get()?)
        .await?;
    connection.give_back();
    Ok(())
}

/// Renews the lease; `None` if the deadline has passed or another process has it: then the caller
/// must stop and acquire it again.
pub async fn renew(
    pool: &Pool,
    held: &WorkerLease,
    ttl: Duration,
) -> Result<Option<WorkerLease>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_as!(
        LeaseRow,
        r#"UPDATE worker_lease SET deadline = clock_timestamp() + make_interval(secs => $5)
            WHERE name = $1 AND shard = $2 AND holder = $3 AND fence = $4
              AND deadline > clock_timestamp()
           RETURNING fence, deadline AS "deadline: PgTimestamp""#,
        held.name,
        stored(held.shard)?,
        held.holder,
        i64::try_from(held.fence).unwrap_or(i64::MAX),
        ttl.as_secs_f64(),
    );
    let row = query.fetch_optional(connection.get()?).await?;
    row.map(|row| lease(held.name, held.shard, held.holder, &row)).transpose()
}

/// Releases the lease, so that the next holder need not wait for the deadline. It has no effect if
/// the lease is lost already.
pub async fn release(pool: &Pool, held: &WorkerLease) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "UPDATE worker_lease SET deadline = clock_timestamp()
          WHERE name = $1 AND shard = $2 AND holder = $3 AND fence = $4
            AND deadline > clock_timestamp()",
        held.name,
        stored(held.shard)?,
        held.holder,
        i64::try_from(held.fence).unwrap_or(i64::MAX),
    );
    query.execute(connection.get()?).await?;
    Ok(())
}

/// Stores the worker status after several activations. Nothing happens if the lease is lost: its
/// new holder stores its own.
pub async fn report(
    pool: &Pool,
    held: &WorkerLease,
    (runs, items): (u64, u64),
    failure: Option<&str>,
) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    let failure: Option<String> =
        failure.map(|text| text.chars().take(WORKER_FAILURE_MAX_CHARS).collect());
    query(REPORT)
        .bind(held.name)
        .bind(stored(held.shard)?)
        .bind(held.holder)
        .bind(i64::try_from(held.fence).unwrap_or(i64::MAX))
        .bind(i64::try_from(runs).unwrap_or(i64::MAX))
        .bind(i64::try_from(items).unwrap_or(i64::MAX))
        .bind(failure)
        .execute(connection.get()?)
        .await?;
    Ok(())
}

/// The status of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub name: String,
    pub shard: i32,
    /// Whether the lease is held now.
    pub is_held: bool,
    pub ran_at: Option<Timestamp>,
    pub runs: i64,
    pub items: i64,
    pub failure: Option<String>,
}

/// Returns the status of every worker. Any login of the application may call it.
pub async fn board(pool: &Pool) -> Result<Vec<Posted>, StoreError> {
    type Row = (String, i32, bool, Option<PgTimestamp>, i64, i64, Option<String>);
    let mut connection = pool.acquire().await?;
    let rows: Vec<Row> = query_as(BOARD).fetch_all(connection.get()?).await?;
    let posted = rows.into_iter().map(|(name, shard, is_held, ran_at, runs, items, failure)| {
        let ran_at = ran_at.map(|moment| moment.0);
        Posted { name, shard, is_held, ran_at, runs, items, failure }
    });
    Ok(posted.collect())
}

fn stored(shard: u32) -> Result<i32, StoreError> {
    i32::try_from(shard).map_err(|error| StoreError::Unstorable {
        value: format!("shard {shard}"),
        why: error.to_string(),
    })
}

fn lease(
    name: &'static str,
    shard: u32,
    holder: Uuid,
    row: &LeaseRow,
) -> Result<WorkerLease, StoreError> {
    let fence = u64::try_from(row.fence).map_err(|error| RowError {
        table: "worker_lease",
        column: "fence",
        row: format!("{name} {shard}"),
        why: error.to_string(),
    })?;
    Ok(WorkerLease { name, shard, holder, fence, deadline: row.deadline.0 })
}
