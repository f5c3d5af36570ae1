//! Message items about the account of their recipient, or about the rules of the tenant. They
//! belong to no event and no task.

use ade_core::ids::UserId;
use ade_core::preference::{AccountNotice, Channel};
use sqlx::query;
use uuid::Uuid;

use crate::error::StoreError;
use crate::messages::due_kind;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// Adds a notification about the account of its recipient.
pub async fn add(
    tx: &mut Tx,
    user: UserId,
    channel: Channel,
    notice: AccountNotice,
    detail: &str,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO message_item (tenant_id, id, user_id, channel, kind, at, state, detail)
         VALUES ($1, uuid_v7(), $2, $3, $4, $5, 'waiting', $6)",
        tx.tenant().uuid(),
        user.uuid(),
        channel.as_str(),
        notice.as_str(),
        PgTimestamp(tx.now()) as _,
        detail,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Adds the same item for all of these people who can be reached on the channel, to be sent now.
pub async fn add_all(
    tx: &mut Tx,
    users: &[UserId],
    channel: Channel,
    notice: AccountNotice,
    detail: &str,
) -> Result<(), StoreError> {
    let users: Vec<Uuid> = users.iter().map(|user| user.uuid()).collect();
    let query = query!(
        "WITH reached AS (
             SELECT u.id FROM app_user u
               LEFT JOIN notification_preference p
                 ON (p.tenant_id, p.user_id) = (u.tenant_id, u.id)
              WHERE u.tenant_id = $1 AND u.id = ANY ($2)
                AND CASE $3 WHEN 'mail' THEN u.email IS NOT NULL
                            ELSE p.slack_member IS NOT NULL END),
         added AS (
             INSERT INTO message_item (tenant_id, id, user_id, channel, kind, at, state, detail)
             SELECT $1, uuid_v7(), reached.id, $3, $4, $5, 'waiting', $6 FROM reached)
         INSERT INTO scheduled_job AS d (tenant_id, kind, object, at)
         SELECT $1, $7, reached.id, $5 FROM reached
         ON CONFLICT ON CONSTRAINT scheduled_job_pkey DO UPDATE SET at = least(d.at, excluded.at)",
        tx.tenant().uuid(),
        &users,
        channel.as_str(),
        notice.as_str(),
        PgTimestamp(tx.now()) as _,
        detail,
        due_kind(channel),
    );
    tx.write_beside(query).await?;
    Ok(())
}
