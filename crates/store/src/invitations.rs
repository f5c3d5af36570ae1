//! Invitations: a person has at most one, it expires after minutes, and accepting it deletes its
//! row. Only a keyed hash of the secret is stored; secrets are made and compared elsewhere.

use ade_core::ids::{TenantId, UserId};
use ade_core::time::Timestamp;
use sqlx::query;

use crate::error::{RowError, StoreError};
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tokens::Hash;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    pub key_id: String,
    pub user: UserId,
    pub hash: Hash,
    pub expires_at: Timestamp,
    pub invited_by: UserId,
    /// Whether the admin could read the secret; otherwise it was sent to the person's address.
    pub is_shown: bool,
}

/// An invitation that was accepted, as its admin created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedInvitation {
    /// `None` for an invitation of an earlier release.
    pub invited_by: Option<UserId>,
    pub is_shown: bool,
}

/// An invitation that can still be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenInvitation {
    pub key_id: String,
    pub hash: Hash,
    pub expires_at: Timestamp,
}

/// The invitation that a key id names. Its secret has yet to be compared with `hash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedInvitation {
    pub tenant: TenantId,
    pub user: UserId,
    pub hash: Hash,
    /// The invitation has not expired, and both the tenant and the person are active.
    pub is_live: bool,
}

/// Stores an invitation and replaces an earlier one of the same person.
pub async fn put(tx: &mut Tx, invitation: &NewInvitation) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO invitation (tenant_id, user_id, key_id, secret_hash, created_at, expires_at,
             invited_by, is_shown)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT ON CONSTRAINT invitation_pkey DO UPDATE
            SET key_id = excluded.key_id, secret_hash = excluded.secret_hash,
                created_at = excluded.created_at, expires_at = excluded.expires_at,
                invited_by = excluded.invited_by, is_shown = excluded.is_shown",
        tx.tenant().uuid(),
        invitation.user.uuid(),
        invitation.key_id,
        invitation.hash.as_slice(),
        PgTimestamp(tx.now()) as _,
        PgTimestamp(invitation.expires_at) as _,
        invitation.invited_by.uuid(),
        invitation.is_shown,
    );
    tx.write(query).await?;
    Ok(())
}

/// Looks an invitation up before its tenant is known, so it runs outside of any [`Tx`].
pub async fn resolve(pool: &Pool, key_id: &str) -> Result<Option<ResolvedInvitation>, StoreError> {
    let mut connection = pool.acquire().await?;
    let row = query!(
        r#"SELECT tenant_id AS "tenant_id!", user_id AS "user_id!",
                  secret_hash AS "secret_hash!", is_live AS "is_live!"
             FROM resolve_invitation($1)"#,
        key_id,
    )
    .fetch_optional(connection.get()?)
    .await?;
    connection.give_back();
    let Some(row) = row else { return Ok(None) };
    let hash = hash_of(key_id, row.secret_hash)?;
    Ok(Some(ResolvedInvitation {
        tenant: TenantId::from_uuid(row.tenant_id),
        user: UserId::from_uuid(row.user_id),
        hash,
        is_live: row.is_live,
    }))
}

/// Returns the invitation of a person that has not expired.
pub async fn open(tx: &mut Tx, user: UserId) -> Result<Option<OpenInvitation>, StoreError> {
    let query = query!(
        r#"SELECT key_id, secret_hash, expires_at AS "expires_at: PgTimestamp"
             FROM invitation WHERE tenant_id = $1 AND user_id = $2 AND expires_at > $3"#,
        tx.tenant().uuid(),
        user.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    let hash = hash_of(&row.key_id, row.secret_hash)?;
    Ok(Some(OpenInvitation { key_id: row.key_id, hash, expires_at: row.expires_at.0 }))
}

/// Deletes an invitation that has not expired. Of several transactions that try at the same time,
/// one gets it.
pub async fn take(tx: &mut Tx, key_id: &str) -> Result<Option<AcceptedInvitation>, StoreError> {
    let query = query!(
        r#"DELETE FROM invitation WHERE tenant_id = $1 AND key_id = $2 AND expires_at > $3
        RETURNING invited_by, is_shown AS "is_shown!""#,
        tx.tenant().uuid(),
        key_id,
        PgTimestamp(tx.now()) as _,
    );
    let taken = tx.fetch(query).await?.pop();
    Ok(taken.map(|row| AcceptedInvitation {
        invited_by: row.invited_by.map(UserId::from_uuid),
        is_shown: row.is_shown,
    }))
}

fn hash_of(key_id: &str, bytes: Vec<u8>) -> Result<Hash, RowError> {
    Hash::try_from(bytes).map_err(|bytes| RowError {
        table: "invitation",
        column: "secret_hash",
        row: key_id.to_owned(),
        why: format!("{} bytes", bytes.len()),
    })
}
