//! The connection while Redis is unavailable, and after Redis has lost its scripts.

use std::time::{Duration, Instant};

use ade_core::limits::{REDIS_CALL_TIMEOUT, REDIS_CONNECT_TIMEOUT};
use ade_testkit::{eventually, within};

use super::*;

const SOON: Duration = Duration::from_mins(1);

fn script() -> Script {
    Script::new("test", "#!lua\nreturn redis.call('INCR', KEYS[1])".to_owned())
}

async fn count(connection: &Cluster) -> Result<Value, CoordError> {
    connection.run(&script(), &["{test}:count".to_owned()], &[]).await
}

#[tokio::test]
async fn redis_outage_fails_calls_in_time_and_recovery_is_noticed() {
    let servers = ade_testkit::Cluster::owned_with(5_000).await;
    for node in servers.nodes() {
        servers.kill(node);
    }
    let connection = Cluster::open(&servers.urls().into()).unwrap();
    let bound = REDIS_CALL_TIMEOUT + REDIS_CONNECT_TIMEOUT;
    // Fewer failures than open the circuit.
    within(bound, async || {
        let began = Instant::now();
        let refused = count(&connection).await.unwrap_err();
        assert!(
            matches!(refused, CoordError::Unavailable(_) | CoordError::Unknown(_)),
            "{refused}"
        );
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
async fn script_missing_from_redis_is_sent_again() {
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
async fn script_failure_is_named_and_a_bad_address_is_refused() {
    let servers = ade_testkit::Cluster::shared().await;
    let connection = Cluster::open(&servers.urls().into()).unwrap();
    let broken = Script::new("broken", "#!lua\nreturn nothing.here".to_owned());
    let refused = connection.run(&broken, &["{test}:x".to_owned()], &[]).await.unwrap_err();
    assert!(matches!(refused, CoordError::Script { script: "broken", .. }), "{refused}");
    assert!(matches!(
        Cluster::open(&vec!["nowhere".to_owned()].into()),
        Err(CoordError::Settings(_))
    ));
}
