//! The server does not start with a database login that could reach beyond one tenant, and `doctor`
//! prints the statements that fix it.

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use ade_engine::admin::bootstrap;
use ade_testkit::Database;
use tokio::process::Command;
use tokio::time::timeout;

/// A server that is not refused would run on.
const SOON: Duration = Duration::from_mins(1);

/// The subcommands that open the database as a server does.
const STARTS: [&str; 3] = ["api", "worker", "all"];

struct Installation {
    database: Database,
    pepper: PathBuf,
}

impl Installation {
    async fn new() -> Self {
        let migrate = async |url: String| bootstrap::migrate(&url).await;
        let database = Database::fresh("server", migrate).await;
        let pepper = std::env::temp_dir().join(format!("{}.logins", database.name()));
        std::fs::write(&pepper, [7; 32]).unwrap();
        database.login("app", "ade_app").await;
        database.login("work", "ade_app, ade_worker").await;
        database.login("read", "ade_app").await;
        Self { database, pepper }
    }

    /// Runs the server with the logins of the API, of the workers and of the replica.
    async fn run(&self, subcommand: &str, logins: [Option<&str>; 3]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ade-server"));
        command.arg(subcommand).env_clear().env("ADE__SERVER__LISTEN", "127.0.0.1:0");
        command.env("ADE__AUTH__PEPPER_FILE", &self.pepper);
        command.env("ADE__LOCKS__BACKEND", "postgres");
        for (name, login) in ["URL", "WORKER_URL", "REPLICA_URL"].into_iter().zip(logins) {
            let url = login.map(|login| self.database.url_as(login));
            command.envs(url.map(|url| (format!("ADE__DATABASE__{name}"), url)));
        }
        let output = timeout(SOON, command.kill_on_drop(true).output()).await;
        output.unwrap_or_else(|_| panic!("{subcommand} accepts {logins:?}")).unwrap()
    }

    /// Asserts that neither the server nor `doctor` accepts these logins, and that both print all
    /// of these parts.
    async fn assert_refused(&self, logins: [Option<&str>; 3], parts: &[&str]) {
        for subcommand in STARTS.into_iter().chain(["doctor"]) {
            let output = self.run(subcommand, logins).await;
            assert!(!output.status.success(), "{subcommand} accepts {logins:?}");
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8(said).unwrap();
            for part in parts {
                assert!(said.contains(part), "{subcommand}: {part} is not in\n{said}");
            }
        }
    }

    /// Asserts that `doctor` finds nothing wrong with the database.
    async fn assert_accepted(&self) {
        let output = self.run("doctor", [Some("app"), Some("work"), Some("read")]).await;
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("ok    database setup"), "{said}");
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.pepper);
    }
}

#[tokio::test]
async fn login_used_by_api_and_workers_is_refused() {
    let installation = Installation::new().await;
    installation.assert_accepted().await;
    installation
        .assert_refused([Some("app"), None, None], &["`database.worker_url` is not set"])
        .await;
    let shared = ["is used for the API and for the workers", "CREATE ROLE ade_work LOGIN"];
    installation.assert_refused([Some("app"), Some("app"), None], &shared).await;
    installation.assert_refused([Some("work"), Some("work"), None], &shared).await;
}

#[tokio::test]
async fn login_with_dangerous_privilege_is_refused() {
    let installation = Installation::new().await;
    let (database, logins) = (&installation.database, [Some("app"), Some("work"), None]);
    let [app, work] = ["app", "work"].map(|login| format!("{}_{login}", database.name()));
    database.run(&format!("GRANT ade_worker TO {app}; ALTER ROLE {work} CREATEROLE")).await;
    let fix = [format!("REVOKE ade_worker FROM {app}"), format!("ALTER ROLE {work} NOCREATEROLE")];
    let parts = fix.each_ref().map(|statement| format!("  {statement};"));
    installation.assert_refused(logins, &parts.each_ref().map(String::as_str)).await;
    for statement in fix {
        database.run(&statement).await;
    }
    installation.assert_accepted().await;
}

/// The replica has the rows of every tenant, too.
#[tokio::test]
async fn replica_login_with_dangerous_privilege_is_refused() {
    let installation = Installation::new().await;
    let database = &installation.database;
    let logins = [Some("app"), Some("work"), Some("read")];
    installation.assert_accepted().await;
    let read = format!("{}_read", database.name());
    database.run(&format!("GRANT ade_worker TO {read}; ALTER ROLE {read} BYPASSRLS")).await;
    let fix = [format!("REVOKE ade_worker FROM {read}"), format!("ALTER ROLE {read} NOBYPASSRLS")];
    let parts = fix.each_ref().map(|statement| format!("  {statement};"));
    installation.assert_refused(logins, &parts.each_ref().map(String::as_str)).await;
    for statement in fix {
        database.run(&statement).await;
    }
    installation.assert_accepted().await;
    let shared = [Some("app"), Some("work"), Some("work")];
    installation.assert_refused(shared, &["which is not for workers, is a `ade_worker`"]).await;
}
