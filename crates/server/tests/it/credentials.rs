//! Credentials belong to their person: a token with authority is confirmed with a passkey, and who
//! issues the token of an agent has a part in what the agent proposes.

use serde_json::json;

use crate::authenticator::enrol;
use crate::world::{Person, World, path_of, seen};

const HERE: &str = "127.0.0.0/8";

#[tokio::test]
async fn token_with_authority_is_confirmed_with_its_terms() {
    let world = World::new().await;
    let ada = world.person("Ada", &["reviewer"]).await;
    let mut key = enrol(&world, &ada).await;
    let path = "/v1/tokens";
    let terms = json!({ "label": "laptop", "days": 7, "networks": [HERE] });
    let asked = |scopes: &[&str]| {
        let mut asked = terms.clone();
        asked["scopes"] = json!(scopes);
        asked
    };
    let plain = world.post(&ada.token, path, asked(&["read", "propose", "execute"])).await;
    let plain = plain.expect(201);
    assert_eq!(plain["issued_by"], json!(ada.id));
    let revoke = |made: &serde_json::Value| format!("{path}/{}", made["key_id"].as_str().unwrap());
    world.send("DELETE", &ada.token, &revoke(&plain), None, &[]).await.expect(200);
    for scope in ["administer", "decide", "operate"] {
        let body = || asked(&["read", scope]);
        let problem = world.post(&ada.token, path, body()).await.refused(403, "step_up_required");
        assert_eq!(problem["step_up"]["purpose"], "create_token");
        assert_eq!(problem["page"], "https://ade.example.org/settings/tokens");
        let about = problem["step_up"]["about"].as_array().unwrap();
        let about: Vec<&str> = about.iter().map(|thing| thing["id"].as_str().unwrap()).collect();
        let scope_is = format!("scope:{scope}");
        let network = format!("network:{HERE}");
        assert_eq!(about, ["label", "lifetime:604800s", &network, &scope_is, "scope:read"]);
        key.confirm(&world, &ada.token, &problem["step_up"]).await.expect(200);
        for (field, value) in [
            ("days", json!(8)),
            ("label", json!("desktop")),
            ("networks", json!([])),
            ("scopes", json!(["read", "propose", scope])),
        ] {
            let mut other = body();
            other[field] = value;
            world.post(&ada.token, path, other).await.refused(403, "step_up_required");
        }
        let made = world.post(&ada.token, path, body()).await.expect(201);
        world.post(&ada.token, path, body()).await.refused(403, "step_up_required");
        world.send("DELETE", &ada.token, &revoke(&made), None, &[]).await.expect(200);
    }
}

#[tokio::test]
async fn token_issuer_cannot_approve_what_the_agent_proposes() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let ada = world.person("Ada", &["admin", "reviewer"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = world.agent("bot", &bob).await;
    let own = world.reviewing(&bot, "with the token of its owner").await;
    let bot = Person { token: world.agent_token(&ada, &bot.id).await, ..bot };
    let listed = world.get(&bob.token, &format!("/v1/tokens?agent_id={}", bot.id)).await;
    assert_eq!(listed.expect(200)["items"][0]["issued_by"], json!(ada.id));
    let task = world.reviewing(&bot, "from the agent").await;
    let approve = format!("{}/approve", path_of(&task));
    let problem = world.post(&ada.token, &approve, seen(&task)).await;
    let problem = problem.refused(403, "self_approval");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("issued the token"), "{detail}");
    let voted = world.post(&rea.token, &approve, seen(&task)).await.expect(200);
    assert_eq!(voted["state"], "APPROVED", "{voted}");
    let approve = format!("{}/approve", path_of(&own));
    world.post(&ada.token, &approve, seen(&own)).await.expect(200);
}

#[tokio::test]
async fn token_issuer_cannot_approve_what_a_person_proposes_with_it() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let ada = world.person("Ada", &["admin", "reviewer"]).await;
    world.person("Rea", &["reviewer"]).await;
    let asked = json!({ "user_id": bob.id, "scopes": ["read", "propose"] });
    let lent = world.post(&ada.token, "/v1/tokens", asked).await.expect(201);
    let lent = Person { token: lent["token"].as_str().unwrap().to_owned(), ..bob.clone() };
    let task = world.reviewing(&lent, "as Bob, with the token of Ada").await;
    let approve = format!("{}/approve", path_of(&task));
    let problem = world.post(&ada.token, &approve, seen(&task)).await;
    assert_eq!(problem.refused(403, "self_approval")["part"], "token_issuer");
    // The same change that Bob proposes himself can be approved.
    let own = world.reviewing(&bob, "as Bob").await;
    let approve = format!("{}/approve", path_of(&own));
    world.post(&ada.token, &approve, seen(&own)).await.expect(200);
    // A change by such a token counts as well.
    let own = world.reviewing(&bob, "amended").await;
    let body = Some(json!({ "tags": ["amended"] }));
    let path = path_of(&own);
    world.matching("PATCH", &lent.token, &path, body, &own).await.expect(200);
    world.work("review_opener").await;
    let own = world.task(&bob, &own).await;
    let response = world.post(&ada.token, &format!("{path}/approve"), seen(&own)).await;
    assert_eq!(response.refused(403, "self_approval")["part"], "token_issuer");
}

#[tokio::test]
async fn audit_entries_name_the_credential() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let ada = world.person("Ada", &["admin", "reviewer"]).await;
    let asked = json!({ "user_id": bob.id, "scopes": ["read", "propose"] });
    let lent = world.post(&ada.token, "/v1/tokens", asked).await.expect(201);
    let as_bob = Person { token: lent["token"].as_str().unwrap().to_owned(), ..bob.clone() };
    let task = world.reviewing(&bob, "with a token of his own").await;
    let own = world.who_did(&task, "task.submit").await["credential"].clone();
    assert_eq!((&own["kind"], &own["issued_by"]), (&json!("token"), &json!(bob.id)), "{own}");
    assert_eq!(own["step_up"], json!(null));
    let task = world.reviewing(&as_bob, "with a token that Ada issued").await;
    let who = world.who_did(&task, "task.submit").await;
    let lent = json!({
        "kind": "token", "key_id": lent["key_id"], "issued_by": ada.id, "step_up": null,
    });
    assert_eq!((&who["user"], &who["credential"]), (&json!(bob.id), &lent));
    // The session that an invitation opened is named by the entry that opens it.
    let began = world.get(&world.admin.token, &format!("/v1/audit?object={}", bob.id)).await;
    let began = began.expect(200);
    let kinds = |action: &str| {
        let items = began["items"].as_array().unwrap().iter();
        let mut found = items.filter(|item| item["leaf"]["what"]["action"] == action);
        found.next().unwrap()["leaf"]["who"]["credential"]["kind"].clone()
    };
    assert_eq!([kinds("invitation.accept"), kinds("session.begin")], ["invitation", "session"]);
}

#[tokio::test]
async fn token_revokes_itself_but_no_other_without_the_scope() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let path = |token: &str| format!("/v1/tokens/{}", token.split('_').nth(2).unwrap());
    let made = world.post(&bob.token, "/v1/tokens", json!({ "scopes": ["read"] })).await;
    let made = made.expect(201);
    let narrow = made["token"].as_str().unwrap();
    let other = world.send("DELETE", narrow, &path(&bob.token), None, &[]).await;
    assert_eq!(other.refused(403, "insufficient_scope")["required_scope"], "administer");
    for token in [narrow, &bot.token] {
        let gone = world.send("DELETE", token, &path(token), None, &[]).await.expect(200);
        assert!(gone["revoked_at"].is_string(), "{gone}");
        world.get(token, "/v1/me").await.refused(401, "unauthenticated");
    }
    world.get(&bob.token, "/v1/me").await.expect(200);
}
