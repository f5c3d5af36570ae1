//! Keys of people, and the question to a key that is not one yet. A key that was removed gives no
//! word any more; its row stays, so that the words it gave can be verified.

use ade_core::change::Digest;
use ade_core::ids::{PasskeyId, UserId};
use ade_core::time::Timestamp;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
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
}

/// A question to a key that is to become one of somebody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub id: PasskeyId,
    pub user: UserId,
    /// The session or token that asked.
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
    created_at: Moment,
    last_used_at: Option<Moment>,
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
        })
    }
}

/// Those of one person, the oldest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Passkey>, Error> {
    let query = query_as!(
        PasskeyRow,
        r#"SELECT id, user_id, name, credential, algorithm, public_key, counter,
                  created_at AS "created_at: Moment", last_used_at AS "last_used_at: Moment"
             FROM passkey WHERE tenant_id = $1 AND user_id = $2 AND removed_at IS NULL
            ORDER BY created_at, id"#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Passkey::try_from).collect::<Result<Vec<Passkey>, RowError>>()?)
}

pub async fn has_any(tx: &mut Tx, user: UserId) -> Result<bool, Error> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM passkey
             WHERE tenant_id = $1 AND user_id = $2 AND removed_at IS NULL) AS "has_any!""#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    tx.fetch_value(query).await
}

/// In the place of an earlier offer to the same person.
pub async fn offer(tx: &mut Tx, offer: &Offer) -> Result<(), Error> {
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
        Moment(offer.expires_at) as _,
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// The offer by its id, if it was made to this person in this session and is not too old; it is
/// gone with the transaction that takes it.
pub async fn take_offer(
    tx: &mut Tx,
    id: PasskeyId,
    user: UserId,
    key_id: &str,
) -> Result<Option<Offer>, Error> {
    let query = query!(
        r#"DELETE FROM passkey_offer
            WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND key_id = $4 AND expires_at > $5
        RETURNING name AS "name!", challenge AS "challenge!",
                  expires_at AS "expires_at!: Moment""#,
        tx.tenant().uuid(),
        user.uuid(),
        id.uuid(),
        key_id,
        Moment(tx.now()) as _,
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    let challenge = <[u8; 32]>::try_from(row.challenge).map_err(|bytes| RowError {
        table: "passkey_offer",
        column: "challenge",
        row: id.to_string(),
        why: format!("{} bytes", bytes.len()),
    })?;
    Ok(Some(Offer {
        id,
        user,
        key_id: key_id.to_owned(),
        name: row.name,
        challenge: Digest::from_bytes(challenge),
        expires_at: row.expires_at.0,
    }))
}

/// Refused if the same key is known already (`passkey_is_known_once`).
pub async fn insert(tx: &mut Tx, passkey: &Passkey) -> Result<(), Error> {
    let query = query!(
        "INSERT INTO passkey (tenant_id, id, user_id, name, credential, algorithm, public_key,
             counter, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        tx.tenant().uuid(),
        passkey.id.uuid(),
        passkey.user.uuid(),
        passkey.name,
        passkey.credential.as_slice(),
        passkey.algorithm,
        passkey.public_key.as_slice(),
        i64::from(passkey.counter),
        Moment(passkey.created_at) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// It has given a word, and counts on from here.
pub async fn count_on(tx: &mut Tx, passkey: &Passkey, counter: u32) -> Result<(), Error> {
    let query = query!(
        "UPDATE passkey SET counter = $4, last_used_at = $5
          WHERE tenant_id = $1 AND id = $2 AND counter = $3 AND removed_at IS NULL",
        tx.tenant().uuid(),
        passkey.id.uuid(),
        i64::from(passkey.counter),
        i64::from(counter),
        Moment(tx.now()) as _,
    );
    tx.write_one(&passkey.id, query).await
}

/// Those of one person that are named here, for good.
pub async fn remove(tx: &mut Tx, user: UserId, passkeys: &[PasskeyId]) -> Result<(), Error> {
    let ids: Vec<Uuid> = passkeys.iter().map(|id| id.uuid()).collect();
    let query = query!(
        "UPDATE passkey SET removed_at = $4
          WHERE tenant_id = $1 AND user_id = $2 AND id = ANY ($3) AND removed_at IS NULL",
        tx.tenant().uuid(),
        user.uuid(),
        &ids,
        Moment(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}
