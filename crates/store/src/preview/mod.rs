//! Previews of DDL and DML scripts on another PostgreSQL, inside a transaction that is always
//! rolled back: the effect is observed, not guessed. The script cannot end that transaction, a
//! login that could reach beyond it is refused, and what a rollback does not cover is refused on a
//! database that applications use. That database contains nothing of this installation.

mod catalogue;
mod login;
mod names;
mod script;
mod session;
mod sqlstate;
mod watch;

use std::collections::BTreeMap;
use std::time::Duration;

use ade_core::limits::{
    SQL_PREVIEW_DEADLINE, SQL_PREVIEW_LOCK_TIMEOUT, SQL_PREVIEW_SCRIPT_MAX_BYTES,
    SQL_PREVIEW_STATEMENT_TIMEOUT,
};
use thiserror::Error;

pub use self::login::LoginProblem;
pub use self::script::{Names, OpaqueKind, OpaqueReason, Script, Unparsable, classify};

/// What a preview target is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A database made for previews. No application depends on it.
    Copy,
    /// A database that applications use.
    Live,
}

/// The effect of a script before it was rolled back. With errors, the script had no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptPreview {
    pub rows: Vec<RowCounts>,
    pub objects: Vec<ObjectChange>,
    pub errors: Vec<ScriptError>,
    /// Why the script may do something else when it is applied; empty for a plain script. Nothing
    /// here is proven then, and names and definitions that the script computed are left out.
    pub opaque: Vec<OpaqueReason>,
    /// Each touched table that existed before, with a version that changes with its definition.
    pub versions: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCounts {
    pub table: String,
    /// The number of rows before the script by the statistics of the table, if there are any.
    pub before: Option<u64>,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// All rows that it had are gone, for example by TRUNCATE.
    pub emptied: bool,
}

impl RowCounts {
    /// The old values of updated and deleted rows are gone.
    pub fn is_irreversible(&self) -> bool {
        self.emptied || self.updated + self.deleted > 0
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
    /// The number of rows by the statistics, if it is a table and has any.
    pub rows: Option<u64>,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    Changed,
    Dropped,
}

/// Why the script does not run. There is no text of PostgreSQL, because it may contain rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    pub sqlstate: &'static str,
    pub description: String,
    /// The position in the script, in characters from 1.
    pub position: Option<usize>,
}

impl ScriptError {
    fn new(sqlstate: &str, position: Option<usize>) -> Self {
        let (sqlstate, description) = sqlstate::describe(sqlstate);
        Self { sqlstate, description: description.to_owned(), position }
    }
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
    #[error("role `{role}` {problem}: run `ade-server doctor`, which prints how to change it")]
    Unfit { role: String, problem: String },
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

/// Runs `script` as the login of `url` and rolls it back. A result with `errors` means that the
/// script itself is wrong, or opaque on a live target.
pub async fn preview_script(
    url: &str,
    kind: TargetKind,
    script: &str,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    let bytes = script.len();
    if bytes > SQL_PREVIEW_SCRIPT_MAX_BYTES {
        return Err(ScriptPreviewError::TooLong { bytes });
    }
    if script.contains('\0') {
        return Ok(failed(ScriptError::new("22021", None)));
    }
    let text = script.to_owned();
    // Large scripts take seconds to parse.
    let parsed = tokio::task::spawn_blocking(move || classify(&text)).await;
    let parsed = parsed.unwrap_or(Err(Unparsable)).ok();
    if let Some(script) = parsed.as_ref().filter(|_| kind == TargetKind::Live)
        && !script.reasons.is_empty()
    {
        return Ok(refused(script.reasons.clone()));
    }
    let held = session::hold(url, kind, script, parsed, limits);
    let held = tokio::time::timeout(limits.deadline, held).await;
    held.unwrap_or(Err(ScriptPreviewError::Deadline))
}

/// Returns what is wrong with the login of a target, and how to change it.
pub async fn login_problems(
    url: &str,
    kind: TargetKind,
) -> Result<Vec<LoginProblem>, ScriptPreviewError> {
    let asked = tokio::time::timeout(SQL_PREVIEW_STATEMENT_TIMEOUT, session::ask(url, kind)).await;
    asked.unwrap_or(Err(ScriptPreviewError::Deadline))
}

fn failed(error: ScriptError) -> ScriptPreview {
    ScriptPreview { errors: vec![error], ..ScriptPreview::default() }
}

/// The result for an opaque script on a live target: it was not executed.
fn refused(opaque: Vec<OpaqueReason>) -> ScriptPreview {
    let errors = opaque.iter().map(|reason| ScriptError {
        sqlstate: "0A000",
        description: format!("{reason}, so it is not executed on a live database"),
        position: Some(reason.position),
    });
    ScriptPreview { errors: errors.collect(), opaque, ..ScriptPreview::default() }
}

/// Cuts the text to `bytes`, at a character boundary.
fn cut(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
}
