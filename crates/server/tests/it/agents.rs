//! Registered programs over HTTP.

use serde_json::json;

use crate::coverage::cases;
use crate::world::{World, id};

cases! {
    an_admin_registers_an_agent: Happy "POST /v1/agents", Happy "GET /v1/agents/{id}";
    agents_are_listed: Happy "GET /v1/agents", Denied "GET /v1/agents/{id}";
    strangers_see_no_agents: Denied "GET /v1/agents";
    only_admins_change_agents:
        Denied "POST /v1/agents",
        Denied "PATCH /v1/agents/{id}",
        Denied "DELETE /v1/agents/{id}";
    an_agent_changes_until_it_is_revoked:
        Happy "PATCH /v1/agents/{id}",
        Happy "DELETE /v1/agents/{id}",
        Conflict "PATCH /v1/agents/{id}";
    a_name_is_one_agent: Conflict "POST /v1/agents", Conflict "PATCH /v1/agents/{id}";
    a_key_revokes_one_agent: Conflict "DELETE /v1/agents/{id}";
}

const NOTHING: &str = "agt_00000000000000000000000000";

async fn an_admin_registers_an_agent(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let asked =
        json!({ "name": "bot", "owner": bob.id, "capabilities": ["sql.*"], "max_tasks": 9 });
    let made = world.post(&world.admin.token, "/v1/agents", asked.clone()).await.expect(201);
    for (name, value) in asked.as_object().unwrap() {
        assert_eq!(made[name], *value);
    }
    let path = format!("/v1/agents/{}", id(&made));
    assert_eq!(world.get(&bob.token, &path).await.expect(200), made);
    for bad in [
        json!({ "name": "", "owner": bob.id }),
        json!({ "name": "x", "owner": "usr_00000000000000000000000000" }),
        json!({ "name": "x", "owner": bob.id, "capabilities": [""] }),
        json!({ "name": "x", "owner": bob.id, "max_tasks": 0 }),
        json!({ "name": "x", "owner": bob.id, "max_tasks": 10_001 }),
    ] {
        let told = world.post(&world.admin.token, "/v1/agents", bad).await;
        told.refused(422, "invalid_body");
    }
}

async fn agents_are_listed(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let agents = world.get(&bot.token, "/v1/agents").await.expect(200);
    assert_eq!(agents["items"][0]["id"], json!(bot.id));
    world.get(&bob.token, &format!("/v1/agents/{NOTHING}")).await.refused(404, "not_found");
}

async fn strangers_see_no_agents(world: &World) {
    world.get("", "/v1/agents").await.refused(401, "unauthenticated");
}

async fn only_admins_change_agents(world: &World) {
    let bob = world.person("Bob", &["author", "operator"]).await;
    let bot = world.agent("bot", &bob).await;
    let path = format!("/v1/agents/{}", bot.id);
    let calls = [
        ("POST", "/v1/agents", Some(json!({ "name": "other", "owner": bob.id }))),
        ("PATCH", &path, Some(json!({ "capabilities": ["*"] }))),
        ("DELETE", &path, None),
    ];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let told = world.send(method, &bob.token, path, body.clone(), &[]).await;
        told.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "agent.administer").await, number + 1);
        let told = world.send(method, &bot.token, path, body, &[]).await;
        told.refused(403, "class_closed");
    }
    let path = format!("/v1/agents/{NOTHING}");
    for (method, body) in [("PATCH", Some(json!({ "name": "x" }))), ("DELETE", None)] {
        let told = world.send(method, &world.admin.token, &path, body, &[]).await;
        told.refused(404, "not_found");
    }
}

async fn an_agent_changes_until_it_is_revoked(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let path = format!("/v1/agents/{}", bot.id);
    let admin = &world.admin.token;
    let change = json!({ "name": "robot", "capabilities": ["dns.*"] });
    let changed = world.send("PATCH", admin, &path, Some(change), &[]).await.expect(200);
    assert_eq!((&changed["name"], &changed["capabilities"]), (&json!("robot"), &json!(["dns.*"])));
    assert_eq!(changed["max_tasks"], 4, "as many as by default");
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
    assert_eq!(again["revoked_at"], gone["revoked_at"], "once");
    let asked = json!({ "agent": bot.id, "scopes": ["read"] });
    let told = world.post(admin, "/v1/tokens", asked).await;
    assert!([404, 409].contains(&told.status), "a revoked agent gets no token: {}", told.body);
}

async fn a_name_is_one_agent(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    world.agent("bot", &bob).await;
    let other = world.agent("other", &bob).await;
    let admin = &world.admin.token;
    let asked = json!({ "name": "bot", "owner": bob.id });
    world.post(admin, "/v1/agents", asked).await.refused(409, "already_exists");
    let path = format!("/v1/agents/{}", other.id);
    let told = world.send("PATCH", admin, &path, Some(json!({ "name": "bot" })), &[]).await;
    told.refused(409, "already_exists");
    let named = |name: &str| json!({ "name": name, "owner": bob.id });
    world.twice("POST", admin, "/v1/agents", [named("a"), named("b")]).await;
}

/// The path is part of what a key stands for, so the same key may name another agent.
async fn a_key_revokes_one_agent(world: &World) {
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
