//! Passkeys are added, listed and removed. A confirmation is accepted once, from the passkey, the
//! person and the session that it was requested from.

use std::time::Duration;

use serde_json::{Value, json};

use crate::authenticator::{Authenticator, add, enrol, second_token, text};
use crate::coverage::cases;
use crate::world::{LockBackend, TestServerOptions, World, id};

cases! {
    passkey_is_added_listed_and_removed:
        Happy "GET /v1/passkeys", Denied "GET /v1/passkeys",
        Happy "POST /v1/passkeys", Denied "POST /v1/passkeys",
        Happy "POST /v1/passkeys/{id}", Denied "POST /v1/passkeys/{id}",
        Conflict "POST /v1/passkeys/{id}",
        Happy "DELETE /v1/passkeys/{id}", Denied "DELETE /v1/passkeys/{id}",
        Conflict "DELETE /v1/passkeys/{id}";
    passkeys_beyond_the_limit_are_refused: Conflict "POST /v1/passkeys";
    passkeys_lost_by_a_user_are_reset_by_an_admin:
        Happy "DELETE /v1/users/{id}/passkeys", Denied "DELETE /v1/users/{id}/passkeys",
        Conflict "DELETE /v1/users/{id}/passkeys";
    step_up_is_confirmed_once_in_the_session_that_asked:
        Happy "POST /v1/step-up", Denied "POST /v1/step-up",
        Happy "POST /v1/step-up/{id}", Denied "POST /v1/step-up/{id}",
        Conflict "POST /v1/step-up/{id}";
}

fn subject() -> Value {
    json!({ "purpose": "break_lock", "about": [{ "id": "database:orders" }] })
}

async fn actions(world: &World, object: &str) -> Vec<String> {
    let path = format!("/v1/audit?object={object}");
    let found = world.get(&world.admin.token, &path).await.expect(200);
    let items = found["items"].as_array().unwrap().iter();
    let shown = |item: &Value| {
        let entry = &item["leaf"];
        format!("{} {}", entry["kind"].as_str().unwrap(), entry["what"]["action"].as_str().unwrap())
    };
    items.map(shown).collect()
}

async fn passkey_is_added_listed_and_removed(world: &World) {
    let ada = world.person("Ada", &["reviewer"]).await;
    let eve = world.person("Eve", &["reviewer"]).await;
    world.get("", "/v1/passkeys").await.refused(401, "unauthenticated");
    world.post("", "/v1/passkeys", json!({ "name": "x" })).await.refused(401, "unauthenticated");
    let blank = world.post(&ada.token, "/v1/passkeys", json!({ "name": " " })).await;
    blank.refused(422, "invalid_body");

    let mut key = Authenticator::new();
    let offer = world.post(&ada.token, "/v1/passkeys", json!({ "name": "ring" })).await.expect(201);
    let options = &offer["options"];
    assert_eq!(options["rp"]["id"], "ade.example.org");
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    assert_eq!((&options["attestation"], &options["timeout"]), (&json!("none"), &json!(300_000)));
    let path = format!("/v1/passkeys/{}", id(&offer));
    let created = key.created(options);
    // Neither another person nor another session of the same person can complete the enrolment.
    let elsewhere = second_token(world, &ada).await;
    for token in [&eve.token, &elsewhere] {
        world.post(token, &path, created.clone()).await.refused(404, "not_found");
    }
    for (field, wrong) in [
        ("client_data", json!(text(b"{}"))),
        ("authenticator_data", json!(text(b"short"))),
        ("public_key", json!(text(b"no key"))),
        ("algorithm", json!(-8)),
    ] {
        let mut other = created.clone();
        other[field] = wrong;
        world.post(&ada.token, &path, other).await.refused(422, "passkey_refused");
    }
    let mut strange = created.clone();
    strange["client_data"] = json!("not base64!");
    world.post(&ada.token, &path, strange).await.refused(422, "invalid_body");
    let added = world.post(&ada.token, &path, created.clone()).await.expect(201);
    assert_eq!((&added["id"], &added["name"]), (&offer["id"], &json!("ring")));
    world.post(&ada.token, &path, created).await.refused(404, "not_found");
    assert_eq!(actions(world, id(&added)).await, ["change passkey.add"]);
    // A known passkey is refused for every person.
    add(world, &eve.token, &key).await.refused(409, "already_exists");

    let listed = world.get(&ada.token, "/v1/passkeys").await.expect(200);
    assert_eq!(listed["items"], json!([added]));
    let others = world.get(&eve.token, "/v1/passkeys").await.expect(200);
    assert_eq!(others["items"], json!([]));

    // A person with a passkey must confirm adding or removing one.
    let more = world.post(&ada.token, "/v1/passkeys", json!({ "name": "two" })).await;
    let asked = more.refused(403, "step_up_required");
    assert_eq!(asked["step_up"], json!({ "purpose": "add_passkey", "about": [] }));
    key.confirm(world, &ada.token, &asked["step_up"]).await.expect(200);
    let second = Authenticator::new();
    add(world, &ada.token, &second).await.expect(201);
    let again = world.post(&ada.token, "/v1/passkeys", json!({ "name": "three" })).await;
    again.refused(403, "step_up_required");

    let path = format!("/v1/passkeys/{}", id(&added));
    world.send("DELETE", &eve.token, &path, None, &[]).await.refused(404, "not_found");
    let repeat = [("idempotency-key", "gone")];
    let remove = async || world.send("DELETE", &ada.token, &path, None, &repeat).await;
    let asked = remove().await.refused(403, "step_up_required");
    key.confirm(world, &ada.token, &asked["step_up"]).await.expect(200);
    assert_eq!(remove().await.expect(200)["name"], "ring");
    assert!(remove().await.is_repeated);
    assert_eq!(actions(world, id(&added)).await, ["change passkey.remove", "change passkey.add"]);
    let left = world.get(&ada.token, "/v1/passkeys").await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    let refused = key.confirm(world, &ada.token, &subject()).await;
    refused.refused(422, "passkey_refused");
}

async fn passkeys_beyond_the_limit_are_refused(world: &World) {
    let ada = world.person("Ada", &[]).await;
    enrol(world, &ada).await;
    let copies = "INSERT INTO passkey (tenant_id, id, user_id, name, credential, algorithm,
                      public_key, counter, created_at)
                  SELECT tenant_id, uuid_v7(), user_id, name, decode(to_hex(n), 'escape'),
                         algorithm, public_key, counter, created_at
                    FROM passkey, generate_series(1, 9) AS n";
    world.database.run(copies).await;
    let more = world.post(&ada.token, "/v1/passkeys", json!({ "name": "eleven" })).await;
    assert_eq!(more.refused(409, "too_many")["most"], 10);
}

async fn passkeys_lost_by_a_user_are_reset_by_an_admin(world: &World) {
    let ada = world.person("Ada", &["reviewer"]).await;
    let mut lost = enrol(world, &ada).await;
    let mut own = enrol(world, &world.admin).await;
    let path = format!("/v1/users/{}/passkeys", ada.id);
    let question = world.post(&ada.token, "/v1/step-up", subject()).await.expect(201);
    world.send("DELETE", &ada.token, &path, None, &[]).await.refused(403, "not_allowed");
    let repeat = [("idempotency-key", "lost")];
    let reset = async || world.send("DELETE", &world.admin.token, &path, None, &repeat).await;
    let asked = reset().await.refused(403, "step_up_required");
    own.confirm(world, &world.admin.token, &asked["step_up"]).await.expect(200);
    assert_eq!(reset().await.expect(200)["items"].as_array().unwrap().len(), 1);
    assert!(reset().await.is_repeated);
    assert!(actions(world, &ada.id).await.contains(&"change passkey.reset".to_owned()));
    // A removed passkey is not accepted, not even for a question that was asked before.
    let path = format!("/v1/step-up/{}", id(&question));
    let said = lost.word(&question["options"]);
    world.post(&ada.token, &path, said).await.refused(422, "passkey_refused");
    let response = world.post(&ada.token, "/v1/step-up", subject()).await;
    assert_eq!(response.refused(403, "step_up_required")["has_passkey"], false);
    enrol(world, &ada).await;
    let unknown = format!("/v1/users/usr_{}/passkeys", "0".repeat(26));
    let unknown = world.send("DELETE", &world.admin.token, &unknown, None, &[]).await;
    unknown.refused(404, "not_found");
}

async fn step_up_is_confirmed_once_in_the_session_that_asked(world: &World) {
    let ada = world.person("Ada", &["reviewer"]).await;
    let eve = world.person("Eve", &["reviewer"]).await;
    let none = world.post(&ada.token, "/v1/step-up", subject()).await;
    assert_eq!(none.refused(403, "step_up_required")["has_passkey"], false);
    let (mut key, mut hers) = (enrol(world, &ada).await, enrol(world, &eve).await);
    let elsewhere = second_token(world, &ada).await;
    let ask = async || world.post(&ada.token, "/v1/step-up", subject()).await.expect(201);
    let question = ask().await;
    let options = &question["options"];
    assert_eq!(options["rpId"], "ade.example.org");
    assert_eq!(options["userVerification"], "required");
    assert_eq!(options["allowCredentials"].as_array().unwrap().len(), 1);
    let path = format!("/v1/step-up/{}", id(&question));
    let said = key.word(options);
    for token in [&eve.token, &elsewhere] {
        world.post(token, &path, said.clone()).await.refused(404, "not_found");
    }
    world.post(&ada.token, &path, hers.word(options)).await.refused(422, "passkey_refused");
    // A page of another origin, a passkey that was not unlocked, and the answer to another question
    // are refused.
    key.origin = "https://evil.example";
    world.post(&ada.token, &path, key.word(options)).await.refused(422, "passkey_refused");
    key.origin = "https://ade.example.org";
    key.flags = 0x01;
    let response = world.post(&ada.token, &path, key.word(options)).await;
    assert!(response.refused(422, "passkey_refused")["detail"].as_str().unwrap().contains("PIN"));
    key.flags = 0x05;
    let other = ask().await;
    world
        .post(&ada.token, &path, key.word(&other["options"]))
        .await
        .refused(422, "passkey_refused");
    let mut changed = key.word(options);
    changed["signature"] = said["signature"].clone();
    world.post(&ada.token, &path, changed).await.refused(422, "passkey_refused");

    let said = key.word(options);
    let given = world.post(&ada.token, &path, said.clone()).await.expect(200);
    assert_eq!((&given["id"], &given["purpose"]), (&question["id"], &json!("break_lock")));
    world.post(&ada.token, &path, said.clone()).await.refused(409, "closed");
    let entries = actions(world, id(&question)).await;
    assert_eq!(entries[0], "change step_up.give", "{entries:?}");
    assert_eq!(entries.iter().filter(|entry| *entry == "refusal step_up.give").count(), 5);

    // The answer to one question does not answer the next, and a copied passkey is detected by its
    // counter.
    let next = ask().await;
    let path = format!("/v1/step-up/{}", id(&next));
    world.post(&ada.token, &path, said).await.refused(422, "passkey_refused");
    key.counter = 0;
    let response = world.post(&ada.token, &path, key.word(&next["options"])).await;
    assert!(
        response.refused(422, "passkey_refused")["detail"].as_str().unwrap().contains("copied")
    );
    key.counter = 100;
    world.pass(Duration::from_secs(301)).await;
    world.post(&ada.token, &path, key.word(&next["options"])).await.refused(409, "closed");
    for strange in [
        json!({ "purpose": "approve", "about": [{ "id": "a b" }] }),
        json!({ "purpose": "nothing", "about": [] }),
        json!({ "purpose": "approve", "about": [], "more": 1 }),
    ] {
        world.post(&ada.token, "/v1/step-up", strange).await.refused(422, "invalid_body");
    }
}

#[tokio::test]
async fn enrolment_superseded_or_not_answered_in_time_is_refused() {
    let world = World::new().await;
    let ada = world.person("Ada", &[]).await;
    let key = Authenticator::new();
    let ask = async || {
        let name = json!({ "name": "mine" });
        world.post(&ada.token, "/v1/passkeys", name).await.expect(201)
    };
    let (first, second) = (ask().await, ask().await);
    let answer = async |offer: &Value| {
        let path = format!("/v1/passkeys/{}", id(offer));
        world.post(&ada.token, &path, key.created(&offer["options"])).await
    };
    answer(&first).await.refused(404, "not_found");
    world.pass(Duration::from_secs(301)).await;
    answer(&second).await.refused(404, "not_found");
    answer(&ask().await).await.expect(201);
}

#[tokio::test]
async fn step_up_questions_left_unanswered_are_discarded() {
    let world = World::locking(LockBackend::Off).await;
    let ada = world.person("Ada", &[]).await;
    enrol(&world, &ada).await;
    for _ in 0..20 {
        world.post(&ada.token, "/v1/step-up", subject()).await.expect(201);
    }
    let open = "SELECT count(*) FROM step_up";
    assert_eq!(world.database.number(open).await, 16);
    world.pass(Duration::from_secs(601)).await;
    world.post(&ada.token, "/v1/step-up", subject()).await.expect(201);
    assert_eq!(world.database.number(open).await, 1);
}

#[tokio::test]
async fn passkeys_without_a_usable_hostname_are_disabled() {
    let page = "http://127.0.0.1:7700".to_owned();
    let world = World::fitted(TestServerOptions { page, ..LockBackend::Off.into() }).await;
    let ada = world.person("Ada", &[]).await;
    let response = world.post(&ada.token, "/v1/passkeys", json!({ "name": "mine" })).await;
    response.refused(409, "passkeys_off");
    let response = world.post(&ada.token, "/v1/step-up", subject()).await;
    response.refused(409, "passkeys_off");
    assert_eq!(world.get(&ada.token, "/v1/passkeys").await.expect(200)["items"], json!([]));
}
