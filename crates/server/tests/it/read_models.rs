//! Read models in Redis: what they return, what they never return, and how they are corrected.

use std::process::Command;
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_engine::read_models::{check, rebuild};
use ade_engine::workers::Driver;
use ade_testkit::{Cluster, eventually};
use serde_json::{Value, json};

use crate::world::{LockBackend, Person, World, id, path_of, quoted, seen};

const SOON: Duration = Duration::from_mins(1);

async fn over_redis() -> World {
    World::locking(LockBackend::redis(LockBackend::SETTINGS).await).await
}

/// Brings the read models up to date.
async fn settle(world: &World) {
    world.work("relay").await;
    world.work("read_model_projector").await;
}

async fn known(world: &World, who: &Person, task: &Value, since: u64) -> Value {
    let path = format!("{}?since_version={since}", path_of(task));
    world.get(&who.token, &path).await.expect(200)
}

async fn queue(world: &World, who: &Person, query: &str) -> Value {
    world.get(&who.token, &format!("/v1/approvals{query}")).await.expect(200)
}

/// Repeats the request until it returns this value. A slow response of Redis is not waited for:
/// then the database is read, and for a while afterwards.
async fn assert_eventually(expected: &Value, ask: impl AsyncFn() -> Value) {
    eventually("the model answers", SOON, async || {
        let found = ask().await;
        if found == *expected { Ok(()) } else { Err(found) }
    })
    .await;
}

/// Changes the titles in the database only, so that a response shows where it came from.
async fn retitle(world: &World, title: &str) {
    world.database.run(&format!("UPDATE task SET title = '{title}'")).await;
}

fn tenant(world: &World) -> TenantId {
    world.tenant.parse().unwrap()
}

#[tokio::test]
async fn task_with_known_version_is_read_from_its_model() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let record = world.task(&bob, &task).await;
    assert_eq!(known(&world, &bob, &task, 1).await, record, "the model equals the task");
    retitle(&world, "changed behind its back").await;
    assert_eventually(&record, async || known(&world, &bob, &task, 1).await).await;
    assert_eq!(world.task(&bob, &task).await["title"], "changed behind its back");
    let path = format!("{}?wait=5s&since_version=0", path_of(&task));
    let waited = world.get(&bob.token, &path).await.expect(200);
    assert_eq!(waited["timed_out"], false);
}

#[tokio::test]
async fn read_model_never_returns_an_older_version() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let moved = world.submit(&bob, &task).await;
    // The model is out of date.
    assert_eventually(&json!(1), async || known(&world, &bob, &task, 1).await["version"].clone())
        .await;
    let version = moved["version"].as_u64().unwrap();
    assert_eq!(known(&world, &bob, &task, version).await["version"], version);
    settle(&world).await;
    assert_eq!(known(&world, &bob, &task, 1).await["version"], version);
}

#[tokio::test]
async fn read_model_grants_no_access() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    let (bobs, eves) = (world.agent("bobs", &bob).await, world.agent("eves", &eve).await);
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    known(&world, &bobs, &task, 1).await;
    let path = format!("{}?since_version=1", path_of(&task));
    world.get(&eves.token, &path).await.refused(404, "not_found");
    let (_, stranger) = world.tenant("other").await;
    world.get(&stranger.token, &path).await.refused(404, "not_found");
    // The permissions of the agent change without an update of the models.
    let allow = async |capabilities: Value| {
        let (agent, able) =
            (format!("/v1/agents/{}", eves.id), json!({ "capabilities": capabilities }));
        world.send("PATCH", &world.admin.token, &agent, Some(able), &[]).await.expect(200);
    };
    allow(json!([task["type"]])).await;
    retitle(&world, "not in the model").await;
    let title = async || known(&world, &eves, &task, 1).await["title"].clone();
    assert_eventually(&json!("mine"), title).await;
    allow(json!([])).await;
    world.get(&eves.token, &path).await.refused(404, "not_found");
}

#[tokio::test]
async fn deleted_draft_is_removed_from_the_read_models() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let version = quoted(&task);
    let matching = [("if-match", &*version)];
    world.send("DELETE", &bob.token, &path_of(&task), None, &matching).await.expect(200);
    settle(&world).await;
    let path = format!("{}?since_version=1", path_of(&task));
    world.get(&bob.token, &path).await.refused(404, "not_found");
}

#[tokio::test]
async fn queue_is_read_from_its_model_and_never_goes_back() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let one = world.reviewing(&bob, "one").await;
    world.reviewing(&bob, "two").await;
    settle(&world).await;
    let record = queue(&world, &rea, "").await;
    assert_eq!(record["items"].as_array().unwrap().len(), 2);
    assert_eq!(record["version"], Value::Null);
    let model = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(model["items"], record["items"]);
    let version = model["version"].as_u64().unwrap();
    retitle(&world, "changed behind its back").await;
    let since = format!("?since_version={version}");
    let again = async || queue(&world, &rea, &since).await["items"].clone();
    assert_eventually(&record["items"], again).await;
    let walk = async || {
        let mut walked = Vec::new();
        let mut next = String::new();
        loop {
            let page = queue(&world, &rea, &format!("?page_size=1&since_version=0{next}")).await;
            walked.extend(page["items"].as_array().unwrap().clone());
            let Some(token) = page["next_page_token"].as_str() else { break json!(walked) };
            next = format!("&page_token={token}");
        }
    };
    assert_eventually(&record["items"], walk).await;

    world.approve(&rea, &one).await;
    // The database is read. Its version is unknown, because the events have no numbers yet.
    let ahead = format!("?since_version={}", version + 1);
    let listed = queue(&world, &rea, &ahead).await;
    assert_eq!((listed["items"].as_array().unwrap().len(), &listed["version"]), (1, &Value::Null));
    world.work("relay").await;
    let listed = queue(&world, &rea, &ahead).await;
    let newer = listed["version"].as_u64().unwrap();
    assert!(newer > version, "{newer}");
    world.work("read_model_projector").await;
    let listed = queue(&world, &rea, &format!("?since_version={newer}")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert!(listed["version"].as_u64().unwrap() >= newer);
}

#[tokio::test]
async fn missing_read_model_is_filled_after_a_read() {
    let world = over_redis().await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "so that there are models").await;
    settle(&world).await;
    // The queue of a new reviewer has no model yet.
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    settle(&world).await;
    let models = world.app.live.models.as_ref().unwrap();
    let look = async || check(&world.app, models, tenant(&world)).await.unwrap();
    assert_eq!(look().await.missing, 1, "her queue");
    let listed = eventually("her queue is in a model", SOON, async || {
        // A request that finds Redis slow does not notice the missing model.
        let listed = queue(&world, &rea, "?since_version=0").await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "from the database");
        let checked = look().await;
        if checked.missing == 0 { Ok(listed) } else { Err(format!("{checked:?}")) }
    })
    .await;
    let model = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(model["items"], listed["items"]);
    known(&world, &bob, &task, 1).await;
    watching.stop().await;
}

#[tokio::test]
async fn read_model_checker_finds_and_corrects_differences() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    settle(&world).await;
    let models = world.app.live.models.as_ref().unwrap();
    let look = async || check(&world.app, models, tenant(&world)).await.unwrap();
    let checked = look().await;
    assert_eq!((checked.tasks, checked.behind), (1, 0), "{checked:?}");
    assert_eq!(checked.differences, Vec::<String>::new());

    world.submit(&bob, &world.draft(&bob, "two").await).await;
    let checked = look().await;
    assert_eq!(
        checked.differences,
        Vec::<String>::new(),
        "an outdated model is not a difference: {checked:?}"
    );
    settle(&world).await;

    retitle(&world, "as it is now").await;
    let checked = look().await;
    assert_eq!(checked.differences.len(), 2, "{checked:?}");
    assert_eq!(known(&world, &bob, &task, 1).await["title"], "as it is now");
    let status = async || world.get(&bob.token, "/v1/status").await.expect(200);
    let differences = json!({ "behind": 0, "differences": 2 });
    assert_eventually(&differences, async || status().await["read_models"].clone()).await;

    // An approval request ends without an event, as if the event had been lost.
    world.database.run("UPDATE approval SET status = 'SUPERSEDED'").await;
    world.work("read_model_checker").await;
    let listed = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(listed["items"], json!([]));
    assert_eq!(look().await.differences, Vec::<String>::new());
}

#[tokio::test]
async fn read_models_are_rebuilt_during_normal_operation() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    settle(&world).await;
    retitle(&world, "as it is now").await;
    let models = world.app.live.models.as_ref().unwrap();
    assert_eq!(rebuild(&world.app, models, tenant(&world), false).await.unwrap(), 1);
    assert_eq!(known(&world, &bob, &task, 1).await["title"], "as it is now");
    let listed = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(listed["items"][0]["task"]["title"], "as it is now");
    let path = format!("{}/approve", path_of(&task));
    world.post(&rea.token, &path, seen(&task)).await.expect(200);
    settle(&world).await;
    assert_eq!(queue(&world, &rea, "?since_version=0").await["items"], json!([]));
    assert_eq!(known(&world, &bob, &task, 1).await["state"], "APPROVED");
    assert_eq!(id(&task), id(&known(&world, &bob, &task, 1).await));
}

/// While one rebuild is blocked at the first task, another has nothing to do. Once the first has
/// failed, the next one rebuilds everything.
#[tokio::test]
async fn failed_read_model_rebuild_can_be_repeated() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "one").await;
    let models = world.app.live.models.as_ref().unwrap();
    let again = async || rebuild(&world.app, models, tenant(&world), false).await;
    // A rebuild waits for less than a second, so the other may start too late and fail like it.
    eventually("the first rebuild was running", SOON, async || {
        let mut holder = world.database.session().await;
        holder.run("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE").await;
        let meanwhile = async {
            holder.wait_for_waiting(1, SOON).await;
            again().await
        };
        let (first, second) = tokio::join!(again(), meanwhile);
        assert!(first.is_err(), "{first:?}");
        holder.run("COMMIT").await;
        match second {
            Ok(0) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert_eq!(again().await.unwrap(), 1);
}

#[tokio::test]
async fn oversized_task_is_read_from_the_database() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let mut wanted = crate::world::plan("large");
    let text = "x".repeat(1024);
    let many: Vec<&str> = std::iter::repeat_n(text.as_str(), 150).collect();
    wanted["parameters"] = json!({ "many": many });
    wanted["plan"]["changes"][0]["after"] = json!({ "many": many });
    let task = world.post(&bob.token, "/v1/tasks", wanted).await.expect(201);
    settle(&world).await;
    retitle(&world, "from the record").await;
    assert_eq!(known(&world, &bob, &task, 1).await["title"], "from the record");
}

#[tokio::test]
async fn read_models_command_checks_and_rebuilds() {
    let urls = Cluster::shared().await.urls();
    let world = World::locking(LockBackend::Redis(urls.clone(), LockBackend::SETTINGS)).await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let pepper = std::env::temp_dir().join(format!("{}.models", world.database.name()));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let run = |verb: &str, redis: Option<&str>| {
        let redis = redis.map(|urls| ("ADE__REDIS__URLS", urls));
        let done = Command::new(env!("CARGO_BIN_EXE_ade-server"))
            .args(["read-models", verb])
            .env_clear()
            .env("ADE__DATABASE__URL", world.database.url_as("app"))
            .env("ADE__DATABASE__WORKER_URL", world.database.url_as("work"))
            .env("ADE__AUTH__PEPPER_FILE", &pepper)
            .envs(redis)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let redis = urls.join(",");
    let redis = Some(redis.as_str());
    let (code, printed) = run("check", redis);
    assert!(code == Some(0) && printed.ends_with("differences: 0\n"), "{printed}");
    retitle(&world, "as it is now").await;
    let (code, printed) = run("check", redis);
    assert!(code == Some(1) && printed.ends_with("differences: 1\n"), "{printed}");
    assert!(printed.contains(id(&task)), "{printed}");
    retitle(&world, "once more").await;
    let (code, printed) = run("rebuild", redis);
    assert!(code == Some(0) && printed.contains("1 open tasks of 1 tenants"), "{printed}");
    let (code, printed) = run("check", redis);
    assert!(code == Some(0) && printed.ends_with("differences: 0\n"), "{printed}");
    assert_eq!(run("check", None).0, Some(2), "Redis is not configured");
    std::fs::remove_file(pepper).unwrap();
}
