//! The connection without a Redis to speak to, and with one that forgets.

use std::time::{Duration, Instant};

use ade_core::limits::{REDIS_CALL_TIMEOUT, REDIS_CONNECT_TIMEOUT};
use ade_testkit::{eventually, within};

use super::*;

const SOON: Duration = Duration::from_secs(30);

fn script() -> Script {
    Script::new("test", "#!lua\nreturn redis.call('INCR', KEYS[1])".to_owned())
}

async fn count(connection: &Cluster) -> Result<Value, Error> {
    connection.run(&script(), &["{test}:count".to_owned()], &[]).await
}

#[tokio::test]
async fn without_redis_a_call_ends_in_time_and_with_it_again_succeeds() {
    let servers = ade_testkit::Cluster::owned_with(5_000).await;
    for node in servers.nodes() {
        servers.kill(node);
    }
    let connection = Cluster::open(&servers.urls().into()).unwrap();
    let bound = REDIS_CALL_TIMEOUT + REDIS_CONNECT_TIMEOUT;
    // Fewer times than make it rest.
    within(bound, async || {
        let began = Instant::now();
        let refused = count(&connection).await.unwrap_err();
        assert!(matches!(refused, Error::Unavailable(_) | Error::Unknown(_)), "{refused}");
        began.elapsed()
    })
    .await;
    for node in servers.nodes() {
        servers.restart_empty(node).await;
    }
    servers.wait_until_ok(SOON).await;
    eventually("the connection is back", SOON, async || count(&connection).await).await;
}

#[tokio::test]
async fn a_script_that_redis_forgot_is_sent_again() {
    let servers = ade_testkit::Cluster::owned().await;
    let connection = Cluster::patient(&servers.urls().into());
    let number = |value| redis::from_redis_value::<i64>(value).unwrap();
    assert_eq!(number(count(&connection).await.unwrap()), 1);
    for node in servers.nodes() {
        node.ask::<()>(redis::cmd("SCRIPT").arg("FLUSH")).await.unwrap();
    }
    assert_eq!(number(count(&connection).await.unwrap()), 2);
}

#[tokio::test]
async fn a_script_that_cannot_run_is_named_and_a_bad_address_is_refused() {
    let servers = ade_testkit::Cluster::shared().await;
    let connection = Cluster::open(&servers.urls().into()).unwrap();
    let broken = Script::new("broken", "#!lua\nreturn nothing.here".to_owned());
    let refused = connection.run(&broken, &["{test}:x".to_owned()], &[]).await.unwrap_err();
    assert!(matches!(refused, Error::Script { script: "broken", .. }), "{refused}");
    assert!(matches!(Cluster::open(&vec!["nowhere".to_owned()].into()), Err(Error::Settings(_))));
}
