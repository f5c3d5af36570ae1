//! Notifications: written with the change that causes them, read only by their recipient.

use ade_core::event::EventKind;
use ade_core::ids::{NotificationId, TaskId, UserId};
use ade_core::preference::AccountNotice;
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// What a notification is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotificationSubject {
    Task {
        id: TaskId,
        number: i64,
        title: String,
    },
    /// The account of the recipient, with what changed in it.
    Account {
        detail: String,
    },
}

/// The columns of a subject. Those of the task are joined, and absent for an account.
pub(crate) struct SubjectRow {
    pub table: &'static str,
    pub id: Uuid,
    pub task_id: Option<Uuid>,
    pub number: Option<i64>,
    pub title: Option<String>,
    pub detail: Option<String>,
}

impl TryFrom<SubjectRow> for NotificationSubject {
    type Error = RowError;

    fn try_from(row: SubjectRow) -> Result<Self, RowError> {
        match (row.task_id, row.number, row.title, row.detail) {
            (Some(id), Some(number), Some(title), None) => {
                Ok(Self::Task { id: TaskId::from_uuid(id), number, title })
            }
            (None, _, _, Some(detail)) => Ok(Self::Account { detail }),
            _ => Err(RowError {
                table: row.table,
                column: "task_id",
                row: row.id.to_string(),
                why: "neither a task nor a change to an account".to_owned(),
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub id: NotificationId,
    pub subject: NotificationSubject,
    /// The kind of the event, or of the change to the account.
    pub kind: String,
    pub at: Timestamp,
}

struct NotificationRow {
    id: Uuid,
    task_id: Option<Uuid>,
    number: Option<i64>,
    title: Option<String>,
    detail: Option<String>,
    kind: String,
    at: PgTimestamp,
}

impl TryFrom<NotificationRow> for Notification {
    type Error = RowError;

    fn try_from(row: NotificationRow) -> Result<Self, RowError> {
        let NotificationRow { id, task_id, number, title, detail, kind, at } = row;
        let subject = SubjectRow { table: "notification", id, task_id, number, title, detail };
        let subject = subject.try_into()?;
        Ok(Self { id: NotificationId::from_uuid(id), subject, kind, at: at.0 })
    }
}

/// Adds a notification that does not follow from a decision on the task.
pub async fn add(
    tx: &mut Tx,
    task: TaskId,
    kind: EventKind,
    people: &[UserId],
) -> Result<(), StoreError> {
    let people: Vec<Uuid> = people.iter().map(|person| person.uuid()).collect();
    let query = query!(
        "INSERT INTO notification (tenant_id, user_id, task_id, kind, at)
         SELECT $1, recipient.id, $2, $3, $4 FROM unnest($5::uuid[]) AS recipient (id)",
        tx.tenant().uuid(),
        task.uuid(),
        kind.as_str(),
        PgTimestamp(tx.now()) as _,
        &people,
    );
    tx.write(query).await?;
    Ok(())
}

/// Adds a notification about the account of its recipient.
pub async fn add_of_account(
    tx: &mut Tx,
    user: UserId,
    notice: AccountNotice,
    detail: &str,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO notification (tenant_id, user_id, kind, at, detail)
         VALUES ($1, $2, $3, $4, $5)",
        tx.tenant().uuid(),
        user.uuid(),
        notice.as_str(),
        PgTimestamp(tx.now()) as _,
        detail,
    );
    tx.write(query).await?;
    Ok(())
}

/// Adds the same notification for several people.
pub async fn add_of_accounts(
    tx: &mut Tx,
    users: &[UserId],
    notice: AccountNotice,
    detail: &str,
) -> Result<(), StoreError> {
    let users: Vec<Uuid> = users.iter().map(|user| user.uuid()).collect();
    let query = query!(
        "INSERT INTO notification (tenant_id, user_id, kind, at, detail)
         SELECT $1, recipient.id, $3, $4, $5 FROM unnest($2::uuid[]) AS recipient (id)",
        tx.tenant().uuid(),
        &users,
        notice.as_str(),
        PgTimestamp(tx.now()) as _,
        detail,
    );
    tx.write(query).await?;
    Ok(())
}

/// Returns the notifications of one person, newest first.
pub async fn list(
    tx: &mut Tx,
    user: UserId,
    before: Option<NotificationId>,
    limit: u32,
) -> Result<Vec<Notification>, StoreError> {
    let query = query_as!(
        NotificationRow,
        r#"SELECT n.id, n.task_id AS "task_id?", t.number AS "number?", t.title AS "title?",
                  n.detail, n.kind, n.at AS "at: PgTimestamp"
             FROM notification n LEFT JOIN task t ON (t.tenant_id, t.id) = (n.tenant_id, n.task_id)
            WHERE n.tenant_id = $1 AND n.user_id = $2 AND ($3::uuid IS NULL OR n.id < $3)
            ORDER BY n.id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        user.uuid(),
        before.map(NotificationId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows.map(Notification::try_from).collect::<Result<Vec<_>, RowError>>()?)
}
