//! Errors of the store, sorted by what the caller can do about them: decide again, retry, check
//! whether the write happened, or report the error. Nothing here depends on HTTP.

use ade_core::audit::LeafError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{object} was modified concurrently: reload it and retry")]
    Conflict { object: String },
    #[error("the transaction wrote data without an audit entry and was not committed")]
    Unaudited,
    #[error("a statement of this transaction failed and nothing was committed: retry")]
    Aborted,
    #[error("the response to COMMIT was lost ({0}): check the outcome by idempotency key")]
    CommitUnknown(#[source] sqlx::Error),
    #[error("table `{table}` rejected the row by its constraint `{constraint}`")]
    Constraint { table: String, constraint: String },
    #[error("PostgreSQL denied permission for this role or tenant: {detail}")]
    Forbidden { detail: String },
    #[error("a row or lock is held by another transaction (SQLSTATE {code}): retry")]
    Busy { code: String },
    #[error("the audit log is unavailable (SQLSTATE {code}) and nothing was written: retry later")]
    AuditUnavailable { code: String },
    #[error("no database connection became free in time, because too many calls wait: retry later")]
    NoConnection,
    #[error("PostgreSQL is unavailable ({0}): retry later")]
    Unavailable(#[source] sqlx::Error),
    #[error("PostgreSQL accepts no writes (a standby, or set to read-only): try again later")]
    ReadOnly,
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("the audit entry is invalid: {0}")]
    Leaf(#[from] LeafError),
    #[error("migration failed: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("{value} does not fit its column: {why}")]
    Unstorable { value: String, why: String },
    #[error("PostgreSQL: {0}")]
    Database(#[source] sqlx::Error),
}

/// A row that violates the rules of the core. It is reported and never returned as data.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("table `{table}`, row {row}: invalid value in column `{column}`: {why}")]
pub struct RowError {
    pub table: &'static str,
    pub column: &'static str,
    pub row: String,
    pub why: String,
}

impl StoreError {
    /// Returns whether the same call may succeed when it is repeated without other changes.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Conflict { .. }
            | Self::Busy { .. }
            | Self::AuditUnavailable { .. }
            | Self::NoConnection
            | Self::Unavailable(_)
            | Self::ReadOnly
            | Self::Aborted => true,
            Self::Unaudited
            | Self::CommitUnknown(_)
            | Self::Constraint { .. }
            | Self::Forbidden { .. }
            | Self::Row(_)
            | Self::Leaf(_)
            | Self::Migrate(_)
            | Self::Unstorable { .. }
            | Self::Database(_) => false,
        }
    }

    /// Classifies a failed COMMIT: an error from PostgreSQL is a definite result, a lost connection
    /// is not.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        let is_answer = error.as_database_error().is_some_and(|database| {
            let code = database.code().unwrap_or_default();
            !is_unavailable(&code)
        });
        if is_answer { Self::from(error) } else { Self::CommitUnknown(error) }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return match &error {
                sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::WorkerCrashed => Self::Unavailable(error),
                _ => Self::Database(error),
            };
        };
        let code = database.code().unwrap_or_default().into_owned();
        if let Some(constraint) = database.constraint() {
            let table = database.table().unwrap_or_default().to_owned();
            return Self::Constraint { table, constraint: constraint.to_owned() };
        }
        match code.as_str() {
            "42501" => Self::Forbidden { detail: database.message().to_owned() },
            // A failed transaction accepts no further statement.
            "25P02" => Self::Aborted,
            // No constraint is named: there is no partition for the row.
            "23514" if database.table() == Some("audit_entry") => Self::AuditUnavailable { code },
            "23514" => Self::Unavailable(error),
            // Serialization failure, deadlock, lock timeout, statement timeout.
            "40001" | "40P01" | "55P03" | "57014" => Self::Busy { code },
            READ_ONLY => Self::ReadOnly,
            other if is_unavailable(other) || is_stale_plan(&error) => Self::Unavailable(error),
            _ => Self::Database(error),
        }
    }
}

/// `read_only_sql_transaction`: the server was a primary when the connection was made.
const READ_ONLY: &str = "25006";

pub(crate) fn is_read_only(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some(READ_ONLY)
}

/// Returns whether the connection is closed, out of step, or bound to a server or to prepared
/// statements that will refuse the next caller too.
pub(crate) fn ends_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database) => {
            let postgres = database.try_downcast_ref::<PgDatabaseError>();
            let severity = postgres.map(PgDatabaseError::severity);
            matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
                || is_stale_plan(error)
                || is_read_only(error)
        }
        _ => false,
    }
}

/// Returns whether a table changed under a prepared statement ("cached plan must not change result
/// type"). The code is shared with other errors and the message is translated; the routine is
/// neither.
fn is_stale_plan(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    let postgres = database.and_then(|database| database.try_downcast_ref::<PgDatabaseError>());
    postgres.is_some_and(|postgres| {
        postgres.code() == "0A000" && postgres.routine() == Some("RevalidateCachedQuery")
    })
}

/// Returns whether the code means a lost connection, missing resources, a shutdown or startup, or a
/// failing disk.
fn is_unavailable(code: &str) -> bool {
    ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class))
}
