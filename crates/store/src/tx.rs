//! One transaction of one tenant, by one actor, at one moment. It begins in a single round trip
//! with tenant, timeouts and gate; it commits only what left an audit leaf; and however it ends,
//! its connection goes back without a transaction on it.

use ade_core::actor::Actor;
use ade_core::ids::{TaskId, TenantId};
use ade_core::time::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::{Map, Query, QueryAs, QueryScalar};
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Postgres, Row as _};
use uuid::Uuid;

use crate::connection::Lent;
use crate::diagnosis::Doubt;
use crate::error::Error;
use crate::moment::Moment;
pub use crate::opening::{Gate, Opening, Row};
use crate::opening::{KEY_ANSWER, MOMENT_ANSWER, TASK_ANSWER, opening};
use crate::pool::Pool;

#[derive(Debug)]
pub struct Tx {
    /// Taken when the transaction has ended; whoever drops one that has not, rolls it back.
    connection: Option<Lent>,
    tenant: TenantId,
    actor: Actor,
    now: Timestamp,
    has_written: bool,
    leaves: usize,
    /// A guard did not hold: what was written around it must not be kept.
    has_conflict: bool,
    /// A statement failed. PostgreSQL would answer the COMMIT with a rollback and no error.
    has_failed: bool,
    /// The idempotency lock that was asked for first, and whether it was had.
    key: Option<(i64, bool)>,
    /// The task whose row is locked.
    locked: Option<TaskId>,
}

impl Tx {
    pub async fn begin(
        pool: &Pool,
        tenant: TenantId,
        actor: Actor,
        gate: Gate,
    ) -> Result<Self, Error> {
        Self::begin_with(pool, tenant, actor, gate, Opening::default()).await
    }

    pub async fn begin_with(
        pool: &Pool,
        tenant: TenantId,
        actor: Actor,
        gate: Gate,
        first: Opening<'_>,
    ) -> Result<Self, Error> {
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

    /// A connection may have died while it lay idle; asking each of them first would be a round
    /// trip for every transaction. Before the opening nothing has happened, so it is tried on the
    /// next, down to one that is made anew.
    async fn open(&mut self, pool: &Pool, opening: &str) -> Result<Vec<PgRow>, Error> {
        let mut tries = pool.idle_count();
        loop {
            self.connection = Some(pool.acquire_untried().await?);
            // Nothing but numbers and uuids is in the text.
            let text = AssertSqlSafe(opening.to_owned());
            let opened = sqlx::raw_sql(text).fetch_all(self.connection()?).await;
            match opened.map_err(Error::from) {
                Err(Error::Unavailable(_)) if tries > 0 => {
                    if let Some(dead) = self.connection.take() {
                        dead.discard();
                    }
                    tries -= 1;
                }
                opened => return opened,
            }
        }
    }

    /// The task that was locked when we began.
    pub fn locked(&self) -> Option<TaskId> {
        self.locked
    }

    pub fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// By the database's clock, once gate and row were had: what is found there was written before.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Refused if something was written and nothing says who did it and why.
    pub async fn commit(mut self) -> Result<(), Error> {
        if self.has_conflict || self.has_failed {
            self.end().await;
            return Err(Error::Aborted);
        }
        if self.has_written && self.leaves == 0 {
            self.end().await;
            return Err(Error::Unaudited);
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
                Err(Error::of_commit(error))
            }
        }
    }

    pub async fn roll_back(mut self) {
        self.end().await;
    }

    pub async fn write(&mut self, query: Query<'_, Postgres, PgArguments>) -> Result<u64, Error> {
        self.has_written = true;
        let done = query.execute(self.connection()?).await;
        match self.noted(done) {
            Ok(done) => Ok(done.rows_affected()),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// A single statement that may find nothing left to do, because others were quicker: only what
    /// was done needs a leaf.
    pub async fn write_if_left(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, Error> {
        let has_written = self.has_written;
        let moved = self.write(query).await?;
        self.has_written = has_written || moved > 0;
        Ok(moved)
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
        Err(self.conflict(object))
    }

    /// The object is not what the decision was about: nothing of this may be committed.
    pub(crate) fn conflict(&mut self, object: &(impl ToString + ?Sized)) -> Error {
        self.has_conflict = true;
        Error::Conflict { object: object.to_string() }
    }

    pub async fn read<T>(
        &mut self,
        query: QueryAs<'_, Postgres, T, PgArguments>,
    ) -> Result<Vec<T>, Error>
    where
        T: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let found = query.fetch_all(self.connection()?).await;
        match self.noted(found) {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.failed(error).await),
        }
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

    /// Rows of a checked query.
    pub(crate) async fn fetch<T, F>(
        &mut self,
        query: Map<'_, Postgres, F, PgArguments>,
    ) -> Result<Vec<T>, Error>
    where
        F: FnMut(PgRow) -> Result<T, sqlx::Error> + Send,
        T: Send + Unpin,
    {
        let found = query.fetch_all(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// The one row of a checked query that always has one.
    pub(crate) async fn fetch_one<T, F>(
        &mut self,
        query: Map<'_, Postgres, F, PgArguments>,
    ) -> Result<T, Error>
    where
        F: FnMut(PgRow) -> Result<T, sqlx::Error> + Send,
        T: Send + Unpin,
    {
        let found = query.fetch_one(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// The one value of a checked query that always has one.
    pub(crate) async fn fetch_value<T>(
        &mut self,
        query: QueryScalar<'_, Postgres, T, PgArguments>,
    ) -> Result<T, Error>
    where
        (T,): for<'r> FromRow<'r, PgRow>,
        T: Send + Unpin,
    {
        let found = query.fetch_one(self.connection()?).await;
        Ok(self.noted(found)?)
    }

    /// For rows that are no part of the record: hints for workers, answers kept for retries. They
    /// may come and go without a leaf.
    pub(crate) async fn write_beside(
        &mut self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<u64, Error> {
        let done = query.execute(self.connection()?).await;
        Ok(self.noted(done)?.rows_affected())
    }

    /// How far a replica has come; the present on the record itself. One that has replayed
    /// nothing since its start has at least come to its last restart point.
    pub async fn replayed_until(&mut self) -> Result<Timestamp, Error> {
        let query = sqlx::query_scalar::<_, Moment>(
            "SELECT CASE WHEN pg_is_in_recovery()
                         THEN coalesce(pg_last_xact_replay_timestamp(),
                                       (SELECT checkpoint_time FROM pg_control_checkpoint()))
                         ELSE now() END",
        );
        Ok(self.fetch_value(query).await?.0)
    }

    /// Whether the idempotency lock is ours; `None` if it was not asked for when we began.
    pub(crate) fn has_key(&self, lock: i64) -> Option<bool> {
        self.key.filter(|(known, _)| *known == lock).map(|(_, is_ours)| is_ours)
    }

    /// Locks the task's row, unless that was done when we began.
    pub(crate) async fn lock(&mut self, id: TaskId) -> Result<(), Error> {
        if self.locked != Some(id) {
            let query = sqlx::query("SELECT lock_task($1)").bind(id.uuid());
            let done = query.execute(self.connection()?).await;
            self.noted(done)?;
        }
        Ok(())
    }

    /// What was read has also written: it needs its leaf.
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

    fn connection(&mut self) -> Result<&mut PgConnection, Error> {
        Ok(self.connection.as_mut().ok_or(Error::Aborted)?.get()?)
    }

    /// Says whether it was the audit that refused a write. To find out it ends the transaction,
    /// which has failed anyway and takes nothing more.
    async fn failed(&mut self, error: sqlx::Error) -> Error {
        let doubt = Doubt::of(&error).filter(|_| self.has_written);
        let Some(doubt) = doubt else { return error.into() };
        let Some(connection) = self.connection.take() else { return error.into() };
        let Some(mut connection) = roll_back(connection).await else { return error.into() };
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code)
            .unwrap_or_default();
        let Ok(open) = connection.get() else { return error.into() };
        match doubt.is_about_audit(open).await {
            Ok(true) => Error::AuditUnavailable { code: code.into_owned() },
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
            // Nobody is left to ask: PostgreSQL rolls back when the socket closes.
            Err(_) => connection.discard(),
        }
    }
}

async fn end_in_order(connection: Lent) {
    if let Some(connection) = roll_back(connection).await {
        connection.give_back();
    }
}

/// A connection that cannot even roll back is not given to anybody else.
async fn roll_back(mut connection: Lent) -> Option<Lent> {
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
