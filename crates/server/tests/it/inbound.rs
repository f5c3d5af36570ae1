//! Inbound events of other systems. An event that is signed, recent and new becomes one draft. All
//! other requests get the same response, so that a caller cannot find out which sources exist.

use std::time::Duration;

use ade_core::limits::INBOUND_PER_MINUTE;
use ade_engine::services::webhook_client::seconds;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::coverage::cases;
use crate::world::{Answer, Person, World, id, without_request_id};

cases! {
    inbound_source_shows_its_secret_once:
        Happy "POST /v1/inbound-sources",
        Happy "GET /v1/inbound-sources",
        Happy "GET /v1/inbound-sources/{id}",
        Happy "PATCH /v1/inbound-sources/{id}",
        Happy "DELETE /v1/inbound-sources/{id}",
        Conflict "POST /v1/inbound-sources",
        Conflict "PATCH /v1/inbound-sources/{id}",
        Conflict "DELETE /v1/inbound-sources/{id}";
    inbound_event_becomes_one_draft:
        Happy "POST /v1/inbound/{tenant}/{id}",
        Conflict "POST /v1/inbound/{tenant}/{id}";
    inbound_rotation_accepts_both_secrets_until_it_ends:
        Happy "POST /v1/inbound-sources/{id}/rotate",
        Conflict "POST /v1/inbound-sources/{id}/rotate";
    inbound_sources_are_closed_to_all_but_admins:
        Denied "POST /v1/inbound-sources",
        Denied "GET /v1/inbound-sources",
        Denied "GET /v1/inbound-sources/{id}",
        Denied "PATCH /v1/inbound-sources/{id}",
        Denied "DELETE /v1/inbound-sources/{id}",
        Denied "POST /v1/inbound-sources/{id}/rotate";
}

pub const SOURCES: &str = "/v1/inbound-sources";

/// A source whose template proposes a restart of the host in the event.
pub fn source(agent: &str) -> Value {
    json!({ "label": "alerts", "agent_id": agent, "template": {
        "title": "Restart {{/host}}", "type": "db.change",
        "parameters": { "host": "{{/host}}", "load": "{{/load}}" },
        "resources": [{ "resource": "database:{{/host}}", "mode": "exclusive" }],
        "plan": { "changes": [{
            "resource": "database:{{/host}}", "action": "change", "irreversible": false,
            "summary": "restart {{/host}}"
        }] },
    } })
}

/// A system that signs its events with the secret of a source.
pub struct Sender {
    pub path: String,
    secret: Vec<u8>,
}

impl Sender {
    pub fn of(made: &Value) -> Self {
        let secret = made["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
        let path = made["path"].as_str().unwrap().to_owned();
        Self { path, secret: STANDARD.decode(secret).unwrap() }
    }

    fn sign(&self, id: &str, at: u64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).unwrap();
        mac.update(format!("{id}.{at}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    async fn send(&self, world: &World, id: &str, body: Value) -> Answer {
        self.send_to(&self.path, world, id, body).await
    }

    /// Sends an event to the source at this path, which may be another one.
    pub async fn send_to(&self, path: &str, world: &World, id: &str, body: Value) -> Answer {
        let (at, text) = (seconds(), body.to_string());
        let signature = self.sign(id, at, &text);
        post(world, path, id, at, &signature, body).await
    }
}

async fn post(
    world: &World,
    path: &str,
    id: &str,
    at: u64,
    signature: &str,
    body: Value,
) -> Answer {
    let at = at.to_string();
    let headers =
        [("webhook-id", id), ("webhook-timestamp", &*at), ("webhook-signature", signature)];
    world.send("POST", "", path, Some(body), &headers).await
}

async fn cast(world: &World) -> (Person, Person, Value) {
    let bob = world.person("Bob", &["author"]).await;
    let agent = world.agent("alerts", &bob).await;
    let made = world.post(&world.admin.token, SOURCES, source(&agent.id)).await.expect(201);
    (bob, agent, made)
}

fn event() -> Value {
    json!({ "host": "web-1", "load": 97, "more": { "of": ["it"] } })
}

async fn inbound_source_shows_its_secret_once(world: &World) {
    let admin = &world.admin.token;
    let bob = world.person("Bob", &["author"]).await;
    let agent = world.agent("alerts", &bob).await;
    let key = [("idempotency-key", "one")];
    let body = source(&agent.id);
    let made = world.send("POST", admin, SOURCES, Some(body.clone()), &key).await.expect(201);
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{made}");
    let again = world.send("POST", admin, SOURCES, Some(body), &key).await;
    assert!(
        again.is_repeated && again.body["secret"].is_null(),
        "the secret is shown once: {}",
        again.body
    );
    let path = format!("{SOURCES}/{}", id(&made));
    let seen = world.get(admin, &path).await.expect(200);
    assert_eq!((&seen["label"], &seen["active"]), (&json!("alerts"), &json!(true)));
    assert!(!seen.to_string().contains(secret));
    let listed = world.get(admin, SOURCES).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let off = Some(json!({ "active": false, "label": "less" }));
    let changed = world.matching("PATCH", admin, &path, off.clone(), &made).await.expect(200);
    assert_eq!((&changed["version"], &changed["active"]), (&json!(2), &json!(false)));
    world.matching("PATCH", admin, &path, off, &made).await.refused(412, "version_mismatch");
    let sender = Sender::of(&made);
    sender.send(world, "m1", event()).await.refused(401, "unauthenticated");
    for (field, bad) in [
        ("template", json!({ "agent_id": agent.id, "template": { "title": "x" } })),
        ("template", json!({ "agent_id": agent.id, "template": { "type": "{{/a}}" } })),
        ("template", json!({ "agent_id": agent.id, "template": { "type": "t", "title": "x" } })),
        ("agent_id", source("agt_00000000000000000000000000")),
    ] {
        let refused = world.post(admin, SOURCES, bad).await.refused(422, "invalid_body");
        assert_eq!(refused["path"], field, "{refused}");
    }
    world.send("DELETE", admin, &path, None, &key).await.expect(200);
    assert!(world.send("DELETE", admin, &path, None, &key).await.is_repeated);
    world.get(admin, &path).await.refused(404, "not_found");
    let entries = world.get(admin, &format!("/v1/audit?object={}", id(&made))).await.expect(200);
    let actions: Vec<&str> = entries["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["leaf"]["what"]["action"].as_str().unwrap())
        .collect();
    for action in ["inbound.create", "inbound.change", "inbound.delete"] {
        assert!(actions.contains(&action), "{actions:?}");
    }
}

async fn inbound_event_becomes_one_draft(world: &World) {
    let (bob, agent, made) = cast(world).await;
    let sender = Sender::of(&made);
    let task = sender.send(world, "m1", event()).await.expect(201);
    assert_eq!((&task["state"], &task["title"]), (&json!("DRAFT"), &json!("Restart web-1")));
    let whole = world.get(&bob.token, &format!("/v1/tasks/{}/revisions/1", id(&task))).await;
    let whole = whole.expect(200);
    assert_eq!(whole["parameters"], json!({ "host": "web-1", "load": 97 }), "{whole}");
    let again = sender.send(world, "m1", event()).await;
    assert!(again.is_repeated, "{}", again.body);
    assert_eq!(id(&again.expect(201)), id(&task), "a repeated event is one draft");
    let other = json!({ "host": "web-2", "load": 1 });
    sender.send(world, "m1", other.clone()).await.refused(401, "unauthenticated");
    let second = sender.send(world, "m2", other).await.expect(201);
    assert_eq!(second["title"], "Restart web-2");
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 2);
    let metrics = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
    for count in ["ade_inbound_taken_total 3\n", "ade_inbound_refused_total 1\n"] {
        assert!(metrics.contains(count), "expected {count:?}, with the repeated event as taken");
    }
    let missing = sender.send(world, "m3", json!({ "load": 1 })).await;
    let missing = missing.refused(422, "invalid_body");
    assert!(missing["detail"].as_str().unwrap().contains("/host"), "{missing}");
    let nested = json!({ "host": { "a": 1 }, "load": 1 });
    sender.send(world, "m4", nested).await.refused(422, "invalid_body");
    let entries = world.get(&world.admin.token, &format!("/v1/audit?object={}", id(&task))).await;
    let entry = &entries.expect(200)["items"][0]["leaf"];
    assert_eq!(entry["where"]["service"], "inbound", "{entry}");
    assert!(entry["who"].to_string().contains(&agent.id), "{entry}");
}

async fn inbound_rotation_accepts_both_secrets_until_it_ends(world: &World) {
    let (_, _, made) = cast(world).await;
    let old = Sender::of(&made);
    let path = format!("{SOURCES}/{}/rotate", id(&made));
    let key = [("idempotency-key", "turn")];
    let body = Some(json!({ "overlap_seconds": "1h" }));
    let turned = world.send("POST", &world.admin.token, &path, body.clone(), &key).await;
    let turned = turned.expect(200);
    assert!(world.send("POST", &world.admin.token, &path, body, &key).await.is_repeated);
    let new = Sender::of(&turned);
    old.send(world, "m1", event()).await.expect(201);
    new.send(world, "m2", event()).await.expect(201);
    world.pass(Duration::from_mins(61)).await;
    old.send(world, "m3", event()).await.refused(401, "unauthenticated");
    new.send(world, "m4", event()).await.expect(201);
}

async fn inbound_sources_are_closed_to_all_but_admins(world: &World) {
    let (bob, agent, made) = cast(world).await;
    let path = format!("{SOURCES}/{}", id(&made));
    let token = &bob.token;
    world.post(token, SOURCES, source(&agent.id)).await.refused(403, "not_allowed");
    world.get(token, SOURCES).await.refused(403, "not_allowed");
    world.get(token, &path).await.refused(403, "not_allowed");
    let label = Some(json!({ "label": "x" }));
    world.matching("PATCH", token, &path, label, &made).await.refused(403, "not_allowed");
    world.send("DELETE", token, &path, None, &[]).await.refused(403, "not_allowed");
    world.post(token, &format!("{path}/rotate"), json!({})).await.refused(403, "not_allowed");
    let (_, other) = world.tenant("other").await;
    world.get(&other.token, &path).await.refused(404, "not_found");
}

/// All errors up to the verification of the signature get the same response.
#[tokio::test]
async fn inbound_event_that_is_not_authentic_gets_one_response() {
    let world = World::new().await;
    let (_, _, made) = cast(&world).await;
    let sender = Sender::of(&made);
    let (now, body) = (seconds(), event());
    let text = body.to_string();
    let good = sender.sign("m1", now, &text);
    let stranger = Sender { path: sender.path.clone(), secret: vec![7; 32] };
    let mut flipped = good.clone().into_bytes();
    flipped[10] = if flipped[10] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let (no_tenant, no_source) =
        ("ten_00000000000000000000000000", "inb_00000000000000000000000000");
    let elsewhere = format!("/v1/inbound/{no_tenant}/{}", id(&made));
    let unknown = format!("/v1/inbound/{}/{no_source}", world.tenant);
    let (other_tenant, _) = world.tenant("other").await;
    let of_other = format!("/v1/inbound/{other_tenant}/{}", id(&made));
    let large = json!({ "host": "x".repeat((1 << 20) + 1) });
    let at = sender.path.as_str();
    let old = now - 301;
    let signed = |id: &str, at: u64, body: &Value| sender.sign(id, at, &body.to_string());
    let mut answers = Vec::new();
    for (what, path, id, at, signature, body) in [
        ("not signed", at, "m1", now, String::new(), body.clone()),
        ("a changed signature", at, "m1", now, flipped, body.clone()),
        ("another secret", at, "m1", now, stranger.sign("m1", now, &text), body.clone()),
        ("another body", at, "m1", now, good.clone(), json!({ "host": "x", "load": 1 })),
        ("another id", at, "m2", now, good.clone(), body.clone()),
        ("another time", at, "m1", now + 1, good.clone(), body.clone()),
        ("too old", at, "m1", old, signed("m1", old, &body), body.clone()),
        ("in the future", at, "m1", now + 400, signed("m1", now + 400, &body), body.clone()),
        ("no id", at, "", now, signed("", now, &body), body.clone()),
        ("too large", at, "m1", now, signed("m1", now, &large), large.clone()),
        ("another scheme", at, "m1", now, good.replace("v1,", "v2,"), body.clone()),
        ("no such tenant", elsewhere.as_str(), "m1", now, good.clone(), body.clone()),
        ("no such source", unknown.as_str(), "m1", now, good.clone(), body.clone()),
        ("of another tenant", of_other.as_str(), "m1", now, good.clone(), body.clone()),
        ("no ids at all", "/v1/inbound/acme/alerts", "m1", now, good.clone(), body.clone()),
    ] {
        let answer = post(&world, path, id, at, &signature, body).await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.body);
        answers.push((answer.status, without_request_id(answer.body)));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 0);
    let several = format!("v1,AAAA v2,x {good}");
    post(&world, at, "m1", now, &several, body).await.expect(201);
}

#[tokio::test]
async fn inbound_source_is_rate_limited() {
    let world = World::new().await;
    let (_, _, made) = cast(&world).await;
    let sender = Sender::of(&made);
    let mut refused = 0;
    for number in 0..=INBOUND_PER_MINUTE * 2 {
        let answer = sender.send(&world, &format!("m{number}"), event()).await;
        match answer.status {
            201 => {}
            429 => refused += 1,
            other => panic!("{other}: {}", answer.body),
        }
    }
    assert!(refused > 0, "the limit applies, however the requests are spread over minutes");
    let drafts = world.database.number("SELECT count(*) FROM task").await;
    assert!(drafts <= i64::from(INBOUND_PER_MINUTE) * 2, "{drafts}");
}

#[tokio::test]
async fn inbound_event_for_a_revoked_agent_creates_no_task() {
    let world = World::new().await;
    let (_, agent, made) = cast(&world).await;
    let path = format!("/v1/agents/{}", agent.id);
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    let refused = Sender::of(&made).send(&world, "m1", event()).await;
    refused.refused(403, "not_allowed");
    assert_eq!(world.database.number("SELECT count(*) FROM task").await, 0);
}
