//! One server per run and one database per test.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use ade_core::token::{KeyId, Secret, Token, TokenKind};
use ade_testkit::run::{OWNER_VARIABLE, Run};
use ade_testkit::{Database, OwnedPostgres, Postgres, postgres};
use sqlx::postgres::PgListener;
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::child::{Other, SOON};

async fn migrate(url: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(&url).await?;
    sqlx::raw_sql("CREATE TABLE thing (id int PRIMARY KEY)").execute(&mut connection).await?;
    // This connection is left open on purpose: the template must be usable all the same.
    std::mem::forget(connection);
    Ok(())
}

async fn count(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM thing").fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn server_is_shared_by_processes_of_one_run() {
    let server = Postgres::shared().await;
    let owner = Run::shared().unwrap().owner().pid().to_string();
    let others = [0, 1].map(|_| Other::start("shares_postgres", &[(OWNER_VARIABLE, &owner)]));
    let pid = server.process().unwrap().pid().to_string();
    for other in others {
        assert_eq!(other.words(), [pid.as_str(), &server.url("postgres")]);
        other.finish();
    }
    assert!(server.ping().await.is_ok(), "the server outlives each of them");
}

#[tokio::test]
async fn nextest_is_found_above_a_child_of_a_test() {
    let Ok(run) = std::env::var("NEXTEST_RUN_ID") else {
        return;
    };
    let server = Postgres::shared().await;
    let other = Other::start("shares_postgres", &[("NEXTEST_RUN_ID", &run)]);
    let pid = server.process().unwrap().pid().to_string();
    assert_eq!(other.words()[0], pid);
    other.finish();
}

#[tokio::test]
async fn server_is_separate_for_another_run() {
    let server = Postgres::shared().await;
    let owner = Run::shared().unwrap().owner();
    let own_pid = i32::try_from(std::process::id()).unwrap();
    let is_nextest = std::env::var("NEXTEST_RUN_ID").is_ok();
    let other = Other::start("owns_postgres", &[]);
    assert_ne!(other.words()[0], server.process().unwrap().pid().to_string());
    assert_ne!(other.pid(), own_pid);
    assert_eq!(owner.pid() != own_pid, is_nextest, "nextest owns what its tests share");
    let folder = format!("run-{}-{}", owner.pid(), owner.born());
    assert!(server.data_dir().iter().any(|part| part == folder.as_str()), "{folder}");
    other.finish();
}

#[tokio::test]
async fn databases_of_one_template_are_isolated() {
    let one = Database::fresh("thing", migrate).await;
    let two = Database::fresh("thing", migrate).await;
    assert_ne!(one.name(), two.name());
    let mut first = one.connect().await;
    sqlx::raw_sql("INSERT INTO thing VALUES (1), (2)").execute(&mut first).await.unwrap();
    assert_eq!(count(&mut first).await, 2);
    assert_eq!(count(&mut two.connect().await).await, 0);
}

#[tokio::test]
async fn database_with_a_leaked_token_fails_its_test() {
    let (key_id, secret) = (KeyId::from_bytes([1; 11]), Secret::from_bytes([2; 32]));
    let token = Token { kind: TokenKind::User, key_id, secret }.reveal();
    for (column, kept, is_caught) in [
        ("text", format!("'asked with {token}'"), true),
        ("json", format!(r#"'{{"answer": {{"token": "{token}"}}}}'"#), true),
        ("bytea", format!("'{token}'::text::bytea"), true),
        // The lookup part of a token is not secret.
        ("text", format!("'{}'", &token[..24]), false),
    ] {
        let database = Database::fresh("thing", migrate).await;
        database.run(&format!("CREATE TABLE kept (what {column})")).await;
        database.run(&format!("INSERT INTO kept VALUES ({kept})")).await;
        let ended = std::panic::catch_unwind(AssertUnwindSafe(|| drop(database)));
        assert_eq!(ended.is_err(), is_caught, "{column} {kept}");
        let Err(why) = ended else { continue };
        let why = why.downcast_ref::<String>().unwrap();
        assert!(why.contains("kept: ade_usr_") && !why.contains(&token), "{why}");
    }
}

#[tokio::test]
async fn notification_stays_in_its_database() {
    let one = Database::fresh("thing", migrate).await;
    let two = Database::fresh("thing", migrate).await;
    let mut listeners = Vec::new();
    for database in [&one, &two] {
        let mut listener = PgListener::connect(&database.url()).await.unwrap();
        listener.listen("news").await.unwrap();
        listeners.push(listener);
    }
    for (database, word) in [(&one, "from one"), (&two, "from two")] {
        sqlx::query("SELECT pg_notify('news', $1)")
            .bind(word)
            .execute(&mut database.connect().await)
            .await
            .unwrap();
    }
    for (listener, word) in listeners.iter_mut().zip(["from one", "from two"]) {
        // Each listener's first notification is its own; the other one was sent earlier and never
        // arrived.
        let heard = timeout(SOON, listener.recv()).await.unwrap().unwrap();
        assert_eq!(heard.payload(), word);
    }
}

#[tokio::test]
async fn template_is_migrated_once_for_concurrent_callers() {
    let made = Cell::new(0);
    let migrate_counted = async |url: String| {
        made.set(made.get() + 1);
        migrate(url).await
    };
    let (one, two, three) = tokio::join!(
        Database::fresh("counted", migrate_counted),
        Database::fresh("counted", migrate_counted),
        Database::fresh("counted", migrate_counted),
    );
    assert_eq!(made.get(), 1);
    for database in [one, two, three] {
        assert_eq!(count(&mut database.connect().await).await, 0);
    }
}

#[tokio::test]
async fn template_is_removed_when_its_migration_fails() {
    let server = Postgres::shared().await;
    let broken = async |_: String| Err::<(), _>("syntax error near the end");
    let failure = Database::clone_on(server.clone(), "broken", broken).await.unwrap_err();
    let text = failure.to_string();
    assert_eq!(text, "migrate template_broken: syntax error near the end");
    let recovered = Database::clone_on(server, "broken", migrate).await.unwrap();
    assert_eq!(count(&mut recovered.connect().await).await, 0);
}

#[tokio::test]
async fn database_with_open_connections_is_dropped() {
    let database = Database::fresh("thing", migrate).await;
    let (name, server) = (database.name().to_owned(), database.server().clone());
    let _open = database.connect().await;
    drop(database);
    let mut admin = PgConnection::connect(&server.url("postgres")).await.unwrap();
    let found: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(&name)
            .fetch_one(&mut admin)
            .await
            .unwrap();
    assert!(!found);
}

#[tokio::test]
async fn server_settings_are_durable_and_private() {
    let server = Postgres::shared().await;
    let mut admin = PgConnection::connect(&server.url("postgres")).await.unwrap();
    for (setting, expected) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
    ] {
        let value: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(setting)
            .fetch_one(&mut admin)
            .await
            .unwrap();
        assert_eq!(value, expected, "{setting}");
    }
    let stranger = format!("postgres://ade:guess@127.0.0.1:{}/postgres", server.port());
    assert!(PgConnection::connect(&stranger).await.is_err());
}

#[tokio::test]
async fn server_keeps_committed_rows_through_a_kill() {
    let server = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
    let database = Database::clone_on((*server).clone(), "thing", migrate).await.unwrap();
    let before = server.process().unwrap();
    sqlx::raw_sql("INSERT INTO thing VALUES (1)")
        .execute(&mut database.connect().await)
        .await
        .unwrap();
    server.kill();
    assert!(server.process().is_none());
    assert!(server.ping().await.is_err());
    server.restart().await;
    assert_ne!(server.process(), Some(before));
    assert_eq!(count(&mut database.connect().await).await, 1);
    let (process, dir) = (server.process().unwrap(), server.data_dir());
    drop(database);
    drop(server);
    assert!(!process.is_alive());
    assert!(!dir.exists());
}
