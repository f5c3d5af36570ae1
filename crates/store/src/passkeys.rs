//! Passkeys of people, and pending registrations. A removed passkey gives no more confirmations;
//! its row stays, so that earlier ones can be verified.

use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passkey {
    pub id: PasskeyId,
    pub user: UserId,
    pub name: String,
    pub credential: Vec<u8>,
    pub algorithm: i32,
    pub public_key: Vec<u8>,
    pub counter: u32,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    /// When the passkey begins to count for tasks of high and critical risk, if it was enrolled
    /// after a reset; `None` if it always counted.
    pub counts_from: Option<Timestamp>,
}

/// A pending registration of a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingPasskey {
    pub id: PasskeyId,
    pub user: UserId,
    /// The session or token that requested it.
    pub key_id: String,
    pub name: String,
    pub challenge: Digest,
    pub expires_at: Timestamp,
}

struct PasskeyRow {
    id: Uuid,
    user_id: Uuid,
    name: String,
    credential: Vec<u8>,
    algorithm: i32,
    public_key: Vec<u8>,
    counter: i64,
    created_at: PgTimestamp,
    last_used_at: Option<PgTimestamp>,
    counts_from: Option<PgTimestamp>,
}

impl TryFrom<PasskeyRow> for Passkey {
    type Error = RowError;

    fn try_from(row: PasskeyRow) -> Result<Self, RowError> {
        let id = PasskeyId::from_uuid(row.id);
        let counter = u32::try_from(row.counter).map_err(|error| RowError {
            table: "passkey",
            column: "counter",
            row: id.to_string(),
            why: error.to_string(),
        })?;
        Ok(Self {
            id,
            user: UserId::from_uuid(row.user_id),
            name: row.name,
            credential: row.credential,
            algorithm: row.algorithm,
            public_key: row.public_key,
            counter,
            created_at: row.created_at.0,
            last_used_at: row.last_used_at.map(|at| at.0),
            counts_from: row.counts_from.map(|at| at.0),
        })
    }
}

/// Returns the passkeys of one person, oldest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Passkey>, StoreError> {
    let query = query_as!(
        PasskeyRow,
        r#"SELECT id, user_id, name, credential, algorithm, public_key, counter,
                  created_at AS "created_at: PgTimestamp",
                  last_used_at AS "last_used_at: PgTimestamp",
                  counts_from AS "counts_from: PgTimestamp"
             FROM passkey WHERE tenant_id = $1 AND user_id = $2 AND removed_at IS NULL
            ORDER BY created_at, id"#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Passkey::try_from).collect::<Result<Vec<Passkey>, RowError>>()?)
}

pub async fn has_any(tx: &mut Tx, user: UserId) -> Result<bool, StoreError> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM passkey
             WHERE tenant_id = $1 AND user_id = $2 AND removed_at IS NULL) AS "has_any!""#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    tx.fetch_value(query).await
}

/// Stores an offer and replaces an earlier one to the same person.
pub async fn offer(tx: &mut Tx, offer: &PendingPasskey) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO passkey_offer (tenant_id, user_id, id, key_id, name, challenge, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT ON CONSTRAINT passkey_offer_pkey DO UPDATE
            SET id = excluded.id, key_id = excluded.key_id, name = excluded.name,
                challenge = excluded.challenge, expires_at = excluded.expires_at",
        tx.tenant().uuid(),
        offer.user.uuid(),
        offer.id.uuid(),
        offer.key_id,
        offer.name,
        offer.challenge.bytes().as_slice(),
        PgTimestamp(offer.expires_at) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Takes an offer by its id, if it was made to this person in this session and is not too old. It
/// is deleted by this transaction.
pub async fn take_offer(
    tx: &mut Tx,
    id: PasskeyId,
    user: UserId,
    key_id: &str,
) -> Result<Option<PendingPasskey>, StoreError> {
    let query = query!(
        r#"DELETE FROM passkey_offer
            WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND key_id = $4 AND expires_at > $5
        RETURNING name AS "name!", challenge AS "challenge!",
                  expires_at AS "expires_at!: PgTimestamp""#,
        tx.tenant().uuid(),
        user.uuid(),
        id.uuid(),
        key_id,
        PgTimestamp(tx.now()) as _,
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    let challenge = <[u8; 32]>::try_from(row.challenge).map_err(|bytes| RowError {
        table: "passkey_offer",
        column: "challenge",
        row: id.to_string(),
        why: format!("{} bytes", bytes.len()),
    })?;
    Ok(Some(PendingPasskey {
        id,
        user,
        key_id: key_id.to_owned(),
        name: row.name,
        challenge: Digest::from_bytes(challenge),
        expires_at: row.expires_at.0,
    }))
}

/// Stores a passkey. It is refused if the same key is known already (`passkey_is_known_once`).
pub async fn insert(tx: &mut Tx, passkey: &Passkey) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO passkey (tenant_id, id, user_id, name, credential, algorithm, public_key,
             counter, created_at, counts_from)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        tx.tenant().uuid(),
        passkey.id.uuid(),
        passkey.user.uuid(),
        passkey.name,
        passkey.credential.as_slice(),
        passkey.algorithm,
        passkey.public_key.as_slice(),
        i64::from(passkey.counter),
        PgTimestamp(passkey.created_at) as _,
        passkey.counts_from.map(PgTimestamp) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// Advances the counter of a passkey after a confirmation.
pub async fn count_on(tx: &mut Tx, passkey: &Passkey, counter: u32) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE passkey SET counter = $4, last_used_at = $5
          WHERE tenant_id = $1 AND id = $2 AND counter = $3 AND removed_at IS NULL",
        tx.tenant().uuid(),
        passkey.id.uuid(),
        i64::from(passkey.counter),
        i64::from(counter),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&passkey.id, query).await
}

/// Removes these passkeys of one person permanently.
pub async fn remove(tx: &mut Tx, user: UserId, passkeys: &[PasskeyId]) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = passkeys.iter().map(|id| id.uuid()).collect();
    let query = query!(
        "UPDATE passkey SET removed_at = $4
          WHERE tenant_id = $1 AND user_id = $2 AND id = ANY ($3) AND removed_at IS NULL",
        tx.tenant().uuid(),
        user.uuid(),
        &ids,
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}
