//! The session that runs a script: one transaction that is always rolled back, watched from a
//! second connection. Notices and texts of errors may contain rows, so they are dropped here and
//! are not logged either.

use ade_core::limits::{SQL_PREVIEW_CONNECTION_CHECK, SQL_PREVIEW_IDLE_TIMEOUT};
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, SqlSafeStr};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::catalogue::{Look, ShownNames};
use super::script::Script;
use super::watch::Watch;
use super::{
    Limits, LoginProblem, OpaqueReason, ScriptError, ScriptPreview, ScriptPreviewError, TargetKind,
    failed, login, names, refused,
};

const OWN_PATH: &str = "SET LOCAL search_path = pg_catalog, pg_temp";
const SCRIPT_PATH: &str = "SET LOCAL search_path TO DEFAULT";

/// Runs the script. `parsed` is absent if the script does not follow the grammar; it is then not
/// executed.
pub(super) async fn hold(
    url: &str,
    kind: TargetKind,
    script: &str,
    parsed: Option<Script>,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    let options = url.parse::<PgConnectOptions>()?.disable_statement_logging();
    let mut connection = options.connect().await?;
    let watch = Watch::begin(&options, &mut connection, limits.deadline).await?;
    begin(&mut connection, limits).await?;
    login::check(&mut connection, kind).await?;
    let preview = match parsed {
        Some(parsed) => run(&mut connection, kind, script, parsed, limits).await?,
        None => failed(syntax_error(&mut connection, script).await?),
    };
    // Closing the connection would have the same effect; this way it is done before the result is
    // returned.
    sqlx::raw_sql("ROLLBACK").execute(&mut connection).await?;
    connection.close().await?;
    watch.end();
    Ok(preview)
}

/// Returns what is wrong with the login.
pub(super) async fn ask(
    url: &str,
    kind: TargetKind,
) -> Result<Vec<LoginProblem>, ScriptPreviewError> {
    let options = url.parse::<PgConnectOptions>()?.disable_statement_logging();
    let mut connection = options.connect().await?;
    let begin = format!("BEGIN; {OWN_PATH}");
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut connection).await?;
    let problems = login::problems(&mut connection, kind).await?;
    connection.close().await?;
    Ok(problems)
}

async fn begin(connection: &mut PgConnection, limits: &Limits) -> Result<(), sqlx::Error> {
    // Both snapshots read the same state: commits of others in between are not an effect of the
    // script. The script is read by the rules that it was parsed by.
    let check = SQL_PREVIEW_CONNECTION_CHECK.as_millis();
    let begin = format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ; \
         SET LOCAL client_connection_check_interval = {check}; \
         SET LOCAL standard_conforming_strings = on; {OWN_PATH}"
    );
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut *connection).await?;
    set_timeouts(connection, limits).await
}

/// Sets the timeouts, which the script may have changed.
async fn set_timeouts(connection: &mut PgConnection, limits: &Limits) -> Result<(), sqlx::Error> {
    let [lock, statement, idle] =
        [limits.lock_timeout, limits.statement_timeout, SQL_PREVIEW_IDLE_TIMEOUT]
            .map(|timeout| timeout.as_millis());
    let set = format!(
        "SET LOCAL lock_timeout = {lock}; SET LOCAL statement_timeout = {statement}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}"
    );
    sqlx::raw_sql(AssertSqlSafe(set)).execute(connection).await?;
    Ok(())
}

async fn run(
    connection: &mut PgConnection,
    kind: TargetKind,
    script: &str,
    parsed: Script,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    let Script { mut reasons, names } = parsed;
    let path = script_path(connection).await?;
    reasons.extend(names::shadowed(connection, &path, script, &names).await?);
    if kind == TargetKind::Live && !reasons.is_empty() {
        return Ok(refused(reasons));
    }
    let before = Look::take(connection, None).await?;
    let performed = perform(connection, script, limits).with_subscriber(NoSubscriber::new()).await;
    match performed {
        Ok(()) => compare(connection, &before, script, reasons, limits).await,
        Err(error) => {
            let fault = script_error(&error, Text::Executed(script));
            let fault = fault.ok_or(ScriptPreviewError::Unreachable(error))?;
            Ok(ScriptPreview { opaque: reasons, ..failed(fault) })
        }
    }
}

/// Returns the schemas that the script searches.
async fn script_path(connection: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::raw_sql(SCRIPT_PATH).execute(&mut *connection).await?;
    let path = sqlx::query_scalar("SELECT pg_catalog.current_schemas(true)::pg_catalog.text[]")
        .fetch_one(&mut *connection)
        .await?;
    sqlx::raw_sql(OWN_PATH).execute(connection).await?;
    Ok(path)
}

/// Runs the script inside EXECUTE inside a block inside a transaction, where PostgreSQL allows no
/// COMMIT, ROLLBACK or BEGIN. It is sent as a prepared statement, which can only be a single one.
async fn perform(
    connection: &mut PgConnection,
    script: &str,
    limits: &Limits,
) -> Result<(), sqlx::Error> {
    let outer = quote(script, "block");
    let inner = quote(script, "script");
    let block = format!("DO {outer} BEGIN EXECUTE {inner}{script}{inner}; END {outer}");
    sqlx::raw_sql(SCRIPT_PATH).execute(&mut *connection).await?;
    sqlx::query(AssertSqlSafe(block)).persistent(false).execute(&mut *connection).await?;
    // Deferred triggers run now instead of at the commit, in a statement of their own.
    set_timeouts(connection, limits).await?;
    sqlx::raw_sql("SET CONSTRAINTS ALL IMMEDIATE").execute(&mut *connection).await?;
    set_timeouts(connection, limits).await
}

/// Returns a dollar quote that the script does not contain.
fn quote(script: &str, name: &str) -> String {
    let quotes = (0_u64..).map(|number| format!("${name}_{number}$"));
    quotes.into_iter().find(|quote| !script.contains(quote.as_str())).unwrap_or_default()
}

async fn compare(
    connection: &mut PgConnection,
    before: &Look,
    script: &str,
    opaque: Vec<OpaqueReason>,
    limits: &Limits,
) -> Result<ScriptPreview, ScriptPreviewError> {
    // The script may have changed the role and created tables that shadow others.
    let again = format!("RESET SESSION AUTHORIZATION; RESET ROLE; {OWN_PATH}");
    sqlx::raw_sql(AssertSqlSafe(again)).execute(&mut *connection).await?;
    set_timeouts(connection, limits).await?;
    let after = Look::take(connection, Some(before)).await?;
    let shown = ShownNames::new(before, (!opaque.is_empty()).then_some(script));
    Ok(ScriptPreview {
        rows: before.row_changes(&after, &shown),
        objects: before.object_changes(&after, &shown),
        errors: Vec::new(),
        opaque,
        versions: before.versions(&after),
    })
}

/// Returns where the script violates the grammar. PostgreSQL parses the script and executes nothing
/// of it.
async fn syntax_error(
    connection: &mut PgConnection,
    script: &str,
) -> Result<ScriptError, ScriptPreviewError> {
    let prepared = connection
        .prepare(AssertSqlSafe(script.to_owned()).into_sql_str())
        .with_subscriber(NoSubscriber::new())
        .await;
    let Err(error) = prepared else {
        // A later version of PostgreSQL does not accept what this one does.
        return Ok(ScriptError::new("42601", None));
    };
    script_error(&error, Text::Parsed).ok_or(ScriptPreviewError::Unreachable(error))
}

/// The text that an error refers to if it refers to the script.
enum Text<'a> {
    Executed(&'a str),
    Parsed,
}

/// Converts an error; absent if it is not from PostgreSQL. A position in another text, such as the
/// body of a function, says nothing about the script.
fn script_error(error: &sqlx::Error, text: Text<'_>) -> Option<ScriptError> {
    let refusal = error.as_database_error()?;
    let position =
        refusal.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::position);
    let position = position.and_then(|position| match (position, text) {
        (PgErrorPosition::Internal { position, query }, Text::Executed(script)) => {
            (query == script).then_some(position)
        }
        (PgErrorPosition::Original(position), Text::Parsed) => Some(position),
        _ => None,
    });
    Some(ScriptError::new(&refusal.code().unwrap_or_default(), position))
}
