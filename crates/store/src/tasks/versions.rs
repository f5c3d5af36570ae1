//! The versions of tasks, for callers that wait for a change.

use ade_core::ids::TaskId;
use ade_core::task::State;
use sqlx::query;
use uuid::Uuid;

use super::rows::Source;
use crate::error::{RowError, StoreError};
use crate::tx::Tx;

/// Returns the version of each task that exists.
pub async fn versions(
    tx: &mut Tx,
    ids: &[TaskId],
) -> Result<Vec<(TaskId, u64, State)>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let query = query!(
        "SELECT t.id, t.version, t.state FROM unnest($2::uuid[]) AS wanted (id)
          CROSS JOIN LATERAL (SELECT id, version, state FROM task
                               WHERE tenant_id = $1 AND id = wanted.id LIMIT 1) AS t",
        tx.tenant().uuid(),
        &ids,
    );
    let rows = tx.fetch(query).await?;
    let rows = rows.into_iter().map(|row| {
        let of = Source { table: "task", task: row.id };
        let version = of.natural("version", row.version)?;
        Ok((TaskId::from_uuid(row.id), version, of.word("state", row.state)?))
    });
    Ok(rows.collect::<Result<_, RowError>>()?)
}
