//! Words of passkeys, each for one decision: asked for, given, and used once by the transaction
//! that decides. What was used stays as evidence; what was not gives way to what comes later.

use ade_core::change::Digest;
use ade_core::ids::{StepUpId, UserId};
use ade_core::limits::{PASSKEY_ANSWER_TTL, STEP_UP_MAX_AGE, STEP_UPS_OPEN_MAX};
use ade_core::step_up::{Purpose, Word};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{Error, RowError};
use crate::moment::Moment;
use crate::passkeys::Passkey;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub id: StepUpId,
    pub user: UserId,
    /// The session or token that asked, and alone may answer.
    pub key_id: String,
    pub purpose: Purpose,
    pub subject: Digest,
    pub nonce: [u8; 32],
    pub asked_at: Timestamp,
    pub is_given: bool,
}

/// What a passkey has signed, and how.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

/// With each question, earlier ones of the same person go that nobody can use any more.
pub async fn ask(tx: &mut Tx, question: &Question) -> Result<(), Error> {
    let dead = tx.now().minus(PASSKEY_ANSWER_TTL + STEP_UP_MAX_AGE);
    let query = query!(
        "WITH old AS (
             DELETE FROM step_up s
              WHERE s.tenant_id = $1 AND s.user_id = $3 AND s.used_at IS NULL
                AND (s.asked_at < $9 OR s.id IN (
                    SELECT o.id FROM step_up o
                     WHERE o.tenant_id = $1 AND o.user_id = $3 AND o.used_at IS NULL
                     ORDER BY o.asked_at DESC, o.id DESC OFFSET $10)))
         INSERT INTO step_up (tenant_id, id, user_id, key_id, purpose, subject, nonce, asked_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        tx.tenant().uuid(),
        question.id.uuid(),
        question.user.uuid(),
        question.key_id,
        question.purpose.as_str(),
        question.subject.bytes().as_slice(),
        question.nonce.as_slice(),
        Moment(question.asked_at) as _,
        Moment(dead) as _,
        i64::from(STEP_UPS_OPEN_MAX.saturating_sub(1)),
    );
    tx.write_beside(query).await?;
    Ok(())
}

struct QuestionRow {
    id: Uuid,
    user_id: Uuid,
    key_id: String,
    purpose: String,
    subject: Vec<u8>,
    nonce: Vec<u8>,
    asked_at: Moment,
    is_given: bool,
}

impl TryFrom<QuestionRow> for Question {
    type Error = RowError;

    fn try_from(row: QuestionRow) -> Result<Self, RowError> {
        let id = StepUpId::from_uuid(row.id);
        let purpose = Purpose::ALL.into_iter().find(|known| known.as_str() == row.purpose);
        let purpose = purpose.ok_or_else(|| wrong(id, "purpose", row.purpose))?;
        Ok(Self {
            id,
            user: UserId::from_uuid(row.user_id),
            key_id: row.key_id,
            purpose,
            subject: Digest::from_bytes(hash(id, "subject", row.subject)?),
            nonce: hash(id, "nonce", row.nonce)?,
            asked_at: row.asked_at.0,
            is_given: row.is_given,
        })
    }
}

fn wrong(id: StepUpId, column: &'static str, why: String) -> RowError {
    RowError { table: "step_up", column, row: id.to_string(), why }
}

fn hash(id: StepUpId, column: &'static str, bytes: Vec<u8>) -> Result<[u8; 32], RowError> {
    let wrong = |bytes: Vec<u8>| wrong(id, column, format!("{} bytes", bytes.len()));
    <[u8; 32]>::try_from(bytes).map_err(wrong)
}

/// Locked, since one answer is enough. Whether it is used is counted: by `IS NULL` it would be
/// looked for among all that are open, like its key.
pub async fn question(tx: &mut Tx, id: StepUpId) -> Result<Option<Question>, Error> {
    let query = query_as!(
        QuestionRow,
        r#"SELECT id, user_id, key_id, purpose, subject, nonce,
                  asked_at AS "asked_at: Moment", given_at IS NOT NULL AS "is_given!"
             FROM step_up
            WHERE tenant_id = $1 AND id = $2 AND num_nulls(used_at) = 1 FOR UPDATE"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(Question::try_from).transpose()?)
}

pub async fn give(
    tx: &mut Tx,
    id: StepUpId,
    passkey: &Passkey,
    signed: Signed<'_>,
) -> Result<(), Error> {
    let query = query!(
        "UPDATE step_up SET passkey_id = $3, client_data = $4, authenticator_data = $5,
                signature = $6, given_at = $7
          WHERE tenant_id = $1 AND id = $2 AND given_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        passkey.id.uuid(),
        signed.client_data,
        signed.authenticator_data,
        signed.signature,
        Moment(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// Words of one person that nobody has used yet, of keys that are still theirs; the latest first.
pub async fn unused(tx: &mut Tx, user: UserId) -> Result<Vec<(StepUpId, Word)>, Error> {
    let query = query!(
        r#"SELECT s.id, s.key_id, s.subject, s.given_at AS "given_at!: Moment"
             FROM step_up s JOIN passkey p ON p.tenant_id = s.tenant_id AND p.id = s.passkey_id
            WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.used_at IS NULL
              AND s.given_at IS NOT NULL AND p.removed_at IS NULL
            ORDER BY s.given_at DESC, s.id"#,
        tx.tenant().uuid(),
        user.uuid(),
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| {
        let id = StepUpId::from_uuid(row.id);
        let subject = Digest::from_bytes(hash(id, "subject", row.subject)?);
        Ok((id, Word { subject, by: user, key_id: row.key_id, given_at: row.given_at.0 }))
    });
    Ok(rows.collect::<Result<Vec<_>, RowError>>()?)
}

/// By one decision only: `Conflict` for the other.
pub async fn use_up(tx: &mut Tx, id: StepUpId) -> Result<(), Error> {
    let query = query!(
        "UPDATE step_up SET used_at = $3
          WHERE tenant_id = $1 AND id = $2 AND num_nulls(used_at) = 1",
        tx.tenant().uuid(),
        id.uuid(),
        Moment(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}
