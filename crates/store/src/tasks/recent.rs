//! Recently submitted tasks: many small changes of one author count together, so that a large one
//! cannot pass in parts.

use std::collections::BTreeMap;

use ade_core::change::{Counts, Effect};
use ade_core::ids::{TaskId, UserId};
use ade_core::limits::RECENT_TASKS_MAX;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use super::rows::Source;
use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    pub task: TaskId,
    pub submitted_at: Timestamp,
    pub resources: Vec<ResourceRef>,
    revision: i32,
}

struct RecentRow {
    id: Uuid,
    revision: i32,
    submitted_at: PgTimestamp,
    resources: Vec<String>,
}

impl TryFrom<RecentRow> for Recent {
    type Error = RowError;

    fn try_from(row: RecentRow) -> Result<Self, RowError> {
        let of = Source { table: "task_resource", task: row.id };
        let resources = row
            .resources
            .iter()
            .map(|name| name.parse::<ResourceRef>().map_err(|error| of.wrong("resource", error)));
        Ok(Self {
            task: TaskId::from_uuid(row.id),
            submitted_at: row.submitted_at.0,
            resources: resources.collect::<Result<_, RowError>>()?,
            revision: row.revision,
        })
    }
}

/// Returns the tasks of these accounts, newest first. Rejected and cancelled ones do not count,
/// because they will not be applied.
pub async fn recent(
    tx: &mut Tx,
    accounts: &[UserId],
    since: Timestamp,
) -> Result<Vec<Recent>, StoreError> {
    let accounts: Vec<Uuid> = accounts.iter().map(|account| account.uuid()).collect();
    let query = query_as!(
        RecentRow,
        r#"SELECT t.id, t.revision, t.submitted_at AS "submitted_at!: PgTimestamp",
                  array(SELECT n.resource FROM task_resource n
                         WHERE (n.tenant_id, n.task_id, n.revision) = ($1, t.id, t.revision))
                      AS "resources!"
             FROM unnest($2::uuid[]) AS account (id)
            CROSS JOIN LATERAL (
               SELECT id, revision, submitted_at FROM task
                WHERE tenant_id = $1 AND author_id = account.id AND submitted_at > $3
                  AND state NOT IN ('DRAFT', 'REJECTED', 'CANCELLED', 'EXPIRED')
                ORDER BY submitted_at DESC LIMIT $4) AS t
            ORDER BY t.submitted_at DESC LIMIT $4"#,
        tx.tenant().uuid(),
        &accounts,
        PgTimestamp(since) as _,
        RECENT_TASKS_MAX,
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Recent::try_from).collect::<Result<_, RowError>>()?)
}

/// Returns the counts of each of these tasks, if a preview observed the whole effect.
pub async fn measured(
    tx: &mut Tx,
    tasks: &[&Recent],
) -> Result<BTreeMap<TaskId, Counts>, StoreError> {
    if tasks.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<Uuid> = tasks.iter().map(|one| one.task.uuid()).collect();
    let revisions: Vec<i32> = tasks.iter().map(|one| one.revision).collect();
    let query = query!(
        r#"SELECT r.task_id, r.effect AS "effect!"
             FROM unnest($2::uuid[], $3::int4[]) AS wanted (task_id, revision)
            CROSS JOIN LATERAL (
               SELECT task_id, effect::text AS effect FROM task_revision
                WHERE (tenant_id, task_id, revision) = ($1, wanted.task_id, wanted.revision)
                LIMIT 1) AS r"#,
        tx.tenant().uuid(),
        &ids,
        &revisions,
    );
    let mut measured = BTreeMap::new();
    for row in tx.fetch(query).await? {
        let of = Source { table: "task_revision", task: row.task_id };
        let effect: Effect = of.parsed("effect", &row.effect)?;
        measured.extend(effect.measured().map(|counts| (TaskId::from_uuid(row.task_id), counts)));
    }
    Ok(measured)
}
