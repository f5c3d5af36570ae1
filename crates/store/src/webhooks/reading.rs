//! Tenants with pending events: only ids are visible across tenants. Needs a login that may act as
//! `ade_worker`.

use ade_core::ids::TenantId;
use sqlx::query_scalar;

use crate::error::StoreError;
use crate::pool::Pool;

/// Returns tenants with an endpoint and with events that this reader has not seen, by id.
pub async fn tenants_to_tell(
    pool: &Pool,
    reader: &str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT tenant_id AS "tenant_id!" FROM tenants_to_tell($1, $2, $3) AS found (tenant_id)"#,
        reader,
        after.map(TenantId::uuid),
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let tenants = query.fetch_all(connection.get()?).await?;
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}

/// Advances this reader in tenants without an endpoint and returns in how many.
pub async fn pass_over_unheard(pool: &Pool, reader: &str, limit: u32) -> Result<u64, StoreError> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT pass_over_unheard($1, $2) AS "passed!""#,
        reader,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let passed = query.fetch_one(connection.get()?).await?;
    Ok(u64::try_from(passed).unwrap_or_default())
}
