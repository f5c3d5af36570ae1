//! Registered agents over HTTP.

use serde_json::json;

use crate::coverage::cases;
use crate::world::{World, id};

cases! {
    agent_registered_by_an_admin_can_be_read: Happy "POST /v1/agents", Happy "GET /v1/agents/{id}";
    agent_list_has_the_registered_agents: Happy "GET /v1/agents", Denied "GET /v1/agents/{id}";
    agent_list_without_a_token_is_refused: Denied "GET /v1/agents";
    agent_change_by_a_non_admin_is_refused:
        Denied "POST /v1/agents",
        Denied "PATCH /v1/agents/{id}",
        Denied "DELETE /v1/agents/{id}";
    agent_change_after_revocation_is_refused:
        Happy "PATCH /v1/agents/{id}",
        Happy "DELETE /v1/agents/{id}",
        Conflict "PATCH /v1/agents/{id}";
    agent_name_in_use_is_refused: Conflict "POST /v1/agents", Conflict "PATCH /v1/agents/{id}";
    agent_revocation_key_applies_to_one_agent: Conflict "DELETE /v1/agents/{id}";
}

const NOTHING: &str = "agt_00000000000000000000000000";

async fn agent_registered_by_an_admin_can_be_read(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let asked =
        json!({ "name": "bot", "owner_id": bob.id, "capabilities": ["sql.*"], "max_tasks": 9 });
    let made = world.post(&world.admin.token, "/v1/agents", asked.clone()).await.expect(201);
    for (name, value) in asked.as_object().unwrap() {
        assert_eq!(made[name], *value);
    }
    let path = format!("/v1/agents/{}", id(&made));
    assert_eq!(world.get(&bob.token, &path).await.expect(200), made);
    for bad in [
        json!({ "name": "", "owner_id": bob.id }),
        json!({ "name": "x", "owner_id": "usr_00000000000000000000000000" }),
        json!({ "name": "x", "owner_id": bob.id, "capabilities": [""] }),
        json!({ "name": "x", "owner_id": bob.id, "max_tasks": 0 }),
        json!({ "name": "x", "owner_id": bob.id, "max_tasks": 10_001 }),
    ] {
        let response = world.post(&world.admin.token, "/v1/agents", bad).await;
        response.refused(422, "invalid_body");
    }
}

async fn agent_list_has_the_registered_agents(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let agents = world.get(&bot.token, "/v1/agents").await.expect(200);
    assert_eq!(agents["items"][0]["id"], json!(bot.id));
    world.get(&bob.token, &format!("/v1/agents/{NOTHING}")).await.refused(404, "not_found");
}

async fn agent_list_without_a_token_is_refused(world: &World) {
    world.get("", "/v1/agents").await.refused(401, "unauthenticated");
}

async fn agent_change_by_a_non_admin_is_refused(world: &World) {
    let bob = world.person("Bob", &["author", "operator"]).await;
    let bot = world.agent("bot", &bob).await;
    let path = format!("/v1/agents/{}", bot.id);
    let calls = [
        ("POST", "/v1/agents", Some(json!({ "name": "other", "owner_id": bob.id }))),
        ("PATCH", &path, Some(json!({ "capabilities": ["*"] }))),
        ("DELETE", &path, None),
    ];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let response = world.send(method, &bob.token, path, body.clone(), &[]).await;
        response.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "agent.administer").await, number + 1);
        let response = world.send(method, &bot.token, path, body, &[]).await;
        response.refused(403, "insufficient_scope");
    }
    let path = format!("/v1/agents/{NOTHING}");
    for (method, body) in [("PATCH", Some(json!({ "name": "x" }))), ("DELETE", None)] {
        let response = world.send(method, &world.admin.token, &path, body, &[]).await;
        response.refused(404, "not_found");
    }
}

async fn agent_change_after_revocation_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let path = format!("/v1/agents/{}", bot.id);
    let admin = &world.admin.token;
    let change = json!({ "name": "robot", "capabilities": ["dns.*"] });
    let changed = world.send("PATCH", admin, &path, Some(change), &[]).await.expect(200);
    assert_eq!((&changed["name"], &changed["capabilities"]), (&json!("robot"), &json!(["dns.*"])));
    assert_eq!(changed["max_tasks"], 4, "the default");
    let roomy = Some(json!({ "max_tasks": 10_000 }));
    let changed = world.send("PATCH", admin, &path, roomy, &[]).await.expect(200);
    assert_eq!((&changed["name"], &changed["max_tasks"]), (&json!("robot"), &json!(10_000)));
    let none = world.send("PATCH", admin, &path, Some(json!({ "max_tasks": 0 })), &[]).await;
    none.refused(422, "invalid_body");
    let empty = world.send("PATCH", admin, &path, Some(json!({})), &[]).await;
    empty.refused(422, "invalid_body");
    let gone = world.send("DELETE", admin, &path, None, &[]).await.expect(200);
    assert!(gone["revoked_at"].is_string());
    let late = world.send("PATCH", admin, &path, Some(json!({ "name": "x" })), &[]).await;
    late.refused(409, "closed");
    let again = world.send("DELETE", admin, &path, None, &[]).await.expect(200);
    assert_eq!(again["revoked_at"], gone["revoked_at"], "revoked once");
    let asked = json!({ "agent_id": bot.id, "scopes": ["read"] });
    let response = world.post(admin, "/v1/tokens", asked).await;
    assert!(
        [404, 409].contains(&response.status),
        "a revoked agent gets no token: {}",
        response.body
    );
}

async fn agent_name_in_use_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    world.agent("bot", &bob).await;
    let other = world.agent("other", &bob).await;
    let admin = &world.admin.token;
    let asked = json!({ "name": "bot", "owner_id": bob.id });
    world.post(admin, "/v1/agents", asked).await.refused(409, "already_exists");
    let path = format!("/v1/agents/{}", other.id);
    let response = world.send("PATCH", admin, &path, Some(json!({ "name": "bot" })), &[]).await;
    response.refused(409, "already_exists");
    let named = |name: &str| json!({ "name": name, "owner_id": bob.id });
    world.twice("POST", admin, "/v1/agents", [named("a"), named("b")]).await;
}

/// An idempotency key belongs to one path, so the same key can be used for another agent.
async fn agent_revocation_key_applies_to_one_agent(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let [one, other] = [world.agent("one", &bob).await, world.agent("other", &bob).await];
    let key = [("idempotency-key", "k")];
    for bot in [&one, &other] {
        let path = format!("/v1/agents/{}", bot.id);
        let gone = world.send("DELETE", &world.admin.token, &path, None, &key).await;
        assert!(!gone.is_repeated);
        assert!(gone.expect(200)["revoked_at"].is_string());
        let again = world.send("DELETE", &world.admin.token, &path, None, &key).await;
        assert!(again.is_repeated);
    }
}
