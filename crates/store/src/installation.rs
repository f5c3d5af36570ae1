//! The freeze of all tenants. It is set over the owner's connection; the application only reads it,
//! and a permit reads it behind its own lock, so that `freeze` knows when the last permit has
//! passed.

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::INSTALLATION_DRAIN_MAX;
use ade_core::time::Timestamp;
use sqlx::{Connection as _, PgConnection, PgExecutor, query, query_as, query_scalar};

use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;
use crate::tx::Tx;

/// The result of setting a freeze.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// The freeze in force.
    pub freeze: InstallationFreeze,
    /// Whether this call set it.
    pub is_new: bool,
    /// No permit is in progress that has not seen it.
    pub is_drained: bool,
}

struct FreezeRow {
    number: i64,
    reason: String,
    set_by: String,
    set_at: PgTimestamp,
}

impl From<FreezeRow> for InstallationFreeze {
    fn from(FreezeRow { number, reason, set_by, set_at }: FreezeRow) -> Self {
        Self { number, reason, set_by, since: set_at.0 }
    }
}

/// Returns the freeze in force, for a permit: from here to the end of the transaction, a concurrent
/// freeze waits.
pub async fn pass_gate(tx: &mut Tx) -> Result<Option<InstallationFreeze>, StoreError> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number AS "number!", reason AS "reason!", set_by AS "set_by!",
                  set_at AS "set_at!: PgTimestamp" FROM pass_installation_gate()"#,
    );
    Ok(tx.fetch(query).await?.pop().map(Into::into))
}

/// Returns the freeze in force, for callers that base no decision on it.
pub async fn look(tx: &mut Tx) -> Result<Option<InstallationFreeze>, StoreError> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number, reason, set_by, set_at AS "set_at: PgTimestamp"
             FROM installation_freeze WHERE lifted_at IS NULL"#,
    );
    Ok(tx.fetch(query).await?.pop().map(Into::into))
}

/// Returns the freeze in force without a tenant.
pub async fn in_force(pool: &Pool) -> Result<Option<InstallationFreeze>, StoreError> {
    let mut connection = pool.acquire().await?;
    let found = find(connection.get()?).await?;
    connection.give_back();
    Ok(found)
}

async fn find<'c>(
    connection: impl PgExecutor<'c>,
) -> Result<Option<InstallationFreeze>, StoreError> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number, reason, set_by, set_at AS "set_at: PgTimestamp"
             FROM installation_freeze WHERE lifted_at IS NULL"#,
    );
    Ok(query.fetch_optional(connection).await?.map(Into::into))
}

/// Returns whether the audit of this tenant already records this refusal with this reason.
pub async fn is_recorded(
    tx: &mut Tx,
    since: Timestamp,
    object: &str,
    action: &str,
    reason: &str,
) -> Result<bool, StoreError> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM audit_entry
                           WHERE tenant_id = $1 AND object = $2 AND at >= $3
                             AND kind = 'refusal' AND action = $4 AND reason = $5) AS "exists!""#,
        tx.tenant().uuid(),
        object,
        PgTimestamp(since) as _,
        action,
        reason,
    );
    tx.fetch_value(query).await
}

/// Sets a freeze. It applies from the first statement on: later permits are refused. Then the
/// function waits for the permits that were already in progress.
pub async fn freeze(owner_url: &str, by: &str, reason: &str) -> Result<Frozen, StoreError> {
    let mut connection = PgConnection::connect(owner_url).await?;
    let timeout = INSTALLATION_DRAIN_MAX.as_millis().to_string();
    query!("SELECT set_config('lock_timeout', $1, false)", timeout)
        .fetch_one(&mut connection)
        .await?;
    let (freeze, is_new) = set(&mut connection, by, reason).await?;
    let is_drained = match drain(&mut connection).await {
        Ok(()) => true,
        Err(StoreError::Busy { .. }) => false,
        Err(error) => return Err(error),
    };
    connection.close().await?;
    Ok(Frozen { freeze, is_new, is_drained })
}

/// Sets the freeze or returns the existing one. It may be lifted before it is read.
async fn set(
    connection: &mut PgConnection,
    by: &str,
    reason: &str,
) -> Result<(InstallationFreeze, bool), StoreError> {
    loop {
        let query = query_as!(
            FreezeRow,
            r#"INSERT INTO installation_freeze (reason, set_by, set_at) VALUES ($1, $2, moment())
               ON CONFLICT DO NOTHING
               RETURNING number, reason, set_by, set_at AS "set_at: PgTimestamp""#,
            reason,
            by,
        );
        if let Some(row) = query.fetch_optional(&mut *connection).await? {
            return Ok((row.into(), true));
        }
        if let Some(freeze) = find(&mut *connection).await? {
            return Ok((freeze, false));
        }
    }
}

/// Acquires the lock once no permit is in progress and releases it immediately: later permits see
/// the freeze.
async fn drain(connection: &mut PgConnection) -> Result<(), StoreError> {
    query("SELECT pg_advisory_xact_lock(installation_gate())").execute(connection).await?;
    Ok(())
}

/// Lifts the freeze and returns it; `None` if there was no freeze.
pub async fn thaw(
    owner_url: &str,
    by: &str,
    reason: &str,
) -> Result<Option<InstallationFreeze>, StoreError> {
    let mut connection = PgConnection::connect(owner_url).await?;
    let query = query_as!(
        FreezeRow,
        r#"UPDATE installation_freeze
              SET lifted_by = $1, lifted_because = $2, lifted_at = moment()
            WHERE lifted_at IS NULL
           RETURNING number, reason, set_by, set_at AS "set_at: PgTimestamp""#,
        by,
        reason,
    );
    let lifted = query.fetch_optional(&mut connection).await?.map(Into::into);
    connection.close().await?;
    Ok(lifted)
}
