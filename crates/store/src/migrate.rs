//! Brings a database to the tables this build knows. Run by the owner of the tables over a
//! direct connection (migrations are serialized by a session lock), never by the application.

use ade_core::limits::{DATABASE_MIGRATION_LOCK_TIMEOUT, DATABASE_PARTITIONS_AHEAD};
use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection, query, query_scalar};

use crate::error::Error;

static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Every migration that is missing, then the partitions of the next weeks.
pub async fn run(url: &str) -> Result<(), Error> {
    let mut connection = PgConnection::connect(url).await?;
    // Rather fail and be run again than queue in front of everybody who writes.
    let timeout = DATABASE_MIGRATION_LOCK_TIMEOUT.as_millis().to_string();
    query!("SELECT set_config('lock_timeout', $1, false)", timeout)
        .fetch_one(&mut connection)
        .await?;
    MIGRATOR.run(&mut connection).await?;
    // So that the application can tell that its tables are the ones it knows.
    query("GRANT SELECT ON _sqlx_migrations TO ade_app, ade_worker")
        .execute(&mut connection)
        .await?;
    make_partitions(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Also for the worker that keeps them ahead. Answers how many were made.
pub async fn make_partitions(connection: &mut PgConnection) -> Result<i32, Error> {
    let seconds = DATABASE_PARTITIONS_AHEAD.as_secs_f64();
    let query =
        query_scalar!(r#"SELECT make_partitions(make_interval(secs => $1)) AS "made!""#, seconds);
    Ok(query.fetch_one(connection).await?)
}

/// Versions of this build that the database has not seen. Newer ones in the database are no
/// matter: the build before the last must go on working.
pub async fn pending(connection: &mut PgConnection) -> Result<Vec<i64>, Error> {
    let has_table = query_scalar!(
        r#"SELECT to_regclass('public._sqlx_migrations') IS NOT NULL AS "has_table!""#
    )
    .fetch_one(&mut *connection)
    .await?;
    let applied: Vec<i64> = if has_table {
        // Plain text: the table is the migrator's, and no migration makes it.
        query_scalar("SELECT version FROM public._sqlx_migrations WHERE success")
            .fetch_all(connection)
            .await?
    } else {
        Vec::new()
    };
    let known = MIGRATOR.iter().map(|migration| migration.version);
    Ok(known.filter(|version| !applied.contains(version)).collect())
}
