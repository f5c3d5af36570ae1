//! What the server tells about itself and its caller, and to whom.

use serde_json::json;

use crate::coverage::cases;
use crate::world::{ALL_SCOPES, World};

cases! {
    what_is_open_asks_for_no_token:
        Happy "GET /healthz",
        Happy "GET /readyz",
        Happy "GET /metrics",
        Happy "GET /openapi.json",
        Happy "GET /docs",
        Happy "GET /docs/docs.js",
        Happy "GET /docs/docs.css";
    a_caller_learns_who_they_are: Happy "GET /v1/me", Happy "GET /v1/status";
    strangers_learn_nothing: Denied "GET /v1/me", Denied "GET /v1/status";
}

async fn what_is_open_asks_for_no_token(world: &World) {
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"] {
        world.get("", path).await.expect(200);
    }
    for path in ["/docs/docs.js", "/docs/docs.css"] {
        world.get("", path).await.expect(200);
    }
}

async fn a_caller_learns_who_they_are(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let me = world.get(&bob.token, "/v1/me").await.expect(200);
    assert_eq!((&me["tenant"], &me["name"]), (&json!(world.tenant), &json!("Bob")));
    assert_eq!(me["roles"], json!(["author"]));
    assert_eq!(me["scopes"].as_array().unwrap().len(), ALL_SCOPES.len());
    let me = world.get(&bot.token, "/v1/me").await.expect(200);
    assert_eq!(me["actor"]["on_behalf_of"], json!(bob.id), "{me}");
    assert_eq!(me["name"], "bot");
    assert_eq!(me["scopes"].as_array().unwrap().len(), 3);
    let status = world.get(&bot.token, "/v1/status").await.expect(200);
    assert_eq!(status["readiness"], "ready");
    assert_eq!(status["degradations"], json!([]));
}

async fn strangers_learn_nothing(world: &World) {
    for path in ["/v1/me", "/v1/status"] {
        world.get("", path).await.refused(401, "unauthenticated");
        let asked = json!({ "scopes": ["propose"], "label": path });
        let made = world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201);
        let token = made["token"].as_str().unwrap();
        world.get(token, path).await.refused(403, "class_closed");
        let key = made["key_id"].as_str().unwrap();
        let revoke = format!("/v1/tokens/{key}");
        world.send("DELETE", &world.admin.token, &revoke, None, &[]).await.expect(200);
    }
}
