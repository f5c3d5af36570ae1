//! The server does not start on a database that could lose, leak or forget.

use ade_store::boot::{self, Problem, Refusal};
use ade_store::pool::Settings;
use ade_store::{Class, Pool, migrate};
use ade_testkit::{Database, OwnedPostgres, postgres};

use crate::rig::{Rig, pool_of, run};

async fn problems(pool: &Pool) -> Vec<Problem> {
    match boot::check(pool).await {
        Ok(()) => Vec::new(),
        Err(Refusal::Unfit(problems)) => {
            assert!(!problems.to_string().is_empty());
            problems.0
        }
        Err(Refusal::Store(error)) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_migrated_database_and_a_plain_role_are_fit() {
    let rig = Rig::new().await;
    assert_eq!(problems(&rig.pool).await, []);
    assert_eq!(boot::checksums(&rig.pool).await.unwrap(), None);
    let mut admin = rig.database.connect().await;
    assert_eq!(migrate::pending(&mut admin).await.unwrap(), Vec::<i64>::new());
    migrate::run(&rig.database.url()).await.unwrap();
}

#[tokio::test]
async fn missing_migrations_are_named() {
    let rig = Rig::new().await;
    let mut admin = rig.database.connect().await;
    let versions: Vec<i64> =
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations ORDER BY version")
            .fetch_all(&mut admin)
            .await
            .unwrap();
    run(&mut admin, "DELETE FROM _sqlx_migrations WHERE version > 6").await;
    let later = versions.iter().copied().filter(|version| *version > 6).collect();
    assert_eq!(problems(&rig.pool).await, [Problem::Pending { versions: later }]);
    run(&mut admin, "DROP TABLE _sqlx_migrations").await;
    assert_eq!(problems(&rig.pool).await, [Problem::Pending { versions }]);
}

#[tokio::test]
async fn a_role_that_could_step_over_row_security_is_refused() {
    let rig = Rig::new().await;
    let superuser = Pool::new(&Settings::new(rig.database.url()), Class::Reserved).unwrap();
    let told = problems(&superuser).await;
    let role = || postgres::SUPERUSER.to_owned();
    assert!(told.contains(&Problem::Superuser { role: role() }), "{told:?}");
    assert!(told.contains(&Problem::BypassesRowSecurity { role: role() }), "{told:?}");
    assert!(told.iter().any(|problem| matches!(problem, Problem::OwnsTables { .. })), "{told:?}");

    let mut admin = rig.database.connect().await;
    let login = &rig.login;
    // One `SET ROLE` away is as good as being it.
    run(&mut admin, &format!("CREATE ROLE {login}_bypass BYPASSRLS ROLE {login}")).await;
    let bypasses = Problem::BypassesRowSecurity { role: login.clone() };
    assert_eq!(problems(&pool_of(&rig.database, login, 1)).await, [bypasses]);
    run(&mut admin, &format!("DROP ROLE {login}_bypass; CREATE ROLE {login}_owner ROLE {login}"))
        .await;
    run(&mut admin, &format!("ALTER TABLE comment OWNER TO {login}_owner")).await;
    let owns = Problem::OwnsTables { role: login.clone(), tables: 1 };
    assert_eq!(problems(&pool_of(&rig.database, login, 1)).await, [owns]);
}

#[tokio::test]
async fn a_server_that_may_lose_commits_is_refused() {
    let mut settings = postgres::Settings::test();
    for name in ["fsync", "full_page_writes"] {
        settings.options.push((name.to_owned(), "off".to_owned()));
    }
    let server = OwnedPostgres::start(settings).await;
    let migrated = async |url: String| migrate::run(&url).await;
    let database = Database::clone_on((*server).clone(), "store", migrated).await.unwrap();
    let mut admin = database.connect().await;
    run(&mut admin, "CREATE ROLE plain LOGIN PASSWORD 'x' IN ROLE ade_app").await;
    let expected = ["fsync", "full_page_writes"].map(|name| Problem::NotDurable { name });
    assert_eq!(problems(&pool_of(&database, "plain", 1)).await, expected);
}
