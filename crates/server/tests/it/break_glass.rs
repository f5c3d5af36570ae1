//! Overrides by two admins, the reviews that must follow them, and freezes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, quoted, seen};

cases! {
    override_confirmed_by_a_second_admin_owes_a_review:
        Happy "POST /v1/tasks/{id}/override",
        Denied "POST /v1/tasks/{id}/override",
        Conflict "POST /v1/tasks/{id}/override",
        Happy "POST /v1/tasks/{id}/override/confirm",
        Denied "POST /v1/tasks/{id}/override/confirm",
        Conflict "POST /v1/tasks/{id}/override/confirm",
        Happy "GET /v1/after-reviews",
        Denied "GET /v1/after-reviews",
        Happy "POST /v1/after-reviews/{id}/close",
        Denied "POST /v1/after-reviews/{id}/close",
        Conflict "POST /v1/after-reviews/{id}/close";
    override_without_confirmation_expires_and_keeps_the_task:
        Conflict "POST /v1/tasks/{id}/override/confirm";
    freeze_by_an_operator_is_explained_and_lifted_once:
        Happy "POST /v1/freezes",
        Denied "POST /v1/freezes",
        Conflict "POST /v1/freezes",
        Happy "GET /v1/freezes",
        Denied "GET /v1/freezes",
        Happy "DELETE /v1/freezes/{id}",
        Denied "DELETE /v1/freezes/{id}",
        Conflict "DELETE /v1/freezes/{id}";
}

pub async fn ask(world: &World, admin: &Person, task: &Value) -> Value {
    let path = format!("/v1/tasks/{}/override", id(task));
    let body = json!({ "ticket": "INC-42", "reason": "orders are down" });
    let matching = [("if-match", &*quoted(task))];
    world.send("POST", &admin.token, &path, Some(body), &matching).await.expect(202)
}

async fn override_confirmed_by_a_second_admin_owes_a_review(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "burning").await;
    let path = format!("/v1/tasks/{}/override", id(&task));
    let body = json!({ "ticket": "INC-42", "reason": "mine" });
    let matching = [("if-match", &*quoted(&task))];
    let own = world.send("POST", &bob.token, &path, Some(body.clone()), &matching).await;
    own.refused(403, "not_allowed");
    let asked = ask(world, &world.admin, &task).await;
    let again = world.send("POST", &second.token, &path, Some(body), &matching).await;
    again.refused(412, "version_mismatch");
    assert_eq!(asked["state"], "REVIEWING", "the request alone changes nothing");
    let confirm = format!("/v1/tasks/{}/override/confirm", id(&task));
    let own = world.post(&world.admin.token, &confirm, seen(&task)).await;
    assert_eq!(own.refused(403, "not_allowed")["rule"], "second_admin");
    let mut other = seen(&task);
    other["revision"] = json!(2);
    world.post(&second.token, &confirm, other).await.refused(409, "stale_revision");
    let passed = world.post(&second.token, &confirm, seen(&task)).await.expect(200);
    assert_eq!(passed["state"], "APPROVED");

    world.get("", "/v1/after-reviews").await.refused(401, "unauthenticated");
    let owed = world.get(&rea.token, "/v1/after-reviews").await.expect(200);
    let review = &owed["items"][0];
    assert_eq!(review["task_id"], task["id"]);
    let close = format!("/v1/after-reviews/{}/close", id(review));
    let finding = json!({ "finding": "it was right" });
    let own = world.post(&second.token, &close, finding.clone()).await;
    assert_eq!(own.refused(403, "not_allowed")["rule"], "second_look");
    world.post(&bob.token, &close, finding.clone()).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(review), "after_review.close").await, 2);
    let closed = world.post(&rea.token, &close, finding.clone()).await.expect(200);
    assert_eq!(closed["done_by"], rea.id.as_str());
    world.post(&rea.token, &close, finding).await.refused(409, "closed");
    let owed = world.get(&rea.token, "/v1/after-reviews").await.expect(200);
    assert_eq!(owed["items"], json!([]));
}

async fn override_without_confirmation_expires_and_keeps_the_task(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "burning").await;
    ask(world, &world.admin, &task).await;
    assert_eq!(world.work("override_lapser").await.items, 0, "not yet");
    world.pass(Duration::from_mins(61)).await;
    assert_eq!(world.work("override_lapser").await.items, 1);
    let confirm = format!("/v1/tasks/{}/override/confirm", id(&task));
    let late = world.post(&second.token, &confirm, seen(&task)).await;
    late.refused(409, "override_not_asked");
    let path = format!("/v1/tasks/{}", id(&task));
    assert_eq!(world.get(&bob.token, &path).await.expect(200)["state"], "REVIEWING");
}

async fn freeze_by_an_operator_is_explained_and_lifted_once(world: &World) {
    let operator = world.person("Ops", &["operator"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let body = json!({ "scope": "resources", "target": "database:*", "reason": "month's end" });
    world.post(&bob.token, "/v1/freezes", body.clone()).await.refused(403, "not_allowed");
    let freeze = world.post(&operator.token, "/v1/freezes", body.clone()).await.expect(201);
    let far = json!({ "scope": "environment", "target": "far", "reason": "away" });
    world.twice("POST", &operator.token, "/v1/freezes", [far, body]).await;
    let listed = world.get(&bob.token, "/v1/freezes").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    world.get("", "/v1/freezes").await.refused(401, "unauthenticated");
    let task = world.draft(&bob, "later").await;
    let explain = format!("/v1/tasks/{}/explain", id(&task));
    let gate = |explained: &Value| {
        let gates = explained["gates"].as_array().unwrap();
        gates.iter().find(|gate| gate["name"] == "freeze").unwrap()["passed"].clone()
    };
    assert_eq!(gate(&world.get(&bob.token, &explain).await.expect(200)), false);
    let path = format!("/v1/freezes/{}", id(&freeze));
    world.send("DELETE", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    let over = format!("{path}?reason=the%20month%20is%20over");
    let gone = world.send("DELETE", &operator.token, &over, None, &[]).await.expect(200);
    assert_eq!(gone["in_force"], false);
    let why = "SELECT reason FROM audit_entry WHERE action = 'freeze.lift' AND kind = 'change'";
    let why = world.database.session().await.text(why).await;
    assert_eq!(why, "the month is over");
    world.send("DELETE", &operator.token, &path, None, &[]).await.refused(409, "closed");
    assert_eq!(gate(&world.get(&bob.token, &explain).await.expect(200)), true);
    let events = "SELECT coalesce(string_agg(kind, ' ' ORDER BY xid, seq), '') FROM outbox
                  WHERE kind LIKE 'freeze.%'";
    let events = world.database.session().await.text(events).await;
    assert_eq!(events, "freeze.set freeze.set freeze.lifted", "a repetition emits no event");
    for body in [
        json!({ "scope": "tenant", "target": "x", "reason": "r" }),
        json!({ "scope": "environment", "reason": "r" }),
        json!({ "scope": "resources", "target": "[", "reason": "r" }),
        json!({ "scope": "tenant", "reason": "r", "ends_at": "2020-01-01T00:00:00Z" }),
    ] {
        world.post(&operator.token, "/v1/freezes", body).await.refused(422, "invalid_body");
    }
}
