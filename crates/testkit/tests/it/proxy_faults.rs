//! The faults that the proxy injects, on the real protocols of PostgreSQL and Redis.

use std::time::Duration;

use ade_testkit::{Cluster, Database, Direction, Flow, Proxy, eventually};
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::child::SOON;

/// PostgreSQL's `CommandComplete`: the tag `C`, the length, and the command.
const COMMIT_DONE: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
/// The simple query for a commit: the tag `Q`, the length, and the text.
const COMMIT_ASKED: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

async fn migrate(url: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(&url).await?;
    sqlx::raw_sql("CREATE TABLE row (id int)").execute(&mut connection).await?;
    connection.close().await
}

async fn rows(database: &Database) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM row")
        .fetch_one(&mut database.connect().await)
        .await
        .unwrap()
}

async fn commit_through(
    database: &Database,
    direction: Direction,
    pattern: &[u8],
) -> Result<(), sqlx::Error> {
    let proxy = Proxy::to_port(database.server().port(), 1);
    let mut connection = PgConnection::connect(&database.url_through(proxy.port())).await?;
    let trap = proxy.cut_after(direction, pattern, 1);
    let mut tx = connection.begin().await?;
    sqlx::query("INSERT INTO row VALUES (1)").execute(&mut *tx).await?;
    let outcome = timeout(SOON, tx.commit()).await.unwrap();
    trap.wait(SOON).await;
    outcome
}

#[tokio::test]
async fn cut_at_the_commit_response_keeps_the_row() {
    let database = Database::fresh("row", migrate).await;
    let outcome = commit_through(&database, Direction::ToClient, COMMIT_DONE).await;
    assert!(matches!(outcome, Err(sqlx::Error::Io(_))), "{outcome:?}");
    assert_eq!(rows(&database).await, 1);
}

#[tokio::test]
async fn cut_at_the_commit_request_loses_the_row() {
    let database = Database::fresh("row", migrate).await;
    let outcome = commit_through(&database, Direction::ToServer, COMMIT_ASKED).await;
    assert!(matches!(outcome, Err(sqlx::Error::Io(_))), "{outcome:?}");
    assert_eq!(rows(&database).await, 0);
}

#[tokio::test]
async fn blackhole_to_the_client_lets_the_server_commit() {
    let database = Database::fresh("row", migrate).await;
    let proxy = Proxy::to_port(database.server().port(), 1);
    let url = database.url_through(proxy.port());
    let mut connection = PgConnection::connect(&url).await.unwrap();
    proxy.set(Direction::ToClient, Flow::Swallow);
    let insert = sqlx::raw_sql("INSERT INTO row VALUES (1)").execute(&mut connection);
    assert!(timeout(Duration::from_millis(300), insert).await.is_err());
    eventually("the server has committed", SOON, async || match rows(&database).await {
        1 => Ok(()),
        rows => Err(rows),
    })
    .await;
}

#[tokio::test]
async fn redis_behind_the_proxy_survives_delay_silence_and_cut() {
    let cluster = Cluster::shared().await;
    let mut proxy = Proxy::to_port(cluster.nodes()[0].port(), 1);
    let client = redis::Client::open(format!("redis://{}", proxy.address())).unwrap();
    let open = async || client.get_multiplexed_async_connection().await;
    let ping = async |connection: &mut redis::aio::MultiplexedConnection| {
        redis::cmd("PING").query_async::<String>(connection).await
    };
    let mut connection = open().await.unwrap();

    let fixed = Duration::from_millis(60);
    let jitter = Duration::ZERO;
    proxy.set(Direction::ToServer, Flow::Delay { fixed, jitter });
    let began = std::time::Instant::now();
    assert_eq!(ping(&mut connection).await.unwrap(), "PONG");
    assert!(began.elapsed() >= fixed);

    proxy.set(Direction::ToServer, Flow::Swallow);
    let silent = timeout(Duration::from_millis(200), ping(&mut connection)).await;
    assert!(!matches!(silent, Ok(Ok(_))), "{silent:?}");

    proxy.cut().await;
    assert!(ping(&mut connection).await.is_err());
    assert!(open().await.is_err());

    proxy.heal();
    let mut connection = open().await.unwrap();
    assert_eq!(ping(&mut connection).await.unwrap(), "PONG");
}
