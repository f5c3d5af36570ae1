//! The requests that authors make for tasks: each one as it succeeds, as it is denied and recorded,
//! and as it arrives in the wrong state.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, plan, quoted};

cases! {
    draft_is_created: Happy "POST /v1/tasks";
    task_of_a_type_without_an_applier_has_a_warning:
        Happy "POST /v1/tasks",
        Happy "GET /v1/tasks/{id}";
    reviewer_cannot_propose_a_task: Denied "POST /v1/tasks";
    idempotency_key_creates_one_draft: Conflict "POST /v1/tasks";
    task_is_created_and_submitted_in_one_call: Happy "POST /v1/tasks";
    task_is_submitted_and_cancelled_without_a_version:
        Happy "POST /v1/tasks/{id}/submit",
        Happy "POST /v1/tasks/{id}/cancel";
    draft_is_amended: Happy "PATCH /v1/tasks/{id}";
    task_of_another_author_cannot_be_changed:
        Denied "PATCH /v1/tasks/{id}",
        Denied "DELETE /v1/tasks/{id}",
        Denied "POST /v1/tasks/{id}/submit",
        Denied "POST /v1/tasks/{id}/cancel";
    change_without_the_current_version_is_refused:
        Conflict "PATCH /v1/tasks/{id}",
        Conflict "DELETE /v1/tasks/{id}",
        Conflict "POST /v1/tasks/{id}/submit",
        Conflict "POST /v1/tasks/{id}/cancel",
        Conflict "POST /v1/tasks/{id}/retry",
        Conflict "POST /v1/tasks/{id}/resubmit";
    change_in_the_wrong_state_is_refused:
        Conflict "PATCH /v1/tasks/{id}",
        Conflict "DELETE /v1/tasks/{id}",
        Conflict "POST /v1/tasks/{id}/submit",
        Conflict "POST /v1/tasks/{id}/cancel",
        Conflict "POST /v1/tasks/{id}/retry",
        Conflict "POST /v1/tasks/{id}/resubmit",
        Conflict "POST /v1/tasks/{id}/comments";
    draft_once_deleted_is_not_found: Happy "DELETE /v1/tasks/{id}", Denied "GET /v1/tasks/{id}";
    draft_is_submitted_and_reviewed: Happy "POST /v1/tasks/{id}/submit";
    task_is_cancelled: Happy "POST /v1/tasks/{id}/cancel";
    failed_task_is_retried:
        Happy "POST /v1/tasks/{id}/retry",
        Denied "POST /v1/tasks/{id}/retry";
    closed_task_is_resubmitted_as_a_draft:
        Happy "POST /v1/tasks/{id}/resubmit",
        Denied "POST /v1/tasks/{id}/resubmit";
    task_is_commented_on_by_its_readers:
        Happy "POST /v1/tasks/{id}/comments",
        Denied "POST /v1/tasks/{id}/comments",
        Happy "GET /v1/tasks/{id}/comments",
        Denied "GET /v1/tasks/{id}/comments";
}

async fn task_of_a_type_without_an_applier_has_a_warning(world: &World) {
    let bob = bob(world).await;
    let bot = world.agent("bot", &bob).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.post(&bob.token, "/v1/tasks", plan("x")).await.expect(201);
    let warning = &task["warnings"][0];
    assert_eq!(warning["code"], "not_capable", "{task}");
    assert!(warning["message"].as_str().unwrap().contains("`db.change`"), "{warning}");
    assert_eq!(world.task(&rea, &task).await["warnings"], task["warnings"]);
    let path = format!("/v1/agents/{}", bot.id);
    let able = Some(json!({ "capabilities": ["db.*"] }));
    world.send("PATCH", &world.admin.token, &path, able, &[]).await.expect(200);
    assert_eq!(world.task(&rea, &task).await["warnings"], json!([]));
    // A revoked agent applies nothing.
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let submitted = world.submit(&bob, &task).await;
    assert_eq!(submitted["warnings"], task["warnings"]);
}

const OTHER: &str = "something else";

fn amendment() -> Value {
    json!({ "parameters": { "for": OTHER } })
}

async fn bob(world: &World) -> Person {
    world.person("Bob", &["author"]).await
}

async fn draft_is_created(world: &World) {
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
    assert_eq!((&made["author_id"], &made["agent_id"]), (&json!(bob.id), &Value::Null));
    assert_eq!(made["effect"]["origin"], "declared");
    let counts = json!({ "adds": 1, "changes": 0, "removes": 0, "irreversible": 0 });
    assert_eq!(made["effect"]["counts"], counts);
    let mut read = world.task(&bob, &made).await;
    read.as_object_mut().unwrap().remove("timed_out");
    assert_eq!(read, made, "the response equals the stored task");
}

async fn reviewer_cannot_propose_a_task(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let problem = world.post(&rea.token, "/v1/tasks", plan("x")).await.refused(403, "not_allowed");
    assert_eq!(problem["action"], "task.create");
    assert_eq!(world.refusals(&world.tenant, "task.create").await, 1);
    let tasks = world.get(&rea.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"], json!([]));
}

async fn idempotency_key_creates_one_draft(world: &World) {
    let bob = bob(world).await;
    world.twice("POST", &bob.token, "/v1/tasks", [plan("a"), plan("b")]).await;
    let tasks = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"].as_array().unwrap().len(), 1);
}

async fn draft_is_amended(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let amended = world.matching("PATCH", &bob.token, &path, Some(amendment()), &task).await;
    assert_eq!(amended.etag.as_deref(), Some("\"2\""));
    let amended = amended.expect(200);
    assert_eq!((&amended["revision"], &amended["state"]), (&json!(2), &json!("DRAFT")));
    assert_eq!(amended["parameters"]["for"], OTHER);
    assert_ne!(amended["digest"], task["digest"]);
    assert_eq!(amended["effect"], task["effect"], "the declared effect is unchanged");
    let first = world.get(&bob.token, &format!("{path}/revisions/1")).await.expect(200);
    assert_eq!(first["digest"], task["digest"], "a revision never changes");
    let nothing = world.matching("PATCH", &bob.token, &path, Some(amendment()), &amended).await;
    nothing.refused(409, "nothing_changed");
}

async fn task_of_another_author_cannot_be_changed(world: &World) {
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
        let response = world.matching(method, &eve.token, &path, body.clone(), &task).await;
        assert_eq!(response.refused(403, "not_allowed")["action"], action);
        assert_eq!(world.refusals(id(&task), action).await, 1, "{action}");
        // The agent of another owner does not learn that the task exists.
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

async fn change_without_the_current_version_is_refused(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    for (method, path, body) in changes(&path_of(&task)) {
        let token = &bob.token;
        // What a submission or a cancellation refers to is clear without a version.
        if !path.ends_with("/submit") && !path.ends_with("/cancel") {
            let missing = world.send(method, token, &path, body.clone(), &[]).await;
            missing.refused(428, "precondition_required");
        }
        let other = [("if-match", "\"7\"")];
        let response = world.send(method, token, &path, body.clone(), &other).await;
        let problem = response.refused(412, "version_mismatch");
        assert_eq!((&problem["expected_version"], &problem["version"]), (&json!(7), &json!(1)));
        for bad in ["1", "*", "\"01\"", "W/\"1\"", "\"1\", \"2\""] {
            let response =
                world.send(method, token, &path, body.clone(), &[("if-match", bad)]).await;
            response.refused(400, "malformed_request");
        }
    }
    assert_eq!(world.task(&bob, &task).await["version"], 1);
}

async fn change_in_the_wrong_state_is_refused(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    for (method, path, body) in changes(&path_of(&task)).into_iter().skip(4) {
        let response = world.matching(method, &bob.token, &path, body, &task).await;
        assert_eq!(response.refused(409, "wrong_state")["state"], "DRAFT");
    }
    let comments = format!("{}/comments", path_of(&task));
    let response = world.post(&bob.token, &comments, json!({ "text": "hm" })).await;
    assert_eq!(response.refused(409, "wrong_state")["state"], "DRAFT");
    let cancel = format!("{}/cancel", path_of(&task));
    let ended = world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await;
    let ended = ended.expect(200);
    for (method, path, body) in changes(&path_of(&task)).into_iter().take(5) {
        let response = world.matching(method, &bob.token, &path, body, &ended).await;
        let problem = response.refused(409, "wrong_state");
        assert_eq!(problem["state"], "CANCELLED", "{problem}");
        assert!(problem["works_from"].is_array(), "{problem}");
    }
}

async fn draft_once_deleted_is_not_found(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let gone = world.matching("DELETE", &bob.token, &path, None, &task).await.expect(200);
    assert_eq!(gone["id"], task["id"]);
    world.get(&bob.token, &path).await.refused(404, "not_found");
    let entries = world.get(&world.admin.token, &format!("/v1/audit?object={}", id(&task))).await;
    let entries = entries.expect(200);
    assert_eq!(entries["items"][0]["leaf"]["what"]["action"], "task.delete");
}

async fn draft_is_submitted_and_reviewed(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.draft(&bob, "x").await;
    let path = format!("{}/submit", path_of(&task));
    let key = [("idempotency-key", "k"), ("if-match", &*quoted(&task))];
    let first = world.send("POST", &bob.token, &path, None, &key).await.expect(202);
    assert_eq!(first["state"], "SUBMITTED");
    assert_eq!(first["submitter_id"], json!(bob.id));
    let again = world.send("POST", &bob.token, &path, None, &key).await;
    assert!(again.is_repeated);
    assert_eq!(again.expect(202), first);
    world.work("review_opener").await;
    assert_eq!(world.task(&rea, &task).await["state"], "REVIEWING");
    world.request(&rea, &task).await;
}

async fn task_is_cancelled(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let path = format!("{}/cancel", path_of(&task));
    let why = json!({ "reason": "not needed" });
    let ended = world.matching("POST", &bob.token, &path, Some(why), &task).await.expect(200);
    assert_eq!(ended["state"], "CANCELLED");
    assert!(ended["closed_at"].is_string());
    let inbox = world.get(&rea.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "the request is closed");
    let entries = format!("/v1/audit?object={}", id(&task));
    let entries = world.get(&world.admin.token, &entries).await.expect(200);
    assert_eq!(entries["items"][0]["leaf"]["why"]["reason"], "not needed");
}

async fn failed_task_is_retried(world: &World) {
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
    assert_eq!(again["state"], "APPROVED", "the approval is still valid");
}

async fn closed_task_is_resubmitted_as_a_draft(world: &World) {
    let (bob, eve) = (bob(world).await, world.person("Eve", &["author"]).await);
    let task = world.draft(&bob, "x").await;
    let cancel = format!("{}/cancel", path_of(&task));
    let ended = world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await;
    let ended = ended.expect(200);
    let path = format!("{}/resubmit", path_of(&task));
    world.matching("POST", &eve.token, &path, None, &ended).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&task), "task.resubmit").await, 1);
    let fresh = world.matching("POST", &bob.token, &path, None, &ended).await.expect(201);
    assert_eq!((&fresh["state"], &fresh["resubmission_of"]), (&json!("DRAFT"), &task["id"]));
    assert_eq!(fresh["digest"], task["digest"], "the same content");
    assert_ne!(fresh["id"], task["id"]);
    assert_eq!(world.task(&bob, &task).await["state"], "CANCELLED");
    assert_eq!(world.task(&bob, &fresh).await["title"], "x");
}

async fn task_is_commented_on_by_its_readers(world: &World) {
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
        let response = world.post(&bob.token, &path, json!({ "text": bad })).await;
        assert_eq!(response.status, 422, "{}", response.body);
    }
    let read = world.get(&rea.token, &path).await.expect(200);
    let items = read["items"].as_array().unwrap().iter();
    let texts: Vec<&str> = items.map(|item| item["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    assert_eq!(read["items"][1]["by"]["id"], json!(rea.id));
    let bodies = [json!({ "text": "a" }), json!({ "text": "b" })];
    world.twice("POST", &bob.token, &path, bodies).await;
}

async fn task_is_created_and_submitted_in_one_call(world: &World) {
    let bob = bob(world).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let mut new = plan("Add a currency");
    new["submit"] = json!(true);
    let key = [("idempotency-key", "one")];
    let send = async || world.send("POST", &bob.token, "/v1/tasks", Some(new.clone()), &key).await;
    let made = send().await.expect(201);
    assert_eq!((&made["state"], &made["version"]), (&json!("SUBMITTED"), &json!(2)));
    assert_eq!((&made["is_decided"], &made["is_final"]), (&json!(false), &json!(false)));
    let url = made["url"].as_str().unwrap();
    assert!(url.starts_with("http") && url.ends_with(&path_of(&made)["/v1".len()..]), "{url}");
    let again = send().await;
    assert!(again.is_repeated);
    assert_eq!(again.body, made);
    let listed = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "one task");
    let actions = "SELECT count(*) FROM audit_entry WHERE action IN ('task.create', 'task.submit')";
    assert_eq!(world.database.number(actions).await, 2, "both steps are recorded");
    world.work("review_opener").await;
    let task = world.task(&bob, &made).await;
    assert_eq!(task["state"], "REVIEWING", "the review was scheduled");
    world.request(&rea, &task).await;
}

async fn task_is_submitted_and_cancelled_without_a_version(world: &World) {
    let bob = bob(world).await;
    let task = world.draft(&bob, "x").await;
    let path = path_of(&task);
    let submit = format!("{path}/submit");
    let sent = world.send("POST", &bob.token, &submit, None, &[]).await.expect(202);
    assert_eq!(sent["state"], "SUBMITTED");
    let cancel = format!("{path}/cancel");
    let ended =
        world.post(&bob.token, &cancel, json!({ "reason": "not needed" })).await.expect(200);
    assert_eq!((&ended["is_decided"], &ended["is_final"]), (&json!(true), &json!(true)));
    assert_eq!(ended["decision"]["reason"], "not needed");
}
