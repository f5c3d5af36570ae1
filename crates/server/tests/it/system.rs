//! What the server reports about itself and its caller, and to whom.

use serde_json::json;

use crate::coverage::cases;
use crate::world::{ALL_SCOPES, World};

cases! {
    public_routes_need_no_token:
        Happy "GET /healthz",
        Happy "GET /readyz",
        Happy "GET /metrics",
        Happy "GET /openapi.json",
        Happy "GET /openapi/agent.json",
        Happy "GET /docs",
        Happy "GET /docs/docs.js",
        Happy "GET /docs/docs.css",
        Happy "GET /llms.txt";
    index_links_to_routes_that_exist: Happy "GET /v1";
    caller_reads_its_own_identity: Happy "GET /v1/me", Happy "GET /v1/status";
    identity_and_status_are_hidden_from_strangers: Denied "GET /v1/me", Denied "GET /v1/status";
}

async fn public_routes_need_no_token(world: &World) {
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/openapi/agent.json", "/docs"]
    {
        world.get("", path).await.expect(200);
    }
    for path in ["/docs/docs.js", "/docs/docs.css", "/llms.txt"] {
        world.get("", path).await.expect(200);
    }
}

async fn index_links_to_routes_that_exist(world: &World) {
    let index = world.get("", "/v1").await.expect(200);
    let page = &world.app.notify.page;
    for link in ["docs", "openapi", "agent_openapi", "llms", "status", "me"] {
        let path = index[link].as_str().unwrap().strip_prefix(page.as_str()).unwrap();
        world.get(&world.admin.token, path).await.expect(200);
    }
    assert_eq!(index["version"], env!("CARGO_PKG_VERSION"));
}

async fn caller_reads_its_own_identity(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let me = world.get(&bob.token, "/v1/me").await.expect(200);
    assert_eq!((&me["tenant_id"], &me["name"]), (&json!(world.tenant), &json!("Bob")));
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

async fn identity_and_status_are_hidden_from_strangers(world: &World) {
    for path in ["/v1/me", "/v1/status"] {
        world.get("", path).await.refused(401, "unauthenticated");
        let asked = json!({ "scopes": ["propose"], "label": path });
        let made = world.post(&world.admin.token, "/v1/tokens", asked).await.expect(201);
        let token = made["token"].as_str().unwrap();
        world.get(token, path).await.refused(403, "insufficient_scope");
        let key = made["key_id"].as_str().unwrap();
        let revoke = format!("/v1/tokens/{key}");
        world.send("DELETE", &world.admin.token, &revoke, None, &[]).await.expect(200);
    }
}
