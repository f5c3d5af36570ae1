//! What authors do with tasks over HTTP: each call as it works, as it is denied (and the denial
//! kept), and as it comes at the wrong moment.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, plan, quoted};

cases! {
    a_draft_is_made: Happy "POST /v1/tasks";
    a_reviewer_proposes_nothing: Denied "POST /v1/tasks";
    a_key_makes_one_draft: Conflict "POST /v1/tasks";
    a_draft_is_amended: Happy "PATCH /v1/tasks/{id}";
    another_author_changes_nothing:
        Denied "PATCH /v1/tasks/{id}",
        Denied "DELETE /v1/tasks/{id}",
        Denied "POST /v1/tasks/{id}/submit",
        Denied "POST /v1/tasks/{id}/cancel";
    a_change_names_the_version_it_is_of:
        Conflict "PATCH /v1/tasks/{id}",
        Conflict "DELETE /v1/tasks/{id}",
        Conflict "POST /v1/tasks/{id}/submit",
        Conflict "POST /v1/tasks/{id}/cancel",
        Conflict "POST /v1/tasks/{id}/retry",
        Conflict "POST /v1/tasks/{id}/resubmit";
    a_change_fits_the_state:
        Conflict "PATCH /v1/tasks/{id}",
        Conflict "DELETE /v1/tasks/{id}",
        Conflict "POST /v1/tasks/{id}/submit",
        Conflict "POST /v1/tasks/{id}/cancel",
        Conflict "POST /v1/tasks/{id}/retry",
        Conflict "POST /v1/tasks/{id}/resubmit",
        Conflict "POST /v1/tasks/{id}/comments";
    a_draft_is_deleted_and_gone: Happy "DELETE /v1/tasks/{id}", Denied "GET /v1/tasks/{id}";
    a_draft_is_submitted_and_reviewed: Happy "POST /v1/tasks/{id}/submit";
    a_task_is_cancelled: Happy "POST /v1/tasks/{id}/cancel";
    a_failed_task_is_tried_again:
        Happy "POST /v1/tasks/{id}/retry",
        Denied "POST /v1/tasks/{id}/retry";
    an_ended_task_is_taken_up_again:
        Happy "POST /v1/tasks/{id}/resubmit",
        Denied "POST /v1/tasks/{id}/resubmit";
    whoever_reads_a_task_comments_on_it:
        Happy "POST /v1/tasks/{id}/comments",
        Denied "POST /v1/tasks/{id}/comments",
        Happy "GET /v1/tasks/{id}/comments",
        Denied "GET /v1/tasks/{id}/comments";
}

const OTHER: &str = "something else";

fn amendment() -> Value {
    json!({ "parameters": { "for": OTHER } })
}

async fn bob(world: &World) -> Person {
    world.person("Bob", &["author"]).await
}

async fn a_draft_is_made(world: &World) {
    let bob = bob(world).await;
    let asked = json!({ "tags": ["x"], "priority": 90, "team": "core", "ticket": "OPS-1" });
    let mut new = plan("Add a currency");
    for (name, value) in asked.as_object().unwrap() {
        new[name] = value.clone();
    }
    let made = world.post(&bob.token, "/v1/tasks", new).await;
    assert_eq!(made.etag.as_deref(), Some("\"1\""));
    let made = made.expect(201);
    for (name, value) in asked.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["state"], "DRAFT");
    assert_eq!((&made["author"], &made["agent"]), (&json!(bob.id), &Value::Null));
    assert_eq!(made["effect"]["origin"], "declared");
    let counts = json!({ "adds": 1, "changes": 0, "removes": 0, "irreversible": 0 });
    assert_eq!(made["effect"]["counts"], counts);
    let mut read = world.task(&bob, &made).await;
    read.as_object_mut().unwrap().remove("timed_out");
    assert_eq!(read, made, "what was answered is what was kept");
}

async fn a_reviewer_proposes_nothing(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let told = world.post(&rea.token, "/v1/tasks", plan("x")).await.refused(403, "not_allowed");
    assert_eq!(told["action"], "task.create");
    assert_eq!(world.refusals(&world.tenant, "task.create").await, 1);
    let tasks = world.get(&rea.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"], json!([]));
}

async fn a_key_makes_one_draft(world: &World) {
    let bob = bob(world).await;
    world.twice("POST", &bob.token, "/v1/tasks", [plan("a"), plan("b")]).await;
    let tasks = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1);
}

async fn a_draft_is_amended(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let amended = world.matching("PATCH", &bob.token, &path, Some(amendment()), &task).await;
    assert_eq!(amended.etag.as_deref(), Some("\"2\""));
    let amended = amended.expect(200);
    assert_eq!((&amended["revision"], &amended["state"]), (&json!(2), &json!("DRAFT")));
    assert_eq!(amended["parameters"]["for"], OTHER);
    assert_ne!(amended["digest"], task["digest"]);
    assert_eq!(amended["effect"], task["effect"], "what was stated stays stated");
    let first = world.get(&bob.token, &format!("{path}/revisions/1")).await.expect(200);
    assert_eq!(first["digest"], task["digest"], "a revision never changes");
    let nothing = world.matching("PATCH", &bob.token, &path, Some(amendment()), &amended).await;
    nothing.refused(409, "nothing_changed");
}

async fn another_author_changes_nothing(world: &World) {
    let (bob, eve) = (bob(world).await, world.person("Eve", &["author"]).await);
    let bot = world.agent("eves-bot", &eve).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let calls = [
        ("PATCH", path.clone(), Some(amendment()), "task.amend"),
        ("DELETE", path.clone(), None, "task.delete"),
        ("POST", format!("{path}/submit"), None, "task.submit"),
        ("POST", format!("{path}/cancel"), Some(json!({})), "task.cancel"),
    ];
    for (method, path, body, action) in calls {
        let told = world.matching(method, &eve.token, &path, body.clone(), &task).await;
        assert_eq!(told.refused(403, "not_allowed")["action"], action);
        assert_eq!(world.refusals(id(&task), action).await, 1, "{action}");
        // An agent of somebody else does not even learn that the task is there.
        world.matching(method, &bot.token, &path, body, &task).await.refused(404, "not_found");
    }
    let mut after = world.task(&bob, &task).await;
    after.as_object_mut().unwrap().remove("timed_out");
    assert_eq!(after, task);
}

fn changes(path: &str) -> [(&'static str, String, Option<Value>); 6] {
    [
        ("PATCH", path.to_owned(), Some(amendment())),
        ("DELETE", path.to_owned(), None),
        ("POST", format!("{path}/submit"), None),
        ("POST", format!("{path}/cancel"), Some(json!({}))),
        ("POST", format!("{path}/retry"), None),
        ("POST", format!("{path}/resubmit"), None),
    ]
}

async fn a_change_names_the_version_it_is_of(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    for (method, path, body) in changes(&path_of(&task)) {
        let token = &bob.token;
        let missing = world.send(method, token, &path, body.clone(), &[]).await;
        missing.refused(428, "precondition_required");
        let other = [("if-match", "\"7\"")];
        let told = world.send(method, token, &path, body.clone(), &other).await;
        let told = told.refused(412, "version_mismatch");
        assert_eq!((&told["expected_version"], &told["version"]), (&json!(7), &json!(1)));
        for bad in ["1", "*", "\"01\"", "W/\"1\"", "\"1\", \"2\""] {
            let told = world.send(method, token, &path, body.clone(), &[("if-match", bad)]).await;
            told.refused(400, "malformed_request");
        }
    }
    assert_eq!(world.task(&bob, &task).await["version"], 1);
}

async fn a_change_fits_the_state(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    for (method, path, body) in changes(&path_of(&task)).into_iter().skip(4) {
        let told = world.matching(method, &bob.token, &path, body, &task).await;
        assert_eq!(told.refused(409, "wrong_state")["state"], "DRAFT");
    }
    let comments = format!("{}/comments", path_of(&task));
    let told = world.post(&bob.token, &comments, json!({ "text": "hm" })).await;
    assert_eq!(told.refused(409, "wrong_state")["state"], "DRAFT");
    let cancel = format!("{}/cancel", path_of(&task));
    let ended = world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await;
    let ended = ended.expect(200);
    for (method, path, body) in changes(&path_of(&task)).into_iter().take(5) {
        let told = world.matching(method, &bob.token, &path, body, &ended).await;
        let told = told.refused(409, "wrong_state");
        assert_eq!(told["state"], "CANCELLED", "{told}");
        assert!(told["works_from"].is_array(), "{told}");
    }
}

async fn a_draft_is_deleted_and_gone(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let gone = world.matching("DELETE", &bob.token, &path, None, &task).await.expect(200);
    assert_eq!(gone["id"], task["id"]);
    world.get(&bob.token, &path).await.refused(404, "not_found");
    let leaves = world.get(&world.admin.token, &format!("/v1/audit?object={}", id(&task))).await;
    let leaves = leaves.expect(200);
    assert_eq!(leaves["items"][0]["leaf"]["what"]["action"], "task.delete");
}

async fn a_draft_is_submitted_and_reviewed(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.draft(&bob, "x").await;
    let path = format!("{}/submit", path_of(&task));
    let key = [("idempotency-key", "k"), ("if-match", &*quoted(&task))];
    let first = world.send("POST", &bob.token, &path, None, &key).await.expect(202);
    assert_eq!(first["state"], "SUBMITTED");
    assert_eq!(first["submitter"], json!(bob.id));
    let again = world.send("POST", &bob.token, &path, None, &key).await;
    assert!(again.is_repeated);
    assert_eq!(again.expect(202), first);
    world.work("review_opener").await;
    assert_eq!(world.task(&rea, &task).await["state"], "REVIEWING");
    world.request(&rea, &task).await;
}

async fn a_task_is_cancelled(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let path = format!("{}/cancel", path_of(&task));
    let why = json!({ "reason": "not needed" });
    let ended = world.matching("POST", &bob.token, &path, Some(why), &task).await.expect(200);
    assert_eq!(ended["state"], "CANCELLED");
    assert!(ended["closed_at"].is_string());
    let inbox = world.get(&rea.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "nobody is asked any more");
    let leaves = format!("/v1/audit?object={}", id(&task));
    let leaves = world.get(&world.admin.token, &leaves).await.expect(200);
    assert_eq!(leaves["items"][0]["leaf"]["why"]["reason"], "not needed");
}

async fn a_failed_task_is_tried_again(world: &World) {
    let (bob, eve) = (bob(world).await, world.person("Eve", &["author"]).await);
    let rea = world.person("Rea", &["reviewer"]).await;
    world.approved(&bob, &rea, "x").await;
    world.fail("x").await;
    let tasks = world.get(&bob.token, "/v1/tasks?state=FAILED").await.expect(200);
    let task = tasks["items"][0].clone();
    let path = format!("{}/retry", path_of(&task));
    world.matching("POST", &eve.token, &path, None, &task).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&task), "task.retry").await, 1);
    let again = world.matching("POST", &bob.token, &path, None, &task).await.expect(202);
    assert_eq!(again["state"], "APPROVED", "the approval still stands");
}

async fn an_ended_task_is_taken_up_again(world: &World) {
    let (bob, eve) = (bob(world).await, world.person("Eve", &["author"]).await);
    let task = world.draft(&bob, "x").await;
    let cancel = format!("{}/cancel", path_of(&task));
    let ended = world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await;
    let ended = ended.expect(200);
    let path = format!("{}/resubmit", path_of(&task));
    world.matching("POST", &eve.token, &path, None, &ended).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&task), "task.resubmit").await, 1);
    let fresh = world.matching("POST", &bob.token, &path, None, &ended).await.expect(201);
    assert_eq!((&fresh["state"], &fresh["resubmits"]), (&json!("DRAFT"), &task["id"]));
    assert_eq!(fresh["digest"], task["digest"], "the same content");
    assert_ne!(fresh["id"], task["id"]);
    assert_eq!(world.task(&bob, &task).await["state"], "CANCELLED");
    assert_eq!(world.task(&bob, &fresh).await["title"], "x");
}

async fn whoever_reads_a_task_comments_on_it(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = world.agent("reas-bot", &rea).await;
    let task = world.reviewing(&bob, "x").await;
    let path = format!("{}/comments", path_of(&task));
    for (who, text) in [(&bob, "first"), (&rea, "second"), (&bob, "third")] {
        let said = world.post(&who.token, &path, json!({ "text": text })).await.expect(201);
        assert_eq!(said["id"], task["id"]);
    }
    let text = json!({ "text": "psst" });
    world.post(&bot.token, &path, text).await.refused(404, "not_found");
    world.get(&bot.token, &path).await.refused(404, "not_found");
    for bad in ["", " ", &"x".repeat(4097)] {
        let told = world.post(&bob.token, &path, json!({ "text": bad })).await;
        assert_eq!(told.status, 422, "{}", told.body);
    }
    let read = world.get(&rea.token, &path).await.expect(200);
    let items = read["items"].as_array().unwrap().iter();
    let texts: Vec<&str> = items.map(|item| item["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!(read["items"][1]["by"]["id"], json!(rea.id));
    let bodies = [json!({ "text": "a" }), json!({ "text": "b" })];
    world.twice("POST", &bob.token, &path, bodies).await;
}
