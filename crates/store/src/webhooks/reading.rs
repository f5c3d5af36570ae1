//! Whose events are to be told, across tenants: no more than their ids is seen. By a login that may
//! act as `ade_worker`.

use ade_core::ids::TenantId;
use sqlx::query_scalar;

use crate::error::Error;
use crate::pool::Pool;

/// Tenants with an endpoint and with events that this reader has not seen, by id.
pub async fn tenants_to_tell(
    pool: &Pool,
    reader: &str,
    after: Option<TenantId>,
    limit: u32,
) -> Result<Vec<TenantId>, Error> {
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

/// Moves this reader on where no endpoint listens; gives in how many tenants.
pub async fn pass_over_unheard(pool: &Pool, reader: &str, limit: u32) -> Result<u64, Error> {
    let mut connection = pool.acquire().await?;
    let query = query_scalar!(
        r#"SELECT pass_over_unheard($1, $2) AS "passed!""#,
        reader,
        i32::try_from(limit).unwrap_or(i32::MAX),
    );
    let passed = query.fetch_one(connection.get()?).await?;
    Ok(u64::try_from(passed).unwrap_or_default())
}
