//! Many answers at once: all of them, or none.

use ade_core::flag::Switches;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Fittings, Line, Person, World, id, quoted};

cases! {
    a_batch_says_before_what_it_would_do_and_does_it_at_once:
        Happy "POST /v1/approvals/batch",
        Conflict "POST /v1/approvals/batch";
    one_swapped_item_leaves_nothing_written: Conflict "POST /v1/approvals/batch";
    without_its_flag_a_batch_only_says_what_it_would_do: Conflict "POST /v1/approvals/batch";
    what_cannot_be_skipped_repeated_or_found_is_refused: Denied "POST /v1/approvals/batch";
}

/// Tasks that wait for this reviewer, each with what the reviewer has on screen.
async fn waiting(world: &World, author: &Person, reviewer: &Person, count: usize) -> Vec<Value> {
    // Declared effects rate high; a resource of no weight keeps the tasks in reach of a batch.
    let entry = json!({ "criticality": 0 });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    let mut items = Vec::new();
    for number in 0..count {
        let task = world.reviewing(author, &format!("task {number}")).await;
        let approval = world.request(reviewer, &task).await;
        let item = json!({
            "approval": approval, "revision": task["revision"], "digest": task["digest"]
        });
        items.push(json!({ "task": task, "item": item }));
    }
    items
}

fn batch(items: &[Value]) -> Value {
    let items: Vec<&Value> = items.iter().map(|entry| &entry["item"]).collect();
    json!({ "action": "approve", "items": items })
}

async fn states(world: &World, reader: &Person, items: &[Value]) -> Vec<String> {
    let mut states = Vec::new();
    for entry in items {
        let path = format!("/v1/tasks/{}", id(&entry["task"]));
        let task = world.get(&reader.token, &path).await.expect(200);
        states.push(task["state"].as_str().unwrap().to_owned());
    }
    states
}

async fn a_batch_says_before_what_it_would_do_and_does_it_at_once(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 3).await;
    let dry = world.post(&rea.token, "/v1/approvals/batch?dry_run=true", batch(&items)).await;
    let dry = dry.expect(200);
    assert_eq!(dry["is_written"], false);
    assert!(dry["items"].as_array().unwrap().iter().all(|item| item["state"] == "APPROVED"));
    assert_eq!(states(world, &bob, &items).await, ["REVIEWING"; 3], "nothing was written");
    let key = [("idempotency-key", "batch")];
    let send = || world.send("POST", &rea.token, "/v1/approvals/batch", Some(batch(&items)), &key);
    let written = send().await.expect(200);
    assert_eq!(written["is_written"], true);
    assert_eq!(states(world, &bob, &items).await, ["APPROVED"; 3]);
    assert_eq!(send().await.expect(200), written, "the same again");
}

async fn one_swapped_item_leaves_nothing_written(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 3).await;
    let second = &items[1]["task"];
    let other = json!({ "parameters": { "for": "something else" } });
    let path = format!("/v1/tasks/{}", id(second));
    let matching = [("if-match", &*quoted(second))];
    world.send("PATCH", &bob.token, &path, Some(other), &matching).await.expect(200);
    world.work("review_opener").await;
    let told = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    let told = told.refused(409, "batch_refused");
    assert!(told["items"][1]["refusal"].is_string() && told["items"][0]["refusal"].is_null());
    assert_eq!(states(world, &bob, &items).await, ["REVIEWING"; 3]);
    let leaves = "SELECT count(*) FROM audit_leaf WHERE action = 'task.approve'";
    assert_eq!(world.database.number(leaves).await, 0);
}

async fn what_cannot_be_skipped_repeated_or_found_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 1).await;
    let mut skipping = batch(&items);
    skipping["skip_validation"] = json!(true);
    let told = world.post(&rea.token, "/v1/approvals/batch", skipping).await;
    assert!(told.refused(422, "invalid_body")["detail"].as_str().unwrap().contains("skip"));
    let twice = [items[0].clone(), items[0].clone()];
    let told = world.post(&rea.token, "/v1/approvals/batch", batch(&twice)).await;
    assert!(told.refused(409, "batch_refused")["items"][1]["refusal"].is_string());
    let mut strange = batch(&items);
    strange["items"][0]["approval"] = json!("apr_00000000000000000000000001");
    world.post(&rea.token, "/v1/approvals/batch", strange).await.refused(404, "not_found");
    let mut nobody = batch(&items);
    nobody["items"] = json!([]);
    world.post(&rea.token, "/v1/approvals/batch", nobody).await.refused(422, "invalid_body");
    let (mut long, mut never) = (batch(&items), batch(&items));
    long["reason"] = json!("x".repeat(4097));
    never["items"][0]["revision"] = json!(0);
    for unfit in [long, never] {
        let told = world.post(&rea.token, "/v1/approvals/batch?dry_run=true", unfit).await;
        told.refused(422, "invalid_body");
    }
    world
        .post(&bob.token, "/v1/approvals/batch", batch(&items))
        .await
        .refused(409, "batch_refused");
}

async fn without_its_flag_a_batch_only_says_what_it_would_do(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 2).await;
    world.database.run("DELETE FROM feature_flag").await;
    let told = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    assert_eq!(told.refused(409, "feature_off")["flag"], "batch_approvals");
    assert_eq!(states(world, &bob, &items).await, ["REVIEWING"; 2]);
    let dry = world.post(&rea.token, "/v1/approvals/batch?dry_run=true", batch(&items)).await;
    assert_eq!(dry.expect(200)["is_written"], false);
    let path = "/v1/flags/batch_approvals";
    let on = Some(json!({ "enabled": true }));
    world.send("PUT", &world.admin.token, path, on, &[]).await.expect(200);
    world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await.expect(200);
    assert_eq!(states(world, &bob, &items).await, ["APPROVED"; 2]);
}

#[tokio::test]
async fn a_flag_is_as_the_installation_has_it_until_an_admin_says_otherwise() {
    let flags = Switches { batch_approvals: true, ..Switches::default() };
    let line = Line::Rows(Line::SETTINGS);
    let world = World::fitted(Fittings { flags, ..line.into() }).await;
    world.database.run("DELETE FROM feature_flag").await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let shown = async || {
        let told = world.get(&bob.token, "/v1/flags").await.expect(200);
        let is_it = |flag: &&Value| flag["name"] == "batch_approvals";
        told["items"].as_array().unwrap().iter().find(is_it).cloned().unwrap()
    };
    let told = shown().await;
    assert_eq!((&told["enabled"], &told["set_by"]), (&json!(true), &Value::Null));
    let items = waiting(&world, &bob, &rea, 2).await;
    world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await.expect(200);
    assert_eq!(states(&world, &bob, &items).await, ["APPROVED"; 2]);

    let off = Some(json!({ "enabled": false }));
    let path = "/v1/flags/batch_approvals";
    world.send("PUT", &world.admin.token, path, off, &[]).await.expect(200);
    assert_eq!(shown().await["enabled"], false);
    let items = waiting(&world, &bob, &rea, 2).await;
    let told = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    assert_eq!(told.refused(409, "feature_off")["flag"], "batch_approvals");
}
