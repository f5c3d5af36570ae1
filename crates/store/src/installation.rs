//! The one stop of all tenants. It is moved over the owner's connection; the application only
//! reads it, and a permit reads it behind a gate of its own, so that whoever freezes knows when the
//! last permit has passed.

use ade_core::freeze::InstallationFreeze;
use ade_core::limits::INSTALLATION_DRAIN_MAX;
use ade_core::time::Timestamp;
use sqlx::{Connection as _, PgConnection, query, query_as, query_scalar};

use crate::error::Error;
use crate::moment::Moment;
use crate::pool::Pool;
use crate::tx::Tx;

/// What came of setting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// The one in force.
    pub freeze: InstallationFreeze,
    /// Not set by somebody else before.
    pub is_new: bool,
    /// No permit is on its way any more that has not seen it.
    pub is_drained: bool,
}

struct FreezeRow {
    number: i64,
    reason: String,
    set_by: String,
    set_at: Moment,
}

impl From<FreezeRow> for InstallationFreeze {
    fn from(FreezeRow { number, reason, set_by, set_at }: FreezeRow) -> Self {
        Self { number, reason, set_by, since: set_at.0 }
    }
}

/// The one in force, for a permit: from here to the end of the transaction nobody has frozen
/// without waiting for it.
pub async fn pass_gate(tx: &mut Tx) -> Result<Option<InstallationFreeze>, Error> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number AS "number!", reason AS "reason!", set_by AS "set_by!",
                  set_at AS "set_at!: Moment" FROM pass_installation_gate()"#,
    );
    Ok(tx.fetch(query).await?.pop().map(Into::into))
}

/// The one in force, for those who decide nothing by it.
pub async fn look(tx: &mut Tx) -> Result<Option<InstallationFreeze>, Error> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number, reason, set_by, set_at AS "set_at: Moment"
             FROM installation_freeze WHERE lifted_at IS NULL"#,
    );
    Ok(tx.fetch(query).await?.pop().map(Into::into))
}

/// The same for whoever is of no tenant.
pub async fn in_force(pool: &Pool) -> Result<Option<InstallationFreeze>, Error> {
    let mut connection = pool.acquire().await?;
    let found = find(connection.get()?).await?;
    connection.give_back();
    Ok(found)
}

async fn find(connection: &mut PgConnection) -> Result<Option<InstallationFreeze>, Error> {
    let query = query_as!(
        FreezeRow,
        r#"SELECT number, reason, set_by, set_at AS "set_at: Moment"
             FROM installation_freeze WHERE lifted_at IS NULL"#,
    );
    Ok(query.fetch_optional(connection).await?.map(Into::into))
}

/// Whether the audit of this tenant says already that this was refused for this reason.
pub async fn is_told(
    tx: &mut Tx,
    since: Timestamp,
    object: &str,
    action: &str,
    reason: &str,
) -> Result<bool, Error> {
    let query = query_scalar!(
        r#"SELECT EXISTS (SELECT FROM audit_leaf
                           WHERE tenant_id = $1 AND object = $2 AND at >= $3
                             AND kind = 'refusal' AND action = $4 AND reason = $5) AS "is_told!""#,
        tx.tenant().uuid(),
        object,
        Moment(since) as _,
        action,
        reason,
    );
    tx.fetch_value(query).await
}

/// It holds from the first statement on: what is asked later is refused. Then those permits are
/// waited for that were asked before.
pub async fn freeze(owner_url: &str, by: &str, reason: &str) -> Result<Frozen, Error> {
    let mut connection = PgConnection::connect(owner_url).await?;
    let timeout = INSTALLATION_DRAIN_MAX.as_millis().to_string();
    query!("SELECT set_config('lock_timeout', $1, false)", timeout)
        .fetch_one(&mut connection)
        .await?;
    let (freeze, is_new) = set(&mut connection, by, reason).await?;
    let is_drained = match drain(&mut connection).await {
        Ok(()) => true,
        Err(Error::Busy { .. }) => false,
        Err(error) => return Err(error),
    };
    connection.close().await?;
    Ok(Frozen { freeze, is_new, is_drained })
}

/// The one that is set now, or the one that was. Somebody may lift that before it is read.
async fn set(
    connection: &mut PgConnection,
    by: &str,
    reason: &str,
) -> Result<(InstallationFreeze, bool), Error> {
    loop {
        let query = query_as!(
            FreezeRow,
            r#"INSERT INTO installation_freeze (reason, set_by, set_at) VALUES ($1, $2, moment())
               ON CONFLICT DO NOTHING
               RETURNING number, reason, set_by, set_at AS "set_at: Moment""#,
            reason,
            by,
        );
        if let Some(row) = query.fetch_optional(&mut *connection).await? {
            return Ok((row.into(), true));
        }
        if let Some(freeze) = find(connection).await? {
            return Ok((freeze, false));
        }
    }
}

/// Had once nobody passes any more, and given back at once: whoever comes later sees the freeze.
async fn drain(connection: &mut PgConnection) -> Result<(), Error> {
    query("SELECT pg_advisory_xact_lock(installation_gate())").execute(connection).await?;
    Ok(())
}

/// The one that was lifted; nothing if there was none.
pub async fn thaw(
    owner_url: &str,
    by: &str,
    reason: &str,
) -> Result<Option<InstallationFreeze>, Error> {
    let mut connection = PgConnection::connect(owner_url).await?;
    let query = query_as!(
        FreezeRow,
        r#"UPDATE installation_freeze
              SET lifted_by = $1, lifted_because = $2, lifted_at = moment()
            WHERE lifted_at IS NULL
           RETURNING number, reason, set_by, set_at AS "set_at: Moment""#,
        by,
        reason,
    );
    let lifted = query.fetch_optional(&mut connection).await?.map(Into::into);
    connection.close().await?;
    Ok(lifted)
}
