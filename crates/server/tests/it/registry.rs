//! The resource registry over HTTP.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::World;

cases! {
    resource_is_registered_by_an_admin:
        Happy "PUT /v1/resources/{type}/{id}",
        Happy "GET /v1/resources/{type}/{id}",
        Happy "GET /v1/resources",
        Conflict "PUT /v1/resources/{type}/{id}";
    registry_is_written_only_by_admins:
        Denied "PUT /v1/resources/{type}/{id}",
        Denied "GET /v1/resources/{type}/{id}";
    resources_are_hidden_without_a_token: Denied "GET /v1/resources";
    resource_import_is_all_or_nothing:
        Happy "POST /v1/resources/import",
        Denied "POST /v1/resources/import",
        Conflict "POST /v1/resources/import";
}

const ORDERS: &str = "/v1/resources/database/orders";

async fn resource_is_registered_by_an_admin(world: &World) {
    let admin = &world.admin.token;
    let put = async |path: &str, entry| world.send("PUT", admin, path, Some(entry), &[]).await;
    put("/v1/resources/service/shop", json!({})).await.expect(200);
    let entry = json!({
        "criticality": 90, "environment": "production", "tags": ["money"],
        "owner_id": world.admin.id, "block_on_unknown": false, "dependents": ["service:shop"],
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
        json!({ "owner_id": "usr_00000000000000000000000000" }),
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

async fn registry_is_written_only_by_admins(world: &World) {
    let bob = world.person("Bob", &["author", "reviewer", "operator"]).await;
    let entry = Some(json!({ "criticality": 0 }));
    let response = world.send("PUT", &bob.token, ORDERS, entry, &[]).await;
    response.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "resource.edit").await, 1);
    world.get(&bob.token, ORDERS).await.refused(404, "not_found");
}

async fn resources_are_hidden_without_a_token(world: &World) {
    world.get("", "/v1/resources").await.refused(401, "unauthenticated");
}

const IMPORT: &str = "/v1/resources/import";

fn counts(created: u32, changed: u32, unchanged: u32) -> Value {
    json!({ "created": created, "changed": changed, "unchanged": unchanged })
}

async fn resource_import_is_all_or_nothing(world: &World) {
    let admin = &world.admin.token;
    let items = json!([
        { "resource": "database:orders", "criticality": 90, "environment": "production",
          "tags": ["money"], "owner_id": world.admin.id, "dependents": ["service:shop"] },
        { "resource": "service:shop", "criticality": 40, "dependents": ["service:web"] },
        { "resource": "service:web" },
    ]);
    let body = json!({ "items": items });
    let made = world.post(admin, IMPORT, body.clone()).await.expect(200);
    assert_eq!(made, counts(3, 0, 0));
    let orders = world.get(admin, ORDERS).await.expect(200);
    for (name, value) in items[0].as_object().unwrap() {
        assert_eq!(orders[name], *value, "{name}");
    }
    assert_eq!(world.post(admin, IMPORT, body.clone()).await.expect(200), counts(0, 0, 3));
    let mut less = body.clone();
    less["items"][0]["dependents"] = json!([]);
    less["items"][1]["criticality"] = json!(null);
    assert_eq!(world.post(admin, IMPORT, less).await.expect(200), counts(0, 2, 1));
    let orders = world.get(admin, ORDERS).await.expect(200);
    assert_eq!((&orders["dependents"], &orders["criticality"]), (&json!([]), &json!(90)));
    let entries = world.get(admin, "/v1/audit?object=database:orders").await.expect(200);
    assert_eq!(entries["items"].as_array().unwrap().len(), 2, "created, and changed once");
    for bad in [
        json!([]),
        json!([{ "resource": "a:new" }, { "resource": "a:bad", "criticality": 101 }]),
        json!([{ "resource": "a:new" }, { "resource": "a:bad", "dependents": ["a:unknown"] }]),
        json!([{ "resource": "a:new" }, { "resource": "a:new" }]),
        json!([{ "resource": "a:new", "dependents": ["a:new"] }]),
        json!([{ "resource": "a:new", "owner_id": "usr_00000000000000000000000000" }]),
    ] {
        let response = world.post(admin, IMPORT, json!({ "items": bad })).await;
        response.refused(422, "invalid_body");
    }
    world.get(admin, "/v1/resources/a/new").await.refused(404, "not_found");
    let bob = world.person("Bob", &["author", "operator"]).await;
    world.post(&bob.token, IMPORT, body).await.refused(403, "not_allowed");
    let other = |name: &str| json!({ "items": [{ "resource": name }] });
    world.twice("POST", admin, IMPORT, [other("a:one"), other("a:two")]).await;
}
