//! Scheduled jobs: what a worker must look at, and when. They are all that a worker knows of a
//! tenant before it opens a transaction of that tenant. A row is a hint with a time; the object
//! itself decides what to do.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::{TenantId, UserId};
use ade_core::limits::DUE_WINDOW_ROWS;
use ade_core::share::share_of;
use ade_core::time::Timestamp;
use sqlx::query;
use uuid::Uuid;

use crate::error::StoreError;
use crate::pool::Pool;
use crate::statement::{Statement, columns};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledJob {
    /// The job kind, for example `expire`.
    pub kind: &'static str,
    pub object: Uuid,
    pub at: Timestamp,
}

/// Schedules jobs. There is one row per kind and object; a new time replaces the earlier one.
pub async fn set(tx: &mut Tx, dues: &[ScheduledJob]) -> Result<(), StoreError> {
    let kinds: Vec<String> = dues.iter().map(|due| due.kind.to_owned()).collect();
    let objects: Vec<Uuid> = dues.iter().map(|due| due.object).collect();
    let moments: Vec<PgTimestamp> = dues.iter().map(|due| PgTimestamp(due.at)).collect();
    let query = query!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT $1, kind, object, at
           FROM unnest($2::text[], $3::uuid[], $4::timestamptz[]) AS due (kind, object, at)
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        &kinds,
        &objects,
        &moments as &[PgTimestamp],
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Postpones a job to `at` if its row is unchanged, and returns whether it was: of several
/// processes that saw it, one gets it.
pub async fn postpone(tx: &mut Tx, due: &ScheduledJob, at: Timestamp) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE scheduled_job SET at = $5
          WHERE tenant_id = $1 AND kind = $2 AND object = $3 AND at = $4",
        tx.tenant().uuid(),
        due.kind,
        due.object,
        PgTimestamp(due.at) as _,
        PgTimestamp(at) as _,
    );
    Ok(tx.write_beside(query).await? > 0)
}

pub async fn clear(tx: &mut Tx, kind: &'static str, object: Uuid) -> Result<u64, StoreError> {
    let query = query!(
        "DELETE FROM scheduled_job WHERE tenant_id = $1 AND kind = $2 AND object = $3",
        tx.tenant().uuid(),
        kind,
        object,
    );
    tx.write_beside(query).await
}

/// How many due jobs a worker takes at once, of all tenants together and of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobBatch {
    pub limit: u32,
    pub per_tenant: u32,
}

impl JobBatch {
    /// Creates a batch in which a tenant has at most its share. A tenant without competition gets
    /// no more either: its next batch follows at once, and a tenant whose jobs become due meanwhile
    /// is in it.
    pub fn shared(limit: u32) -> Self {
        let share = share_of(usize::try_from(limit).unwrap_or(usize::MAX));
        Self { limit, per_tenant: u32::try_from(share).unwrap_or(u32::MAX) }
    }

    /// Returns whether there is probably more to do, since the batch or the share of a tenant in it
    /// is used up.
    pub fn is_used_up(self, taken: &[(TenantId, ScheduledJob)]) -> bool {
        let mut counts: BTreeMap<TenantId, u32> = BTreeMap::new();
        for (tenant, _) in taken {
            *counts.entry(*tenant).or_default() += 1;
        }
        counts.values().sum::<u32>() >= self.limit
            || counts.values().any(|count| *count >= self.per_tenant)
    }
}

/// Returns the jobs of all tenants that are due, for a login that may act as `ade_worker`. The
/// first job of each tenant comes before the second of any other, so that a tenant with very many
/// jobs does not delay the others. Usually the oldest rows are all there are; behind a backlog that
/// is longer than that, the oldest jobs of every tenant are looked up one tenant at a time.
pub async fn next(
    pool: &Pool,
    kind: &'static str,
    batch: JobBatch,
) -> Result<Vec<(TenantId, ScheduledJob)>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        r#"WITH RECURSIVE oldest AS MATERIALIZED (
               SELECT tenant_id, object, at FROM scheduled_job
                WHERE kind = $1 AND at <= (SELECT moment())
                ORDER BY at LIMIT $4),
           each (tenant_id) AS (
               (SELECT tenant_id FROM scheduled_job
                 WHERE kind = $1 AND at > '-infinity' AND (SELECT count(*) FROM oldest) >= $4
                 ORDER BY tenant_id LIMIT 1)
               UNION ALL
               SELECT (SELECT job.tenant_id FROM scheduled_job job
                        WHERE job.kind = $1 AND job.tenant_id > each.tenant_id
                          AND job.at > '-infinity'
                        ORDER BY job.tenant_id LIMIT 1)
                 FROM each WHERE each.tenant_id IS NOT NULL),
           due AS (
               SELECT tenant_id, object, at FROM oldest
               UNION
               SELECT first.tenant_id, first.object, first.at
                 FROM each CROSS JOIN LATERAL (
                      SELECT job.tenant_id, job.object, job.at FROM scheduled_job job
                       WHERE job.kind = $1 AND job.tenant_id = each.tenant_id
                         AND job.at > '-infinity' AND job.at <= (SELECT moment())
                       ORDER BY job.at LIMIT $3) AS first)
           SELECT tenant_id AS "tenant_id!", object AS "object!", at AS "at!: PgTimestamp"
             FROM (SELECT tenant_id, object, at,
                          row_number() OVER (PARTITION BY tenant_id ORDER BY at, object) AS nth
                     FROM due) AS ranked
            WHERE nth <= $3
            ORDER BY nth, at, tenant_id LIMIT $2"#,
        kind,
        i64::from(batch.limit),
        i64::from(batch.per_tenant),
        i64::from(batch.limit.max(DUE_WINDOW_ROWS)),
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows
        .map(|row| {
            let due = ScheduledJob { kind, object: row.object, at: row.at.0 };
            (TenantId::from_uuid(row.tenant_id), due)
        })
        .collect())
}

/// Returns which of these tenants have jobs of this kind now.
pub async fn tenants_among(
    pool: &Pool,
    kind: &'static str,
    tenants: &BTreeSet<TenantId>,
) -> Result<BTreeSet<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let asked: Vec<Uuid> = tenants.iter().map(|tenant| tenant.uuid()).collect();
    // One index lookup for each tenant, however much is due.
    let query = query!(
        r#"SELECT asked.id AS "id!" FROM unnest($2::uuid[]) AS asked (id)
            WHERE EXISTS (SELECT FROM scheduled_job d WHERE d.tenant_id = asked.id AND d.kind = $1
                             AND d.at <= (SELECT moment()))"#,
        kind,
        &asked,
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows.map(|row| TenantId::from_uuid(row.id)).collect())
}

/// Returns the tenants with jobs of this kind, page by page.
pub async fn tenants(
    pool: &Pool,
    kind: &'static str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query!(
        "SELECT DISTINCT tenant_id FROM scheduled_job
          WHERE kind = $1 AND ($2::uuid IS NULL OR tenant_id > $2) ORDER BY tenant_id LIMIT $3",
        kind,
        after.map(TenantId::uuid),
        i64::from(limit),
    );
    let rows = query.fetch_all(connection.get()?).await?.into_iter();
    Ok(rows.map(|row| TenantId::from_uuid(row.tenant_id)).collect())
}

columns! { Sets of Set {
    id: Uuid => "uuid",
    kind: &'static str => "text",
    object: Uuid => "uuid",
    at: PgTimestamp => "timestamptz",
}}
columns! { Clears of Clear {
    id: Uuid => "uuid",
    kind: &'static str => "text",
}}

/// The jobs that a decision schedules and completes, in the statement that changes the tasks.
#[derive(Debug, Default)]
pub(crate) struct Dues {
    sets: Sets,
    clears: Clears,
}

impl Dues {
    /// Adds jobs of a task. A row is either set or cleared: one statement cannot do both.
    pub fn add(&mut self, id: Uuid, dues: &[ScheduledJob], done: &[&'static str]) {
        for due in dues {
            let ScheduledJob { kind, object, at } = *due;
            self.sets.push(Set { id, kind, object, at: PgTimestamp(at) });
        }
        let is_set = |kind: &str| dues.iter().any(|due| due.kind == kind && due.object == id);
        for kind in done.iter().filter(|kind| !is_set(kind)) {
            self.clears.push(Clear { id, kind });
        }
    }

    pub fn parts(self, s: &mut Statement) -> Result<(), StoreError> {
        if self.sets.count() > 0 {
            let given = self.sets.bind(s)?;
            s.part(
                "due_later",
                &format!(
                    "INSERT INTO scheduled_job (tenant_id, kind, object, at)
                     SELECT $1, given.kind, given.object, given.at
                       FROM {given} JOIN guard USING (id)
                     ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at"
                ),
            );
        }
        if self.clears.count() > 0 {
            let given = self.clears.bind(s)?;
            s.part(
                "due_no_more",
                &format!(
                    "DELETE FROM scheduled_job d USING {given} JOIN guard USING (id)
                      WHERE d.tenant_id = $1 AND d.kind = given.kind AND d.object = given.id"
                ),
            );
        }
        Ok(())
    }
}

/// Schedules a job now for every task on which this reviewer has not answered, because they were
/// deactivated.
pub async fn set_for_reviewer(
    tx: &mut Tx,
    kind: &'static str,
    reviewer: UserId,
) -> Result<u64, StoreError> {
    let query = query!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT DISTINCT a.tenant_id, $2, a.task_id, $3::timestamptz FROM approval a
          WHERE a.tenant_id = $1 AND a.reviewer_id = $4 AND a.status = 'PENDING'
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        kind,
        PgTimestamp(tx.now()) as _,
        reviewer.uuid(),
    );
    tx.write_beside(query).await
}

/// Schedules a job now for every approved task of the tenant, because the rules have changed.
pub async fn set_for_approved(tx: &mut Tx, kind: &'static str) -> Result<u64, StoreError> {
    let query = query!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT tenant_id, $2, id, $3 FROM task WHERE tenant_id = $1 AND state = 'APPROVED'
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = excluded.at",
        tx.tenant().uuid(),
        kind,
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await
}

/// Schedules a job now for every approved task of these types, unless one exists already.
pub async fn set_for_types(
    tx: &mut Tx,
    kind: &'static str,
    types: &[String],
) -> Result<u64, StoreError> {
    let query = query!(
        "INSERT INTO scheduled_job (tenant_id, kind, object, at)
         SELECT tenant_id, $2, id, $3 FROM task
          WHERE tenant_id = $1 AND state = 'APPROVED' AND task_type = ANY ($4)
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO NOTHING",
        tx.tenant().uuid(),
        kind,
        PgTimestamp(tx.now()) as _,
        types,
    );
    tx.write_beside(query).await
}
