//! PostgreSQL fails over under a running server: to a standby that is not promoted yet, to one that
//! is promoted while the old primary stays read-only, and without closing the open connections.
//! Callers are asked to retry, readiness reports the reason, and no restart is needed.

use std::time::Duration;

use ade_engine::admin::bootstrap;
use ade_engine::workers::Driver;
use ade_testkit::{Database, OwnedPostgres, Proxy, eventually, postgres};
use futures_util::future::join_all;
use serde_json::Value;

use crate::world::{API_CONNECTIONS, Answer, LockBackend, Person, TestServerOptions, World, plan};

const SOON: Duration = Duration::from_mins(1);

struct Pair {
    world: World,
    bob: Person,
    proxy: Proxy,
    primary: OwnedPostgres,
    standby: OwnedPostgres,
}

impl Pair {
    async fn start() -> Self {
        let primary = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
        let migrate = async |url: String| bootstrap::migrate(&url).await;
        let database = Database::clone_on((*primary).clone(), "server", migrate).await.unwrap();
        let standby = primary.replica().await;
        let proxy = Proxy::to_port(primary.port(), 1);
        let world = World::through(database, proxy.port()).await;
        let bob = world.person("Bob", &["author"]).await;
        standby.caught_up_with(&primary).await;
        Self { world, bob, proxy, primary, standby }
    }

    fn point_to(&self, server: &OwnedPostgres) {
        self.proxy.repoint(([127, 0, 0, 1], server.port()).into());
    }
}

async fn create(world: &World, author: &Person) -> Answer {
    world.post(&author.token, "/v1/tasks", plan("Add a currency")).await
}

async fn readiness(world: &World) -> (u16, Value) {
    let answer = world.rig.get("/readyz").send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// Waits until writes succeed and the server is ready.
async fn recovered(world: &World, author: &Person) {
    eventually("writes succeed again", SOON, async || {
        let answer = create(world, author).await;
        if answer.status == 201 { Ok(()) } else { Err(asked_to_retry(answer)) }
    })
    .await;
    eventually("the server is ready again", SOON, async || match readiness(world).await {
        (200, _) => Ok(()),
        (status, body) => Err(format!("{status} {body}")),
    })
    .await;
    // Every slot is free: as many calls as there are slots succeed at once.
    let all = join_all((0..API_CONNECTIONS).map(|_| create(world, author))).await;
    for answer in all {
        answer.expect(201);
    }
}

/// Asserts that the response reports a database failure and not an error of the server or caller.
#[track_caller]
fn asked_to_retry(answer: Answer) -> Value {
    let code = answer.body["code"].as_str().unwrap_or_default();
    let is_known = ["database_unavailable", "outcome_unknown", "overloaded"].contains(&code);
    assert!(answer.status == 503 && is_known, "{}: {}", answer.status, answer.body);
    answer.body
}

#[tokio::test(flavor = "multi_thread")]
async fn failover_to_a_standby_refuses_calls_until_a_primary_is_back() {
    let pair = Pair::start().await;
    let Pair { world, bob, .. } = &pair;
    create(world, bob).await.expect(201);
    assert_eq!(readiness(world).await.0, 200);

    pair.point_to(&pair.standby);
    pair.proxy.reset().await;
    let refused = create(world, bob).await.refused(503, "database_unavailable");
    assert_eq!(refused["retriable"], true, "{refused}");
    // A standby may lag behind: nothing is read from it either.
    world.get(&bob.token, "/v1/me").await.refused(503, "database_unavailable");
    let (status, body) = readiness(world).await;
    assert_eq!((status, &body["code"]), (503, &"database_unavailable".into()), "{body}");
    let detail = body["detail"].as_str().unwrap();
    for part in ["requests", "workers", "health checks", "no writes"] {
        assert!(detail.contains(part), "{detail}");
    }

    pair.point_to(&pair.primary);
    recovered(world, bob).await;
}

/// Managed services fail over like this: the old primary keeps its connections and becomes
/// read-only.
#[tokio::test(flavor = "multi_thread")]
async fn failover_with_a_read_only_primary_moves_to_the_new_one() {
    let pair = Pair::start().await;
    let Pair { world, bob, primary, standby, .. } = &pair;
    let made = join_all((0..API_CONNECTIONS).map(|_| create(world, bob))).await;
    for answer in made {
        answer.expect(201);
    }
    assert_eq!(readiness(world).await.0, 200);
    let watching = Driver::watch(&world.app);

    primary.run("ALTER SYSTEM SET default_transaction_read_only = on").await;
    primary.run("SELECT pg_reload_conf()").await;
    eventually("writes are refused", SOON, async || {
        let answer = create(world, bob).await;
        if answer.status == 201 { Err(answer.body) } else { Ok(asked_to_retry(answer)) }
    })
    .await;
    let body = eventually("readiness reports it", SOON, async || match readiness(world).await {
        (503, body) => Ok(body),
        (status, body) => Err(format!("{status} {body}")),
    })
    .await;
    assert!(body["detail"].as_str().unwrap().contains("no writes"), "{body}");
    eventually("the metric reports it", SOON, async || {
        let text = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        let is_degraded = text.contains("ade_degraded{part=\"database\"} 1");
        if is_degraded { Ok(()) } else { Err(text) }
    })
    .await;

    standby.promote().await;
    pair.point_to(standby);
    recovered(world, bob).await;
    watching.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn black_hole_on_open_connections_ends_within_the_deadline() {
    let database =
        Database::fresh("server", async |url: String| bootstrap::migrate(&url).await).await;
    let proxy = Proxy::to_port(database.server().port(), 1);
    let fittings = TestServerOptions {
        acquire_timeout: Duration::from_secs(3),
        answer_timeout: Duration::from_secs(4),
        ..LockBackend::Rows(LockBackend::SETTINGS).into()
    };
    let world = World::fitted_through(database, proxy.port(), fittings).await;
    let bob = world.person("Bob", &["author"]).await;
    assert_eq!(readiness(&world).await.0, 200);

    // More callers than slots: some calls are in the middle of a statement, some wait for a slot.
    let callers = join_all((0..2 * API_CONNECTIONS).map(|_| async {
        for _ in 0..10 {
            let answer = create(&world, &bob).await;
            if answer.status != 201 {
                asked_to_retry(answer);
            }
        }
    }));
    let fault = async {
        eventually("all slots are in use", SOON, async || match proxy.connections() {
            open if open >= usize::try_from(API_CONNECTIONS).unwrap() => Ok(()),
            open => Err(open),
        })
        .await;
        proxy.silence_open();
        let (status, body) = readiness(&world).await;
        assert_eq!(status, 503, "{body}");
        assert!(body["detail"].as_str().unwrap().contains("does not answer"), "{body}");
    };
    let both = async { tokio::join!(callers, fault) };
    tokio::time::timeout(SOON * 2, both).await.expect("no call hangs");
    recovered(&world, &bob).await;
}
