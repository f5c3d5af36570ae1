//! The server does not start on a database that could lose or leak data.

use ade_store::boot::{self, BootError, BootProblem, ExcessPrivilege};
use ade_store::pool::PoolSettings;
use ade_store::{Pool, PoolClass, migrate};
use ade_testkit::{Database, OwnedPostgres, postgres};
use sqlx::PgConnection;

use crate::test_database::{TestDatabase, pool_of, run};

async fn problems(api: &Pool, worker: &Pool) -> Vec<BootProblem> {
    problems_with(api, worker, None).await
}

async fn problems_with(api: &Pool, worker: &Pool, replica: Option<&Pool>) -> Vec<BootProblem> {
    match boot::check(api, worker, replica).await {
        Ok(()) => Vec::new(),
        Err(BootError::Unfit(problems)) => {
            assert!(!problems.to_string().is_empty());
            problems.0
        }
        Err(BootError::Store(error)) => panic!("{error}"),
    }
}

/// A database with both logins of a server, and the connection of a superuser.
struct Installation {
    rig: TestDatabase,
    /// The login of the workers; that of the API is `rig.login`.
    work: String,
    admin: PgConnection,
}

impl Installation {
    async fn new() -> Self {
        let rig = TestDatabase::new().await;
        let work = format!("{}_work", rig.database.name());
        let mut admin = rig.database.connect().await;
        let roles = "IN ROLE ade_app, ade_worker";
        run(&mut admin, &format!("CREATE ROLE {work} LOGIN PASSWORD 'x' {roles}")).await;
        Self { rig, work, admin }
    }

    async fn run(&mut self, sql: &str) {
        run(&mut self.admin, sql).await;
    }

    /// Returns the problems over new connections.
    async fn problems(&self) -> Vec<BootProblem> {
        let [api, work] = [&self.rig.login, &self.work].map(|login| self.pool(login));
        problems(&api, &work).await
    }

    fn pool(&self, login: &str) -> Pool {
        pool_of(&self.rig.database, login, 1)
    }

    /// Asserts that exactly this privilege is refused, and that its fix repairs it.
    async fn assert_repaired(&mut self, login: &str, holder: &str, privilege: &str, fix: &[&str]) {
        let fix: Vec<String> = fix.iter().map(|statement| (*statement).to_owned()).collect();
        let [login, holder, privilege] = [login, holder, privilege].map(str::to_owned);
        let excess = ExcessPrivilege { login, holder, privilege, fix };
        let said = excess.to_string();
        for statement in excess.fix.clone() {
            assert!(said.contains(&format!("\n  {statement};")), "{said}");
        }
        assert_eq!(self.problems().await, [BootProblem::Excess(excess.clone())]);
        for statement in excess.fix {
            self.run(&statement).await;
        }
        assert_eq!(self.problems().await, []);
    }
}

#[tokio::test]
async fn boot_accepts_a_migrated_database_and_plain_logins() {
    let installation = Installation::new().await;
    assert_eq!(installation.problems().await, []);
    let rig = installation.rig;
    assert_eq!(boot::checksums(&rig.pool).await.unwrap(), None);
    assert_eq!(migrate::pending(&rig.pool).await.unwrap(), Vec::<i64>::new());
    migrate::run(&rig.database.url()).await.unwrap();
}

#[tokio::test]
async fn boot_names_missing_migrations() {
    let mut installation = Installation::new().await;
    let versions: Vec<i64> =
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations ORDER BY version")
            .fetch_all(&mut installation.admin)
            .await
            .unwrap();
    installation.run("DELETE FROM _sqlx_migrations WHERE version > 6").await;
    let later = versions.iter().copied().filter(|version| *version > 6).collect();
    assert_eq!(installation.problems().await, [BootProblem::Pending { versions: later }]);
    installation.run("DROP TABLE _sqlx_migrations").await;
    assert_eq!(installation.problems().await, [BootProblem::Pending { versions }]);
}

#[tokio::test]
async fn boot_refuses_a_role_that_bypasses_row_security() {
    let mut installation = Installation::new().await;
    let url = installation.rig.database.url();
    let superuser = Pool::new(&PoolSettings::new(url), PoolClass::Reserved).unwrap();
    let found = problems(&superuser, &installation.pool(&installation.work)).await;
    let role = || postgres::SUPERUSER.to_owned();
    let [BootProblem::Excess(excess), BootProblem::OwnsTables { login, .. }] = found.as_slice()
    else {
        panic!("{found:?}")
    };
    assert_eq!((&excess.login, excess.privilege.as_str(), login), (&role(), "SUPERUSER", &role()));
    assert_eq!(excess.fix, ["CREATE ROLE ade_api LOGIN PASSWORD '…' IN ROLE ade_app"]);

    let login = installation.rig.login.clone();
    // A role that can be taken with one `SET ROLE` is as dangerous.
    let bypass = format!("{login}_bypass");
    installation.run(&format!("CREATE ROLE {bypass} BYPASSRLS ROLE {login}")).await;
    let fix = format!("REVOKE {bypass} FROM {login}");
    installation.assert_repaired(&login, &bypass, "BYPASSRLS", &[&fix]).await;
    installation.run(&format!("DROP ROLE {bypass}; CREATE ROLE {login}_owner ROLE {login}")).await;
    installation.run(&format!("ALTER TABLE comment OWNER TO {login}_owner")).await;
    let owns = BootProblem::OwnsTables { login, tables: 1 };
    assert_eq!(installation.problems().await, [owns]);
}

#[tokio::test]
async fn boot_refuses_a_login_with_a_dangerous_attribute() {
    let mut installation = Installation::new().await;
    for login in [installation.rig.login.clone(), installation.work.clone()] {
        for attribute in ["BYPASSRLS", "CREATEROLE", "REPLICATION"] {
            installation.run(&format!("ALTER ROLE {login} {attribute}")).await;
            let fix = format!("ALTER ROLE {login} NO{attribute}");
            installation.assert_repaired(&login, &login, attribute, &[&fix]).await;

            let holder = format!("{login}_{}", attribute.to_lowercase());
            installation.run(&format!("CREATE ROLE {holder} {attribute} ROLE {login}")).await;
            let fix = format!("REVOKE {holder} FROM {login}");
            installation.assert_repaired(&login, &holder, attribute, &[&fix]).await;
            installation.run(&format!("DROP ROLE {holder}")).await;
        }
    }
}

#[tokio::test]
async fn boot_refuses_an_api_login_that_can_be_a_worker() {
    let mut installation = Installation::new().await;
    let login = installation.rig.login.clone();
    installation.run(&format!("GRANT ade_worker TO {login}")).await;
    let fix = format!("REVOKE ade_worker FROM {login}");
    installation.assert_repaired(&login, "ade_worker", "ade_worker", &[&fix]).await;

    // The role in between also has the role that the login needs.
    let team = format!("{login} Team");
    let sql = format!("CREATE ROLE \"{team}\" IN ROLE ade_app, ade_worker ROLE {login}");
    installation.run(&format!("{sql}; REVOKE ade_app FROM {login}")).await;
    let fix = [format!("REVOKE \"{team}\" FROM {login}"), format!("GRANT ade_app TO {login}")];
    let fix = [fix[0].as_str(), fix[1].as_str()];
    installation.assert_repaired(&login, "ade_worker", "ade_worker", &fix).await;
}

/// The replica here is the same server: a standby has the roles of its primary.
#[tokio::test]
async fn boot_refuses_a_replica_login_that_can_be_a_worker() {
    let mut installation = Installation::new().await;
    let [api, work] = [&installation.rig.login, &installation.work].map(String::clone);
    let [api_pool, work_pool] = [&api, &work].map(|login| installation.pool(login));
    let ask = async |replica: &Pool| problems_with(&api_pool, &work_pool, Some(replica)).await;
    assert_eq!(ask(&installation.pool(&api)).await, [], "the login of the API may read there");
    let found = ask(&installation.pool(&work)).await;
    let [BootProblem::Excess(excess)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((&excess.login, excess.privilege.as_str()), (&work, "ade_worker"));
    assert_eq!(excess.fix, [format!("REVOKE ade_worker FROM {work}")]);

    let read = format!("{api}_read");
    installation.run(&format!("CREATE ROLE {read} LOGIN PASSWORD 'x' IN ROLE ade_app")).await;
    assert_eq!(ask(&installation.pool(&read)).await, []);
    installation.run(&format!("ALTER ROLE {read} BYPASSRLS")).await;
    let away = format!("postgres://{read}:x@127.0.0.1:1/none?sslmode=disable");
    let away = Pool::new(&PoolSettings::new(away), PoolClass::Replica).unwrap();
    for replica in [&installation.pool(&read), &away] {
        let found = ask(replica).await;
        let [BootProblem::Excess(excess)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(excess.fix, [format!("ALTER ROLE {read} NOBYPASSRLS")]);
    }
    installation.run(&format!("ALTER ROLE {read} NOBYPASSRLS")).await;
    assert_eq!(ask(&away).await, [], "the server starts while the replica is down");
    installation.run(&format!("DROP ROLE {read}")).await;
}

#[tokio::test]
async fn boot_refuses_one_login_for_the_api_and_the_workers() {
    let installation = Installation::new().await;
    let shared = |login: &str| BootProblem::SharedLogin { login: login.to_owned() };
    let [api, work] = [&installation.rig.login, &installation.work];
    let found = problems(&installation.pool(api), &installation.pool(api)).await;
    assert_eq!(found, [shared(api)]);
    assert!(found[0].to_string().contains("IN ROLE ade_app, ade_worker;"), "{}", found[0]);
    let found = problems(&installation.pool(work), &installation.pool(work)).await;
    let [BootProblem::Excess(excess), second] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((excess.privilege.as_str(), second), ("ade_worker", &shared(work)));
}

#[tokio::test]
async fn boot_refuses_a_server_that_may_lose_commits() {
    let mut settings = postgres::PostgresSettings::test();
    for name in ["fsync", "full_page_writes"] {
        settings.options.push((name.to_owned(), "off".to_owned()));
    }
    let server = OwnedPostgres::start(settings).await;
    let migrated = async |url: String| migrate::run(&url).await;
    let database = Database::clone_on((*server).clone(), "store", migrated).await.unwrap();
    let mut admin = database.connect().await;
    run(&mut admin, "CREATE ROLE plain LOGIN PASSWORD 'x' IN ROLE ade_app").await;
    run(&mut admin, "CREATE ROLE work LOGIN PASSWORD 'x' IN ROLE ade_app, ade_worker").await;
    let expected = ["fsync", "full_page_writes"].map(|name| BootProblem::NotDurable { name });
    let [api, work] = ["plain", "work"].map(|login| pool_of(&database, login, 1));
    assert_eq!(problems(&api, &work).await, expected);
}
