//! An open connection of a test to its database, for what must last longer than a statement, such
//! as a lock that other connections run into. Everything it holds is released with it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};

use crate::failure::{Failure, or_fail};
use crate::signal::poll_until;

#[derive(Debug)]
pub struct DatabaseSession {
    connection: PgConnection,
    /// Reads which connections wait. PostgreSQL reads the list of connections once per transaction,
    /// and the other connection has a transaction open, so it would not see new ones.
    observer: PgConnection,
}

impl DatabaseSession {
    pub(crate) fn new(connection: PgConnection, observer: PgConnection) -> Self {
        Self { connection, observer }
    }

    pub async fn run(&mut self, sql: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut self.connection).await;
        or_fail(done.map(drop).map_err(|error| Failure::new(sql, error)));
    }

    /// Runs a query and returns its only number.
    pub async fn number(&mut self, sql: &str) -> i64 {
        or_fail(self.ask(sql).await)
    }

    /// Runs a query and returns its only text.
    pub async fn text(&mut self, sql: &str) -> String {
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
        let asked = query.fetch_one(&mut self.connection).await;
        or_fail(asked.map_err(|error| Failure::new(sql, error)))
    }

    /// Returns once this many other connections wait for a lock in this database.
    pub async fn wait_for_waiting(&mut self, count: i64, deadline: Duration) {
        let what = format!("{count} wait for a lock");
        let observer = &mut self.observer;
        let reached = poll_until(&what, deadline, async || {
            let asked: Result<i64, _> = sqlx::query_scalar(WAITING).fetch_one(&mut *observer).await;
            match asked {
                Ok(waiting) if waiting == count => Ok(()),
                Ok(waiting) => Err(format!("{waiting} wait")),
                Err(error) => Err(error.to_string()),
            }
        });
        or_fail(reached.await);
    }

    async fn ask(&mut self, sql: &str) -> Result<i64, Failure> {
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
        let asked = query.fetch_one(&mut self.connection).await;
        asked.map_err(|error| Failure::new(sql, error))
    }
}

const WAITING: &str = "
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'";
