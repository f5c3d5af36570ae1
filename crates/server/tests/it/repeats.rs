//! A request that is sent twice has one effect and one response, in any process.

use std::time::Duration;

use ade_engine::workers;
use serde_json::json;

use crate::world::{World, id, plan};

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn idempotency_key_replays_only_the_same_request() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let key = [("idempotency-key", "one")];
    let send = |body| world.send("POST", &bob.token, "/v1/tasks", Some(body), &key);
    let first = send(plan("a")).await;
    assert_eq!(first.etag.as_deref(), Some("\"1\""));
    assert!(!first.is_repeated);
    let again = send(plan("a")).await;
    assert!(again.is_repeated);
    assert_eq!(again.etag.as_deref(), Some("\"1\""));
    assert_eq!(first.expect(201), again.expect(201));
    send(plan("b")).await.refused(422, "idempotency_key_reused");
    let tasks = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1);
    let other = world.person("Rea", &["author"]).await;
    let others = world.send("POST", &other.token, "/v1/tasks", Some(plan("a")), &key).await;
    assert!(!others.is_repeated, "a key belongs to the caller who used it");
}

/// The second request waits for no lock of the tenant, which would block all other decisions.
#[tokio::test]
async fn idempotent_request_in_flight_is_refused_at_once() {
    let world = World::new().await;
    world.database.be_patient().await;
    let mut holder = world.database.session().await;
    holder.run("BEGIN; LOCK TABLE app_user IN SHARE MODE").await;
    let key = [("idempotency-key", "one")];
    let body = || Some(json!({ "name": "Eve", "roles": [] }));
    let send = || world.send("POST", &world.admin.token, "/v1/users", body(), &key);
    let meanwhile = async {
        holder.wait_for_waiting(1, SOON).await;
        let second = send().await;
        holder.run("COMMIT").await;
        second
    };
    let (first, second) = tokio::join!(send(), meanwhile);
    first.expect(201);
    second.refused(409, "idempotency_in_flight");
}

#[tokio::test]
async fn review_is_opened_once_by_two_processes() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let mut tasks = Vec::new();
    for number in 0..8 {
        let task = world.draft(&bob, &format!("task {number}")).await;
        tasks.push(world.submit(&bob, &task).await);
    }
    let other = world.another_app();
    let (one, two) = tokio::join!(
        workers::run_once(&world.app, "review_opener"),
        workers::run_once(&other, "review_opener"),
    );
    one.unwrap().unwrap();
    two.unwrap().unwrap();
    for task in &tasks {
        let path = format!("/v1/audit?object={}", id(task));
        let entries = world.get(&world.admin.token, &path).await.expect(200);
        let opened = entries["items"].as_array().unwrap().iter();
        let opened = opened.filter(|item| item["leaf"]["what"]["to"] == json!("REVIEWING"));
        assert_eq!(opened.count(), 1, "{entries}");
    }
}
