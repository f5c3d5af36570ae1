//! What somebody handed in lately: many small changes of one author count together, so that a
//! large one cannot pass in parts.

use ade_core::change::Effect;
use ade_core::ids::{TaskId, UserId};
use ade_core::limits::RECENT_TASKS_MAX;
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use super::rows::Source;
use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    pub task: TaskId,
    pub submitted_at: Timestamp,
    pub resources: Vec<ResourceRef>,
    pub effect: Effect,
}

struct RecentRow {
    id: Uuid,
    submitted_at: Moment,
    resources: Vec<String>,
    effect: String,
}

impl TryFrom<RecentRow> for Recent {
    type Error = RowError;

    fn try_from(row: RecentRow) -> Result<Self, RowError> {
        let of = Source { table: "task_revision", task: row.id };
        let named = Source { table: "task_resource", task: row.id };
        let resources = row.resources.iter().map(|name| {
            name.parse::<ResourceRef>().map_err(|error| named.wrong("resource", error))
        });
        Ok(Self {
            task: TaskId::from_uuid(row.id),
            submitted_at: row.submitted_at.0,
            resources: resources.collect::<Result<_, RowError>>()?,
            effect: of.parsed("effect", &row.effect)?,
        })
    }
}

/// Of these accounts, newest first; those that were turned down or taken back do not count, since
/// they will not be applied.
pub async fn recent(
    tx: &mut Tx,
    accounts: &[UserId],
    since: Timestamp,
) -> Result<Vec<Recent>, Error> {
    let accounts: Vec<Uuid> = accounts.iter().map(|account| account.uuid()).collect();
    let query = query_as!(
        RecentRow,
        r#"SELECT t.id, t.submitted_at AS "submitted_at!: Moment", r.effect::text AS "effect!",
                  array(SELECT n.resource FROM task_resource n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (t.tenant_id, t.id, t.revision)) AS "resources!"
             FROM task t
             JOIN task_revision r
               ON (r.tenant_id, r.task_id, r.revision) = (t.tenant_id, t.id, t.revision)
            WHERE t.tenant_id = $1 AND t.author_id = ANY ($2) AND t.submitted_at > $3
              AND t.state NOT IN ('DRAFT', 'REJECTED', 'CANCELLED', 'EXPIRED')
            ORDER BY t.submitted_at DESC LIMIT $4"#,
        tx.tenant().uuid(),
        &accounts,
        Moment(since) as _,
        RECENT_TASKS_MAX,
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Recent::try_from).collect::<Result<_, RowError>>()?)
}
