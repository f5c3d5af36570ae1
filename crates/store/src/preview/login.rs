//! The login of a preview target: what it must not be able to do, because a rollback would not undo
//! it or because it reaches beyond the database.

use sqlx::PgConnection;

use super::{ScriptPreviewError, TargetKind};

/// Something that a login must not be able to do, with the statement that revokes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginProblem {
    pub problem: String,
    /// To be run as a superuser. A part in angle brackets is the reader's choice.
    pub fix: String,
}

const PROBLEMS: &str = include_str!("login.sql");

/// Returns what is wrong with the login of this connection. The search path is `pg_catalog`.
pub(super) async fn problems(
    connection: &mut PgConnection,
    kind: TargetKind,
) -> Result<Vec<LoginProblem>, sqlx::Error> {
    let is_live = kind == TargetKind::Live;
    let rows: Vec<(String, String)> =
        sqlx::query_as(PROBLEMS).bind(is_live).fetch_all(connection).await?;
    Ok(rows.into_iter().map(|(problem, fix)| LoginProblem { problem, fix }).collect())
}

pub(super) async fn check(
    connection: &mut PgConnection,
    kind: TargetKind,
) -> Result<(), ScriptPreviewError> {
    if let Some(first) = problems(connection, kind).await?.into_iter().next() {
        let role: String =
            sqlx::query_scalar("SELECT session_user::text").fetch_one(connection).await?;
        return Err(ScriptPreviewError::Unfit { role, problem: first.problem });
    }
    let counts: bool = sqlx::query_scalar("SELECT current_setting('track_counts')::boolean")
        .fetch_one(connection)
        .await?;
    if counts { Ok(()) } else { Err(ScriptPreviewError::NotCounting) }
}
