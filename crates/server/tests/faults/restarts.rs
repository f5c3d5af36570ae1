//! PostgreSQL dies under load and comes back. Acknowledged changes are still there, callers without
//! a response retry with the same idempotency key, and no server has to be restarted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ade_engine::admin::bootstrap;
use ade_testkit::postgres::PostgresSettings;
use ade_testkit::{Database, OwnedPostgres, eventually};

use crate::invariants;
use crate::meetings::{Office, SOON};
use crate::world::{World, id, plan};

const CALLERS: usize = 8;
const EACH: usize = 40;
/// The time between two attempts of a caller that was refused.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Seen {
    acknowledged: AtomicUsize,
    refused: AtomicUsize,
    unknown: AtomicUsize,
}

/// Creates tasks one after the other and retries each until it is acknowledged. Returns their ids.
async fn call(office: &Office, caller: usize, seen: &Seen) -> Vec<String> {
    let mut made = Vec::new();
    for number in 0..EACH {
        let title = format!("task-{caller}-{number}");
        let keyed = [("idempotency-key", &*title)];
        loop {
            let body = Some(plan(&title));
            let answer =
                office.world.send("POST", &office.bob.token, "/v1/tasks", body, &keyed).await;
            match (answer.status, answer.body["code"].as_str()) {
                (201, _) => {
                    seen.acknowledged.fetch_add(1, Ordering::Relaxed);
                    made.push(id(&answer.body).to_owned());
                    break;
                }
                (503, Some("database_unavailable")) => {
                    seen.refused.fetch_add(1, Ordering::Relaxed);
                }
                (503, Some("outcome_unknown")) => {
                    seen.unknown.fetch_add(1, Ordering::Relaxed);
                }
                // The first attempt may still be in progress.
                (409, Some("idempotency_in_flight")) => {}
                _ => panic!("{}: {}", answer.status, answer.body),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
    made
}

async fn reach(counter: &AtomicUsize, count: usize) {
    eventually("enough calls got a response", SOON, async || {
        let seen = counter.load(Ordering::Relaxed);
        if seen >= count { Ok(()) } else { Err(format!("{seen} so far")) }
    })
    .await;
}

async fn readiness(office: &Office) -> u16 {
    office.world.rig.get("/readyz").send().await.unwrap().status().as_u16()
}

async fn break_in_the_middle(office: &Office, server: &OwnedPostgres, seen: &Seen) {
    for kill in 1..=3 {
        reach(&seen.acknowledged, kill * CALLERS * EACH / 5).await;
        let refused = seen.refused.load(Ordering::Relaxed);
        server.kill();
        assert_eq!(readiness(office).await, 503, "not ready without its database");
        reach(&seen.refused, refused + 1).await;
        server.restart().await;
        eventually("the server is ready again", SOON, async || match readiness(office).await {
            200 => Ok(()),
            status => Err(status),
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_survive_killing_postgres_under_load() {
    let server = OwnedPostgres::start(PostgresSettings::test()).await;
    let migrate = async |url: String| bootstrap::migrate(&url).await;
    let database = Database::clone_on(server.clone(), "server", migrate).await.unwrap();
    let office = Office::in_world(World::through(database, server.port()).await, 1).await;
    office.world.database.be_patient().await;
    let seen = Seen::default();
    let (mut made, ()) = tokio::join!(
        async {
            let calls = tokio::join!(
                call(&office, 0, &seen),
                call(&office, 1, &seen),
                call(&office, 2, &seen),
                call(&office, 3, &seen),
                call(&office, 4, &seen),
                call(&office, 5, &seen),
                call(&office, 6, &seen),
                call(&office, 7, &seen),
            );
            <[_; CALLERS]>::from(calls).concat()
        },
        break_in_the_middle(&office, &server, &seen),
    );
    println!("{:?} refused, {:?} unknown", seen.refused, seen.unknown);
    made.sort();
    made.dedup();
    assert_eq!(made.len(), CALLERS * EACH, "one task per key");
    for id in &made {
        office.task(id).await;
    }
    let kept = office.world.database.number("SELECT count(*) FROM task").await;
    assert_eq!(usize::try_from(kept).unwrap(), CALLERS * EACH, "and no others");
    invariants::assert_hold(&office.world.database, 1).await;
}
