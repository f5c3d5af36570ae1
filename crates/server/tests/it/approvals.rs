//! Reviewers' answers over HTTP: counted when they are theirs to give on what they saw, refused
//! and kept as a refusal when not.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, seen};

cases! {
    a_request_waits_in_the_inbox_of_its_reviewer:
        Happy "GET /v1/approvals",
        Happy "GET /v1/approvals/{id}",
        Happy "POST /v1/approvals/{id}/approve";
    an_agent_is_never_asked:
        Denied "GET /v1/approvals",
        Denied "GET /v1/approvals/{id}";
    whoever_was_not_asked_does_not_answer:
        Denied "POST /v1/approvals/{id}/approve",
        Denied "POST /v1/approvals/{id}/reject",
        Denied "POST /v1/approvals/{id}/request-changes",
        Denied "POST /v1/approvals/{id}/withdraw";
    an_answer_is_on_what_was_seen:
        Conflict "POST /v1/approvals/{id}/approve",
        Conflict "POST /v1/approvals/{id}/reject",
        Conflict "POST /v1/approvals/{id}/request-changes",
        Conflict "POST /v1/approvals/{id}/withdraw";
    a_task_is_rejected_with_a_reason: Happy "POST /v1/approvals/{id}/reject";
    a_task_is_sent_back_with_a_reason: Happy "POST /v1/approvals/{id}/request-changes";
    an_answer_is_taken_back: Happy "POST /v1/approvals/{id}/withdraw";
    an_answer_after_the_end_is_kept_and_not_counted: Happy "POST /v1/approvals/{id}/approve";
}

const ANSWERS: [(&str, &str); 3] = [
    ("approve", "task.approve"),
    ("reject", "task.reject"),
    ("request-changes", "task.request_changes"),
];

struct Review {
    bob: Person,
    rea: Person,
    task: Value,
    request: String,
}

async fn review(world: &World) -> Review {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "x").await;
    let request = world.request(&rea, &task).await;
    Review { bob, rea, task, request }
}

fn why(task: &Value) -> Value {
    let mut vote = seen(task);
    vote["reason"] = json!("because");
    vote
}

async fn a_request_waits_in_the_inbox_of_its_reviewer(world: &World) {
    let Review { bob, rea, task, request } = review(world).await;
    let path = format!("/v1/approvals/{request}");
    let asked = world.get(&rea.token, &path).await.expect(200);
    assert_eq!((&asked["reviewer"], &asked["status"]), (&json!(rea.id), &json!("PENDING")));
    assert_eq!(asked["task"]["id"], task["id"]);
    let own = "/v1/approvals?reviewer=me&status=pending";
    let inbox = world.get(&rea.token, own).await.expect(200);
    assert_eq!(inbox, world.get(&rea.token, "/v1/approvals").await.expect(200));
    assert_eq!(inbox["items"][0]["id"], json!(request));
    let inbox = world.get(&bob.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "the author is not asked");
    for others in [format!("reviewer={}", rea.id), "reviewer=ME".into(), "status=open".into()] {
        let told = world.get(&bob.token, &format!("/v1/approvals?{others}")).await;
        told.refused(400, "invalid_query");
    }
    let key = [("idempotency-key", "once")];
    let approve = format!("{path}/approve");
    let vote = || Some(seen(&task));
    let first = world.send("POST", &rea.token, &approve, vote(), &key).await.expect(200);
    let again = world.send("POST", &rea.token, &approve, vote(), &key).await;
    assert!(again.is_repeated);
    assert_eq!(again.expect(200), first);
    assert_eq!(first["state"], "APPROVED");
    let ended = world.get(&rea.token, "/v1/approvals?status=APPROVED").await.expect(200);
    assert_eq!(ended["items"][0]["id"], json!(request));
    let inbox = world.get(&rea.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]));
    let given = world.get(&bob.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"].as_array().unwrap().len(), 1);
    assert_eq!(given["votes"][0]["voter"], json!(rea.id));
}

async fn an_agent_is_never_asked(world: &World) {
    let Review { bob, request, .. } = review(world).await;
    let bot = world.agent("bobs-bot", &bob).await;
    for own in ["/v1/approvals", "/v1/approvals?reviewer=me"] {
        world.get(&bot.token, own).await.refused(403, "person_required");
    }
    let path = format!("/v1/approvals/{request}");
    world.get(&bot.token, &path).await.refused(404, "not_found");
    for (answer, _) in ANSWERS {
        let told = world.post(&bot.token, &format!("{path}/{answer}"), json!({})).await;
        told.refused(403, "class_closed");
    }
}

async fn whoever_was_not_asked_does_not_answer(world: &World) {
    let Review { bob, task, request, .. } = review(world).await;
    let eve = world.person("Eve", &["author"]).await;
    for (answer, action) in ANSWERS {
        let path = format!("/v1/approvals/{request}/{answer}");
        let told = world.post(&eve.token, &path, why(&task)).await;
        assert_eq!(told.status, 403, "{}", told.body);
        assert_eq!(world.refusals(id(&task), action).await, 1, "{action}");
        world.post(&bob.token, &path, why(&task)).await.refused(403, "self_approval");
        assert_eq!(world.refusals(id(&task), action).await, 2, "{action}");
    }
    let path = format!("/v1/approvals/{request}/withdraw");
    world.send("POST", &eve.token, &path, None, &[]).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&task), "task.withdraw_vote").await, 1);
    let given = world.get(&bob.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"], json!([]));
}

async fn an_answer_is_on_what_was_seen(world: &World) {
    let Review { rea, task, request, .. } = review(world).await;
    for (answer, _) in ANSWERS {
        let path = format!("/v1/approvals/{request}/{answer}");
        let mut other = why(&task);
        other["revision"] = json!(2);
        world.post(&rea.token, &path, other).await.refused(409, "stale_revision");
        let mut other = why(&task);
        other["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
        let told = world.post(&rea.token, &path, other).await;
        assert!([409, 422].contains(&told.status), "{}", told.body);
    }
    for answer in ["reject", "request-changes"] {
        let path = format!("/v1/approvals/{request}/{answer}");
        world.post(&rea.token, &path, seen(&task)).await.refused(422, "reason_required");
    }
    world.approve(&rea, &task, &request).await;
    let path = format!("/v1/approvals/{request}/withdraw");
    let told = world.send("POST", &rea.token, &path, None, &[]).await;
    assert_eq!(told.refused(409, "wrong_state")["state"], "APPROVED");
}

async fn a_task_is_rejected_with_a_reason(world: &World) {
    let Review { bob, rea, task, request } = review(world).await;
    let path = format!("/v1/approvals/{request}/reject");
    let voted = world.post(&rea.token, &path, why(&task)).await.expect(200);
    assert_eq!((&voted["state"], &voted["effectual"]), (&json!("REJECTED"), &json!(true)));
    let given = world.get(&bob.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"][0]["reason"], "because");
    assert!(world.task(&bob, &task).await["closed_at"].is_string());
}

async fn a_task_is_sent_back_with_a_reason(world: &World) {
    let Review { bob, rea, task, request } = review(world).await;
    let path = format!("/v1/approvals/{request}/request-changes");
    let voted = world.post(&rea.token, &path, why(&task)).await.expect(200);
    assert_eq!(voted["state"], "DRAFT");
    let task = world.task(&bob, &task).await;
    world.submit(&bob, &task).await;
    world.work("review_opener").await;
    let task = world.task(&bob, &task).await;
    assert_eq!(task["state"], "REVIEWING");
    let request = world.request(&rea, &task).await;
    world.approve(&rea, &task, &request).await;
}

async fn an_answer_is_taken_back(world: &World) {
    world.policy("name: two\nrequire:\n  - {roles: [reviewer], min: 2}").await;
    let Review { rea, task, request, .. } = review(world).await;
    let sue = world.person("Sue", &["reviewer"]).await;
    let withdraw = format!("/v1/approvals/{request}/withdraw");
    let none = world.send("POST", &rea.token, &withdraw, None, &[]).await;
    assert!([403, 409].contains(&none.status), "{}", none.body);
    let path = format!("/v1/approvals/{request}/approve");
    let voted = world.post(&rea.token, &path, seen(&task)).await.expect(200);
    assert_eq!(voted["state"], "REVIEWING", "one of two");
    let back = world.send("POST", &rea.token, &withdraw, None, &[]).await.expect(200);
    assert_eq!(back["state"], "REVIEWING");
    let told = world.send("POST", &rea.token, &withdraw, None, &[]).await;
    told.refused(409, "nothing_to_withdraw");
    let given = world.get(&rea.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"][0]["withdrawn"], true, "kept, and counted no more");
    let told = world.get(&sue.token, &format!("{}/explain", path_of(&task))).await.expect(200);
    assert_eq!(told["approvals_missing"], 2, "{told}");
}

async fn an_answer_after_the_end_is_kept_and_not_counted(world: &World) {
    let Review { bob, rea, task, request } = review(world).await;
    let cancel = format!("{}/cancel", path_of(&task));
    world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await.expect(200);
    let path = format!("/v1/approvals/{request}/approve");
    let voted = world.post(&rea.token, &path, seen(&task)).await.expect(200);
    assert_eq!((&voted["effectual"], &voted["state"]), (&json!(false), &json!("CANCELLED")));
}
