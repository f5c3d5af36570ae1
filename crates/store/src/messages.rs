//! Messages to people: their preferences, the notifications that wait on each channel, and the
//! results. Several waiting notifications are sent in one message.

use std::time::Duration;

use ade_core::event::EventKind;
use ade_core::ids::{TaskId, UserId};
use ade_core::limits::MESSAGE_ITEMS_WAITING_MAX;
use ade_core::policy::Hours;
use ade_core::preference::{Channel, Preference, is_for_author};
use ade_core::time::Timestamp;
use ade_core::webhook::Subscription;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::events::Numbered;
use crate::notifications::{NotificationSubject, SubjectRow};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The job kind in `due`: a person for whom a message may have to be sent.
pub const SEND_MAIL: &str = "send_mail";
pub const SEND_SLACK: &str = "send_slack";

pub const fn due_kind(channel: Channel) -> &'static str {
    match channel {
        Channel::Mail => SEND_MAIL,
        Channel::Slack => SEND_SLACK,
    }
}

struct PreferenceRow {
    mail: Vec<String>,
    slack: Vec<String>,
    slack_member: Option<String>,
    quiet_zone: Option<String>,
    quiet_from: Option<String>,
    quiet_to: Option<String>,
    digest_s: i32,
    version: i64,
}

/// Returns the preferences with their version; the defaults and version zero if the person has set
/// none.
pub async fn preference(tx: &mut Tx, user: UserId) -> Result<(Preference, u64), StoreError> {
    let query = query_as!(
        PreferenceRow,
        "SELECT mail, slack, slack_member, quiet_zone, quiet_from, quiet_to, digest_s, version
           FROM notification_preference WHERE tenant_id = $1 AND user_id = $2",
        tx.tenant().uuid(),
        user.uuid(),
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok((Preference::default(), 0)) };
    let wrong = |column, why: String| RowError {
        table: "notification_preference",
        column,
        row: user.to_string(),
        why,
    };
    let kinds = |column, texts: Vec<String>| {
        if texts.is_empty() {
            return Ok(None);
        }
        let read = Subscription::new(&texts);
        read.map(Some).map_err(|error| wrong(column, error.to_string()))
    };
    let quiet = match (row.quiet_zone, row.quiet_from, row.quiet_to) {
        (Some(zone), Some(from), Some(to)) => {
            let hours = Hours::new(&zone, [], &from, &to);
            Some(hours.map_err(|error| wrong("quiet_zone", error.to_string()))?)
        }
        _ => None,
    };
    let preference = Preference {
        mail: kinds("mail", row.mail)?,
        slack: kinds("slack", row.slack)?,
        slack_member: row.slack_member,
        quiet,
        digest: Duration::from_secs(row.digest_s.unsigned_abs().into()),
    };
    Ok((preference, row.version.unsigned_abs()))
}

/// A daily window as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub zone: String,
    pub from: String,
    pub to: String,
}

/// Returns the quiet window as its owner wrote it.
pub async fn quiet_window(tx: &mut Tx, user: UserId) -> Result<Option<Window>, StoreError> {
    let query = query!(
        "SELECT quiet_zone, quiet_from, quiet_to FROM notification_preference
          WHERE tenant_id = $1 AND user_id = $2",
        tx.tenant().uuid(),
        user.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.and_then(|row| {
        Some(Window { zone: row.quiet_zone?, from: row.quiet_from?, to: row.quiet_to? })
    }))
}

/// Stores preferences; `version` is the next version.
pub async fn set_preference(
    tx: &mut Tx,
    user: UserId,
    preference: &Preference,
    quiet: Option<&Window>,
    version: u64,
) -> Result<(), StoreError> {
    let texts = |kinds: &Option<Subscription>| kinds.as_ref().map(Subscription::texts);
    let query = query!(
        "INSERT INTO notification_preference (tenant_id, user_id, mail, slack, slack_member,
                                              quiet_zone, quiet_from, quiet_to, digest_s, version,
                                              changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT ON CONSTRAINT notification_preference_pkey DO UPDATE
            SET mail = excluded.mail, slack = excluded.slack,
                slack_member = excluded.slack_member, quiet_zone = excluded.quiet_zone,
                quiet_from = excluded.quiet_from, quiet_to = excluded.quiet_to,
                digest_s = excluded.digest_s, version = excluded.version,
                changed_at = excluded.changed_at",
        tx.tenant().uuid(),
        user.uuid(),
        &texts(&preference.mail).unwrap_or_default(),
        &texts(&preference.slack).unwrap_or_default(),
        preference.slack_member,
        quiet.map(|quiet| quiet.zone.as_str()),
        quiet.map(|quiet| quiet.from.as_str()),
        quiet.map(|quiet| quiet.to.as_str()),
        i32::try_from(preference.digest.as_secs()).unwrap_or(i32::MAX),
        i64::try_from(version).unwrap_or(i64::MAX),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// A recipient of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifiedUser {
    pub user: UserId,
    /// Whether they have a mail address.
    pub has_mail: bool,
}

/// The recipients of an event: the people it asks, the people it is addressed to, and its author.
pub async fn recipients(
    tx: &mut Tx,
    event: &Numbered,
    task: TaskId,
) -> Result<Vec<NotifiedUser>, StoreError> {
    let is_for_author = is_for_author(&event.kind);
    let asks = event.kind == EventKind::ApprovalRequested.as_str();
    let query = query!(
        r#"SELECT recipient.user_id AS "user_id!", u.email IS NOT NULL AS "has_mail!"
             FROM (SELECT n.user_id FROM notification n
                    WHERE n.tenant_id = $1 AND n.task_id = $2 AND n.kind = $3 AND n.at = $4
                   UNION
                   SELECT a.reviewer_id FROM approval a
                    WHERE a.tenant_id = $1 AND a.task_id = $2 AND a.requested_at = $4
                      AND a.status = 'PENDING' AND $5
                   UNION
                   SELECT t.author_id FROM task t
                    WHERE t.tenant_id = $1 AND t.id = $2 AND $6) AS recipient
             JOIN app_user u ON u.tenant_id = $1 AND u.id = recipient.user_id AND u.active
             JOIN task t ON t.tenant_id = $1 AND t.id = $2
            ORDER BY 1"#,
        tx.tenant().uuid(),
        task.uuid(),
        event.kind,
        PgTimestamp(event.at) as _,
        asks,
        is_for_author,
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows
        .map(|row| NotifiedUser { user: UserId::from_uuid(row.user_id), has_mail: row.has_mail })
        .collect())
}

/// Adds a notification and returns whether it is new. A person is notified of each event once per
/// channel.
pub async fn add(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    event: &Numbered,
    task: TaskId,
) -> Result<bool, StoreError> {
    let query = query!(
        "INSERT INTO message_item (tenant_id, id, user_id, channel, seq, kind, task_id, at, state)
         VALUES ($1, uuid_v7(), $2, $3, $4, $5, $6, $7, 'waiting')
         ON CONFLICT ON CONSTRAINT message_item_is_sent_once DO NOTHING",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        i64::try_from(event.seq).unwrap_or(i64::MAX),
        event.kind,
        task.uuid(),
        PgTimestamp(event.at) as _,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// Schedules a message at this time, or leaves an earlier schedule unchanged.
pub async fn send_at(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    at: Timestamp,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO scheduled_job AS d (tenant_id, kind, object, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = least(d.at, excluded.at)",
        tx.tenant().uuid(),
        due_kind(channel),
        user.uuid(),
        PgTimestamp(at) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// The state of a channel of a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reached {
    pub sent_at: Option<Timestamp>,
    /// The number of consecutive failures.
    pub tries: u32,
}

pub async fn reached(tx: &mut Tx, user: UserId, channel: Channel) -> Result<Reached, StoreError> {
    let query = query!(
        r#"SELECT sent_at AS "sent_at: PgTimestamp", tries FROM message_channel
            WHERE tenant_id = $1 AND user_id = $2 AND channel = $3"#,
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map_or_else(Reached::default, |row| Reached {
        sent_at: row.sent_at.map(|moment| moment.0),
        tries: row.tries.unsigned_abs(),
    }))
}

/// Reserves the channel until the given time and returns whether it succeeded: one process at a
/// time sends to a person on it.
pub async fn claim(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    sender: Uuid,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let query = query!(
        "INSERT INTO message_channel AS c (tenant_id, user_id, channel, tries, sender,
                                           sending_until)
         VALUES ($1, $2, $3, 0, $4, $5)
         ON CONFLICT ON CONSTRAINT message_channel_pkey DO UPDATE
            SET sender = excluded.sender, sending_until = excluded.sending_until
          WHERE c.sending_until IS NULL OR c.sending_until <= $6",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        sender,
        PgTimestamp(until) as _,
        PgTimestamp(tx.now()) as _,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// Records the result and returns whether the reservation was still valid. If not, another process
/// sends, and nothing changes.
pub async fn settle(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    sender: Uuid,
    reached: &Reached,
    problem: Option<&str>,
) -> Result<bool, StoreError> {
    let query = query!(
        "UPDATE message_channel
            SET sent_at = $5, tries = $6, problem = $7, sender = NULL, sending_until = NULL
          WHERE tenant_id = $1 AND user_id = $2 AND channel = $3 AND sender = $4",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        sender,
        reached.sent_at.map(PgTimestamp) as _,
        i32::try_from(reached.tries).unwrap_or(i32::MAX),
        problem,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// A waiting notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingNotification {
    pub id: Uuid,
    pub kind: String,
    pub subject: NotificationSubject,
    pub at: Timestamp,
}

/// Returns the waiting notifications: those about tasks, oldest first, and then those about the
/// account.
pub async fn waiting(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
) -> Result<Vec<PendingNotification>, StoreError> {
    let query = query!(
        r#"SELECT i.id, i.kind, i.task_id AS "task_id?", t.number AS "number?",
                  t.title AS "title?", i.detail, i.at AS "at: PgTimestamp"
             FROM message_item i
             LEFT JOIN task t ON (t.tenant_id, t.id) = (i.tenant_id, i.task_id)
            WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.channel = $3 AND i.state = 'waiting'
            ORDER BY i.seq, i.id LIMIT $4"#,
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        i64::from(MESSAGE_ITEMS_WAITING_MAX),
    );
    let rows = tx.fetch(query).await?.into_iter();
    let items = rows.map(|row| {
        let subject = SubjectRow {
            table: "message_item",
            id: row.id,
            task_id: row.task_id,
            number: row.number,
            title: row.title,
            detail: row.detail,
        };
        let subject = NotificationSubject::try_from(subject)?;
        Ok(PendingNotification { id: row.id, kind: row.kind, subject, at: row.at.0 })
    });
    Ok(items.collect::<Result<Vec<_>, RowError>>()?)
}

/// Marks notifications as sent or as given up.
pub async fn end(
    tx: &mut Tx,
    items: &[PendingNotification],
    is_sent: bool,
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let query = query!(
        "SELECT message_end($1, $2, $3)",
        &ids,
        if is_sent { "sent" } else { "dead" },
        PgTimestamp(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}
