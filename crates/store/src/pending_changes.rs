//! Changes to the rules that wait for a second admin, or in a tenant with one admin for their time.
//! Everyone who has a role when such a change is proposed may object to it until it is closed.

use std::collections::BTreeSet;

use ade_core::ids::{PendingChangeId, PolicyDraftId, UserId};
use ade_core::policy::Strictness;
use ade_core::rule_change::{ObjectionObstacle, ObstacleKind, RuleFinding};
use ade_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::{query, query_as, query_scalar};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The kind of the scheduled job that applies a change after its wait.
pub const APPLY_CHANGE: &str = "apply_change";

#[derive(Debug, Clone, PartialEq)]
pub struct PendingChange {
    pub id: PendingChangeId,
    pub kind: String,
    pub object: String,
    /// The change itself, as its publication runs it.
    pub command: Value,
    pub verdict: Strictness,
    pub findings: Vec<RuleFinding>,
    /// The recent tasks that would have needed fewer people.
    pub evidence: Value,
    pub reason: Option<String>,
    pub proposed_by: UserId,
    pub proposed_at: Timestamp,
    /// When it takes effect without a second admin; only in a tenant with one admin.
    pub takes_effect_at: Option<Timestamp>,
    pub closed: Option<ClosedChange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedChange {
    pub outcome: ChangeOutcome,
    /// `None` if no person had to act.
    pub by: Option<UserId>,
    pub at: Timestamp,
    pub objection: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// A second admin published it.
    Published,
    /// Its proposer took it back, or an admin refused it.
    Withdrawn,
    /// A person objected to it in time.
    Objected,
    /// It took effect after its wait.
    Applied,
    /// It could not take effect any more, because the rules had changed since.
    Outdated,
}

impl ChangeOutcome {
    pub const ALL: [Self; 5] =
        [Self::Published, Self::Withdrawn, Self::Objected, Self::Applied, Self::Outdated];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Withdrawn => "withdrawn",
            Self::Objected => "objected",
            Self::Applied => "applied",
            Self::Outdated => "outdated",
        }
    }
}

struct ChangeRow {
    id: Uuid,
    kind: String,
    object: String,
    command: Value,
    verdict: String,
    findings: Value,
    evidence: Value,
    reason: Option<String>,
    proposed_by: Uuid,
    proposed_at: PgTimestamp,
    takes_effect_at: Option<PgTimestamp>,
    outcome: Option<String>,
    closed_by: Option<Uuid>,
    closed_at: Option<PgTimestamp>,
    objection: Option<String>,
}

impl TryFrom<ChangeRow> for PendingChange {
    type Error = RowError;

    fn try_from(row: ChangeRow) -> Result<Self, RowError> {
        let id = PendingChangeId::from_uuid(row.id);
        let wrong =
            |column, why| RowError { table: "pending_change", column, row: id.to_string(), why };
        let closed = match (row.outcome, row.closed_at) {
            (Some(outcome), Some(at)) => {
                let outcome = ChangeOutcome::ALL
                    .into_iter()
                    .find(|known| known.as_str() == outcome)
                    .ok_or_else(|| wrong("outcome", outcome))?;
                let by = row.closed_by.map(UserId::from_uuid);
                Some(ClosedChange { outcome, by, at: at.0, objection: row.objection })
            }
            _ => None,
        };
        Ok(Self {
            id,
            kind: row.kind,
            object: row.object,
            command: row.command,
            verdict: read(Value::String(row.verdict)).map_err(|why| wrong("verdict", why))?,
            findings: read(row.findings).map_err(|why| wrong("findings", why))?,
            evidence: row.evidence,
            reason: row.reason,
            proposed_by: UserId::from_uuid(row.proposed_by),
            proposed_at: row.proposed_at.0,
            takes_effect_at: row.takes_effect_at.map(|at| at.0),
            closed,
        })
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

pub async fn insert(tx: &mut Tx, change: &PendingChange) -> Result<(), StoreError> {
    let unstorable = |error: serde_json::Error| StoreError::Unstorable {
        value: change.id.to_string(),
        why: error.to_string(),
    };
    let findings = serde_json::to_value(&change.findings).map_err(unstorable)?;
    let verdict = serde_json::to_value(change.verdict).map_err(unstorable)?;
    let query = query!(
        "INSERT INTO pending_change (tenant_id, id, kind, object, command, verdict, findings,
             evidence, reason, proposed_by, proposed_at, takes_effect_at, objectors)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::timestamptz, ARRAY(
             SELECT u.id FROM app_user u
              WHERE $12 IS NOT NULL AND u.tenant_id = $1 AND u.active AND u.id <> $10
                AND EXISTS (SELECT FROM user_role r
                             WHERE r.tenant_id = $1 AND r.user_id = u.id))",
        tx.tenant().uuid(),
        change.id.uuid(),
        change.kind,
        change.object,
        change.command,
        verdict.as_str().unwrap_or_default(),
        findings,
        change.evidence,
        change.reason.as_deref(),
        change.proposed_by.uuid(),
        PgTimestamp(change.proposed_at) as _,
        change.takes_effect_at.map(PgTimestamp) as _,
    );
    tx.write(query).await?;
    Ok(())
}

pub async fn get(tx: &mut Tx, id: PendingChangeId) -> Result<Option<PendingChange>, StoreError> {
    let query = query_as!(
        ChangeRow,
        r#"SELECT id, kind, object, command, verdict, findings, evidence, reason, proposed_by,
                  proposed_at AS "proposed_at: PgTimestamp",
                  takes_effect_at AS "takes_effect_at: PgTimestamp", outcome, closed_by,
                  closed_at AS "closed_at: PgTimestamp", objection
             FROM pending_change WHERE tenant_id = $1 AND id = $2"#,
        tx.tenant().uuid(),
        id.uuid(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(PendingChange::try_from).transpose()?)
}

/// Returns the number of open changes.
pub async fn count_open(tx: &mut Tx) -> Result<usize, StoreError> {
    let query = query_scalar!(
        r#"SELECT count(*) AS "count!" FROM pending_change
            WHERE tenant_id = $1 AND closed_at IS NULL"#,
        tx.tenant().uuid(),
    );
    Ok(usize::try_from(tx.fetch_value(query).await?).unwrap_or(usize::MAX))
}

/// Returns changes in the order in which they were proposed, newest first.
pub async fn list(
    tx: &mut Tx,
    is_open: bool,
    before: Option<PendingChangeId>,
    limit: u32,
) -> Result<Vec<PendingChange>, StoreError> {
    let query = query_as!(
        ChangeRow,
        r#"SELECT id, kind, object, command, verdict, findings, evidence, reason, proposed_by,
                  proposed_at AS "proposed_at: PgTimestamp",
                  takes_effect_at AS "takes_effect_at: PgTimestamp", outcome, closed_by,
                  closed_at AS "closed_at: PgTimestamp", objection
             FROM pending_change
            WHERE tenant_id = $1 AND (closed_at IS NULL) = $2 AND ($3::uuid IS NULL OR id < $3)
            ORDER BY id DESC LIMIT $4"#,
        tx.tenant().uuid(),
        is_open,
        before.map(PendingChangeId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(PendingChange::try_from).collect::<Result<_, RowError>>()?)
}

/// Returns whether this person had a role when the change was proposed, so that they may object to
/// it whatever has happened to their roles since.
pub async fn is_objector(
    tx: &mut Tx,
    id: PendingChangeId,
    person: UserId,
) -> Result<bool, StoreError> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM pending_change
             WHERE tenant_id = $1 AND id = $2 AND $3 = ANY (objectors)) AS "is_objector!""#,
        tx.tenant().uuid(),
        id.uuid(),
        person.uuid(),
    );
    tx.fetch_value(query).await
}

/// Returns the open change that publishes this policy draft.
pub async fn of_draft(
    tx: &mut Tx,
    draft: PolicyDraftId,
) -> Result<Option<PendingChangeId>, StoreError> {
    let query = query!(
        "SELECT id FROM pending_change
          WHERE tenant_id = $1 AND closed_at IS NULL AND kind = 'policy.publish'
            AND command #>> '{change,draft_id}' = $2",
        tx.tenant().uuid(),
        draft.to_string(),
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(|row| PendingChangeId::from_uuid(row.id)))
}

/// Returns the open changes that take effect without a second admin.
pub async fn waiting(tx: &mut Tx) -> Result<BTreeSet<PendingChangeId>, StoreError> {
    let query = query!(
        "SELECT id FROM pending_change
          WHERE tenant_id = $1 AND closed_at IS NULL AND takes_effect_at IS NOT NULL",
        tx.tenant().uuid(),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(|row| PendingChangeId::from_uuid(row.id)).collect())
}

/// Returns everything that could keep people from objecting to the open changes that take effect
/// without a second admin.
pub async fn obstacles(tx: &mut Tx) -> Result<BTreeSet<ObjectionObstacle>, StoreError> {
    let query = query!(
        r#"WITH waiting AS (
             SELECT c.id AS change_id, u.id, u.active, u.email
               FROM pending_change c
               JOIN app_user u ON u.tenant_id = c.tenant_id AND u.id = ANY (c.objectors)
              WHERE c.tenant_id = $1 AND c.closed_at IS NULL AND c.takes_effect_at IS NOT NULL)
         SELECT change_id AS "change_id!", id AS "id!", NULL::uuid AS other
           FROM waiting WHERE NOT active
         UNION
         SELECT w.change_id, w.id, o.id FROM waiting w
           JOIN app_user o
             ON o.tenant_id = $1 AND lower(o.email) = lower(w.email) AND o.id <> w.id
         UNION
         SELECT w.change_id, w.id, a.alias_id FROM waiting w
           JOIN user_alias a ON a.tenant_id = $1 AND a.user_id = w.id
         UNION
         SELECT w.change_id, w.id, a.user_id FROM waiting w
           JOIN user_alias a ON a.tenant_id = $1 AND a.alias_id = w.id"#,
        tx.tenant().uuid(),
    );
    let rows = tx.fetch(query).await?;
    let obstacle = |change, person, other: Option<Uuid>| ObjectionObstacle {
        change: PendingChangeId::from_uuid(change),
        person: UserId::from_uuid(person),
        kind: other.map_or(ObstacleKind::Inactive, |other| {
            ObstacleKind::SharedWith(UserId::from_uuid(other))
        }),
    };
    Ok(rows.into_iter().map(|row| obstacle(row.change_id, row.id, row.other)).collect())
}

/// Lets a change wait for a second admin instead of its time.
pub async fn wait_for_admin(tx: &mut Tx, id: PendingChangeId) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE pending_change SET takes_effect_at = NULL
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
    );
    tx.write_beside(query).await?;
    Ok(())
}

/// Closes a change. `Conflict` if it was closed before.
pub async fn close(
    tx: &mut Tx,
    id: PendingChangeId,
    closed: &ClosedChange,
) -> Result<(), StoreError> {
    let query = query!(
        "UPDATE pending_change
            SET outcome = $3, closed_by = $4, closed_at = $5, objection = $6
          WHERE tenant_id = $1 AND id = $2 AND closed_at IS NULL",
        tx.tenant().uuid(),
        id.uuid(),
        closed.outcome.as_str(),
        closed.by.map(UserId::uuid),
        PgTimestamp(closed.at) as _,
        closed.objection.as_deref(),
    );
    tx.write_one(&id, query).await
}
