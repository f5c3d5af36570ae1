//! Migrates a database to the schema of this build. The owner of the tables runs it over a direct
//! connection (migrations are serialized by a session lock); the application never does.

use std::time::Duration;

use ade_core::limits::DATABASE_MIGRATION_LOCK_TIMEOUT;
use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection, PgExecutor, query, query_scalar};

use crate::error::StoreError;
use crate::pool::Pool;

/// How far ahead partitions are created, so that workers can be down for weeks.
const DATABASE_PARTITIONS_AHEAD: Duration = Duration::from_hours(60 * 24);

static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Applies every missing migration and creates the partitions of the next weeks.
pub async fn run(url: &str) -> Result<(), StoreError> {
    let mut connection = PgConnection::connect(url).await?;
    // Failing and running again is better than blocking all writers of a table.
    let timeout = DATABASE_MIGRATION_LOCK_TIMEOUT.as_millis().to_string();
    query!("SELECT set_config('lock_timeout', $1, false)", timeout)
        .fetch_one(&mut connection)
        .await?;
    MIGRATOR.run(&mut connection).await?;
    // Lets the application check that its tables have the expected version.
    query("GRANT SELECT ON _sqlx_migrations TO ade_app, ade_worker")
        .execute(&mut connection)
        .await?;
    make_partitions(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Creates partitions and returns how many. The worker that creates them ahead uses it too.
pub async fn make_partitions<'c>(connection: impl PgExecutor<'c>) -> Result<i32, StoreError> {
    let seconds = DATABASE_PARTITIONS_AHEAD.as_secs_f64();
    let query =
        query_scalar!(r#"SELECT make_partitions(make_interval(secs => $1)) AS "made!""#, seconds);
    Ok(query.fetch_one(connection).await?)
}

/// Returns the migrations of this build that the database does not have. Newer ones in the database
/// do not matter: the previous release must continue to work.
pub async fn pending(pool: &Pool) -> Result<Vec<i64>, StoreError> {
    let mut connection = pool.acquire().await?;
    let has_table = query_scalar!(
        r#"SELECT to_regclass('public._sqlx_migrations') IS NOT NULL AS "has_table!""#
    )
    .fetch_one(connection.get()?)
    .await?;
    let applied: Vec<i64> = if has_table {
        // Plain text, because the table belongs to the migrator and no migration creates it.
        query_scalar("SELECT version FROM public._sqlx_migrations WHERE success")
            .fetch_all(connection.get()?)
            .await?
    } else {
        Vec::new()
    };
    connection.give_back();
    let known = MIGRATOR.iter().map(|migration| migration.version);
    Ok(known.filter(|version| !applied.contains(version)).collect())
}
