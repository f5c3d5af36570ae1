//! Messages to people: how each wants to be told, what waits to be told on which channel, and what
//! became of it. Several things that wait go in one message.

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

use crate::error::{Error, RowError};
use crate::events::Numbered;
use crate::moment::Moment;
use crate::tx::Tx;

/// What a worker looks for in `due`: somebody for whom a message may have to be sent.
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

/// With its version; zero and what everybody has, if they have said nothing.
pub async fn preference(tx: &mut Tx, user: UserId) -> Result<(Preference, u64), Error> {
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

/// A window of the day, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    pub zone: String,
    pub from: String,
    pub to: String,
}

/// As it was written, for its owner.
pub async fn quiet_window(tx: &mut Tx, user: UserId) -> Result<Option<Window>, Error> {
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

/// `version` is the next one.
pub async fn set_preference(
    tx: &mut Tx,
    user: UserId,
    preference: &Preference,
    quiet: Option<&Window>,
    version: u64,
) -> Result<(), Error> {
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
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Somebody who is told of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    pub user: UserId,
    /// Whether mail would reach them.
    pub has_mail: bool,
}

/// Who is told of this: those it asks, those it was written for, and its author.
pub async fn told_of(tx: &mut Tx, event: &Numbered, task: TaskId) -> Result<Vec<Told>, Error> {
    let is_for_author = is_for_author(&event.kind);
    let asks = event.kind == EventKind::ApprovalRequested.as_str();
    let query = query!(
        r#"SELECT told.user_id AS "user_id!", u.email IS NOT NULL AS "has_mail!"
             FROM (SELECT n.user_id FROM notification n
                    WHERE n.tenant_id = $1 AND n.task_id = $2 AND n.kind = $3 AND n.at = $4
                   UNION
                   SELECT a.reviewer_id FROM approval a
                    WHERE a.tenant_id = $1 AND a.task_id = $2 AND a.requested_at = $4
                      AND a.status = 'PENDING' AND $5
                   UNION
                   SELECT t.author_id FROM task t
                    WHERE t.tenant_id = $1 AND t.id = $2 AND $6) AS told
             JOIN app_user u ON u.tenant_id = $1 AND u.id = told.user_id AND u.active
             JOIN task t ON t.tenant_id = $1 AND t.id = $2
            ORDER BY 1"#,
        tx.tenant().uuid(),
        task.uuid(),
        event.kind,
        Moment(event.at) as _,
        asks,
        is_for_author,
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows
        .map(|row| Told { user: UserId::from_uuid(row.user_id), has_mail: row.has_mail })
        .collect())
}

/// Whether it is new. Each event is told to a person once on a channel.
pub async fn add(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    event: &Numbered,
    task: TaskId,
) -> Result<bool, Error> {
    let query = query!(
        "INSERT INTO message_item (tenant_id, id, user_id, channel, seq, kind, task_id, at, state)
         VALUES ($1, uuid_v7(), $2, $3, $4, $5, $6, $7, 'waiting')
         ON CONFLICT ON CONSTRAINT message_item_is_told_once DO NOTHING",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        i64::try_from(event.seq).unwrap_or(i64::MAX),
        event.kind,
        task.uuid(),
        Moment(event.at) as _,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// A message goes out then, or earlier if one was to go out before.
pub async fn send_at(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    at: Timestamp,
) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO due AS d (tenant_id, kind, object, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT due_pkey DO UPDATE SET at = least(d.at, excluded.at)",
        tx.tenant().uuid(),
        due_kind(channel),
        user.uuid(),
        Moment(at) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// How somebody is reached on a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reached {
    pub sent_at: Option<Timestamp>,
    /// Failures in a row.
    pub tries: u32,
}

pub async fn reached(tx: &mut Tx, user: UserId, channel: Channel) -> Result<Reached, Error> {
    let query = query!(
        r#"SELECT sent_at AS "sent_at: Moment", tries FROM message_channel
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

/// Whether the channel is ours until then: one at a time sends to a person on it.
pub async fn claim(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    sender: Uuid,
    until: Timestamp,
) -> Result<bool, Error> {
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
        Moment(until) as _,
        Moment(tx.now()) as _,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// Whether it was still ours. If not, somebody else sends, and nothing changes.
pub async fn settle(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    sender: Uuid,
    reached: &Reached,
    problem: Option<&str>,
) -> Result<bool, Error> {
    let query = query!(
        "UPDATE message_channel
            SET sent_at = $5, tries = $6, problem = $7, sender = NULL, sending_until = NULL
          WHERE tenant_id = $1 AND user_id = $2 AND channel = $3 AND sender = $4",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        sender,
        reached.sent_at.map(Moment) as _,
        i32::try_from(reached.tries).unwrap_or(i32::MAX),
        problem,
    );
    Ok(tx.write_beside(query).await? == 1)
}

/// Something that waits to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub id: Uuid,
    pub kind: String,
    pub task: TaskId,
    pub number: i64,
    pub title: String,
    pub at: Timestamp,
}

/// What waits, oldest first.
pub async fn waiting(tx: &mut Tx, user: UserId, channel: Channel) -> Result<Vec<Item>, Error> {
    let query = query!(
        r#"SELECT i.id, i.kind, i.task_id, t.number, t.title, i.at AS "at: Moment"
             FROM message_item i JOIN task t ON (t.tenant_id, t.id) = (i.tenant_id, i.task_id)
            WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.channel = $3 AND i.state = 'waiting'
            ORDER BY i.seq LIMIT $4"#,
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        i64::from(MESSAGE_ITEMS_WAITING_MAX),
    );
    let rows = tx.fetch(query).await?.into_iter();
    Ok(rows
        .map(|row| Item {
            id: row.id,
            kind: row.kind,
            task: TaskId::from_uuid(row.task_id),
            number: row.number,
            title: row.title,
            at: row.at.0,
        })
        .collect())
}

/// They were told, or given up.
pub async fn end(tx: &mut Tx, items: &[Item], is_sent: bool) -> Result<(), Error> {
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let query = query!(
        "SELECT message_end($1, $2, $3)",
        &ids,
        if is_sent { "sent" } else { "dead" },
        Moment(tx.now()) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}
