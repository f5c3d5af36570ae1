//! The registry of resources over HTTP.

use serde_json::json;

use crate::coverage::cases;
use crate::world::World;

cases! {
    an_admin_enters_a_resource:
        Happy "PUT /v1/resources/{type}/{id}",
        Happy "GET /v1/resources/{type}/{id}",
        Happy "GET /v1/resources",
        Conflict "PUT /v1/resources/{type}/{id}";
    only_admins_write_the_registry:
        Denied "PUT /v1/resources/{type}/{id}",
        Denied "GET /v1/resources/{type}/{id}";
    strangers_see_no_resources: Denied "GET /v1/resources";
}

const ORDERS: &str = "/v1/resources/database/orders";

async fn an_admin_enters_a_resource(world: &World) {
    let admin = &world.admin.token;
    let put = async |path: &str, entry| world.send("PUT", admin, path, Some(entry), &[]).await;
    put("/v1/resources/service/shop", json!({})).await.expect(200);
    let entry = json!({
        "criticality": 90, "environment": "production", "tags": ["money"],
        "owner": world.admin.id, "block_on_unknown": false, "dependents": ["service:shop"],
    });
    let made = put(ORDERS, entry.clone()).await.expect(200);
    for (name, value) in entry.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["resource"], "database:orders");
    assert_eq!(world.get(admin, ORDERS).await.expect(200), made);
    let all = world.get(admin, "/v1/resources").await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    let plain = put(ORDERS, json!({})).await.expect(200);
    assert_eq!(plain["criticality"], json!(null), "the whole entry is replaced");
    for bad in [
        json!({ "criticality": 101 }),
        json!({ "environment": "" }),
        json!({ "owner": "usr_00000000000000000000000000" }),
        json!({ "dependents": ["service:unknown"] }),
        json!({ "dependents": ["database:orders"] }),
        json!({ "tags": ["x".repeat(129)] }),
    ] {
        put(ORDERS, bad).await.refused(422, "invalid_body");
    }
    let bodies = [json!({ "criticality": 1 }), json!({ "criticality": 2 })];
    world.twice("PUT", admin, ORDERS, bodies).await;
    assert_eq!(world.get(admin, ORDERS).await.expect(200)["criticality"], 1);
}

async fn only_admins_write_the_registry(world: &World) {
    let bob = world.person("Bob", &["author", "reviewer", "operator"]).await;
    let entry = Some(json!({ "criticality": 0 }));
    let told = world.send("PUT", &bob.token, ORDERS, entry, &[]).await;
    told.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "resource.edit").await, 1);
    world.get(&bob.token, ORDERS).await.refused(404, "not_found");
}

async fn strangers_see_no_resources(world: &World) {
    world.get("", "/v1/resources").await.refused(401, "unauthenticated");
}
