//! Risk settings, timeouts and flags of a tenant, version by version. All are part of the rulebook,
//! so that a decision sees them as soon as they are committed.

use ade_core::flag::Flag;
use ade_core::ids::UserId;
use ade_core::risk::{self, RiskConfig};
use ade_core::time::Timestamp;
use ade_core::timeouts::{Overrides, Timeouts};
use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{query, query_as};
use uuid::Uuid;

use crate::error::{RowError, StoreError};
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The version in force, and who set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskVersion {
    pub version: u32,
    pub settings: RiskConfig,
    pub set_by: UserId,
    pub set_at: Timestamp,
}

/// The version of the timeouts in force, and who set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeoutsVersion {
    pub version: u32,
    pub overrides: Overrides,
    pub set_by: UserId,
    pub set_at: Timestamp,
}

pub(crate) fn read(document: Value) -> Result<risk::RiskRules, RowError> {
    let wrong = |why: String| RowError {
        table: "risk_setting",
        column: "document",
        row: "the newest".to_owned(),
        why,
    };
    let settings: RiskConfig =
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?;
    risk::RiskRules::of(settings).map_err(|error| wrong(error.to_string()))
}

pub(crate) fn flag(name: &str) -> Result<Flag, RowError> {
    let wrong =
        |why: String| RowError { table: "feature_flag", column: "name", row: name.to_owned(), why };
    name.parse().map_err(|error: ade_core::flag::FlagError| wrong(error.to_string()))
}

pub(crate) fn read_timeouts(document: Value) -> Result<Overrides, RowError> {
    let wrong = |why: String| RowError {
        table: "time_setting",
        column: "document",
        row: "the newest".to_owned(),
        why,
    };
    let overrides: Overrides =
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?;
    overrides.over(Timeouts::default()).checked().map_err(|error| wrong(error.to_string()))?;
    Ok(overrides)
}

/// Returns the timeouts; `None` until the tenant has set some.
pub async fn timeouts(tx: &mut Tx) -> Result<Option<TimeoutsVersion>, StoreError> {
    let query = query!(
        r#"SELECT version, document AS "document: Json<Value>", set_by,
                  set_at AS "set_at: PgTimestamp"
             FROM time_setting WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1"#,
        tx.tenant().uuid(),
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    Ok(Some(TimeoutsVersion {
        version: row.version.unsigned_abs(),
        overrides: read_timeouts(row.document.0)?,
        set_by: UserId::from_uuid(row.set_by),
        set_at: row.set_at.0,
    }))
}

/// Stores timeouts, like [`set_risk`].
pub async fn set_timeouts(
    tx: &mut Tx,
    version: u32,
    overrides: &Overrides,
    by: UserId,
) -> Result<(), StoreError> {
    let (version, document) = storable("timeouts", version, overrides)?;
    let query = query!(
        "INSERT INTO time_setting (tenant_id, version, document, set_by, set_at)
         VALUES ($1, $2, $3, $4, $5)",
        tx.tenant().uuid(),
        version,
        Json(document) as _,
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

fn storable(name: &str, version: u32, set: &impl Serialize) -> Result<(i32, Value), StoreError> {
    let unstorable = |value: String, why: String| StoreError::Unstorable { value, why };
    let document = serde_json::to_value(set)
        .map_err(|error| unstorable(name.to_owned(), error.to_string()))?;
    let version = i32::try_from(version)
        .map_err(|error| unstorable(format!("version {version}"), error.to_string()))?;
    Ok((version, document))
}

/// Returns the risk settings; `None` until the tenant has set some.
pub async fn risk(tx: &mut Tx) -> Result<Option<RiskVersion>, StoreError> {
    let query = query!(
        r#"SELECT version, document AS "document: Json<Value>", set_by,
                  set_at AS "set_at: PgTimestamp"
             FROM risk_setting WHERE tenant_id = $1 ORDER BY version DESC LIMIT 1"#,
        tx.tenant().uuid(),
    );
    let Some(row) = tx.fetch(query).await?.pop() else { return Ok(None) };
    Ok(Some(RiskVersion {
        version: row.version.unsigned_abs(),
        settings: read(row.document.0)?.settings().clone(),
        set_by: UserId::from_uuid(row.set_by),
        set_at: row.set_at.0,
    }))
}

/// Stores risk settings. `Constraint` if this version was set meanwhile; the exclusive tenant lock
/// prevents that.
pub async fn set_risk(
    tx: &mut Tx,
    version: u32,
    settings: &RiskConfig,
    by: UserId,
) -> Result<(), StoreError> {
    let (version, document) = storable("risk settings", version, settings)?;
    let query = query!(
        "INSERT INTO risk_setting (tenant_id, version, document, set_by, set_at)
         VALUES ($1, $2, $3, $4, $5)",
        tx.tenant().uuid(),
        version,
        Json(document) as _,
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}

/// A flag that was changed at least once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    pub flag: Flag,
    pub enabled: bool,
    pub set_by: UserId,
    pub set_at: Timestamp,
}

struct FlagRow {
    name: String,
    enabled: bool,
    set_by: Uuid,
    set_at: PgTimestamp,
}

pub async fn flags(tx: &mut Tx) -> Result<Vec<Touched>, StoreError> {
    let query = query_as!(
        FlagRow,
        r#"SELECT name, enabled, set_by, set_at AS "set_at: PgTimestamp" FROM feature_flag
            WHERE tenant_id = $1 ORDER BY name"#,
        tx.tenant().uuid(),
    );
    let rows = tx.fetch(query).await?.into_iter().map(|row| {
        Ok(Touched {
            flag: flag(&row.name)?,
            enabled: row.enabled,
            set_by: UserId::from_uuid(row.set_by),
            set_at: row.set_at.0,
        })
    });
    Ok(rows.collect::<Result<Vec<_>, RowError>>()?)
}

pub async fn set_flag(
    tx: &mut Tx,
    flag: Flag,
    enabled: bool,
    by: UserId,
) -> Result<(), StoreError> {
    let query = query!(
        "INSERT INTO feature_flag (tenant_id, name, enabled, set_by, set_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT ON CONSTRAINT feature_flag_pkey DO UPDATE
            SET enabled = excluded.enabled, set_by = excluded.set_by, set_at = excluded.set_at",
        tx.tenant().uuid(),
        flag.as_str(),
        enabled,
        by.uuid(),
        PgTimestamp(tx.now()) as _,
    );
    tx.write(query).await?;
    Ok(())
}
