//! One connection of a test to its database, kept open: for what must last longer than a
//! statement, as a lock that is held while others run into it. Everything it holds ends with it.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};

use crate::failure::{Failure, or_fail};
use crate::signal::poll_until;

#[derive(Debug)]
pub struct Session {
    connection: PgConnection,
    /// Looks at who waits. PostgreSQL looks up who is connected once per transaction, and the
    /// other one holds a transaction open: it would not see who came since.
    observer: PgConnection,
}

impl Session {
    pub(crate) fn new(connection: PgConnection, observer: PgConnection) -> Self {
        Self { connection, observer }
    }

    pub async fn run(&mut self, sql: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut self.connection).await;
        or_fail(done.map(drop).map_err(|error| Failure::new(sql, error)));
    }

    /// The one number that a query answers.
    pub async fn number(&mut self, sql: &str) -> i64 {
        or_fail(self.ask(sql).await)
    }

    /// The one text that a query answers.
    pub async fn text(&mut self, sql: &str) -> String {
        let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
        let asked = query.fetch_one(&mut self.connection).await;
        or_fail(asked.map_err(|error| Failure::new(sql, error)))
    }

    /// Returns once so many others wait for a lock in this database.
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
