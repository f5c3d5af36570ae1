//! What people were told: written with what tells it, read by nobody else.

use ade_core::event::EventKind;
use ade_core::ids::{NotificationId, TaskId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::Error;
use crate::moment::Moment;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub id: NotificationId,
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    /// The name of the event it tells of.
    pub kind: String,
    pub at: Timestamp,
}

struct NotificationRow {
    id: Uuid,
    task_id: Uuid,
    number: i64,
    title: String,
    kind: String,
    at: Moment,
}

/// Of something that no decision on the task tells.
pub async fn add(
    tx: &mut Tx,
    task: TaskId,
    kind: EventKind,
    people: &[UserId],
) -> Result<(), Error> {
    let people: Vec<Uuid> = people.iter().map(|person| person.uuid()).collect();
    let query = query!(
        "INSERT INTO notification (tenant_id, user_id, task_id, kind, at)
         SELECT $1, told.id, $2, $3, $4 FROM unnest($5::uuid[]) AS told (id)",
        tx.tenant().uuid(),
        task.uuid(),
        kind.as_str(),
        Moment(tx.now()) as _,
        &people,
    );
    tx.write(query).await?;
    Ok(())
}

/// Of one person, newest first.
pub async fn list(
    tx: &mut Tx,
    user: UserId,
    before: Option<NotificationId>,
    limit: u32,
) -> Result<Vec<Notification>, Error> {
    let query = query_as!(
        NotificationRow,
        r#"SELECT n.id, n.task_id, t.number, t.title, n.kind, n.at AS "at: Moment"
             FROM notification n JOIN task t ON (t.tenant_id, t.id) = (n.tenant_id, n.task_id)
            WHERE n.tenant_id = $1 AND n.user_id = $2 AND ($3::uuid IS NULL OR n.id < $3)
            ORDER BY n.id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        user.uuid(),
        before.map(NotificationId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows
        .map(|row| Notification {
            id: NotificationId::from_uuid(row.id),
            task: TaskId::from_uuid(row.task_id),
            number: row.number,
            title: row.title,
            kind: row.kind,
            at: row.at.0,
        })
        .collect())
}
