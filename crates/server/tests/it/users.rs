//! Users, their roles and their linked accounts over HTTP.

use ade_core::ids::UserId;
use ade_core::limits::USER_ALIASES_MAX;
use serde_json::json;

use crate::coverage::cases;
use crate::world::{World, id, path_of, seen};

cases! {
    user_is_created_by_an_admin: Happy "POST /v1/users", Happy "GET /v1/users/{id}";
    users_are_listed_for_everyone_in_the_tenant: Happy "GET /v1/users", Denied "GET /v1/users/{id}";
    users_are_changed_only_by_admins:
        Denied "POST /v1/users",
        Denied "PATCH /v1/users/{id}",
        Denied "PUT /v1/users/{id}/roles",
        Denied "POST /v1/users/{id}/aliases";
    users_are_hidden_without_a_token: Denied "GET /v1/users";
    subject_belongs_to_one_user: Conflict "POST /v1/users";
    user_is_changed: Happy "PATCH /v1/users/{id}", Conflict "PATCH /v1/users/{id}";
    user_roles_are_replaced_as_a_whole:
        Happy "PUT /v1/users/{id}/roles",
        Conflict "PUT /v1/users/{id}/roles";
    linked_accounts_count_as_one_person:
        Happy "POST /v1/users/{id}/aliases",
        Conflict "POST /v1/users/{id}/aliases";
}

const UNKNOWN_USER: &str = "usr_00000000000000000000000000";

async fn user_is_created_by_an_admin(world: &World) {
    let asked = json!({
        "name": "Ada", "email": "ada@example.org", "issuer": "https://idp", "subject": "ada",
        "manager_id": world.admin.id, "roles": ["author", "dba"],
    });
    let made = world.post(&world.admin.token, "/v1/users", asked.clone()).await.expect(201);
    for (name, value) in asked.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["active"], true);
    let path = format!("/v1/users/{}", id(&made));
    assert_eq!(world.get(&world.admin.token, &path).await.expect(200), made);
    let entries = format!("/v1/audit?object={}", id(&made));
    let entries = world.get(&world.admin.token, &entries).await.expect(200);
    assert_eq!(entries["items"][0]["leaf"]["what"]["action"], "user.create");
    for (field, bad) in [
        ("name", json!(" ")),
        ("name", json!("x".repeat(129))),
        ("manager_id", json!(UNKNOWN_USER)),
        ("roles", json!([""])),
        ("email", json!("x".repeat(300))),
        ("issuer", json!("x".repeat(300))),
        ("subject", json!("x".repeat(5000))),
        ("name", json!("a\u{0}b")),
    ] {
        let mut asked = json!({ "name": "Ada", "roles": [] });
        asked[field] = bad;
        let response = world.post(&world.admin.token, "/v1/users", asked).await;
        assert!([400, 422].contains(&response.status), "{field}: {}", response.body);
    }
}

async fn users_are_listed_for_everyone_in_the_tenant(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for who in [&bob, &bot] {
        let people = world.get(&who.token, "/v1/users").await.expect(200);
        assert_eq!(people["items"].as_array().unwrap().len(), 2, "{people}");
        let path = format!("/v1/users/{UNKNOWN_USER}");
        world.get(&who.token, &path).await.refused(404, "not_found");
        world.get(&who.token, "/v1/users/x").await.refused(404, "not_found");
    }
}

async fn users_are_changed_only_by_admins(world: &World) {
    let bob = world.person("Bob", &["author", "reviewer", "operator", "auditor"]).await;
    let path = format!("/v1/users/{}", bob.id);
    let calls = [
        ("POST", "/v1/users".to_owned(), json!({ "name": "Eve", "roles": ["admin"] })),
        ("PATCH", path.clone(), json!({ "name": "Bobby" })),
        ("PUT", format!("{path}/roles"), json!({ "roles": ["admin"] })),
        ("POST", format!("{path}/aliases"), json!({ "alias_id": world.admin.id })),
    ];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let response = world.send(method, &bob.token, &path, Some(body), &[]).await;
        response.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "user.administer").await, number + 1);
    }
    let after = world.get(&bob.token, &path).await.expect(200);
    assert_eq!((&after["name"], &after["alias_ids"]), (&json!("Bob"), &json!([])));
    let admin = &world.admin.token;
    let path = format!("/v1/users/{UNKNOWN_USER}");
    for (method, path, body) in [
        ("PATCH", path.clone(), json!({ "name": "Bobby" })),
        ("PUT", format!("{path}/roles"), json!({ "roles": [] })),
        ("POST", format!("{path}/aliases"), json!({ "alias_id": bob.id })),
    ] {
        world.send(method, admin, &path, Some(body), &[]).await.refused(404, "not_found");
    }
}

async fn users_are_hidden_without_a_token(world: &World) {
    world.get("", "/v1/users").await.refused(401, "unauthenticated");
}

async fn subject_belongs_to_one_user(world: &World) {
    let asked = |name: &str| json!({ "name": name, "issuer": "https://idp", "subject": "ada" });
    world.post(&world.admin.token, "/v1/users", asked("Ada")).await.expect(201);
    let response = world.post(&world.admin.token, "/v1/users", asked("Other")).await;
    assert_eq!(response.refused(409, "already_exists")["what"], "subject");
    let bodies = [json!({ "name": "One" }), json!({ "name": "Other" })];
    world.twice("POST", &world.admin.token, "/v1/users", bodies).await;
}

async fn user_is_changed(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let path = format!("/v1/users/{}", bob.id);
    let admin = &world.admin.token;
    let change = json!({ "name": "Bobby", "email": "b@example.org", "manager_id": world.admin.id });
    let changed = world.send("PATCH", admin, &path, Some(change.clone()), &[]).await.expect(200);
    for (name, value) in change.as_object().unwrap() {
        assert_eq!(changed[name], *value);
    }
    for bad in [
        json!({}),
        json!({ "manager_id": bob.id }),
        json!({ "manager_id": UNKNOWN_USER }),
        json!({ "email": "x".repeat(300) }),
    ] {
        let response = world.send("PATCH", admin, &path, Some(bad), &[]).await;
        response.refused(422, "invalid_body");
    }
    let bodies = [json!({ "name": "One" }), json!({ "name": "Other" })];
    world.twice("PATCH", admin, &path, bodies).await;
    let off = json!({ "active": false });
    let gone = world.send("PATCH", admin, &path, Some(off), &[]).await.expect(200);
    assert_eq!(gone["active"], false);
}

async fn user_roles_are_replaced_as_a_whole(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let path = format!("/v1/users/{}/roles", bob.id);
    let admin = &world.admin.token;
    let roles = json!({ "roles": ["auditor", "dba"] });
    let set = world.send("PUT", admin, &path, Some(roles), &[]).await.expect(200);
    assert_eq!(set["roles"], json!(["auditor", "dba"]));
    // The next request already uses the new roles.
    let response = world.post(&bob.token, "/v1/tasks", crate::world::plan("x")).await;
    response.refused(403, "not_allowed");
    world.twice("PUT", admin, &path, [json!({ "roles": ["a"] }), json!({ "roles": ["b"] })]).await;
}

async fn linked_accounts_count_as_one_person(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let twin = world.person("Bob again", &["reviewer"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let path = format!("/v1/users/{}/aliases", bob.id);
    let alias = json!({ "alias_id": twin.id });
    let admin = &world.admin.token;
    let joined = world.post(admin, &path, alias.clone()).await.expect(200);
    assert_eq!(joined["alias_ids"], json!([twin.id]));
    let task = world.reviewing(&bob, "x").await;
    world.request(&rea, &task).await;
    let approve = format!("{}/approve", path_of(&task));
    let problem =
        world.post(&twin.token, &approve, seen(&task)).await.refused(403, "self_approval");
    assert_eq!(problem["account"], json!(bob.id), "{problem}");
    assert_eq!(world.task(&rea, &task).await["state"], "REVIEWING", "{}", path_of(&task));
    let again = world.post(admin, &path, alias.clone()).await.expect(200);
    assert_eq!(again["alias_ids"], json!([twin.id]));
    for bad in [json!({ "alias_id": bob.id }), json!({ "alias_id": UNKNOWN_USER })] {
        world.post(admin, &path, bad).await.refused(422, "invalid_body");
    }
    world.twice("POST", admin, &path, [alias, json!({ "alias_id": rea.id })]).await;
}

/// The number of accounts that one account can be linked with is limited.
#[tokio::test]
async fn linked_accounts_beyond_the_limit_are_refused() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let twin = world.person("Bob again", &["author"]).await;
    let rea = world.person("Rea", &["author"]).await;
    // All links but one. The linked accounts need not exist.
    let fill = format!(
        "INSERT INTO user_alias (tenant_id, user_id, alias_id)
         SELECT tenant_id, id, gen_random_uuid()
           FROM app_user, generate_series(2, {USER_ALIASES_MAX}) WHERE id = '{}'",
        bob.id.parse::<UserId>().unwrap().uuid(),
    );
    world.database.run(&fill).await;
    let aliases = |of: &str| format!("/v1/users/{of}/aliases");
    let alias = |to: &str| json!({ "alias_id": to });
    let joined = world.post(admin, &aliases(&bob.id), alias(&twin.id)).await.expect(200);
    assert_eq!(joined["alias_ids"].as_array().unwrap().len(), USER_ALIASES_MAX);
    for (of, to) in [(&bob, &rea), (&rea, &bob)] {
        let response = world.post(admin, &aliases(&of.id), alias(&to.id)).await;
        let problem = response.refused(409, "too_many");
        assert!(problem["detail"].as_str().unwrap().contains("aliases"), "{problem}");
        assert_eq!(problem["most"], USER_ALIASES_MAX);
    }
    // An existing link needs no capacity, in either direction.
    for (of, to) in [(&bob, &twin), (&twin, &bob)] {
        world.post(admin, &aliases(&of.id), alias(&to.id)).await.expect(200);
    }
    world.post(admin, &aliases(&twin.id), alias(&rea.id)).await.expect(200);
}
