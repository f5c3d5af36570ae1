//! People, their roles and their other accounts over HTTP.

use ade_core::ids::UserId;
use ade_core::limits::USER_ALIASES_MAX;
use serde_json::json;

use crate::coverage::cases;
use crate::world::{World, id, path_of, seen};

cases! {
    an_admin_enters_a_person: Happy "POST /v1/users", Happy "GET /v1/users/{id}";
    everybody_reads_who_is_there: Happy "GET /v1/users", Denied "GET /v1/users/{id}";
    only_admins_change_people:
        Denied "POST /v1/users",
        Denied "PATCH /v1/users/{id}",
        Denied "PUT /v1/users/{id}/roles",
        Denied "POST /v1/users/{id}/aliases";
    nobody_is_listed_to_strangers: Denied "GET /v1/users";
    a_subject_is_one_person: Conflict "POST /v1/users";
    a_person_changes: Happy "PATCH /v1/users/{id}", Conflict "PATCH /v1/users/{id}";
    roles_are_replaced_as_a_whole:
        Happy "PUT /v1/users/{id}/roles",
        Conflict "PUT /v1/users/{id}/roles";
    two_accounts_of_one_human_count_once:
        Happy "POST /v1/users/{id}/aliases",
        Conflict "POST /v1/users/{id}/aliases";
}

const NOBODY: &str = "usr_00000000000000000000000000";

async fn an_admin_enters_a_person(world: &World) {
    let asked = json!({
        "name": "Ada", "email": "ada@example.org", "issuer": "https://idp", "subject": "ada",
        "manager": world.admin.id, "roles": ["author", "dba"],
    });
    let made = world.post(&world.admin.token, "/v1/users", asked.clone()).await.expect(201);
    for (name, value) in asked.as_object().unwrap() {
        assert_eq!(made[name], *value, "{name}");
    }
    assert_eq!(made["active"], true);
    let path = format!("/v1/users/{}", id(&made));
    assert_eq!(world.get(&world.admin.token, &path).await.expect(200), made);
    let leaves = format!("/v1/audit?object={}", id(&made));
    let leaves = world.get(&world.admin.token, &leaves).await.expect(200);
    assert_eq!(leaves["items"][0]["leaf"]["what"]["action"], "user.create");
    for (field, bad) in [
        ("name", json!(" ")),
        ("name", json!("x".repeat(129))),
        ("manager", json!(NOBODY)),
        ("roles", json!([""])),
        ("email", json!("x".repeat(300))),
        ("issuer", json!("x".repeat(300))),
        ("subject", json!("x".repeat(5000))),
        ("name", json!("a\u{0}b")),
    ] {
        let mut asked = json!({ "name": "Ada", "roles": [] });
        asked[field] = bad;
        let told = world.post(&world.admin.token, "/v1/users", asked).await;
        assert!([400, 422].contains(&told.status), "{field}: {}", told.body);
    }
}

async fn everybody_reads_who_is_there(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for who in [&bob, &bot] {
        let people = world.get(&who.token, "/v1/users").await.expect(200);
        assert_eq!(people["items"].as_array().unwrap().len(), 2, "{people}");
        let path = format!("/v1/users/{NOBODY}");
        world.get(&who.token, &path).await.refused(404, "not_found");
        world.get(&who.token, "/v1/users/x").await.refused(404, "not_found");
    }
}

async fn only_admins_change_people(world: &World) {
    let bob = world.person("Bob", &["author", "reviewer", "operator", "auditor"]).await;
    let path = format!("/v1/users/{}", bob.id);
    let calls = [
        ("POST", "/v1/users".to_owned(), json!({ "name": "Eve", "roles": ["admin"] })),
        ("PATCH", path.clone(), json!({ "name": "Bobby" })),
        ("PUT", format!("{path}/roles"), json!({ "roles": ["admin"] })),
        ("POST", format!("{path}/aliases"), json!({ "alias": world.admin.id })),
    ];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let told = world.send(method, &bob.token, &path, Some(body), &[]).await;
        told.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "user.administer").await, number + 1);
    }
    let after = world.get(&bob.token, &path).await.expect(200);
    assert_eq!((&after["name"], &after["aliases"]), (&json!("Bob"), &json!([])));
    let admin = &world.admin.token;
    let path = format!("/v1/users/{NOBODY}");
    for (method, path, body) in [
        ("PATCH", path.clone(), json!({ "name": "Bobby" })),
        ("PUT", format!("{path}/roles"), json!({ "roles": [] })),
        ("POST", format!("{path}/aliases"), json!({ "alias": bob.id })),
    ] {
        world.send(method, admin, &path, Some(body), &[]).await.refused(404, "not_found");
    }
}

async fn nobody_is_listed_to_strangers(world: &World) {
    world.get("", "/v1/users").await.refused(401, "unauthenticated");
}

async fn a_subject_is_one_person(world: &World) {
    let asked = |name: &str| json!({ "name": name, "issuer": "https://idp", "subject": "ada" });
    world.post(&world.admin.token, "/v1/users", asked("Ada")).await.expect(201);
    let told = world.post(&world.admin.token, "/v1/users", asked("Other")).await;
    assert_eq!(told.refused(409, "already_exists")["what"], "subject");
    let bodies = [json!({ "name": "One" }), json!({ "name": "Other" })];
    world.twice("POST", &world.admin.token, "/v1/users", bodies).await;
}

async fn a_person_changes(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let path = format!("/v1/users/{}", bob.id);
    let admin = &world.admin.token;
    let change = json!({ "name": "Bobby", "email": "b@example.org", "manager": world.admin.id });
    let changed = world.send("PATCH", admin, &path, Some(change.clone()), &[]).await.expect(200);
    for (name, value) in change.as_object().unwrap() {
        assert_eq!(changed[name], *value);
    }
    for bad in [
        json!({}),
        json!({ "manager": bob.id }),
        json!({ "manager": NOBODY }),
        json!({ "email": "x".repeat(300) }),
    ] {
        let told = world.send("PATCH", admin, &path, Some(bad), &[]).await;
        told.refused(422, "invalid_body");
    }
    let bodies = [json!({ "name": "One" }), json!({ "name": "Other" })];
    world.twice("PATCH", admin, &path, bodies).await;
    let off = json!({ "active": false });
    let gone = world.send("PATCH", admin, &path, Some(off), &[]).await.expect(200);
    assert_eq!(gone["active"], false);
}

async fn roles_are_replaced_as_a_whole(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let path = format!("/v1/users/{}/roles", bob.id);
    let admin = &world.admin.token;
    let roles = json!({ "roles": ["auditor", "dba"] });
    let set = world.send("PUT", admin, &path, Some(roles), &[]).await.expect(200);
    assert_eq!(set["roles"], json!(["auditor", "dba"]));
    // The very next call knows.
    let told = world.post(&bob.token, "/v1/tasks", crate::world::plan("x")).await;
    told.refused(403, "not_allowed");
    world.twice("PUT", admin, &path, [json!({ "roles": ["a"] }), json!({ "roles": ["b"] })]).await;
}

async fn two_accounts_of_one_human_count_once(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let twin = world.person("Bob again", &["reviewer"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let path = format!("/v1/users/{}/aliases", bob.id);
    let alias = json!({ "alias": twin.id });
    let admin = &world.admin.token;
    let joined = world.post(admin, &path, alias.clone()).await.expect(200);
    assert_eq!(joined["aliases"], json!([twin.id]));
    let task = world.reviewing(&bob, "x").await;
    let request = world.request(&rea, &task).await;
    let approve = format!("/v1/approvals/{request}/approve");
    let told = world.post(&twin.token, &approve, seen(&task)).await.refused(403, "self_approval");
    assert_eq!(told["account"], json!(bob.id), "{told}");
    assert_eq!(world.task(&rea, &task).await["state"], "REVIEWING", "{}", path_of(&task));
    let again = world.post(admin, &path, alias.clone()).await.expect(200);
    assert_eq!(again["aliases"], json!([twin.id]));
    for bad in [json!({ "alias": bob.id }), json!({ "alias": NOBODY })] {
        world.post(admin, &path, bad).await.refused(422, "invalid_body");
    }
    world.twice("POST", admin, &path, [alias, json!({ "alias": rea.id })]).await;
}

/// However many accounts somebody has, what one of them is joined with has an end.
#[tokio::test]
async fn an_account_is_joined_with_so_many_others_and_no_more() {
    let world = World::new().await;
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let twin = world.person("Bob again", &["author"]).await;
    let rea = world.person("Rea", &["author"]).await;
    // All but one of them; an account that is only named need not be there.
    let fill = format!(
        "INSERT INTO user_alias (tenant_id, user_id, alias_id)
         SELECT tenant_id, id, gen_random_uuid()
           FROM app_user, generate_series(2, {USER_ALIASES_MAX}) WHERE id = '{}'",
        bob.id.parse::<UserId>().unwrap().uuid(),
    );
    world.database.run(&fill).await;
    let aliases = |of: &str| format!("/v1/users/{of}/aliases");
    let alias = |to: &str| json!({ "alias": to });
    let joined = world.post(admin, &aliases(&bob.id), alias(&twin.id)).await.expect(200);
    assert_eq!(joined["aliases"].as_array().unwrap().len(), USER_ALIASES_MAX);
    for (of, to) in [(&bob, &rea), (&rea, &bob)] {
        let told = world.post(admin, &aliases(&of.id), alias(&to.id)).await;
        let told = told.refused(409, "too_many");
        assert!(told["detail"].as_str().unwrap().contains("aliases"), "{told}");
        assert_eq!(told["most"], USER_ALIASES_MAX);
    }
    // What is joined already needs no room, whichever way it was said.
    for (of, to) in [(&bob, &twin), (&twin, &bob)] {
        world.post(admin, &aliases(&of.id), alias(&to.id)).await.expect(200);
    }
    world.post(admin, &aliases(&twin.id), alias(&rea.id)).await.expect(200);
}
