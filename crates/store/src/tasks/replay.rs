//! Submitted tasks as the rules saw them, for replaying them under other rules. Nothing is locked
//! or written.

use std::collections::BTreeSet;

use ade_core::actor::Role;
use ade_core::ids::TaskId;
use ade_core::policy::Subject;
use ade_core::risk::Score;
use ade_core::time::Timestamp;
use sqlx::query_as;
use uuid::Uuid;

use super::rows::Source;
use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    pub submitted_at: Timestamp,
    pub subject: Subject,
}

struct ReplayRow {
    id: Uuid,
    number: i64,
    title: String,
    submitted_at: PgTimestamp,
    task_type: String,
    risk: i16,
    origin: String,
    author_kind: String,
    author_roles: Vec<String>,
    resources: Vec<String>,
    tags: Vec<String>,
}

impl TryFrom<ReplayRow> for Replayed {
    type Error = RowError;

    fn try_from(row: ReplayRow) -> Result<Self, RowError> {
        let of = Source { table: "task_revision", task: row.id };
        let named = Source { table: "task_resource", task: row.id };
        let resources = row
            .resources
            .iter()
            .map(|name| name.parse().map_err(|error| named.wrong("resource", error)));
        Ok(Self {
            task: TaskId::from_uuid(row.id),
            number: row.number,
            title: row.title,
            submitted_at: row.submitted_at.0,
            subject: Subject {
                task_type: row.task_type,
                resources: resources.collect::<Result<BTreeSet<_>, RowError>>()?,
                tags: row.tags.into_iter().collect(),
                risk: Score::new(of.natural("risk", row.risk)?),
                author_kind: of.word("author_kind", row.author_kind)?,
                author_roles: row.author_roles.into_iter().map(Role::new).collect(),
                origin: of.word("origin", row.origin)?,
            },
        })
    }
}

/// Returns tasks in the order of submission, those after `after`.
pub async fn replay(
    tx: &mut Tx,
    after: (Timestamp, TaskId),
    limit: u32,
) -> Result<Vec<Replayed>, StoreError> {
    let query = query_as!(
        ReplayRow,
        r#"SELECT t.id, t.number, t.title, t.submitted_at AS "submitted_at!: PgTimestamp",
                  r.task_type, r.risk, r.origin, r.author_kind, r.author_roles,
                  array(SELECT n.resource FROM task_resource n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (t.tenant_id, t.id, t.revision)) AS "resources!",
                  array(SELECT n.tag FROM task_tag n
                         WHERE (n.tenant_id, n.task_id, n.revision)
                             = (t.tenant_id, t.id, t.revision)) AS "tags!"
             FROM task t
             JOIN task_revision r
               ON (r.tenant_id, r.task_id, r.revision) = (t.tenant_id, t.id, t.revision)
            WHERE t.tenant_id = $1 AND (t.submitted_at, t.id) > ($2, $3)
            ORDER BY t.submitted_at, t.id LIMIT $4"#,
        tx.tenant().uuid(),
        PgTimestamp(after.0) as _,
        after.1.uuid(),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Replayed::try_from).collect::<Result<_, RowError>>()?)
}
