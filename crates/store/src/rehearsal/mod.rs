//! A script of DDL and DML tried out on another PostgreSQL, inside a transaction that is rolled
//! back whatever happens: what it would touch, seen and not guessed. The script cannot end that
//! transaction; a login that could reach past it is refused. Nothing of ours is in that database.

mod catalogue;
mod notices;

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::limits::{
    EFFECT_NOTE_MAX_BYTES, REHEARSAL_DEADLINE, REHEARSAL_IDLE_TIMEOUT, REHEARSAL_LOCK_TIMEOUT,
    REHEARSAL_SCRIPT_MAX_BYTES, REHEARSAL_STATEMENT_TIMEOUT,
};
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use thiserror::Error;
use tracing::instrument::WithSubscriber;

use self::catalogue::Look;
use self::notices::Notices;

/// What a script did before it was undone. With errors, it did nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rehearsal {
    pub rows: Vec<RowCounts>,
    pub objects: Vec<ObjectChange>,
    pub warnings: Vec<String>,
    pub errors: Vec<Fault>,
    /// Each touched table that was there before, with a word that changes when its definition
    /// does.
    pub versions: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCounts {
    pub table: String,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// All the rows it had are gone, by TRUNCATE or the like.
    pub emptied: bool,
}

impl RowCounts {
    pub fn is_irreversible(&self) -> bool {
        self.emptied || self.deleted > 0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectChange {
    /// For example `table`, `column`, `index`, `constraint`, `view`.
    pub kind: String,
    /// The name it had, if it had one before.
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
pub struct Fault {
    pub sqlstate: String,
    pub message: String,
    /// In the script, in characters from 1.
    pub position: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    /// For all of it, by our own clock.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            statement_timeout: REHEARSAL_STATEMENT_TIMEOUT,
            lock_timeout: REHEARSAL_LOCK_TIMEOUT,
            deadline: REHEARSAL_DEADLINE,
        }
    }
}

/// The rehearsal could not be held; nothing is known of the script.
#[derive(Debug, Error)]
pub enum RehearsalError {
    #[error("the script has {bytes} bytes: at most {REHEARSAL_SCRIPT_MAX_BYTES}")]
    TooLong { bytes: usize },
    #[error("role `{role}` {why}: use a login that cannot")]
    Unfit { role: String, why: &'static str },
    #[error("`track_counts` is off on the server: rows could not be counted; turn it on")]
    NotCounting,
    #[error("the database has too many objects to compare")]
    TooManyObjects,
    #[error("no answer in time: try again, or make the script smaller")]
    Deadline,
    #[error("somebody works on a table that must be looked at: try again")]
    Busy,
    #[error("the database cannot be asked: {0}")]
    Unreachable(#[source] sqlx::Error),
}

impl From<sqlx::Error> for RehearsalError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        match code.as_deref() {
            // Lock timeout, statement timeout.
            Some("55P03" | "57014") => Self::Busy,
            _ => Self::Unreachable(error),
        }
    }
}

/// Asks about every role that the login may take on, since `SET ROLE` is one statement away.
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

/// Runs `script` as the login of `url` and undoes it. An answer with `errors` is an answer: the
/// script is what is wrong.
pub async fn rehearse(
    url: &str,
    script: &str,
    limits: &Limits,
) -> Result<Rehearsal, RehearsalError> {
    let bytes = script.len();
    if bytes > REHEARSAL_SCRIPT_MAX_BYTES {
        return Err(RehearsalError::TooLong { bytes });
    }
    if let Some(fault) = unsuited(script) {
        return Ok(Rehearsal { errors: vec![fault], ..Rehearsal::default() });
    }
    let held = tokio::time::timeout(limits.deadline, hold(url, script, limits)).await;
    held.unwrap_or(Err(RehearsalError::Deadline))
}

/// What a rollback would not undo, and what cannot be sent.
fn unsuited(script: &str) -> Option<Fault> {
    let refuse = |sqlstate: &str, message: &str| {
        let (sqlstate, message) = (sqlstate.to_owned(), message.to_owned());
        Some(Fault { sqlstate, message, position: None })
    };
    if script.contains('\0') {
        return refuse("22021", "the script has a zero byte");
    }
    if script.to_lowercase().contains("setval") {
        return refuse(
            "0A000",
            "setval cannot be rehearsed, since no rollback undoes it: use \
             ALTER SEQUENCE ... RESTART",
        );
    }
    None
}

async fn hold(url: &str, script: &str, limits: &Limits) -> Result<Rehearsal, RehearsalError> {
    let options: PgConnectOptions = url.parse()?;
    let mut connection = options.application_name("ade rehearsal").connect().await?;
    check_login(&mut connection).await?;
    let [lock, statement, idle] =
        [limits.lock_timeout, limits.statement_timeout, REHEARSAL_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    // Both looks from one snapshot: what others commit in between is not the script's doing.
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = {lock}; \
         SET LOCAL statement_timeout = {statement}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}; {OWN_PATH}"
    );
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await?;
    let before = Look::take(&mut connection, None).await?;
    let notices = Notices::default();
    let outcome = perform(&mut connection, script).with_subscriber(notices.clone()).await;
    let mut rehearsal = match outcome {
        Ok(()) => compare(&mut connection, &before).await?,
        Err(error) => Rehearsal { errors: vec![fault(error)?], ..Rehearsal::default() },
    };
    rehearsal.warnings.splice(0..0, notices.take());
    // Closing the connection would do it too; this way it is done when we answer.
    sqlx::raw_sql("ROLLBACK").execute(&mut connection).await?;
    connection.close().await?;
    Ok(rehearsal)
}

const OWN_PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

async fn check_login(connection: &mut PgConnection) -> Result<(), RehearsalError> {
    let (role, superuser, files, untrusted, dblink, counts): (
        String,
        bool,
        bool,
        bool,
        bool,
        bool,
    ) = sqlx::query_as(LOGIN).fetch_one(connection).await?;
    let reasons = [
        (superuser, "is superuser or can become one"),
        (files, "may run programs or touch files of the server"),
        (untrusted, "may call functions of an untrusted language"),
        (dblink, "may open connections of its own by dblink"),
    ];
    if let Some((_, why)) = reasons.into_iter().find(|(is_so, _)| *is_so) {
        return Err(RehearsalError::Unfit { role, why });
    }
    if counts { Ok(()) } else { Err(RehearsalError::NotCounting) }
}

/// Inside EXECUTE inside a block inside a transaction: PostgreSQL runs no COMMIT, ROLLBACK or
/// BEGIN there, by whatever detour it comes. Sent as a prepared statement, of which there can be
/// only one.
async fn perform(connection: &mut PgConnection, script: &str) -> Result<(), sqlx::Error> {
    let outer = quote(script, "block");
    let inner = quote(script, "script");
    let block = format!("DO {outer} BEGIN EXECUTE {inner}{script}{inner}; END {outer}");
    sqlx::raw_sql("SET LOCAL search_path TO DEFAULT").execute(&mut *connection).await?;
    sqlx::query(AssertSqlSafe(block)).persistent(false).execute(&mut *connection).await?;
    // What would be found at the commit is found now.
    sqlx::raw_sql("SET CONSTRAINTS ALL IMMEDIATE").execute(connection).await?;
    Ok(())
}

/// A dollar quote that the script does not have in it.
fn quote(script: &str, name: &str) -> String {
    let quotes = (0_u64..).map(|number| format!("${name}_{number}$"));
    quotes.into_iter().find(|quote| !script.contains(quote.as_str())).unwrap_or_default()
}

async fn compare(
    connection: &mut PgConnection,
    before: &Look,
) -> Result<Rehearsal, RehearsalError> {
    // The script may have become another role and put tables of its own in the way of ours.
    let again = format!("RESET SESSION AUTHORIZATION; RESET ROLE; {OWN_PATH}");
    sqlx::raw_sql(AssertSqlSafe(again)).execute(&mut *connection).await?;
    let after = Look::take(connection, Some(before)).await?;
    let set_back = before.sequences_set_back(&after);
    let warnings = set_back
        .into_iter()
        .map(|name| format!("sequence {name} was set back, which no rollback undoes: set it again"))
        .collect();
    Ok(Rehearsal {
        rows: before.row_changes(&after),
        objects: before.object_changes(&after),
        warnings,
        errors: Vec::new(),
        versions: before.versions(&after),
    })
}

/// PostgreSQL's own refusal is what the script's author must read; a lost connection is not.
fn fault(error: sqlx::Error) -> Result<Fault, RehearsalError> {
    let Some(refusal) = error.as_database_error() else {
        return Err(RehearsalError::Unreachable(error));
    };
    let position = refusal
        .try_downcast_ref::<PgDatabaseError>()
        .and_then(PgDatabaseError::position)
        .and_then(|position| match position {
            PgErrorPosition::Internal { position, .. } => Some(position),
            // In the block around it, which is ours.
            PgErrorPosition::Original(_) => None,
        });
    Ok(Fault {
        sqlstate: refusal.code().unwrap_or_default().into_owned(),
        message: cut(refusal.message(), EFFECT_NOTE_MAX_BYTES),
        position,
    })
}

/// No longer than `bytes`, at a character's end.
fn cut(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
}
