//! What can go wrong between the rules and the tables, sorted by what the caller can do about
//! it: decide anew, try again, ask whether it happened, or tell somebody. Nothing here knows HTTP.

use ade_core::audit::LeafError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("{object} is no longer as it was read: load it again and decide anew")]
    Conflict { object: String },
    #[error("the transaction wrote something and left no audit leaf, so nothing was committed")]
    Unaudited,
    #[error("a statement of this transaction failed, so nothing was committed: begin again")]
    Aborted,
    #[error("the answer to COMMIT was lost ({0}): ask by idempotency key whether it happened")]
    CommitUnknown(#[source] sqlx::Error),
    #[error("table `{table}` refuses the row by its rule `{constraint}`")]
    Constraint { table: String, constraint: String },
    #[error("PostgreSQL does not let this role or tenant do that: {detail}")]
    Forbidden { detail: String },
    #[error("somebody else holds what this needs (SQLSTATE {code}): try again")]
    Busy { code: String },
    #[error("the audit takes nothing (SQLSTATE {code}), so nothing was done: try again later")]
    AuditUnavailable { code: String },
    #[error("PostgreSQL cannot be reached or takes nothing now ({0}): try again later")]
    Unavailable(#[source] sqlx::Error),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("the audit leaf cannot be written: {0}")]
    Leaf(#[from] LeafError),
    #[error("migrating failed: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("{value} does not fit the column it is for: {why}")]
    Unstorable { value: String, why: String },
    #[error("PostgreSQL: {0}")]
    Database(#[source] sqlx::Error),
}

/// A row that the rules say cannot exist. It is told, never passed on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("table `{table}`, row {row}: column `{column}` holds what it cannot: {why}")]
pub struct RowError {
    pub table: &'static str,
    pub column: &'static str,
    pub row: String,
    pub why: String,
}

impl Error {
    /// Whether the same thing asked again may succeed, with nothing else changed.
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Conflict { .. }
            | Self::Busy { .. }
            | Self::AuditUnavailable { .. }
            | Self::Unavailable(_)
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

    /// What a failed COMMIT means: PostgreSQL's own refusal is an answer, a silence is not.
    pub(crate) fn of_commit(error: sqlx::Error) -> Self {
        let is_answer = error.as_database_error().is_some_and(|database| {
            let code = database.code().unwrap_or_default();
            !is_unavailable(&code)
        });
        if is_answer { Self::from(error) } else { Self::CommitUnknown(error) }
    }
}

impl From<sqlx::Error> for Error {
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
            // A failed transaction takes nothing more.
            "25P02" => Self::Aborted,
            // No constraint is named: the row has no partition to go to.
            "23514" if database.table() == Some("audit_leaf") => Self::AuditUnavailable { code },
            "23514" => Self::Unavailable(error),
            // Serialization, deadlock, lock timeout, statement timeout.
            "40001" | "40P01" | "55P03" | "57014" => Self::Busy { code },
            other if is_unavailable(other) => Self::Unavailable(error),
            _ => Self::Database(error),
        }
    }
}

/// Connection lost, resources gone, shutting down or starting up, a disk that fails.
fn is_unavailable(code: &str) -> bool {
    ["08", "53", "57P", "58"].iter().any(|class| code.starts_with(class))
}
