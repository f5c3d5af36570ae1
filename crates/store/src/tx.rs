//! One transaction of one tenant, by one actor, at one moment. It begins in a single round trip
//! with tenant, timeouts and gate; it commits only what left an audit leaf; and however it ends,
//! its connection goes back without a transaction on it.

use ade_core::actor::Actor;
use ade_core::ids::TenantId;
use ade_core::limits::{DATABASE_IDLE_TIMEOUT, DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT};
use ade_core::time::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::{Query, QueryAs};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres};

use crate::error::Error;
use crate::pool::Pool;

/// The tenant's gate: whoever changes a freeze, a policy or a role closes it behind every permit
/// that is on its way, and no permit passes while they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// Decides nothing that a freeze, a policy or a role could change.
    Unasked,
    Shared,
    Exclusive,
}

#[derive(Debug)]
pub struct Tx {
    /// Taken when the transaction has ended; whoever drops one that has not, rolls it back.
    connection: Option<PoolConnection<Postgres>>,
    tenant: TenantId,
    actor: Actor,
    now: Timestamp,
    has_written: bool,
    leaves: usize,
    /// A guard did not hold: what was written around it must not be kept.
    has_conflict: bool,
}

impl Tx {
    pub async fn begin(
        pool: &Pool,
        tenant: TenantId,
        actor: Actor,
        now: Timestamp,
        gate: Gate,
    ) -> Result<Self, Error> {
        let connection = Some(pool.acquire().await?);
        let mut tx = Self {
            connection,
            tenant,
            actor,
            now,
            has_written: false,
            leaves: 0,
            has_conflict: false,
        };
        // Nothing but numbers and a uuid goes into the text.
        let opening = AssertSqlSafe(opening(tenant, gate));
        sqlx::raw_sql(opening).execute(tx.connection()?).await?;
        Ok(tx)
    }

    pub fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Refused if something was written and nothing says who did it and why. The SELECT before
    /// the COMMIT is for a transaction that has failed before: PostgreSQL would answer its
    /// COMMIT with a rollback and no error.
    pub async fn commit(mut self) -> Result<(), Error> {
        if self.has_written && self.leaves == 0 {
            self.end().await;
            return Err(Error::Unaudited);
        }
        if self.has_conflict {
            self.end().await;
            return Err(Error::Aborted);
        }
        let ended = sqlx::raw_sql("SELECT 1; COMMIT").execute(self.connection()?).await;
        match ended {
            Ok(_) => {
                drop(self.connection.take());
                Ok(())
            }
            Err(error) => {
                self.end().await;
                Err(Error::of_commit(error))
            }
        }
    }

    pub async fn roll_back(mut self) {
        self.end().await;
    }

    pub async fn write(&mut self, query: Query<'_, Postgres, PgArguments>) -> Result<u64, Error> {
        self.has_written = true;
        Ok(query.execute(self.connection()?).await?.rows_affected())
    }

    /// A guarded write: exactly one row, or the object is not what the decision was about.
    pub async fn write_one(
        &mut self,
        object: &(impl ToString + ?Sized),
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), Error> {
        if self.write(query).await? == 1 {
            return Ok(());
        }
        self.has_conflict = true;
        Err(Error::Conflict { object: object.to_string() })
    }

    pub async fn read<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, Error>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        Ok(query.fetch_all(self.connection()?).await?)
    }

    /// A write that answers with rows, for example the ids it gave.
    pub async fn write_rows<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, Error>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        self.has_written = true;
        self.read(query).await
    }

    pub(crate) fn count_leaves(&mut self, leaves: usize) {
        self.leaves += leaves;
    }

    fn connection(&mut self) -> Result<&mut PgConnection, Error> {
        self.connection.as_deref_mut().ok_or(Error::Aborted)
    }

    async fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            roll_back(connection).await;
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(roll_back(connection))),
            // Nobody is left to ask: PostgreSQL rolls back when the socket closes.
            Err(_) => drop(connection.detach()),
        }
    }
}

/// A connection that cannot even roll back is not given to anybody else.
async fn roll_back(mut connection: PoolConnection<Postgres>) {
    if sqlx::raw_sql("ROLLBACK").execute(&mut *connection).await.is_err() {
        connection.close_on_drop();
    }
}

fn opening(tenant: TenantId, gate: Gate) -> String {
    let tenant = tenant.uuid();
    let [lock, statement, idle] =
        [DATABASE_LOCK_TIMEOUT, DATABASE_STATEMENT_TIMEOUT, DATABASE_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    let gate = match gate {
        Gate::Unasked => String::new(),
        Gate::Shared => gate_lock("pg_advisory_xact_lock_shared", tenant),
        Gate::Exclusive => gate_lock("pg_advisory_xact_lock", tenant),
    };
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         SET LOCAL ade.tenant = '{tenant}'; \
         SET LOCAL lock_timeout = {lock}; \
         SET LOCAL statement_timeout = {statement}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}{gate}"
    )
}

fn gate_lock(function: &str, tenant: uuid::Uuid) -> String {
    format!("; SELECT {function}(hashtextextended('gate {tenant}', 0))")
}

#[cfg(test)]
#[path = "tx_tests.rs"]
mod tests;
