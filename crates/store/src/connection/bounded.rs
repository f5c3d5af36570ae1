//! The deadline of every statement. PostgreSQL ends a statement that takes too long, but a server
//! that has gone away without closing the socket never answers at all: only the client can stop
//! waiting for it. All statements of a pooled connection go through [`BoundedConnection`].

use std::io;
use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::{StreamExt as _, try_unfold};
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection as _, Describe, Either, Execute, Executor, PgConnection, Postgres, SqlStr};
use tokio::time::{Instant, timeout_at};

use super::Connections;
use crate::error::ends_connection;

type Answer<'e, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'e>>;
type Answers<'e, T> = Pin<Box<dyn Stream<Item = Result<T, sqlx::Error>> + Send + 'e>>;

/// A connection for one statement, which fails if its answer is not complete by the deadline.
#[derive(Debug)]
pub(crate) struct BoundedConnection<'c> {
    pub(super) connection: &'c mut PgConnection,
    pub(super) verdict: Verdict<'c>,
    pub(super) deadline: Instant,
}

/// Records what an answer says about the connection that carried it.
#[derive(Debug)]
pub(super) struct Verdict<'c> {
    /// Whether the connection must not be used again.
    pub(super) is_spent: &'c mut bool,
    pub(super) pool: &'c Connections,
}

impl Verdict<'_> {
    /// Classifies an answer. The outer error is a missed deadline.
    fn on<T, E>(&mut self, answer: Result<Result<T, sqlx::Error>, E>) -> Result<T, sqlx::Error> {
        let answer = answer.unwrap_or_else(|_| {
            *self.is_spent = true;
            self.pool.discard_idle();
            let error = io::Error::new(io::ErrorKind::TimedOut, "PostgreSQL did not answer");
            Err(sqlx::Error::Io(error))
        });
        match &answer {
            Err(error) if ends_connection(error) => {
                *self.is_spent = true;
                if crate::error::is_read_only(error) {
                    self.pool.discard_idle();
                }
            }
            _ => self.pool.note_answer(),
        }
        answer
    }
}

impl BoundedConnection<'_> {
    /// Checks whether the server answers within `limit`.
    pub(super) async fn ping(mut self, limit: Duration) -> Result<(), sqlx::Error> {
        let answer = timeout_at(Instant::now() + limit, self.connection.ping()).await;
        self.verdict.on(answer)
    }
}

impl<'c> Executor<'c> for BoundedConnection<'c> {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Answers<'e, Either<PgQueryResult, PgRow>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let Self { connection, verdict, deadline } = self;
        let answers = connection.fetch_many(query);
        Box::pin(try_unfold((answers, verdict), move |(mut answers, mut verdict)| async move {
            let next = timeout_at(deadline, answers.next()).await;
            let next = verdict.on(next.map(Option::transpose))?;
            Ok(next.map(|next| (next, (answers, verdict))))
        }))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> Answer<'e, Option<PgRow>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let Self { connection, mut verdict, deadline } = self;
        let answer = connection.fetch_optional(query);
        Box::pin(async move { verdict.on(timeout_at(deadline, answer).await) })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> Answer<'e, PgStatement>
    where
        'c: 'e,
    {
        let Self { connection, mut verdict, deadline } = self;
        let answer = connection.prepare_with(sql, parameters);
        Box::pin(async move { verdict.on(timeout_at(deadline, answer).await) })
    }

    fn describe<'e>(self, sql: SqlStr) -> Answer<'e, Describe<Postgres>>
    where
        'c: 'e,
    {
        let Self { connection, mut verdict, deadline } = self;
        let answer = connection.describe(sql);
        Box::pin(async move { verdict.on(timeout_at(deadline, answer).await) })
    }
}
