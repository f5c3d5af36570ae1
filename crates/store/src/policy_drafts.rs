//! Proposed policy documents, until another admin publishes them or they are withdrawn. A draft
//! records the version it is based on: publishing it over another would undo that one.

use ade_core::ids::{PolicyDraftId, PolicyId, UserId};
use ade_core::policy::Document;
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub id: PolicyDraftId,
    pub policy: PolicyId,
    /// The version it is based on; zero for a policy that does not exist yet.
    pub base_version: u32,
    pub document: Document,
    pub reason: Option<String>,
    pub proposed_by: UserId,
    pub proposed_at: Timestamp,
    pub closed: Option<Closed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    pub outcome: DraftOutcome,
    pub by: UserId,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftOutcome {
    Published,
    Withdrawn,
}

impl DraftOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Withdrawn => "withdrawn",
        }
    }
}

struct DraftRow {
    id: Uuid,
    policy_id: Uuid,
    base_version: i32,
    document: Value,
    reason: Option<String>,
    proposed_by: Uuid,
    proposed_at: PgTimestamp,
    outcome: Option<String>,
    closed_by: Option<Uuid>,
    closed_at: Option<PgTimestamp>,
}

impl TryFrom<DraftRow> for Draft {
    type Error = RowError;

    fn try_from(row: DraftRow) -> Result<Self, RowError> {
        let id = PolicyDraftId::from_uuid(row.id);
        let wrong =
            |column, why| RowError { table: "policy_draft", column, row: id.to_string(), why };
        let closed = match (row.outcome, row.closed_by, row.closed_at) {
            (Some(outcome), Some(by), Some(at)) => {
                let outcome = [DraftOutcome::Published, DraftOutcome::Withdrawn]
                    .into_iter()
                    .find(|known| known.as_str() == outcome)
                    .ok_or_else(|| wrong("outcome", outcome))?;
                Some(Closed { outcome, by: UserId::from_uuid(by), at: at.0 })
            }
            _ => None,
        };
        Ok(Self {
            id,
            policy: PolicyId::from_uuid(row.policy_id),
            base_version: u32::try_from(row.base_version)
                .map_err(|error| wrong("base_version", error.to_string()))?,
            document: serde_json::from_value(row.document)
                .map_err(|error| wrong("document", error.to_string()))?,
            reason: row.reason,
            proposed_by: UserId::from_uuid(row.proposed_by),
            proposed_at: row.proposed_at.0,
            closed,
        })
    }
}

pub async fn insert(tx: &mut Tx, draft: &Draft) -> Result<(), StoreError> {
    let unstorable = |why: String| StoreError::Unstorable { value: draft.id.to_string(), why };
    let document =
        serde_json::to_value(&draft.document).map_err(|error| unstorable(error.to_string()))?;
    let base_version =
        i32::try_from(draft.base_version).map_err(|error| unstorable(error.to_string()))?;
    let query = query!(
        "INSERT INTO policy_draft (tenant_id, id, policy_id, base_version, document, reason,
             proposed_by, proposed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        tx.tenant().uuid(),
        draft.id.uuid(),
        draft.policy.uuid(),
        base_version,
        document,
        draft.reason.as_deref(),
        draft.proposed_by.uuid(),
        PgTimestamp(draft.proposed_at) as _,
    );
    tx.write(query).await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: PolicyDraftId) -> Result<Option<Draft>, StoreError> {
    let query = query_as!(
        DraftRow,
        r#"SELECT id, policy_id, base_version, document, reason, proposed_by,
                  proposed_at AS "proposed_at: PgTimestamp", outcome, closed_by,
                  closed_at AS "closed_at: PgTimestamp"
             FROM policy_draft WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(Draft::try_from).transpose()?)
}

/// Returns whether a draft of this policy is open.
pub async fn has_open(tx: &mut Tx, policy: PolicyId) -> Result<bool, StoreError> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM policy_draft
             WHERE tenant_id = $1 AND policy_id = $2 AND closed_at IS NULL) AS "has_open!""#,
        tx.tenant().uuid(),
        policy.uuid(),
    );
    tx.fetch_value(query).await
}

/// Returns the open drafts in the order in which they were proposed.
pub async fn list_open(
    tx: &mut Tx,
    after: Option<PolicyDraftId>,
    limit: u32,
) -> Result<Vec<Draft>, StoreError> {
    let query = query_as!(
        DraftRow,
        r#"SELECT id, policy_id, base_version, document, reason, proposed_by,
                  proposed_at AS "proposed_at: PgTimestamp", outcome, closed_by,
                  closed_at AS "closed_at: PgTimestamp"
             FROM policy_draft
            WHERE tenant_id = $1 AND closed_at IS NULL AND id > $2 ORDER BY id LIMIT $3"#,
        tx.tenant().uuid(),
        after.map_or(Uuid::nil(), PolicyDraftId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Draft::try_from).collect::<Result<Vec<Draft>, RowError>>()?)
}

/// Closes a draft. `Conflict` if it was closed before.
pub async fn close(
    tx: &mut Tx,
    id: PolicyDraftId,
    outcome: DraftOutcome,
    by: UserId,
) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE policy_draft SET outcome = $3, closed_by = $4, closed_at = $5
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        outcome.as_str(),
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&id, query).await
}
