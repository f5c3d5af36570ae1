//! Batches of votes: all of them are written, or none.

use ade_core::flag::Switches;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{LockBackend, Person, TestServerOptions, World, id, quoted};

cases! {
    batch_dry_run_shows_what_the_batch_then_writes:
        Happy "POST /v1/approvals/batch",
        Conflict "POST /v1/approvals/batch";
    batch_with_one_changed_item_writes_nothing: Conflict "POST /v1/approvals/batch";
    batch_of_other_changes_is_refused_and_shapes_are_shown:
        Conflict "POST /v1/approvals/batch";
    batch_without_its_flag_allows_only_a_dry_run: Conflict "POST /v1/approvals/batch";
    batch_with_a_skipped_repeated_or_unknown_item_is_refused: Denied "POST /v1/approvals/batch";
}

/// Creates tasks that wait for this reviewer, each with the batch item for its current content.
async fn waiting(world: &World, author: &Person, reviewer: &Person, count: usize) -> Vec<Value> {
    // Declared effects have a high risk; a resource of criticality 0 keeps the tasks eligible for a
    // batch.
    let entry = json!({ "criticality": 0 });
    let path = "/v1/resources/database/orders";
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    let mut items = Vec::new();
    for _ in 0..count {
        // The title is also a parameter, and a batch contains only equal changes.
        let task = world.reviewing(author, "task").await;
        let approval = world.request(reviewer, &task).await;
        let item = json!({
            "approval_id": approval, "revision": task["revision"], "digest": task["digest"]
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

async fn batch_dry_run_shows_what_the_batch_then_writes(world: &World) {
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
    assert_eq!(send().await.expect(200), written, "the response is replayed");
}

async fn batch_with_one_changed_item_writes_nothing(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 3).await;
    let second = &items[1]["task"];
    let other = json!({ "parameters": { "for": "something else" } });
    let path = format!("/v1/tasks/{}", id(second));
    let matching = [("if-match", &*quoted(second))];
    world.send("PATCH", &bob.token, &path, Some(other), &matching).await.expect(200);
    world.work("review_opener").await;
    let refused = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    let refused = refused.refused(409, "batch_refused");
    assert!(refused["items"][1]["refusal"].is_string() && refused["items"][0]["refusal"].is_null());
    assert_eq!(states(world, &bob, &items).await, ["REVIEWING"; 3]);
    let leaves = "SELECT count(*) FROM audit_entry WHERE action = 'task.approve'";
    assert_eq!(world.database.number(leaves).await, 0);
}

async fn batch_of_other_changes_is_refused_and_shapes_are_shown(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let mut items = waiting(world, &bob, &rea, 3).await;
    let last = &items[2]["task"];
    let other = json!({ "parameters": { "for": "something else" } });
    let path = format!("/v1/tasks/{}", id(last));
    let matching = [("if-match", &*quoted(last))];
    world.send("PATCH", &bob.token, &path, Some(other), &matching).await.expect(200);
    world.work("review_opener").await;
    let last = world.get(&rea.token, &path).await.expect(200);
    assert_eq!(last["risk"]["level"], "medium", "{last}");
    items[2]["item"] = json!({
        "approval_id": world.request(&rea, &last).await, "revision": last["revision"],
        "digest": last["digest"]
    });
    let [first, second] = [0, 1].map(|at| items[at]["task"]["shape"].clone());
    assert!(first.is_string() && first == second && first != last["shape"], "{items:?} {last}");
    for action in ["approve", "reject"] {
        let mut mixed = batch(&items);
        mixed["action"] = json!(action);
        mixed["reason"] = json!("looked at");
        let refused = world.post(&rea.token, "/v1/approvals/batch", mixed).await;
        let refused = refused.refused(409, "batch_refused");
        let why = refused["items"][2]["refusal"].as_str().unwrap();
        assert!(why.contains("another change"), "{why}");
        assert!(refused["items"][0]["refusal"].is_null(), "{refused}");
    }
    assert_eq!(states(world, &bob, &items).await, ["REVIEWING"; 3]);
    items.pop();
    world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await.expect(200);
}

async fn batch_with_a_skipped_repeated_or_unknown_item_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 1).await;
    let mut skipping = batch(&items);
    skipping["skip_validation"] = json!(true);
    let response = world.post(&rea.token, "/v1/approvals/batch", skipping).await;
    assert!(response.refused(422, "invalid_body")["detail"].as_str().unwrap().contains("skip"));
    let twice = [items[0].clone(), items[0].clone()];
    let response = world.post(&rea.token, "/v1/approvals/batch", batch(&twice)).await;
    assert!(response.refused(409, "batch_refused")["items"][1]["refusal"].is_string());
    let mut strange = batch(&items);
    strange["items"][0]["approval_id"] = json!("apr_00000000000000000000000001");
    world.post(&rea.token, "/v1/approvals/batch", strange).await.refused(404, "not_found");
    let mut empty = batch(&items);
    empty["items"] = json!([]);
    world.post(&rea.token, "/v1/approvals/batch", empty).await.refused(422, "invalid_body");
    let (mut long, mut never) = (batch(&items), batch(&items));
    long["reason"] = json!("x".repeat(4097));
    never["items"][0]["revision"] = json!(0);
    for unfit in [long, never] {
        let response = world.post(&rea.token, "/v1/approvals/batch?dry_run=true", unfit).await;
        response.refused(422, "invalid_body");
    }
    world
        .post(&bob.token, "/v1/approvals/batch", batch(&items))
        .await
        .refused(409, "batch_refused");
}

async fn batch_without_its_flag_allows_only_a_dry_run(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let items = waiting(world, &bob, &rea, 2).await;
    world.database.run("DELETE FROM feature_flag").await;
    let response = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    assert_eq!(response.refused(409, "feature_off")["flag"], "batch_approvals");
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
async fn flag_default_applies_until_an_admin_sets_the_flag() {
    let flags = Switches { batch_approvals: true, ..Switches::default() };
    let line = LockBackend::Rows(LockBackend::SETTINGS);
    let world = World::fitted(TestServerOptions { flags, ..line.into() }).await;
    world.database.run("DELETE FROM feature_flag").await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let shown = async || {
        let flags = world.get(&bob.token, "/v1/flags").await.expect(200);
        let is_it = |flag: &&Value| flag["name"] == "batch_approvals";
        flags["items"].as_array().unwrap().iter().find(is_it).cloned().unwrap()
    };
    let flag = shown().await;
    assert_eq!((&flag["enabled"], &flag["set_by"]), (&json!(true), &Value::Null));
    let items = waiting(&world, &bob, &rea, 2).await;
    world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await.expect(200);
    assert_eq!(states(&world, &bob, &items).await, ["APPROVED"; 2]);

    let off = Some(json!({ "enabled": false }));
    let path = "/v1/flags/batch_approvals";
    world.send("PUT", &world.admin.token, path, off, &[]).await.expect(200);
    assert_eq!(shown().await["enabled"], false);
    let items = waiting(&world, &bob, &rea, 2).await;
    let response = world.post(&rea.token, "/v1/approvals/batch", batch(&items)).await;
    assert_eq!(response.refused(409, "feature_off")["flag"], "batch_approvals");
}
