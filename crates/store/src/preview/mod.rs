//! Previews of DDL and DML scripts on another PostgreSQL, inside a transaction that is always
//! rolled back: the effect is observed, not guessed. The script cannot end that transaction, and a
//! login that could reach beyond it is refused. That database contains nothing of this
//! installation.

mod catalogue;
mod notices;

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::limits::{
    EFFECT_NOTE_MAX_BYTES, SQL_PREVIEW_DEADLINE, SQL_PREVIEW_IDLE_TIMEOUT,
    SQL_PREVIEW_LOCK_TIMEOUT, SQL_PREVIEW_SCRIPT_MAX_BYTES, SQL_PREVIEW_STATEMENT_TIMEOUT,
};
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use thiserror::Error;
use tracing::instrument::WithSubscriber;

use self::catalogue::Look;
use self::notices::Notices;

/// The effect of a script before it was rolled back. With errors, the script had no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptPreview {
    pub rows: Vec<RowCounts>,
    pub objects: Vec<ObjectChange>,
    pub warnings: Vec<String>,
    pub errors: Vec<ScriptError>,
    /// Each touched table that existed before, with a version that changes with its definition.
    pub versions: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCounts {
    pub table: String,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// All rows that it had are gone, for example by TRUNCATE.
    pub emptied: bool,
}

impl RowCounts {
    pub fn is_irreversible(&self) -> bool {
        self.emptied || self.deleted > 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectChange {
    /// The kind, for example `table`, `column`, `index`, `constraint`, `view`.
    pub kind: String,
    /// The name before the script, if the object existed.
    pub name: String,
    pub action: Action,
    pub irreversible: bool,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    Changed,
    Dropped,
}

/// Why the script does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    pub sqlstate: String,
    pub message: String,
    /// The position in the script, in characters from 1.
    pub position: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    /// The deadline of the whole preview, by the clock of the client.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            statement_timeout: SQL_PREVIEW_STATEMENT_TIMEOUT,
            lock_timeout: SQL_PREVIEW_LOCK_TIMEOUT,
            deadline: SQL_PREVIEW_DEADLINE,
        }
    }
}

/// The preview could not be run; nothing is known about the script.
#[derive(Debug, Error)]
pub enum ScriptPreviewError {
    #[error("the script has {bytes} bytes: at most {SQL_PREVIEW_SCRIPT_MAX_BYTES}")]
    TooLong { bytes: usize },
    #[error("role `{role}` {why}: use a login without this privilege")]
    Unfit { role: String, why: &'static str },
    #[error("`track_counts` is off on the server, so rows cannot be counted: turn it on")]
    NotCounting,
    #[error("the database has too many objects to compare")]
    TooManyObjects,
    #[error("the preview timed out: retry, or make the script smaller")]
    Deadline,
    #[error("a table that must be inspected is locked: retry")]
    Busy,
    #[error("the preview database is unavailable: {0}")]
    Unreachable(#[source] sqlx::Error),
}

impl From<sqlx::Error> for ScriptPreviewError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        match code.as_deref() {
            // Lock timeout, statement timeout.
            Some("55P03" | "57014") => Self::Busy,
            _ => Self::Unreachable(error),
        }
    }
}

/// Checks every role that the login may take on, because `SET ROLE` is one statement away.
const LOGIN: &str = "
    WITH within AS (
        SELECT rolname, rolsuper, rolreplication FROM pg_roles
         WHERE rolname = session_user OR pg_has_role(session_user, oid, 'MEMBER')
    )
    SELECT session_user::text,
           (SELECT bool_or(rolsuper) FROM within),
           (SELECT bool_or(rolname IN ('pg_execute_server_program', 'pg_read_server_files',
               'pg_write_server_files')) FROM within),
           EXISTS (SELECT FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
                    WHERE NOT l.lanpltrusted AND l.lanname NOT IN ('c', 'internal')
                      AND has_function_privilege(session_user, p.oid, 'EXECUTE')),
           EXISTS (SELECT FROM pg_extension x
                     JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass
                      AND d.refobjid = x.oid AND d.classid = 'pg_proc'::regclass
                    WHERE x.extname = 'dblink'
                      AND has_function_privilege(session_user, d.objid, 'EXECUTE')),
           current_setting('track_counts')::boolean";

/// Runs `script` as the login of `url` and rolls it back. A result with `errors` means that the
/// script itself is wrong.
pub async fn preview_script(
    url: &str,
    script: &str,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    let bytes = script.len();
    if bytes > SQL_PREVIEW_SCRIPT_MAX_BYTES {
        return Err(ScriptPreviewError::TooLong { bytes });
    }
    if let Some(fault) = unsuited(script) {
        return Ok(ScriptPreview { errors: vec![fault], ..ScriptPreview::default() });
    }
    let held = tokio::time::timeout(limits.deadline, hold(url, script, limits)).await;
    held.unwrap_or(Err(ScriptPreviewError::Deadline))
}

/// Returns why a script is unsuitable: its effects would survive a rollback, or it cannot be sent.
fn unsuited(script: &str) -> Option<ScriptError> {
    let refuse = |sqlstate: &str, message: &str| {
        let (sqlstate, message) = (sqlstate.to_owned(), message.to_owned());
        Some(ScriptError { sqlstate, message, position: None })
    };
    if script.contains('\0') {
        return refuse("22021", "the script contains a zero byte");
    }
    if script.to_lowercase().contains("setval") {
        return refuse(
            "0A000",
            "setval cannot be previewed because a rollback does not undo it: use ALTER SEQUENCE \
             ... RESTART",
        );
    }
    None
}

async fn hold(
    url: &str,
    script: &str,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    let options: PgConnectOptions = url.parse()?;
    let mut connection = options.application_name("ade preview").connect().await?;
    check_login(&mut connection).await?;
    let [lock, statement, idle] =
        [limits.lock_timeout, limits.statement_timeout, SQL_PREVIEW_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    // Both reads use one snapshot: commits of others in between are not an effect of the script.
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = {lock}; \
         SET LOCAL statement_timeout = {statement}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}; {OWN_PATH}"
    );
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await?;
    let before = Look::take(&mut connection, None).await?;
    let notices = Notices::default();
    let outcome = perform(&mut connection, script).with_subscriber(notices.clone()).await;
    let mut preview = match outcome {
        Ok(()) => compare(&mut connection, &before).await?,
        Err(error) => ScriptPreview { errors: vec![fault(error)?], ..ScriptPreview::default() },
    };
    preview.warnings.splice(0..0, notices.take());
    // Closing the connection would have the same effect; this way it is done before the result is
    // returned.
    sqlx::raw_sql("ROLLBACK").execute(&mut connection).await?;
    connection.close().await?;
    Ok(preview)
}

const OWN_PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

async fn check_login(connection: &mut PgConnection) -> Result<(), ScriptPreviewError> {
    let (role, superuser, files, untrusted, dblink, counts): (
        String,
        bool,
        bool,
        bool,
        bool,
        bool,
    ) = sqlx::query_as(LOGIN).fetch_one(connection).await?;
    let reasons = [
        (superuser, "is a superuser or can become one"),
        (files, "can run programs or access files on the server"),
        (untrusted, "can call functions of an untrusted language"),
        (dblink, "can open connections through dblink"),
    ];
    if let Some((_, why)) = reasons.into_iter().find(|(is_so, _)| *is_so) {
        return Err(ScriptPreviewError::Unfit { role, why });
    }
    if counts { Ok(()) } else { Err(ScriptPreviewError::NotCounting) }
}

/// Runs the script inside EXECUTE inside a block inside a transaction, where PostgreSQL allows no
/// COMMIT, ROLLBACK or BEGIN. It is sent as a prepared statement, which can only be a single one.
async fn perform(connection: &mut PgConnection, script: &str) -> Result<(), sqlx::Error> {
    let outer = quote(script, "block");
    let inner = quote(script, "script");
    let block = format!("DO {outer} BEGIN EXECUTE {inner}{script}{inner}; END {outer}");
    sqlx::raw_sql("SET LOCAL search_path TO DEFAULT").execute(&mut *connection).await?;
    sqlx::query(AssertSqlSafe(block)).persistent(false).execute(&mut *connection).await?;
    // Deferred constraints are checked now instead of at the commit.
    sqlx::raw_sql("SET CONSTRAINTS ALL IMMEDIATE").execute(connection).await?;
    Ok(())
}

/// Returns a dollar quote that the script does not contain.
fn quote(script: &str, name: &str) -> String {
    let quotes = (0_u64..).map(|number| format!("${name}_{number}$"));
    quotes.into_iter().find(|quote| !script.contains(quote.as_str())).unwrap_or_default()
}

async fn compare(
    connection: &mut PgConnection,
    before: &Look,
) -> Result<ScriptPreview, ScriptPreviewError> {
    // The script may have changed the role and created tables that shadow others.
    let again = format!("RESET SESSION AUTHORIZATION; RESET ROLE; {OWN_PATH}");
    sqlx::raw_sql(AssertSqlSafe(again)).execute(&mut *connection).await?;
    let after = Look::take(connection, Some(before)).await?;
    let set_back = before.sequences_set_back(&after);
    let warnings = set_back
        .into_iter()
        .map(|name| {
            format!("sequence {name} was reset, which a rollback does not undo: set it again")
        })
        .collect();
    Ok(ScriptPreview {
        rows: before.row_changes(&after),
        objects: before.object_changes(&after),
        warnings,
        errors: Vec::new(),
        versions: before.versions(&after),
    })
}

/// Converts an error. An error from PostgreSQL is for the author of the script; a lost connection
/// is not.
fn fault(error: sqlx::Error) -> Result<ScriptError, ScriptPreviewError> {
    let Some(refusal) = error.as_database_error() else {
        return Err(ScriptPreviewError::Unreachable(error));
    };
    let position = refusal
        .try_downcast_ref::<PgDatabaseError>()
        .and_then(PgDatabaseError::position)
        .and_then(|position| match position {
            PgErrorPosition::Internal { position, .. } => Some(position),
            // The position is in the surrounding block, which is not part of the script.
            PgErrorPosition::Original(_) => None,
        });
    Ok(ScriptError {
        sqlstate: refusal.code().unwrap_or_default().into_owned(),
        message: cut(refusal.message(), EFFECT_NOTE_MAX_BYTES),
        position,
    })
}

/// Cuts the text to `bytes`, at a character boundary.
fn cut(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
}
