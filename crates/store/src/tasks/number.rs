//! Tasks by their number, which counts the tasks of a tenant from 1.

use ade_core::ids::TaskId;
use sqlx::query_as;
use uuid::Uuid;

use crate::error::StoreError;
use crate::tx::Tx;

const FIND: &str = "SELECT id FROM task WHERE tenant_id = $1 AND number = $2";

/// Returns the task of the tenant with this number.
pub async fn id_of_number(tx: &mut Tx, number: i64) -> Result<Option<TaskId>, StoreError> {
    let query = query_as(FIND).bind(tx.tenant().uuid()).bind(number);
    let rows: Vec<(Uuid,)> = tx.read(query).await?;
    Ok(rows.into_iter().next().map(|(id,)| TaskId::from_uuid(id)))
}
