//! Passkey confirmations, each for one decision: requested, given, and used once by the transaction
//! that decides. Used confirmations stay as evidence; unused ones are replaced by later ones.

use ade_core::change::Digest;
use ade_core::ids::{StepUpId, UserId};
use ade_core::limits::{PASSKEY_ANSWER_TTL, STEP_UP_MAX_AGE, STEP_UPS_OPEN_MAX};
use ade_core::step_up::{Purpose, Word};
use ade_core::time::Timestamp;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::passkeys::Passkey;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepUpChallenge {
    pub id: StepUpId,
    pub user: UserId,
    /// The session or token that requested it, and that alone may answer.
    pub key_id: String,
    pub purpose: Purpose,
    pub subject: Digest,
    pub nonce: [u8; 32],
    pub asked_at: Timestamp,
    pub is_given: bool,
}

/// The signature of a passkey with the signed data.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    pub client_data: &'a [u8],
    pub authenticator_data: &'a [u8],
    pub signature: &'a [u8],
}

/// What decides whether a person must confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepUpFacts {
    pub has_passkey: bool,
    /// Any person of the tenant has a passkey.
    pub tenant_has_passkeys: bool,
    /// When the person of the session signed in; `None` if the key is not that of a session.
    pub signed_in_at: Option<Timestamp>,
}

/// Reads the facts about a person who uses this key.
pub async fn facts(tx: &mut Tx, user: UserId, key_id: &str) -> Result<StepUpFacts, StoreError> {
    let query = query!(
        r#"SELECT EXISTS (SELECT FROM passkey p
                    WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.removed_at IS NULL)
                      AS "has_passkey!",
                  EXISTS (SELECT FROM passkey p
                    WHERE p.tenant_id = $1 AND p.removed_at IS NULL) AS "tenant_has_passkeys!",
                  (SELECT t.signed_in_at FROM token t
                    WHERE t.tenant_id = $1 AND t.key_id = $3) AS "signed_in_at: PgTimestamp""#,
        tx.tenant().uuid(),
        user.uuid(),
        key_id,
    );
    let row = tx.fetch(query).await?.pop();
    let row = row.ok_or_else(|| RowError {
        table: "passkey",
        column: "has_passkey",
        row: user.to_string(),
        why: "the query returned no row".to_owned(),
    })?;
    Ok(StepUpFacts {
        has_passkey: row.has_passkey,
        tenant_has_passkeys: row.tenant_has_passkeys,
        signed_in_at: row.signed_in_at.map(|at| at.0),
    })
}

/// Stores a request for a confirmation and removes unusable earlier ones of the same person.
pub async fn ask(tx: &mut Tx, question: &StepUpChallenge) -> Result<(), StoreError> {
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
        PgTimestamp(question.asked_at) as _,
        PgTimestamp(dead) as _,
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
    asked_at: PgTimestamp,
    is_given: bool,
}

impl TryFrom<QuestionRow> for StepUpChallenge {
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

/// Returns and locks a request, because one answer is enough. Whether it is used is computed by a
/// count: with `IS NULL` the planner would search all open ones instead of using the key.
pub async fn question(tx: &mut Tx, id: StepUpId) -> Result<Option<StepUpChallenge>, StoreError> {
    let query = query_as!(
        QuestionRow,
        r#"SELECT id, user_id, key_id, purpose, subject, nonce,
                  asked_at AS "asked_at: PgTimestamp", given_at IS NOT NULL AS "is_given!"
             FROM step_up
            WHERE tenant_id = $1 AND id = $2 AND num_nulls(used_at) = 1 FOR UPDATE"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(StepUpChallenge::try_from).transpose()?)
}

pub async fn give(
    tx: &mut Tx,
    id: StepUpId,
    passkey: &Passkey,
    signed: Signed<'_>,
) -> Result<(), StoreError> {
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
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}

/// A confirmation that no decision has used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusedStepUp {
    pub id: StepUpId,
    pub word: Word,
    /// When the passkey begins to count for tasks of high and critical risk, if it was enrolled
    /// after a reset.
    pub counts_from: Option<Timestamp>,
}

/// Returns the unused confirmations of one person, of passkeys that they still have, latest first.
pub async fn unused(tx: &mut Tx, user: UserId) -> Result<Vec<UnusedStepUp>, StoreError> {
    let query = query!(
        r#"SELECT s.id, s.key_id, s.subject, s.given_at AS "given_at!: PgTimestamp",
                  p.counts_from AS "counts_from: PgTimestamp"
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
        let word = Word { subject, by: user, key_id: row.key_id, given_at: row.given_at.0 };
        Ok(UnusedStepUp { id, word, counts_from: row.counts_from.map(|at| at.0) })
    });
    Ok(rows.collect::<Result<Vec<_>, RowError>>()?)
}

/// Uses a confirmation for one decision; `Conflict` for any other.
pub async fn use_up(tx: &mut Tx, id: StepUpId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE step_up SET used_at = $3
          WHERE tenant_id = $1 AND id = $2 AND num_nulls(used_at) = 1",
        tx.tenant().uuid(),
        id.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}
