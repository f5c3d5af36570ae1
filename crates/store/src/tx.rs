//! One transaction of one tenant, by one actor, at one time. It begins in a single round trip with
//! tenant, timeouts and tenant lock, and commits only changes that have an audit entry. However it
//! ends, its connection is returned without an open transaction.

mod savepoint;

use std::io::ErrorKind;

use ade_core::actor::Actor;
use ade_core::ids::{StepUpId, TaskId, TenantId};
use ade_core::time::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::{Map, Query, QueryAs, QueryScalar};
use sqlx::{AssertSqlSafe, FromRow, Postgres, Row as _};
use uuid::Uuid;

pub use self::savepoint::Savepoint;
pub use crate::begin::{BeginOptions, LockTarget, TenantLock};
use crate::begin::{KEY_ANSWER, MOMENT_ANSWER, TASK_ANSWER, opening};
use crate::classify_failure::WriteFailure;
use crate::connection::{BoundedConnection, PooledConnection};
use crate::error::StoreError;
use crate::pool::Pool;
use crate::timestamp::PgTimestamp;

#[derive(Debug)]
pub struct Tx {
    /// `None` when the transaction has ended. A transaction that is dropped earlier is rolled back.
    connection: Option<PooledConnection>,
    tenant: TenantId,
    actor: Actor,
    now: Timestamp,
    has_written: bool,
    leaves: usize,
    /// A guard did not hold, so nothing may be committed.
    has_conflict: bool,
    /// A statement failed. PostgreSQL would answer the COMMIT with a rollback and no error.
    has_failed: bool,
    /// The idempotency lock that was requested at the beginning, and whether it was acquired.
    key: Option<(i64, bool)>,
    /// The task whose row is locked.
    locked: Option<TaskId>,
}

impl Tx {
    pub async fn begin(
        pool: &Pool,
        tenant: TenantId,
        actor: Actor,
        gate: TenantLock,
    ) -> Result<Self, StoreError> {
        Self::begin_with(pool, tenant, actor, gate, BeginOptions::default()).await
    }

    pub async fn begin_with(
        pool: &Pool,
        tenant: TenantId,
        actor: Actor,
        gate: TenantLock,
        first: BeginOptions<'_>,
    ) -> Result<Self, StoreError> {
        let lock = first.key.map(|key| key.lock(tenant));
        let mut tx = Self {
            connection: None,
            tenant,
            actor,
            now: Timestamp::from_micros(0),
            has_written: false,
            leaves: 0,
            has_conflict: false,
            has_failed: false,
            key: None,
            locked: None,
        };
        let answers = tx.open(pool, &opening(tenant, gate, lock, first.row)).await?;
        let answer = answers.last().ok_or(sqlx::Error::RowNotFound)?;
        let is_ours: Option<bool> = answer.try_get(KEY_ANSWER)?;
        let locked: Option<Uuid> = answer.try_get(TASK_ANSWER)?;
        tx.key = lock.map(|lock| (lock, is_ours.unwrap_or_default()));
        tx.locked = locked.map(TaskId::from_uuid);
        tx.now = Timestamp::from_micros(answer.try_get(MOMENT_ANSWER)?);
        Ok(tx)
    }

    /// Runs the opening statement. An idle connection may have died, and testing each one first
    /// would cost a round trip per transaction. Nothing has happened before this statement, so it
    /// is retried on the next connection, and finally on a new one. After a timeout there is time
    /// for a single retry.
    async fn open(&mut self, pool: &Pool, opening: &str) -> Result<Vec<PgRow>, StoreError> {
        let mut tries = pool.idle_count();
        loop {
            self.connection = Some(pool.acquire_untried(Some(self.tenant)).await?);
            // The text contains only numbers and uuids.
            let text = AssertSqlSafe(opening.to_owned());
            let opened = sqlx::raw_sql(text).fetch_all(self.connection()?).await;
            match opened.map_err(StoreError::from) {
                Err(StoreError::Unavailable(sqlx::Error::Io(error)))
                    if tries > 0 && error.kind() == ErrorKind::TimedOut =>
                {
                    self.discard();
                    tries = 0;
                }
                Err(StoreError::Unavailable(_) | StoreError::ReadOnly) if tries > 0 => {
                    self.discard();
                    tries -= 1;
                }
                opened => return opened,
            }
        }
    }

    fn discard(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.discard();
        }
    }

    /// Returns the task that was locked at the beginning.
    pub fn locked(&self) -> Option<TaskId> {
        self.locked
    }

    pub fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Records that the action uses up this passkey confirmation; later audit entries of the
    /// transaction name it.
    pub fn confirmed(&mut self, step_up: StepUpId) {
        self.actor.confirm(step_up);
    }

    /// Returns the database time after tenant lock and row lock were acquired: everything found
    /// under them was written before.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Commits. It is refused if something was written without an audit entry.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        if self.has_conflict || self.has_failed {
            self.end().await;
            return Err(StoreError::Aborted);
        }
        if self.has_written && self.leaves == 0 {
            self.end().await;
            return Err(StoreError::Unaudited);
        }
        let ended = sqlx::raw_sql("COMMIT").execute(self.connection()?).await;
        match ended {
            Ok(_) => {
                if let Some(connection) = self.connection.take() {
                    connection.give_back();
                }
                Ok(())
            }
            Err(error) => {
                self.end().await;
                Err(StoreError::of_commit(error))
            }
        }
    }

    pub async fn roll_back(mut self) {
        self.end().await;
    }

    pub async fn write(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, StoreError> {
        self.has_written = true;
        let done = query.execute(self.connection()?).await;
        match self.noted(done) {
            Ok(done) => Ok(done.rows_affected()),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Runs a single statement that may find nothing left to do, because another transaction was
    /// faster. Only actual changes need an audit entry.
    pub async fn write_if_left(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, StoreError> {
        let has_written = self.has_written;
        let moved = self.write(query).await?;
        self.has_written = has_written || moved > 0;
        Ok(moved)
    }

    /// Runs a guarded write: exactly one row must change, or else the object is not in the expected
    /// state.
    pub async fn write_one(
        &mut self,
        object: &(impl ToString + ?Sized),
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), StoreError> {
        if self.write(query).await? == 1 {
            return Ok(());
        }
        Err(self.conflict(object))
    }

    /// Records that the object is not in the expected state: the transaction must not be committed.
    pub(crate) fn conflict(&mut self, object: &(impl ToString + ?Sized)) -> StoreError {
        self.has_conflict = true;
        StoreError::Conflict { object: object.to_string() }
    }

    pub async fn read<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let found = query.fetch_all(self.connection()?).await;
        match self.noted(found) {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Runs a write that returns rows, for example generated ids.
    pub async fn write_rows<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        self.has_written = true;
        self.read(query).await
    }

    /// Returns the rows of a checked query.
    pub(crate) async fn fetch<T, F>(
        &mut self,
        query: Map<'_, Postgres, F, PgArguments>,
    ) -> Result<Vec<T>, StoreError>
    where
        F: FnMut(PgRow) -> Result<T, sqlx::Error> + Send,
        T: Send + Unpin,
    {
        let found = query.fetch_all(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// Returns the row of a checked query that always has exactly one.
    pub(crate) async fn fetch_one<T, F>(
        &mut self,
        query: Map<'_, Postgres, F, PgArguments>,
    ) -> Result<T, StoreError>
    where
        F: FnMut(PgRow) -> Result<T, sqlx::Error> + Send,
        T: Send + Unpin,
    {
        let found = query.fetch_one(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// Returns the value of a checked query that always has exactly one row.
    pub(crate) async fn fetch_value<T>(
        &mut self,
        query: QueryScalar<'_, Postgres, T, PgArguments>,
    ) -> Result<T, StoreError>
    where
        (T,): for<'r> FromRow<'r, PgRow>,
        T: Send + Unpin,
    {
        let found = query.fetch_one(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// Writes rows that are not audited: hints for workers and responses stored for retries. They
    /// need no audit entry.
    pub(crate) async fn write_beside(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, StoreError> {
        let done = query.execute(self.connection()?).await;
        Ok(self.noted(done)?.rows_affected())
    }

    /// Returns up to when a replica has replayed; the current time on a primary. A replica that has
    /// replayed nothing since its start has at least reached its last restart point.
    pub async fn replayed_until(&mut self) -> Result<Timestamp, StoreError> {
        let query = sqlx::query_scalar::<_, PgTimestamp>(
            "SELECT CASE WHEN pg_is_in_recovery()
                         THEN coalesce(pg_last_xact_replay_timestamp(),
                                       (SELECT checkpoint_time FROM pg_control_checkpoint()))
                         ELSE now() END",
        );
        Ok(self.fetch_value(query).await?.0)
    }

    /// Returns whether the idempotency lock is held; `None` if it was not requested at the
    /// beginning.
    pub(crate) fn has_key(&self, lock: i64) -> Option<bool> {
        self.key.filter(|(known, _)| *known == lock).map(|(_, is_ours)| is_ours)
    }

    /// Locks the row of the task, unless that was done at the beginning.
    pub(crate) async fn lock(&mut self, id: TaskId) -> Result<(), StoreError> {
        if self.locked != Some(id) {
            let query = sqlx::query("SELECT lock_task($1)").bind(id.uuid());
            let done = query.execute(self.connection()?).await;
            self.noted(done)?;
        }
        Ok(())
    }

    /// Records that a read has also written, so that an audit entry is needed.
    pub(crate) fn note_write(&mut self) {
        self.has_written = true;
    }

    pub(crate) fn count_leaves(&mut self, leaves: usize) {
        self.leaves += leaves;
    }

    fn noted<T>(&mut self, outcome: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        self.has_failed |= outcome.is_err();
        outcome
    }

    fn connection(&mut self) -> Result<BoundedConnection<'_>, StoreError> {
        Ok(self.connection.as_mut().ok_or(StoreError::Aborted)?.get()?)
    }

    /// Finds out whether the audit refused a write. This ends the transaction, which has failed
    /// anyway.
    async fn failed(&mut self, error: sqlx::Error) -> StoreError {
        let failure = WriteFailure::of(&error).filter(|_| self.has_written);
        let Some(failure) = failure else { return error.into() };
        let Some(connection) = self.connection.take() else { return error.into() };
        let Some(mut connection) = roll_back(connection).await else { return error.into() };
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .unwrap_or_default();
        let Ok(open) = connection.get() else { return error.into() };
        match failure.is_about_audit(open).await {
            Ok(true) => StoreError::AuditUnavailable { code: code.into_owned() },
            Ok(false) | Err(_) => error.into(),
        }
    }

    async fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            end_in_order(connection).await;
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(end_in_order(connection))),
            // Without a runtime no statement can be sent; PostgreSQL rolls back when the socket
            // closes.
            Err(_) => connection.discard(),
        }
    }
}

async fn end_in_order(connection: PooledConnection) {
    if let Some(connection) = roll_back(connection).await {
        connection.give_back();
    }
}

/// Rolls back. A connection on which that fails is not used again.
async fn roll_back(mut connection: PooledConnection) -> Option<PooledConnection> {
    let ended = match connection.get() {
        Ok(open) => sqlx::raw_sql("ROLLBACK").execute(open).await.map(drop),
        Err(error) => Err(error),
    };
    if ended.is_err() {
        connection.discard();
        return None;
    }
    Some(connection)
}

#[cfg(test)]
#[path = "tx_tests.rs"]
mod tests;
