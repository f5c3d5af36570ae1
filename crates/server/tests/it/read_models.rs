//! Read models in Redis: what they answer, what they never answer, and how they are put right.

use std::process::Command;
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_engine::models::{check, rebuild};
use ade_engine::work::Driver;
use ade_testkit::{Cluster, eventually};
use serde_json::{Value, json};

use crate::world::{Line, Person, World, id, path_of, quoted, seen};

const SOON: Duration = Duration::from_secs(20);

async fn over_redis() -> World {
    World::locking(Line::redis(Line::SETTINGS).await).await
}

/// What happened so far is in the models.
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

/// A slow answer of Redis is not waited for: then the record is asked, and for a while after.
async fn is_told(expected: &Value, ask: impl AsyncFn() -> Value) {
    eventually("the model answers", SOON, async || {
        let told = ask().await;
        if told == *expected { Ok(()) } else { Err(told) }
    })
    .await;
}

/// So that an answer shows where it came from: the models know nothing of it.
async fn retitle(world: &World, title: &str) {
    world.database.run(&format!("UPDATE task SET title = '{title}'")).await;
}

fn tenant(world: &World) -> TenantId {
    world.tenant.parse().unwrap()
}

#[tokio::test]
async fn a_task_is_read_from_its_model_by_whoever_knows_a_version() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let record = world.task(&bob, &task).await;
    assert_eq!(known(&world, &bob, &task, 1).await, record, "word for word");
    retitle(&world, "changed behind its back").await;
    is_told(&record, async || known(&world, &bob, &task, 1).await).await;
    assert_eq!(world.task(&bob, &task).await["title"], "changed behind its back");
    let path = format!("{}?wait=5s&since_version=0", path_of(&task));
    let waited = world.get(&bob.token, &path).await.expect(200);
    assert_eq!(waited["timed_out"], false);
}

#[tokio::test]
async fn nobody_who_knows_a_version_is_shown_an_older_one() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "mine").await;
    settle(&world).await;
    let moved = world.submit(&bob, &task).await;
    // The model is behind.
    is_told(&json!(1), async || known(&world, &bob, &task, 1).await["version"].clone()).await;
    let version = moved["version"].as_u64().unwrap();
    assert_eq!(known(&world, &bob, &task, version).await["version"], version);
    settle(&world).await;
    assert_eq!(known(&world, &bob, &task, 1).await["version"], version);
}

#[tokio::test]
async fn a_model_gives_nobody_a_right() {
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
    // What the rules allow changes without a word to the models.
    let allow = async |capabilities: Value| {
        let (agent, able) =
            (format!("/v1/agents/{}", eves.id), json!({ "capabilities": capabilities }));
        world.send("PATCH", &world.admin.token, &agent, Some(able), &[]).await.expect(200);
    };
    allow(json!([task["type"]])).await;
    retitle(&world, "not in the model").await;
    let title = async || known(&world, &eves, &task, 1).await["title"].clone();
    is_told(&json!("mine"), title).await;
    allow(json!([])).await;
    world.get(&eves.token, &path).await.refused(404, "not_found");
}

#[tokio::test]
async fn a_deleted_draft_is_gone_from_the_models_too() {
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
async fn a_queue_is_read_from_its_model_and_never_goes_back() {
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
    is_told(&record["items"], again).await;
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
    is_told(&record["items"], walk).await;

    let request = world.request(&rea, &one).await;
    world.approve(&rea, &one, &request).await;
    // The record answers, and cannot say how new it is: its events have no numbers yet.
    let ahead = format!("?since_version={}", version + 1);
    let told = queue(&world, &rea, &ahead).await;
    assert_eq!((told["items"].as_array().unwrap().len(), &told["version"]), (1, &Value::Null));
    world.work("relay").await;
    let told = queue(&world, &rea, &ahead).await;
    let newer = told["version"].as_u64().unwrap();
    assert!(newer > version, "{newer}");
    world.work("read_model_projector").await;
    let told = queue(&world, &rea, &format!("?since_version={newer}")).await;
    assert_eq!(told["items"].as_array().unwrap().len(), 1);
    assert!(told["version"].as_u64().unwrap() >= newer);
}

#[tokio::test]
async fn what_a_read_misses_is_there_for_the_next() {
    let world = over_redis().await;
    let watching = Driver::watch(&world.app);
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "so that there are models").await;
    settle(&world).await;
    // Somebody new, whose queue nobody has made.
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    settle(&world).await;
    let models = world.app.live.models.as_ref().unwrap();
    let look = async || check(&world.app, models, tenant(&world)).await.unwrap();
    assert_eq!(look().await.missing, 1, "her queue");
    let told = eventually("her queue is in a model", SOON, async || {
        // Whoever finds Redis slow does not see that anything is missed.
        let told = queue(&world, &rea, "?since_version=0").await;
        assert_eq!(told["items"].as_array().unwrap().len(), 1, "from the record");
        let checked = look().await;
        if checked.missing == 0 { Ok(told) } else { Err(format!("{checked:?}")) }
    })
    .await;
    let model = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(model["items"], told["items"]);
    known(&world, &bob, &task, 1).await;
    watching.stop().await;
}

#[tokio::test]
async fn the_checker_finds_what_is_wrong_and_puts_it_right() {
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
    assert_eq!(checked.differences, Vec::<String>::new(), "behind is not wrong: {checked:?}");
    settle(&world).await;

    retitle(&world, "as it is now").await;
    let checked = look().await;
    assert_eq!(checked.differences.len(), 2, "{checked:?}");
    assert_eq!(known(&world, &bob, &task, 1).await["title"], "as it is now");
    let status = async || world.get(&bob.token, "/v1/status").await.expect(200);
    let differences = json!({ "behind": 0, "differences": 2 });
    is_told(&differences, async || status().await["read_models"].clone()).await;

    // A request that ended without an event, as if one had been lost.
    world.database.run("UPDATE approval SET status = 'SUPERSEDED'").await;
    world.work("read_model_checker").await;
    let told = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(told["items"], json!([]));
    assert_eq!(look().await.differences, Vec::<String>::new());
}

#[tokio::test]
async fn models_are_written_anew_beside_running_work() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "one").await;
    settle(&world).await;
    retitle(&world, "as it is now").await;
    let models = world.app.live.models.as_ref().unwrap();
    assert_eq!(rebuild(&world.app, models, tenant(&world), false).await.unwrap(), 1);
    assert_eq!(known(&world, &bob, &task, 1).await["title"], "as it is now");
    let told = queue(&world, &rea, "?since_version=0").await;
    assert_eq!(told["items"][0]["task"]["title"], "as it is now");
    let request = told["items"][0]["id"].as_str().unwrap();
    let path = format!("/v1/approvals/{request}/approve");
    world.post(&rea.token, &path, seen(&task)).await.expect(200);
    settle(&world).await;
    assert_eq!(queue(&world, &rea, "?since_version=0").await["items"], json!([]));
    assert_eq!(known(&world, &bob, &task, 1).await["state"], "APPROVED");
    assert_eq!(id(&task), id(&known(&world, &bob, &task, 1).await));
}

/// Held at the first task: another has nothing to do meanwhile, and everything once it has failed.
#[tokio::test]
async fn whoever_fails_to_write_models_anew_leaves_the_turn_to_the_next() {
    let world = over_redis().await;
    let bob = world.person("Bob", &["author"]).await;
    world.draft(&bob, "one").await;
    let models = world.app.live.models.as_ref().unwrap();
    let again = async || rebuild(&world.app, models, tenant(&world), false).await;
    // It waits for less than a second: the other may come too late, and fail like the first.
    eventually("the first was at it", SOON, async || {
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
async fn a_task_that_is_too_large_is_read_from_the_record() {
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
async fn an_operator_has_one_command_for_each() {
    let urls = Cluster::shared().await.urls();
    let world = World::locking(Line::Redis(urls.clone(), Line::SETTINGS)).await;
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
    let (code, told) = run("check", redis);
    assert!(code == Some(0) && told.ends_with("differences: 0\n"), "{told}");
    retitle(&world, "as it is now").await;
    let (code, told) = run("check", redis);
    assert!(code == Some(1) && told.ends_with("differences: 1\n"), "{told}");
    assert!(told.contains(id(&task)), "{told}");
    retitle(&world, "once more").await;
    let (code, told) = run("rebuild", redis);
    assert!(code == Some(0) && told.contains("1 open tasks of 1 tenants"), "{told}");
    let (code, told) = run("check", redis);
    assert!(code == Some(0) && told.ends_with("differences: 0\n"), "{told}");
    assert_eq!(run("check", None).0, Some(2), "there is no Redis to speak of");
    std::fs::remove_file(pepper).unwrap();
}
