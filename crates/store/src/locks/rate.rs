//! Rate limits in PostgreSQL, for installations without Redis: one time per caller, at which
//! everything taken so far is used up.

use std::time::Duration;

use ade_core::limits::LOCK_RATE_WINDOW;
use sqlx::query_as;

use crate::error::StoreError;
use crate::tx::Tx;

const TAKE: &str = "
    INSERT INTO lock_rate AS known (tenant_id, caller, used_up)
    VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
    ON CONFLICT ON CONSTRAINT lock_rate_pkey DO UPDATE
       SET used_up = greatest(known.used_up, clock_timestamp()) + make_interval(secs => $3)
     WHERE greatest(known.used_up, clock_timestamp()) + make_interval(secs => $3)
           <= clock_timestamp() + make_interval(secs => $4)";
const WAIT: &str = "
    SELECT extract(epoch FROM used_up - clock_timestamp())::float8 + $3 - $4 FROM lock_rate
     WHERE tenant_id = $1 AND caller = $2";
const FORGET: &str = "
    DELETE FROM lock_rate
     WHERE tenant_id = $1 AND used_up < clock_timestamp() - make_interval(secs => $2)";

/// Takes one call. Returns `None` if it is admitted, or else how long to wait: one call takes
/// `gap`, and a caller may be up to `ahead` of the current time.
pub async fn take(
    tx: &mut Tx,
    caller: &str,
    gap: Duration,
    ahead: Duration,
) -> Result<Option<Duration>, StoreError> {
    let (gap, ahead) = (gap.as_secs_f64(), ahead.as_secs_f64());
    let tenant = tx.tenant().uuid();
    let query = sqlx::query(TAKE).bind(tenant).bind(caller).bind(gap).bind(ahead);
    if tx.write_beside(query).await? > 0 {
        return Ok(None);
    }
    let query = query_as(WAIT).bind(tenant).bind(caller).bind(gap).bind(ahead);
    let rows: Vec<(f64,)> = tx.read(query).await?;
    let wait = rows.into_iter().next().map(|(seconds,)| seconds.clamp(0.001, 60.0));
    Ok(wait.map(Duration::from_secs_f64))
}

/// Deletes the rates of callers that are no longer limited.
pub async fn forget(tx: &mut Tx) -> Result<u64, StoreError> {
    let window = LOCK_RATE_WINDOW.as_secs_f64();
    tx.write_beside(sqlx::query(FORGET).bind(tx.tenant().uuid()).bind(window)).await
}
