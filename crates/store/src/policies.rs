//! Published policy versions. A version is written once and never changed, so it can be cached for
//! ever; the rulebook defines which ones are in force. Publishing itself is not part of this
//! module.

use ade_core::ids::{PolicyId, UserId};
use ade_core::limits::POLICY_VERSIONS_SHOWN;
use ade_core::policy::{Document, Policy, PolicyRef};
use ade_core::time::Timestamp;
use serde_json::Value;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

struct VersionRow {
    policy_id: Uuid,
    version: i32,
    document: Value,
}

impl TryFrom<VersionRow> for Policy {
    type Error = RowError;

    fn try_from(row: VersionRow) -> Result<Self, RowError> {
        read(row.policy_id, row.version, row.document)
    }
}

/// Parses a stored version. Its document is validated again.
pub(crate) fn read(id: Uuid, version: i32, document: Value) -> Result<Policy, RowError> {
    let id = PolicyId::from_uuid(id);
    let wrong = |column, why| RowError {
        table: "policy_version",
        column,
        row: format!("{id} version {version}"),
        why,
    };
    let document: Document =
        serde_json::from_value(document).map_err(|error| wrong("document", error.to_string()))?;
    let number = u32::try_from(version).map_err(|error| wrong("version", error.to_string()))?;
    Ok(Policy { id, version: number, document })
}

/// Returns versions in the requested order; a version that does not exist is left out.
pub async fn versions(tx: &mut Tx, wanted: &[PolicyRef]) -> Result<Vec<Policy>, StoreError> {
    // A number beyond the range of the column cannot exist.
    let (ids, numbers): (Vec<Uuid>, Vec<i32>) = wanted
        .iter()
        .filter_map(|named| Some((named.id.uuid(), i32::try_from(named.version).ok()?)))
        .unzip();
    let query = query_as!(
        VersionRow,
        r#"SELECT v.policy_id, v.version, v.document
             FROM unnest($2::uuid[], $3::int4[]) WITH ORDINALITY AS wanted (id, version, place)
             JOIN policy_version v
               ON v.tenant_id = $1 AND (v.policy_id, v.version) = (wanted.id, wanted.version)
            ORDER BY wanted.place"#,
        tx.tenant().uuid(),
        &ids,
        &numbers,
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Policy::try_from).collect::<Result<Vec<Policy>, RowError>>()?)
}

/// Inserts the next version of a policy, or the first of a new one, in force from this transaction
/// on. `Conflict` if it is not the next.
pub async fn insert_published(
    tx: &mut Tx,
    policy: &Policy,
    proposed_by: UserId,
    confirmed_by: Option<UserId>,
) -> Result<(), StoreError> {
    let document = serde_json::to_value(&policy.document).map_err(|error| {
        StoreError::Unstorable { value: policy.reference().to_string(), why: error.to_string() }
    })?;
    // Foreign keys are checked when the statement ends, and by then both rows exist.
    let query = query!(
        "WITH head AS (
             INSERT INTO policy AS known (tenant_id, id, name, enabled, current_version)
             SELECT $1, $2, $4, $5, $3
              WHERE $3 = 1 OR EXISTS (
                  SELECT FROM policy p WHERE p.tenant_id = $1 AND p.id = $2)
             ON CONFLICT ON CONSTRAINT policy_pkey DO UPDATE
                SET name = excluded.name, enabled = excluded.enabled,
                    current_version = excluded.current_version
              WHERE known.current_version = excluded.current_version - 1
             RETURNING id)
         INSERT INTO policy_version (tenant_id, policy_id, version, document, proposed_by,
             confirmed_by, published_at)
         SELECT $1, head.id, $3, $6, $7, $8, $9 FROM head",
        tx.tenant().uuid(),
        policy.id.uuid(),
        number(policy.version)?,
        policy.document.name,
        policy.document.enabled,
        document,
        proposed_by.uuid(),
        confirmed_by.map(UserId::uuid),
        PgTimestamp(tx.now()) as _,
    );
    tx.write_one(&policy.reference(), query).await
}

fn number(version: u32) -> Result<i32, StoreError> {
    i32::try_from(version).map_err(|error| StoreError::Unstorable {
        value: format!("version {version}"),
        why: error.to_string(),
    })
}

/// A published version with the admins who proposed and published it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub policy: Policy,
    pub proposed_by: UserId,
    /// The second admin; `None` if the version needed none.
    pub confirmed_by: Option<UserId>,
    pub published_at: Timestamp,
}

struct PublishedRow {
    policy_id: Uuid,
    version: i32,
    document: Value,
    proposed_by: Uuid,
    confirmed_by: Option<Uuid>,
    published_at: PgTimestamp,
}

impl TryFrom<PublishedRow> for Published {
    type Error = RowError;

    fn try_from(row: PublishedRow) -> Result<Self, RowError> {
        Ok(Self {
            policy: read(row.policy_id, row.version, row.document)?,
            proposed_by: UserId::from_uuid(row.proposed_by),
            confirmed_by: row.confirmed_by.map(UserId::from_uuid),
            published_at: row.published_at.0,
        })
    }
}

/// Returns the current versions of all policies, enabled or not, in the order of their ids.
pub async fn list(
    tx: &mut Tx,
    after: Option<PolicyId>,
    limit: u32,
) -> Result<Vec<Published>, StoreError> {
    let query = query_as!(
        PublishedRow,
        r#"SELECT v.policy_id, v.version, v.document, v.proposed_by, v.confirmed_by,
                  v.published_at AS "published_at: PgTimestamp"
             FROM policy p
             JOIN policy_version v ON (v.tenant_id, v.policy_id, v.version)
                                    = (p.tenant_id, p.id, p.current_version)
            WHERE p.tenant_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3"#,
        tx.tenant().uuid(),
        after.map_or(Uuid::nil(), PolicyId::uuid),
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Published::try_from).collect::<Result<Vec<_>, RowError>>()?)
}

/// Returns the policy of this name in its current version.
pub async fn by_name(tx: &mut Tx, name: &str) -> Result<Option<Published>, StoreError> {
    let query = query_as!(
        PublishedRow,
        r#"SELECT v.policy_id, v.version, v.document, v.proposed_by, v.confirmed_by,
                  v.published_at AS "published_at: PgTimestamp"
             FROM policy p
             JOIN policy_version v ON (v.tenant_id, v.policy_id, v.version)
                                    = (p.tenant_id, p.id, p.current_version)
            WHERE p.tenant_id = $1 AND p.name = $2"#,
        tx.tenant().uuid(),
        name,
    );
    let row = tx.fetch(query).await?.pop();
    Ok(row.map(Published::try_from).transpose()?)
}

/// Returns every version of one policy, newest first; empty if the policy does not exist.
pub async fn history(tx: &mut Tx, policy: PolicyId) -> Result<Vec<Published>, StoreError> {
    let query = query_as!(
        PublishedRow,
        r#"SELECT policy_id, version, document, proposed_by, confirmed_by,
                  published_at AS "published_at: PgTimestamp"
             FROM policy_version
            WHERE tenant_id = $1 AND policy_id = $2 ORDER BY version DESC LIMIT $3"#,
        tx.tenant().uuid(),
        policy.uuid(),
        POLICY_VERSIONS_SHOWN,
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Published::try_from).collect::<Result<Vec<_>, RowError>>()?)
}
