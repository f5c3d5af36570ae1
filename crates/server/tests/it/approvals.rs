//! Votes of reviewers over HTTP. A vote counts if its reviewer was asked and has seen the current
//! content; otherwise it is refused, and the refusal is recorded.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, seen};

cases! {
    approval_request_is_in_the_inbox_of_its_reviewer:
        Happy "GET /v1/approvals",
        Happy "GET /v1/approvals/{id}",
        Happy "POST /v1/tasks/{id}/approve";
    approval_is_never_requested_from_an_agent:
        Denied "GET /v1/approvals",
        Denied "GET /v1/approvals/{id}";
    vote_by_a_person_who_was_not_asked_is_refused:
        Denied "POST /v1/tasks/{id}/approve",
        Denied "POST /v1/tasks/{id}/reject",
        Denied "POST /v1/tasks/{id}/request-changes",
        Denied "POST /v1/approvals/{id}/withdraw";
    vote_on_content_that_was_not_seen_is_refused:
        Conflict "POST /v1/tasks/{id}/approve",
        Conflict "POST /v1/tasks/{id}/reject",
        Conflict "POST /v1/tasks/{id}/request-changes",
        Conflict "POST /v1/approvals/{id}/withdraw";
    rejection_with_a_reason_closes_the_task: Happy "POST /v1/tasks/{id}/reject";
    change_request_returns_the_task_to_draft:
        Happy "POST /v1/tasks/{id}/request-changes";
    vote_withdrawn_before_the_quorum_does_not_count: Happy "POST /v1/approvals/{id}/withdraw";
    vote_after_cancellation_is_stored_without_effect: Happy "POST /v1/tasks/{id}/approve";
    audit_of_a_task_stays_readable_for_asked_reviewers:
        Happy "GET /v1/audit", Denied "GET /v1/audit";
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

async fn approval_request_is_in_the_inbox_of_its_reviewer(world: &World) {
    let Review { bob, rea, task, request } = review(world).await;
    let path = format!("/v1/approvals/{request}");
    let asked = world.get(&rea.token, &path).await.expect(200);
    assert_eq!((&asked["reviewer_id"], &asked["status"]), (&json!(rea.id), &json!("PENDING")));
    assert_eq!(asked["task"]["id"], task["id"]);
    let own = "/v1/approvals?reviewer=me&status=pending";
    let inbox = world.get(&rea.token, own).await.expect(200);
    assert_eq!(inbox, world.get(&rea.token, "/v1/approvals").await.expect(200));
    assert_eq!(inbox["items"][0]["id"], json!(request));
    let inbox = world.get(&bob.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "the author is not asked");
    for others in [format!("reviewer={}", rea.id), "reviewer=ME".into(), "status=open".into()] {
        let response = world.get(&bob.token, &format!("/v1/approvals?{others}")).await;
        response.refused(400, "invalid_query");
    }
    let key = [("idempotency-key", "once")];
    let approve = format!("{}/approve", path_of(&task));
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
    assert_eq!(given["votes"][0]["voter_id"], json!(rea.id));
}

async fn approval_is_never_requested_from_an_agent(world: &World) {
    let Review { bob, task, request, .. } = review(world).await;
    let bot = world.agent("bobs-bot", &bob).await;
    for own in ["/v1/approvals", "/v1/approvals?reviewer=me"] {
        world.get(&bot.token, own).await.refused(403, "person_required");
    }
    let path = format!("/v1/approvals/{request}");
    world.get(&bot.token, &path).await.refused(404, "not_found");
    for (answer, _) in ANSWERS {
        let path = format!("{}/{answer}", path_of(&task));
        let response = world.post(&bot.token, &path, json!({})).await;
        response.refused(403, "insufficient_scope");
    }
}

async fn vote_by_a_person_who_was_not_asked_is_refused(world: &World) {
    let Review { bob, task, request, .. } = review(world).await;
    let eve = world.person("Eve", &["author"]).await;
    for (answer, action) in ANSWERS {
        let path = format!("{}/{answer}", path_of(&task));
        let response = world.post(&eve.token, &path, why(&task)).await;
        assert_eq!(response.status, 403, "{}", response.body);
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

async fn vote_on_content_that_was_not_seen_is_refused(world: &World) {
    let Review { rea, task, request, .. } = review(world).await;
    for (answer, _) in ANSWERS {
        let path = format!("{}/{answer}", path_of(&task));
        let mut other = why(&task);
        other["revision"] = json!(2);
        world.post(&rea.token, &path, other).await.refused(409, "stale_revision");
        let mut other = why(&task);
        other["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
        let response = world.post(&rea.token, &path, other).await;
        assert!([409, 422].contains(&response.status), "{}", response.body);
    }
    for answer in ["reject", "request-changes"] {
        let path = format!("{}/{answer}", path_of(&task));
        world.post(&rea.token, &path, seen(&task)).await.refused(422, "reason_required");
    }
    world.approve(&rea, &task).await;
    let path = format!("/v1/approvals/{request}/withdraw");
    let withdraw = async || world.send("POST", &rea.token, &path, None, &[]).await;
    assert_eq!(withdraw().await.expect(200)["state"], "SUBMITTED", "the approval needs the vote");
    assert_eq!(withdraw().await.refused(409, "wrong_state")["state"], "SUBMITTED");
}

async fn rejection_with_a_reason_closes_the_task(world: &World) {
    let Review { bob, rea, task, .. } = review(world).await;
    let path = format!("{}/reject", path_of(&task));
    let voted = world.post(&rea.token, &path, why(&task)).await.expect(200);
    assert_eq!((&voted["state"], &voted["counted"]), (&json!("REJECTED"), &json!(true)));
    let given = world.get(&bob.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"][0]["reason"], "because");
    let ended = world.task(&bob, &task).await;
    assert!(ended["closed_at"].is_string());
    let next = ended["next_action"]["message"].as_str().unwrap();
    assert!(next.contains("do not repeat the request"), "{next}");
    assert_decided(world, &bob, &ended, ("rejected", &rea.id)).await;
}

/// Checks the decision in every representation of the task that its author can read.
async fn assert_decided(world: &World, bob: &Person, task: &Value, (outcome, by): (&str, &str)) {
    let decision = task["decision"].clone();
    let at = decision["at"].as_str().unwrap();
    assert_eq!(
        decision,
        json!({ "outcome": outcome, "reason": "because", "by": by, "at": at, "revision": 1 })
    );
    let explained = world.get(&bob.token, &format!("{}/explain", path_of(task))).await.expect(200);
    assert_eq!(explained["decision"], decision);
    let listed = world.get(&bob.token, "/v1/tasks").await.expect(200);
    let items = listed["items"].as_array().unwrap();
    let listed = items.iter().find(|one| one["id"] == task["id"]).unwrap();
    assert_eq!(listed["decision"], decision);
    let events = format!(
        "SELECT count(*) FROM outbox WHERE object = '{}' AND kind = 'approval.voted'
            AND payload->'decision'->>'reason' = 'because'",
        id(task)
    );
    assert_eq!(world.database.number(&events).await, 1, "the event carries the decision");
}

async fn change_request_returns_the_task_to_draft(world: &World) {
    let Review { bob, rea, task, .. } = review(world).await;
    let path = format!("{}/request-changes", path_of(&task));
    let voted = world.post(&rea.token, &path, why(&task)).await.expect(200);
    assert_eq!((&voted["state"], &voted["task"]["sub_state"]), (&json!("DRAFT"), &returned()));
    assert!(
        voted["next_action"]["message"].as_str().unwrap().starts_with("amend the task"),
        "{voted}"
    );
    let task = world.task(&bob, &task).await;
    assert_eq!(task["sub_state"], returned());
    assert_decided(world, &bob, &task, ("changes_requested", &rea.id)).await;
    world.submit(&bob, &task).await;
    world.work("review_opener").await;
    let task = world.task(&bob, &task).await;
    assert_eq!(task["state"], "REVIEWING");
    assert_eq!((&task["sub_state"], &task["decision"]), (&Value::Null, &Value::Null));
    world.approve(&rea, &task).await;
}

fn returned() -> Value {
    json!("CHANGES_REQUESTED")
}

async fn vote_withdrawn_before_the_quorum_does_not_count(world: &World) {
    world.policy("name: two\nrequire:\n  - {roles: [reviewer], min: 2}").await;
    let Review { rea, task, request, .. } = review(world).await;
    let sue = world.person("Sue", &["reviewer"]).await;
    let withdraw = format!("/v1/approvals/{request}/withdraw");
    let none = world.send("POST", &rea.token, &withdraw, None, &[]).await;
    assert!([403, 409].contains(&none.status), "{}", none.body);
    let path = format!("{}/approve", path_of(&task));
    let voted = world.post(&rea.token, &path, seen(&task)).await.expect(200);
    assert_eq!(voted["state"], "REVIEWING", "one of two");
    let back = world.send("POST", &rea.token, &withdraw, None, &[]).await.expect(200);
    assert_eq!(back["state"], "REVIEWING");
    let response = world.send("POST", &rea.token, &withdraw, None, &[]).await;
    response.refused(409, "nothing_to_withdraw");
    let given = world.get(&rea.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(given["votes"][0]["withdrawn"], true, "the vote is kept but does not count");
    let path = format!("{}/explain", path_of(&task));
    let explained = world.get(&sue.token, &path).await.expect(200);
    assert_eq!(explained["approvals_missing"], 2, "{explained}");
}

async fn vote_after_cancellation_is_stored_without_effect(world: &World) {
    let Review { bob, rea, task, .. } = review(world).await;
    let cancel = format!("{}/cancel", path_of(&task));
    world.matching("POST", &bob.token, &cancel, Some(json!({})), &task).await.expect(200);
    let path = format!("{}/approve", path_of(&task));
    let voted = world.post(&rea.token, &path, seen(&task)).await.expect(200);
    assert_eq!((&voted["counted"], &voted["state"]), (&json!(false), &json!("CANCELLED")));
}

async fn audit_of_a_task_stays_readable_for_asked_reviewers(world: &World) {
    let Review { bob, rea, task, .. } = review(world).await;
    let eve = world.person("Eve", &["author"]).await;
    let path = format!("/v1/audit?object={}", id(&task));
    world.get(&rea.token, &path).await.expect(200);
    // The new revision supersedes the request. Until its review opens, no one is asked about it.
    let change = Some(json!({ "parameters": { "for": "something else" } }));
    world.matching("PATCH", &bob.token, &path_of(&task), change, &task).await.expect(200);
    let asked = world.get(&rea.token, &format!("{}/approvals", path_of(&task))).await.expect(200);
    assert_eq!(asked["approvals"][0]["status"], "SUPERSEDED", "{asked}");
    world.get(&rea.token, &path).await.expect(200);
    world.get(&eve.token, &path).await.refused(403, "not_allowed");
}
