//! The resource registry: criticality, owners and dependents of resources. Risk, freezes and owners
//! are derived from it, never from the content of a task.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::ids::UserId;
use ade_core::limits::REGISTRY_DEPENDENTS_MAX;
use ade_core::resource::ResourceRef;
use ade_core::risk::Score;
use ade_core::time::Timestamp;
use serde_json::{Value, json};
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub name: ResourceRef,
    pub about: About,
    pub updated_at: Timestamp,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub criticality: Option<Score>,
    pub environment: Option<String>,
    pub tags: BTreeSet<String>,
    pub owner: Option<UserId>,
    /// Whether an apply with an unknown outcome blocks the resource until it is reconciled.
    pub blocks_on_unknown: bool,
    /// The direct dependents; each has an entry of its own.
    pub dependents: BTreeSet<ResourceRef>,
}

/// The part of an entry that decisions use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEntry {
    pub criticality: Option<Score>,
    pub environment: Option<String>,
    pub owner: Option<UserId>,
    /// The dependents over any number of steps, without the resource itself; at most
    /// [`REGISTRY_DEPENDENTS_MAX`].
    pub dependents: BTreeSet<ResourceRef>,
}

/// The lowest and the highest end of a name, in the order of the column.
const LOWEST: &str = "!";
const HIGHEST: &str = "~";

struct ResourceRow {
    name: String,
    criticality: Option<i16>,
    environment: Option<String>,
    tags: Vec<String>,
    owner_id: Option<Uuid>,
    block_on_unknown: bool,
    updated_at: PgTimestamp,
    dependents: Vec<String>,
}

impl TryFrom<ResourceRow> for Resource {
    type Error = RowError;

    fn try_from(row: ResourceRow) -> Result<Self, RowError> {
        let about = About {
            criticality: row.criticality.map(|points| score(&row.name, points)).transpose()?,
            environment: row.environment,
            tags: row.tags.into_iter().collect(),
            owner: row.owner_id.map(UserId::from_uuid),
            blocks_on_unknown: row.block_on_unknown,
            dependents: names(&row.dependents)?,
        };
        Ok(Self { name: name(&row.name)?, about, updated_at: row.updated_at.0 })
    }
}

fn wrong(row: &str, column: &'static str, why: String) -> RowError {
    RowError { table: "resource", column, row: row.to_owned(), why }
}

fn name(text: &str) -> Result<ResourceRef, RowError> {
    text.parse().map_err(|error| wrong(text, "name", format!("{error}")))
}

fn names(texts: &[String]) -> Result<BTreeSet<ResourceRef>, RowError> {
    texts.iter().map(|text| name(text)).collect()
}

fn score(row: &str, points: i16) -> Result<Score, RowError> {
    let points = u8::try_from(points);
    Ok(Score::new(points.map_err(|error| wrong(row, "criticality", error.to_string()))?))
}

fn texts(names: &BTreeSet<ResourceRef>) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Inserts an entry or replaces it as a whole.
pub async fn put(tx: &mut Tx, name: &ResourceRef, about: &About) -> Result<(), StoreError> {
    let tags: Vec<String> = about.tags.iter().cloned().collect();
    let query = query!(
        "WITH entry AS (
             INSERT INTO resource (tenant_id, name, criticality, environment, tags, owner_id,
                 block_on_unknown, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT ON CONSTRAINT resource_pkey DO UPDATE
                SET criticality = excluded.criticality, environment = excluded.environment,
                    tags = excluded.tags, owner_id = excluded.owner_id,
                    block_on_unknown = excluded.block_on_unknown,
                    updated_at = excluded.updated_at),
         gone AS (
             DELETE FROM resource_dependency
              WHERE tenant_id = $1 AND resource = $2 AND dependent <> ALL ($9::text[]))
         INSERT INTO resource_dependency (tenant_id, resource, dependent)
         SELECT $1, $2, dependent FROM unnest($9::text[]) AS wanted (dependent)
         ON CONFLICT ON CONSTRAINT resource_dependency_pkey DO NOTHING",
        tx.tenant().uuid(),
        name.to_string(),
        about.criticality.map(|score| i16::from(score.points())),
        about.environment.as_deref(),
        &tags,
        about.owner.map(UserId::uuid),
        about.blocks_on_unknown,
        PgTimestamp(tx.now()) as _,
        &texts(&about.dependents),
    );
    tx.write(query).await?;
    Ok(())
}

/// Inserts all of these entries or replaces them. Their dependents must have entries or be among
/// them.
pub async fn put_all(tx: &mut Tx, entries: &[(ResourceRef, About)]) -> Result<(), StoreError> {
    let given: Vec<Value> = entries.iter().map(|(name, about)| row_of(name, about)).collect();
    let given = Value::Array(given);
    let query = query!(
        "INSERT INTO resource (tenant_id, name, criticality, environment, tags, owner_id,
             block_on_unknown, updated_at)
         SELECT $1, given.name, given.criticality, given.environment, given.tags, given.owner_id,
                given.block_on_unknown, $3
           FROM jsonb_to_recordset($2) AS given (name text, criticality int2, environment text,
                tags text[], owner_id uuid, block_on_unknown boolean)
         ON CONFLICT ON CONSTRAINT resource_pkey DO UPDATE
            SET criticality = excluded.criticality, environment = excluded.environment,
                tags = excluded.tags, owner_id = excluded.owner_id,
                block_on_unknown = excluded.block_on_unknown,
                updated_at = excluded.updated_at",
        tx.tenant().uuid(),
        given,
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    // A second statement, because the first may have inserted a dependent.
    let query = query!(
        "WITH given AS (
             SELECT * FROM jsonb_to_recordset($2) AS given (name text, dependents text[])),
         gone AS (
             DELETE FROM resource_dependency d USING given
              WHERE d.tenant_id = $1 AND d.resource = given.name
                AND d.dependent <> ALL (given.dependents))
         INSERT INTO resource_dependency (tenant_id, resource, dependent)
         SELECT $1, given.name, wanted.dependent
           FROM given CROSS JOIN LATERAL unnest(given.dependents) AS wanted (dependent)
         ON CONFLICT ON CONSTRAINT resource_dependency_pkey DO NOTHING",
        tx.tenant().uuid(),
        given,
    );
    tx.write(query).await?;
    Ok(())
}

fn row_of(name: &ResourceRef, about: &About) -> Value {
    json!({
        "name": name.to_string(),
        "criticality": about.criticality.map(Score::points),
        "environment": about.environment,
        "tags": about.tags,
        "owner_id": about.owner.map(UserId::uuid),
        "block_on_unknown": about.blocks_on_unknown,
        "dependents": texts(&about.dependents),
    })
}

/// Returns those of these resources that have an entry.
pub async fn get_all(
    tx: &mut Tx,
    names: &[ResourceRef],
) -> Result<BTreeMap<ResourceRef, About>, StoreError> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let query = query_as!(
        ResourceRow,
        r#"SELECT r.name, r.criticality, r.environment, r.tags, r.owner_id, r.block_on_unknown,
                  r.updated_at AS "updated_at: PgTimestamp",
                  array(SELECT d.dependent FROM resource_dependency d
                         WHERE (d.tenant_id, d.resource) = (r.tenant_id, r.name))
                      AS "dependents!"
             FROM unnest($2::text[]) AS wanted (name)
            CROSS JOIN LATERAL (SELECT * FROM resource
                                 WHERE tenant_id = $1 AND name = wanted.name LIMIT 1) AS r"#,
        tx.tenant().uuid(),
        &names,
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| {
        let entry = Resource::try_from(row)?;
        Ok((entry.name, entry.about))
    });
    Ok(rows.collect::<Result<_, RowError>>()?)
}

pub async fn get(tx: &mut Tx, name: &ResourceRef) -> Result<Option<Resource>, StoreError> {
    let name = name.to_string();
    Ok(within(tx, &name, &name, 1).await?.pop())
}

/// Returns entries in the order of their names, after the last one of the previous page.
pub async fn list(
    tx: &mut Tx,
    after: Option<&ResourceRef>,
    limit: u32,
) -> Result<Vec<Resource>, StoreError> {
    let first = after.map_or(LOWEST.to_owned(), |after| format!("{after}{LOWEST}"));
    within(tx, &first, HIGHEST, limit).await
}

async fn within(
    tx: &mut Tx,
    first: &str,
    last: &str,
    limit: u32,
) -> Result<Vec<Resource>, StoreError> {
    let query = query_as!(
        ResourceRow,
        r#"SELECT r.name, r.criticality, r.environment, r.tags, r.owner_id, r.block_on_unknown,
                  r.updated_at AS "updated_at: PgTimestamp",
                  array(SELECT d.dependent FROM resource_dependency d
                         WHERE (d.tenant_id, d.resource) = (r.tenant_id, r.name))
                      AS "dependents!"
             FROM resource r
            WHERE r.tenant_id = $1 AND r.name BETWEEN $2 AND $3
            ORDER BY r.name LIMIT $4"#,
        tx.tenant().uuid(),
        first,
        last,
        i64::from(limit),
    );
    let rows = tx.fetch(query).await?;
    Ok(rows.into_iter().map(Resource::try_from).collect::<Result<Vec<_>, RowError>>()?)
}

struct FactsRow {
    name: String,
    criticality: Option<i16>,
    environment: Option<String>,
    owner_id: Option<Uuid>,
    dependents: Vec<String>,
}

/// Returns the facts of each resource that has an entry. A cycle of dependents is walked once; the
/// walk stops at the maximum that counts.
pub async fn facts(
    tx: &mut Tx,
    wanted: &[ResourceRef],
) -> Result<BTreeMap<ResourceRef, RegistryEntry>, StoreError> {
    let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
    // One more than the bound, for the resource itself.
    let limit = i64::try_from(REGISTRY_DEPENDENTS_MAX + 1).unwrap_or(i64::MAX);
    let query = query_as!(
        FactsRow,
        r#"SELECT r.name, r.criticality, r.environment, r.owner_id,
                  array(WITH RECURSIVE reached (name) AS (
                            SELECT r.name
                            UNION
                            SELECT d.dependent FROM reached
                              JOIN resource_dependency d
                                ON d.tenant_id = $1 AND d.resource = reached.name)
                        SELECT name FROM reached LIMIT $3) AS "dependents!"
             FROM unnest($2::text[]) AS wanted (name)
            CROSS JOIN LATERAL (SELECT * FROM resource
                                 WHERE tenant_id = $1 AND name = wanted.name LIMIT 1) AS r"#,
        tx.tenant().uuid(),
        &wanted,
        limit,
    );
    let mut entries = BTreeMap::new();
    for row in tx.fetch(query).await? {
        let name = name(&row.name)?;
        let mut dependents = names(&row.dependents)?;
        dependents.remove(&name);
        let entry = RegistryEntry {
            criticality: row.criticality.map(|points| score(&row.name, points)).transpose()?,
            environment: row.environment,
            owner: row.owner_id.map(UserId::from_uuid),
            dependents,
        };
        entries.insert(name, entry);
    }
    Ok(entries)
}
