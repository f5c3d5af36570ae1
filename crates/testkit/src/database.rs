//! A database per test, cloned from a template that is migrated once per run. Tests cannot share a
//! database, because NOTIFY reaches every listener in it. A database is dropped with its handle.

use std::fmt::Display;
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::failure::{Failure, or_fail};
use crate::leak;
use crate::port::random_u128;
use crate::postgres::Postgres;
use crate::session::DatabaseSession;

/// A drop waits for a checkpoint. If it takes longer than this, the server itself is in trouble.
const DROP_DEADLINE: Duration = Duration::from_mins(1);
/// Leaves room in PostgreSQL's limit of 63 bytes for the prefix and suffix of the name.
const TEMPLATE_NAME_MAX_BYTES: usize = 30;

#[derive(Debug)]
pub struct Database {
    server: Postgres,
    name: String,
    clone_time: Duration,
}

impl Database {
    /// Clones `template` on the server that the run shares. `migrate` receives the URL of an empty
    /// database; it runs once per template and run, in the test that comes first.
    pub async fn fresh<E: Display>(
        template: &str,
        migrate: impl AsyncFnOnce(String) -> Result<(), E>,
    ) -> Self {
        let server = Postgres::shared().await;
        or_fail(Self::clone_on(server, template, migrate).await)
    }

    pub async fn clone_on<E: Display>(
        server: Postgres,
        template: &str,
        migrate: impl AsyncFnOnce(String) -> Result<(), E>,
    ) -> Result<Self, Failure> {
        check_name(template)?;
        let mut admin = connect(&server.url("postgres")).await?;
        let source = format!("template_{template}");
        if !exists(&mut admin, &source).await? {
            build(&server, &mut admin, &source, migrate).await?;
        }
        let name = format!("{template}_{:016x}", random_u128()? >> 64);
        let began = Instant::now();
        execute(&mut admin, format!("CREATE DATABASE {name} TEMPLATE {source}")).await?;
        let clone_time = began.elapsed();
        println!("ade-testkit: {name} cloned from {source} in {clone_time:.1?}");
        Ok(Self { server, name, clone_time })
    }

    /// Creates another, empty database on the same server, named after this one and dropped with
    /// its handle.
    pub async fn beside(&self, suffix: &str) -> Self {
        let name = format!("{}_{suffix}", self.name);
        let began = Instant::now();
        self.run(&format!("CREATE DATABASE {name}")).await;
        Self { server: self.server.clone(), name, clone_time: began.elapsed() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn server(&self) -> &Postgres {
        &self.server
    }

    pub fn clone_time(&self) -> Duration {
        self.clone_time
    }

    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// Returns the URL of this database through another port, such as that of a proxy.
    pub fn url_through(&self, port: u16) -> String {
        self.server.url_through(port, &self.name)
    }

    pub async fn connect(&self) -> PgConnection {
        or_fail(connect(&self.url()).await)
    }

    /// Opens a connection as the owner that stays open.
    pub async fn session(&self) -> DatabaseSession {
        DatabaseSession::new(self.connect().await, self.connect().await)
    }

    /// Runs statements as the owner, for tests that must not use an SQL driver themselves.
    pub async fn run(&self, sql: &str) {
        let mut owner = self.connect().await;
        or_fail(execute(&mut owner, sql.to_owned()).await);
    }

    /// Runs a query as the owner and returns its only number.
    pub async fn number(&self, sql: &str) -> i64 {
        let mut owner = self.connect().await;
        let asked = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut owner).await;
        or_fail(asked.map_err(|error| Failure::new("number", error)))
    }

    /// Runs a query as the owner and returns its only text.
    pub async fn text(&self, sql: &str) -> String {
        let mut owner = self.connect().await;
        let asked = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut owner).await;
        or_fail(asked.map_err(|error| Failure::new("text", error)))
    }

    /// Stops the clock that every process reads at the given time. This works because the owner of
    /// the database may replace the function that returns the time.
    pub async fn stop_clock(&self, micros: i64) {
        self.write_clock(&format!("to_timestamp(0) + {micros} * interval '1 microsecond'")).await;
    }

    /// Lets the clock run again, ahead of the real one by this much.
    pub async fn advance_clock(&self, by: Duration) {
        let micros = by.as_micros();
        self.write_clock(&format!("clock_timestamp() + {micros} * interval '1 microsecond'")).await;
    }

    /// Raises the lock and statement timeouts to a minute. A test of the order of events must not
    /// fail because a busy machine made a caller wait for a row or a table.
    pub async fn be_patient(&self) {
        let patient = "DO $$
            DECLARE
                definition text := pg_get_functiondef('open_transaction'::regproc);
                timeout text;
            BEGIN
                FOREACH timeout IN ARRAY ARRAY['lock_ms::text', 'statement_ms::text'] LOOP
                    ASSERT strpos(definition, timeout) > 0, timeout;
                    definition := replace(definition, timeout, quote_literal('1min'));
                END LOOP;
                EXECUTE definition;
            END $$";
        self.run(patient).await;
    }

    async fn write_clock(&self, says: &str) {
        let sql = format!(
            "CREATE OR REPLACE FUNCTION moment() RETURNS timestamptz
             LANGUAGE sql VOLATILE PARALLEL SAFE RETURN {says}"
        );
        self.run(&sql).await;
    }

    /// Creates a login for this database only, with these roles, and returns its URL.
    pub async fn login(&self, suffix: &str, roles: &str) -> String {
        let login = format!("{}_{suffix}", self.name);
        self.run(&format!("CREATE ROLE {login} LOGIN PASSWORD 'x' IN ROLE {roles}")).await;
        self.url_as(suffix)
    }

    /// Returns the URL of a login that was created before.
    pub fn url_as(&self, suffix: &str) -> String {
        self.url_as_through(self.server.port(), suffix)
    }

    /// Returns the URL of a login through another port, such as that of a proxy.
    pub fn url_as_through(&self, port: u16, suffix: &str) -> String {
        let name = &self.name;
        format!("postgres://{name}_{suffix}:x@127.0.0.1:{port}/{name}?sslmode=disable")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (url, own, name) = (self.server.url("postgres"), self.url(), self.name.clone());
        // `drop` cannot await, and the runtime of the test may be shutting down.
        let thread = std::thread::spawn(move || drop_database(&url, &own, &name));
        leak::fail_on("the record", thread.join().ok().flatten());
    }
}

/// Tries to drop the database; if that fails, it is removed with the server. Returns a token that
/// was left in the database, if there is one.
fn drop_database(url: &str, own: &str, name: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let look = async {
        let found = leak::token_in_record(&mut connect(own).await?).await;
        found.map_err(|error| Failure::new(format!("look through {name}"), error))
    };
    let work = async {
        let mut admin = connect(url).await?;
        execute(&mut admin, format!("DROP DATABASE {name} WITH (FORCE)")).await
    };
    runtime.block_on(async {
        // A test may have removed its server, and its data with it.
        let looked = tokio::time::timeout(DROP_DEADLINE, look).await;
        let _ = tokio::time::timeout(DROP_DEADLINE, work).await;
        looked.ok()?.ok()?
    })
}

/// Builds the template under a lock that all tests of the run share. The template gets its name
/// only when it is complete, so the next test starts over after a migration that failed or was
/// killed.
async fn build<E: Display>(
    server: &Postgres,
    admin: &mut PgConnection,
    source: &str,
    migrate: impl AsyncFnOnce(String) -> Result<(), E>,
) -> Result<(), Failure> {
    sqlx::query("SELECT pg_advisory_lock(hashtextextended($1, 0))")
        .bind(source)
        .execute(&mut *admin)
        .await
        .map_err(|error| Failure::new(format!("lock {source}"), error))?;
    if !exists(admin, source).await? {
        let draft = format!("draft_{source}");
        execute(admin, format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)")).await?;
        execute(admin, format!("CREATE DATABASE {draft}")).await?;
        migrate(server.url(&draft))
            .await
            .map_err(|error| Failure::new(format!("migrate {source}"), error))?;
        seal(admin, &draft).await?;
        execute(admin, format!("ALTER DATABASE {draft} RENAME TO {source}")).await?;
    }
    execute(admin, "SELECT pg_advisory_unlock_all()".to_owned()).await
}

/// Closes the connections that a migration left open, because a template cannot be cloned while it
/// has any.
async fn seal(admin: &mut PgConnection, name: &str) -> Result<(), Failure> {
    execute(admin, format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await?;
    sqlx::query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1")
        .bind(name)
        .execute(admin)
        .await
        .map(|_| ())
        .map_err(|error| Failure::new(format!("seal {name}"), error))
}

/// Creates an empty database that outlives the handle, unless it exists already.
pub async fn ensure(server: &Postgres, name: &str) -> Result<(), Failure> {
    check_name(name)?;
    let mut admin = connect(&server.url("postgres")).await?;
    if exists(&mut admin, name).await? {
        return Ok(());
    }
    execute(&mut admin, format!("CREATE DATABASE {name}")).await
}

async fn connect(url: &str) -> Result<PgConnection, Failure> {
    PgConnection::connect(url).await.map_err(|error| Failure::new("connect to PostgreSQL", error))
}

async fn exists(admin: &mut PgConnection, name: &str) -> Result<bool, Failure> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(name)
        .fetch_one(admin)
        .await
        .map_err(|error| Failure::new(format!("look for {name}"), error))
}

/// Executes a statement with a database name in it. Such names cannot be parameters; `check_name`
/// has validated them.
async fn execute(admin: &mut PgConnection, sql: String) -> Result<(), Failure> {
    let what = sql.clone();
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(admin)
        .await
        .map(|_| ())
        .map_err(|error| Failure::new(what, error))
}

fn check_name(template: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = template.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && template.len() <= TEMPLATE_NAME_MAX_BYTES && template.bytes().all(is_plain) {
        return Ok(());
    }
    let why = format!(
        "a letter, then letters, digits or _ in lower case, at most {TEMPLATE_NAME_MAX_BYTES}"
    );
    Err(Failure::new(format!("template name `{template}`"), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_name_is_plain_and_short() {
        for good in ["store", "a", "store_2", &"x".repeat(30)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "2x", "_x", "Store", "a-b", "a\"b", "a b", "é", &"x".repeat(31)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
