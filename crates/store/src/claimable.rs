//! Tasks that wait to be applied, in order: hurried tasks first, then by priority, then by age.
//! Read-only.

use std::collections::BTreeMap;

use ade_core::ids::TaskId;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use sqlx::{FromRow, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// An approved task that is not being applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub task: TaskId,
    /// When it was approved.
    pub since: Timestamp,
    pub task_type: String,
    pub priority: u8,
    /// The resources, each with its lock mode if the task names one.
    pub resources: Vec<(ResourceRef, Option<String>)>,
}

// Skips from one type to the next, however many tasks there are of each.
macro_rules! types_if {
    ($condition:literal) => {
        concat!(
            "WITH RECURSIVE kind AS (
                 (SELECT task_type FROM task WHERE tenant_id = $1 AND state = 'APPROVED'
                   ORDER BY task_type LIMIT 1)
                 UNION ALL
                 SELECT (SELECT t.task_type FROM task t
                          WHERE t.tenant_id = $1 AND t.state = 'APPROVED'
                            AND t.task_type > kind.task_type
                          ORDER BY t.task_type LIMIT 1)
                   FROM kind WHERE kind.task_type IS NOT NULL)
             SELECT task_type FROM kind WHERE task_type IS NOT NULL AND ",
            $condition
        )
    };
}
const TYPES: &str = types_if!("true");
const TYPES_NOW: &str =
    types_if!("NOT EXISTS (SELECT FROM installation_freeze WHERE lifted_at IS NULL)");
// Two statements: a combined one would have a bad plan for both and read all approved tasks to find
// a few named ones.
macro_rules! next_of {
    ($tasks:literal) => {
        concat!(
            "SELECT next.*,
                    array(SELECT r.resource FROM task_resource r
                           WHERE (r.tenant_id, r.task_id, r.revision)
                               = ($1, next.id, next.revision)
                           ORDER BY r.resource) AS resources,
                    array(SELECT coalesce(r.mode, '') FROM task_resource r
                           WHERE (r.tenant_id, r.task_id, r.revision)
                               = ($1, next.id, next.revision)
                           ORDER BY r.resource) AS modes
               FROM (SELECT t.id, t.since, t.task_type, t.priority, t.revision FROM ",
            $tasks,
            "         ORDER BY t.hurried_at, t.priority DESC, t.since, t.id LIMIT $4) AS next"
        )
    };
}
const NEXT: &str = next_of!(
    "unnest($2::text[]) AS wanted (kind)
      CROSS JOIN LATERAL (
         SELECT * FROM task t
          WHERE t.tenant_id = $1 AND t.state = 'APPROVED'
            AND t.task_type = wanted.kind AND t.id <> ALL ($5::uuid[])
            AND (t.not_before IS NULL OR t.not_before <= $3)
          ORDER BY t.hurried_at, t.priority DESC, t.since, t.id LIMIT $4) AS t "
);
const NAMED: &str = next_of!(
    "(SELECT DISTINCT unnest($5::uuid[])) AS wanted (id)
      CROSS JOIN LATERAL (
         SELECT * FROM task t
          WHERE t.tenant_id = $1 AND t.id = wanted.id AND t.state = 'APPROVED'
            AND t.task_type = ANY ($2) AND (t.not_before IS NULL OR t.not_before <= $3)
          LIMIT 1) AS t "
);
const HOLDS: &str = "
    SELECT wanted.resource, held.number FROM unnest($2::text[]) AS wanted (resource)
     CROSS JOIN LATERAL (
        SELECT count(*) AS number FROM lock_hold h
         WHERE h.tenant_id = $1 AND h.resource = wanted.resource
           AND h.fenced_by IS NULL AND h.released_at IS NULL) AS held
     WHERE held.number > 0";
const BUSY: &str = "
    SELECT wanted.resource, held.is_shared FROM unnest($2::text[]) AS wanted (resource)
     CROSS JOIN LATERAL (
        SELECT bool_and(h.mode = 'shared') AS is_shared FROM lock_hold h
         WHERE h.tenant_id = $1 AND h.resource = wanted.resource
           AND h.fenced_by IS NULL AND h.released_at IS NULL
           AND (h.is_begun OR h.deadline + h.lock_delay > clock_timestamp())) AS held
     WHERE held.is_shared IS NOT NULL";

#[derive(FromRow)]
struct CandidateRow {
    id: Uuid,
    since: PgTimestamp,
    task_type: String,
    priority: i16,
    resources: Vec<String>,
    modes: Vec<String>,
}

/// Returns the types of the tasks that wait to be applied.
pub async fn types(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    types_by(tx, TYPES).await
}

/// Returns the types of the tasks that can be applied now: none while the whole installation is
/// frozen.
pub async fn types_now(tx: &mut Tx) -> Result<Vec<String>, StoreError> {
    types_by(tx, TYPES_NOW).await
}

async fn types_by(tx: &mut Tx, statement: &'static str) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String,)> = tx.read(query_as(statement).bind(tx.tenant().uuid())).await?;
    Ok(rows.into_iter().map(|(task_type,)| task_type).collect())
}

/// Returns the next tasks of these types, except for those already seen.
pub async fn next(
    tx: &mut Tx,
    types: &[String],
    seen: &[TaskId],
    limit: u32,
) -> Result<Vec<Candidate>, StoreError> {
    ask(tx, NEXT, types, seen, limit).await
}

/// Returns those of these tasks that have one of these types and wait to be applied.
pub async fn named(
    tx: &mut Tx,
    types: &[String],
    tasks: &[TaskId],
    limit: u32,
) -> Result<Vec<Candidate>, StoreError> {
    ask(tx, NAMED, types, tasks, limit).await
}

async fn ask(
    tx: &mut Tx,
    statement: &'static str,
    types: &[String],
    tasks: &[TaskId],
    limit: u32,
) -> Result<Vec<Candidate>, StoreError> {
    let query = query_as(statement)
        .bind(tx.tenant().uuid())
        .bind(types)
        .bind(PgTimestamp(tx.now()))
        .bind(i64::from(limit))
        .bind(tasks.iter().map(|task| task.uuid()).collect::<Vec<_>>());
    let rows: Vec<CandidateRow> = tx.read(query).await?;
    let candidates = rows.into_iter().map(|row| {
        let of = |column, why: String| RowError {
            table: "task",
            column,
            row: TaskId::from_uuid(row.id).to_string(),
            why,
        };
        let named = row.resources.iter().zip(&row.modes).map(|(name, mode)| {
            let resource = name.parse().map_err(|_| of("resource", name.clone()))?;
            Ok((resource, Some(mode.clone()).filter(|mode| !mode.is_empty())))
        });
        Ok(Candidate {
            task: TaskId::from_uuid(row.id),
            since: row.since.0,
            resources: named.collect::<Result<_, RowError>>()?,
            task_type: row.task_type,
            priority: u8::try_from(row.priority).unwrap_or(u8::MAX),
        })
    });
    candidates.collect()
}

/// Returns the number of holders of each resource; free resources are left out.
pub async fn held(
    tx: &mut Tx,
    resources: &[ResourceRef],
) -> Result<Vec<(ResourceRef, u32)>, StoreError> {
    let rows: Vec<(String, i64)> =
        tx.read(query_as(HOLDS).bind(tx.tenant().uuid()).bind(names(resources))).await?;
    let known = rows
        .into_iter()
        .map(|(name, count)| Ok((held_resource(&name)?, u32::try_from(count).unwrap_or(u32::MAX))));
    known.collect()
}

/// Returns the held resources among these, each with whether it is shared.
pub async fn busy(
    tx: &mut Tx,
    resources: &[ResourceRef],
) -> Result<BTreeMap<ResourceRef, bool>, StoreError> {
    let rows: Vec<(String, bool)> =
        tx.read(query_as(BUSY).bind(tx.tenant().uuid()).bind(names(resources))).await?;
    rows.into_iter().map(|(name, is_shared)| Ok((held_resource(&name)?, is_shared))).collect()
}

fn names(resources: &[ResourceRef]) -> Vec<String> {
    resources.iter().map(ToString::to_string).collect()
}

fn held_resource(name: &str) -> Result<ResourceRef, StoreError> {
    let wrong = |_| RowError {
        table: "lock_hold",
        column: "resource",
        row: name.to_owned(),
        why: "no resource".to_owned(),
    };
    Ok(name.parse().map_err(wrong)?)
}
