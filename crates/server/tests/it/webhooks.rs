//! Webhooks over HTTP: who manages them, which settings are valid, and what is shown of them.

use std::time::Duration;

use ade_testkit::WebhookReceiver;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, quoted};

cases! {
    webhook_is_created_and_its_secret_shown_once:
        Happy "POST /v1/webhooks",
        Happy "GET /v1/webhooks",
        Happy "GET /v1/webhooks/{id}",
        Conflict "POST /v1/webhooks";
    webhook_change_needs_the_current_version:
        Happy "PATCH /v1/webhooks/{id}",
        Conflict "PATCH /v1/webhooks/{id}";
    deleted_webhook_is_not_found:
        Happy "DELETE /v1/webhooks/{id}",
        Conflict "DELETE /v1/webhooks/{id}";
    rotated_webhook_secret_overlaps_with_the_old_one:
        Happy "POST /v1/webhooks/{id}/rotate",
        Conflict "POST /v1/webhooks/{id}/rotate";
    webhook_ping_is_sent_and_its_delivery_listed:
        Happy "POST /v1/webhooks/{id}/ping",
        Happy "GET /v1/webhooks/{id}/deliveries",
        Happy "POST /v1/webhooks/{id}/redeliver",
        Conflict "POST /v1/webhooks/{id}/ping",
        Conflict "POST /v1/webhooks/{id}/redeliver";
    webhooks_are_managed_only_by_admins:
        Denied "POST /v1/webhooks",
        Denied "GET /v1/webhooks",
        Denied "GET /v1/webhooks/{id}",
        Denied "PATCH /v1/webhooks/{id}",
        Denied "DELETE /v1/webhooks/{id}",
        Denied "POST /v1/webhooks/{id}/rotate",
        Denied "POST /v1/webhooks/{id}/ping",
        Denied "GET /v1/webhooks/{id}/deliveries",
        Denied "POST /v1/webhooks/{id}/redeliver";
}

pub const HOOKS: &str = "/v1/webhooks";
const HOUR: Duration = Duration::from_hours(1);

pub fn path(hook: &Value) -> String {
    format!("{HOOKS}/{}", id(hook))
}

/// Creates a webhook whose secret the receiver trusts.
pub async fn hook(world: &World, receiver: &WebhookReceiver, events: &[&str]) -> Value {
    hook_of(world, &world.admin, receiver, events).await
}

pub async fn hook_of(
    world: &World,
    admin: &Person,
    receiver: &WebhookReceiver,
    events: &[&str],
) -> Value {
    let body = json!({ "url": receiver.url(), "events": events });
    let made = world.post(&admin.token, HOOKS, body).await.expect(201);
    receiver.trust(made["secret"].as_str().unwrap());
    made
}

async fn webhook_is_created_and_its_secret_shown_once(world: &World) {
    let admin = &world.admin.token;
    let body = json!({
        "url": "http://127.0.0.1:9/hook?room=1", "events": ["task.*", "approval.voted"],
        "label": "chat",
    });
    let key = [("idempotency-key", "one")];
    let made = world.send("POST", admin, HOOKS, Some(body.clone()), &key).await.expect(201);
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() == 6 + 44, "{secret}");
    let again = world.send("POST", admin, HOOKS, Some(body), &key).await;
    assert!(again.is_repeated);
    assert_eq!(
        (again.status, &again.body["secret"]),
        (201, &json!(null)),
        "the secret is shown once"
    );
    let seen = world.get(admin, &path(&made)).await;
    assert_eq!(seen.etag.as_deref(), Some("\"1\""));
    let seen = seen.expect(200);
    assert_eq!(seen["events"], json!(["approval.voted", "task.*"]));
    assert_eq!((&seen["label"], &seen["active"]), (&json!("chat"), &json!(true)));
    let pair = json!({ "url": "http://127.0.0.1:9/", "events": ["*"], "scheme": "v1a" });
    let pair = world.post(admin, HOOKS, pair).await.expect(201);
    assert_eq!(pair["secret"], json!(null), "the receiver needs only the public key");
    assert!(pair["public_key"].as_str().unwrap().starts_with("whpk_"), "{pair}");
    let all = world.get(admin, HOOKS).await.expect(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    assert!(!all.to_string().contains(&secret));
    let rows = format!("SELECT count(*) FROM webhook_endpoint WHERE url LIKE '%{secret}%'");
    assert_eq!(world.database.number(&rows).await, 0);
    for (field, bad) in [
        ("url", json!({ "url": "http://10.0.0.1/", "events": ["*"] })),
        ("url", json!({ "url": "http://169.254.169.254/latest", "events": ["*"] })),
        ("url", json!({ "url": "ftp://127.0.0.1/", "events": ["*"] })),
        ("url", json!({ "url": "http://a:b@127.0.0.1/", "events": ["*"] })),
        (
            "url",
            json!({ "url": format!("http://127.0.0.1/{}", "x".repeat(2048)), "events": ["*"] }),
        ),
        ("events", json!({ "url": "http://127.0.0.1/", "events": [] })),
        ("events", json!({ "url": "http://127.0.0.1/", "events": ["tasks.*"] })),
        ("label", json!({ "url": "http://127.0.0.1/", "events": ["*"], "label": "x".repeat(129) })),
    ] {
        let problem = world.post(admin, HOOKS, bad).await.refused(422, "invalid_body");
        assert_eq!(problem["path"], field, "{problem}");
    }
    let reused = json!({ "url": "http://127.0.0.1:9/", "events": ["*"] });
    let reused = world.send("POST", admin, HOOKS, Some(reused), &key).await;
    reused.refused(422, "idempotency_key_reused");
    let entries = world.get(admin, &format!("/v1/audit?object={}", id(&made))).await.expect(200);
    assert_eq!(entries["items"][0]["leaf"]["what"]["action"], "webhook.create");
    assert!(!entries.to_string().contains(&secret));
}

async fn webhook_change_needs_the_current_version(world: &World) {
    let admin = &world.admin.token;
    let receiver = WebhookReceiver::start().await;
    let made = hook(world, &receiver, &["*"]).await;
    let change = json!({ "events": ["task.approved"], "label": "less", "active": false });
    let path = path(&made);
    let bare = world.send("PATCH", admin, &path, Some(change.clone()), &[]).await;
    bare.refused(428, "precondition_required");
    let changed = world.matching("PATCH", admin, &path, Some(change.clone()), &made).await;
    let changed = changed.expect(200);
    assert_eq!((&changed["version"], &changed["active"]), (&json!(2), &json!(false)));
    assert_eq!(changed["disabled_because"], "disabled by an admin");
    let stale = world.matching("PATCH", admin, &path, Some(change), &made).await;
    stale.refused(412, "version_mismatch");
    let nothing = world.matching("PATCH", admin, &path, Some(json!({})), &changed).await;
    nothing.refused(422, "invalid_body");
    let inside = Some(json!({ "url": "http://192.168.0.1/" }));
    let inside = world.matching("PATCH", admin, &path, inside, &changed).await;
    inside.refused(422, "invalid_body");
    world.post(admin, &format!("{path}/ping"), json!({})).await.refused(409, "closed");
    let back = Some(json!({ "active": true }));
    let back = world.matching("PATCH", admin, &path, back, &changed).await.expect(200);
    assert_eq!((&back["active"], &back["disabled_because"]), (&json!(true), &json!(null)));
}

async fn deleted_webhook_is_not_found(world: &World) {
    let admin = &world.admin.token;
    let receiver = WebhookReceiver::start().await;
    let made = hook(world, &receiver, &["*"]).await;
    let path = path(&made);
    world.post(admin, &format!("{path}/ping"), json!({})).await.expect(202);
    let key = [("idempotency-key", "once")];
    world.send("DELETE", admin, &path, None, &key).await.expect(200);
    assert!(world.send("DELETE", admin, &path, None, &key).await.is_repeated);
    world.send("DELETE", admin, &path, None, &[]).await.refused(404, "not_found");
    world.get(admin, &path).await.refused(404, "not_found");
    world.work("webhook_sender").await;
    world.app.webhooks.quiet().await;
    assert_eq!(receiver.calls(), 0, "pending deliveries are not sent");
    for number in 0..ade_core::limits::WEBHOOK_ENDPOINTS_MAX {
        let body = json!({ "url": format!("http://127.0.0.1:9/{number}"), "events": ["*"] });
        world.post(admin, HOOKS, body).await.expect(201);
    }
    let body = json!({ "url": "http://127.0.0.1:9/", "events": ["*"] });
    let problem = world.post(admin, HOOKS, body).await.refused(409, "too_many");
    assert_eq!(problem["most"], ade_core::limits::WEBHOOK_ENDPOINTS_MAX);
}

async fn rotated_webhook_secret_overlaps_with_the_old_one(world: &World) {
    let admin = &world.admin.token;
    let receiver = WebhookReceiver::start().await;
    let made = hook(world, &receiver, &["*"]).await;
    let path = path(&made);
    let rotate = format!("{path}/rotate");
    let too_long = world.post(admin, &rotate, json!({ "overlap_seconds": "169h" })).await;
    too_long.refused(422, "invalid_body");
    let key = [("idempotency-key", "turn")];
    let asked = Some(json!({ "overlap_seconds": 7_200 }));
    let turned = world.send("POST", admin, &rotate, asked.clone(), &key).await.expect(200);
    assert!(world.send("POST", admin, &rotate, asked, &key).await.is_repeated);
    let new = turned["secret"].as_str().unwrap();
    assert_ne!(made["secret"], turned["secret"]);
    let ping = async |trusted: &str| {
        let (before, refused) = (receiver.taken().len(), receiver.refusals().len());
        receiver.distrust_all();
        receiver.trust(trusted);
        world.post(admin, &format!("{path}/ping"), json!({})).await.expect(202);
        world.work("webhook_sender").await;
        world.app.webhooks.quiet().await;
        (receiver.taken().len() - before, receiver.refusals().len() - refused)
    };
    let old = made["secret"].as_str().unwrap();
    assert_eq!(ping(old).await, (1, 0), "the old secret is valid for two more hours");
    assert_eq!(ping(new).await, (1, 0), "the new secret is valid at once");
    assert_eq!(receiver.heard()[0].signature.split(' ').count(), 2);
    world.pass(2 * HOUR).await;
    assert_eq!(ping(new).await, (1, 0));
    assert_eq!(ping(old).await, (0, 1), "the old secret has expired");
    let at_once = world.post(admin, &rotate, json!({ "overlap_seconds": 0 })).await.expect(200);
    assert_eq!(at_once["old_secret_until"], json!(null));
    assert_eq!(ping(new).await.0, 0, "the previous secret is revoked at once");
}

async fn webhook_ping_is_sent_and_its_delivery_listed(world: &World) {
    let admin = &world.admin.token;
    let receiver = WebhookReceiver::start().await;
    let made = hook(world, &receiver, &["*"]).await;
    let path = path(&made);
    let key = [("idempotency-key", "try")];
    let ping = format!("{path}/ping");
    let sent = world.send("POST", admin, &ping, None, &key).await.expect(202);
    assert!(world.send("POST", admin, &ping, None, &key).await.is_repeated);
    assert_eq!((&sent["state"], &sent["type"]), (&json!("pending"), &json!("webhook.ping")));
    world.work("webhook_sender").await;
    world.app.webhooks.quiet().await;
    let heard = receiver.taken();
    let body = &heard[0].body;
    assert_eq!(heard.len(), 1, "{:?}", receiver.refusals());
    assert_eq!((&body["type"], &body["object"]), (&json!("webhook.ping"), &made["id"]));
    assert_eq!((&body["id"], &body["tenant_id"]), (&json!(heard[0].id), &json!(world.tenant)));
    assert_eq!((&body["actor"], &body["data"]), (&json!(world.admin.id), &json!({})));
    let list = format!("{path}/deliveries");
    let listed = world.get(admin, &list).await.expect(200);
    let done = &listed["items"][0];
    assert_eq!((&done["state"], &done["status"]), (&json!("delivered"), &json!(204)), "{done}");
    assert_eq!((&done["event_id"], &done["tries"]), (&json!(heard[0].id), &json!(1)));
    let dead = world.get(admin, &format!("{list}?state=dead")).await.expect(200);
    assert_eq!(dead["items"], json!([]));
    let again = format!("{path}/redeliver");
    for bad in [
        json!({}),
        json!({ "delivery_ids": [] }),
        json!({
            "delivery_ids": [done["id"]], "dead_since": "2026-01-01T00:00:00Z"
        }),
    ] {
        world.post(admin, &again, bad).await.refused(422, "invalid_body");
    }
    let wanted = |event: &Value| json!({ "delivery_ids": [event["id"]] });
    let unknown = json!({ "id": "dlv_00000000000000000000000000" });
    world.twice("POST", admin, &again, [wanted(done), wanted(&unknown)]).await;
    world.work("webhook_sender").await;
    world.app.webhooks.quiet().await;
    let ids: Vec<String> = receiver.heard().into_iter().map(|heard| heard.id).collect();
    assert_eq!(ids, [heard[0].id.clone(), heard[0].id.clone()], "both with the same id");
    let none = world.post(admin, &again, wanted(&unknown)).await.expect(202);
    assert_eq!(none, json!({ "count": 0, "has_more": false }));
}

async fn webhooks_are_managed_only_by_admins(world: &World) {
    let receiver = WebhookReceiver::start().await;
    let made = hook(world, &receiver, &["*"]).await;
    let path = path(&made);
    let bob = world.person("Bob", &["author", "reviewer", "operator", "auditor"]).await;
    let body = json!({ "url": "http://127.0.0.1:9/", "events": ["*"] });
    let change = json!({ "active": false });
    let ids = json!({ "dead_since": "2026-01-01T00:00:00Z" });
    for (method, at, body) in [
        ("POST", HOOKS.to_owned(), Some(body)),
        ("GET", HOOKS.to_owned(), None),
        ("GET", path.clone(), None),
        ("PATCH", path.clone(), Some(change)),
        ("DELETE", path.clone(), None),
        ("POST", format!("{path}/rotate"), Some(json!({}))),
        ("POST", format!("{path}/ping"), None),
        ("GET", format!("{path}/deliveries"), None),
        ("POST", format!("{path}/redeliver"), Some(ids)),
    ] {
        let version = quoted(&made);
        let response = world.send(method, &bob.token, &at, body, &[("if-match", &version)]).await;
        response.refused(403, "not_allowed");
    }
    assert_eq!(world.refusals(&world.tenant, "webhook.administer").await, 6);
    assert_eq!(world.refusals(&world.tenant, "webhook.read").await, 3);
}
