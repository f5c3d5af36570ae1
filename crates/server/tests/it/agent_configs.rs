//! Agent configurations over HTTP.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Answer, Person, World};

cases! {
    agent_config_change_adds_a_version:
        Happy "GET /v1/agents/{id}/config",
        Happy "PUT /v1/agents/{id}/config",
        Happy "GET /v1/agents/{id}/config/versions",
        Happy "GET /v1/agents/{id}/config/versions/{version}/diff",
        Happy "POST /v1/agents/{id}/config/rollback";
    agent_config_of_another_agent_is_refused:
        Denied "GET /v1/agents/{id}/config",
        Denied "PUT /v1/agents/{id}/config",
        Denied "GET /v1/agents/{id}/config/versions",
        Denied "GET /v1/agents/{id}/config/versions/{version}/diff",
        Denied "POST /v1/agents/{id}/config/rollback";
    agent_config_change_with_a_stale_version_is_refused:
        Conflict "PUT /v1/agents/{id}/config",
        Conflict "POST /v1/agents/{id}/config/rollback";
}

fn path(bot: &Person) -> String {
    format!("/v1/agents/{}/config", bot.id)
}

async fn put(world: &World, who: &Person, bot: &Person, read: u32, body: Value) -> Answer {
    let read = format!("\"{read}\"");
    world.send("PUT", &who.token, &path(bot), Some(body), &[("if-match", &*read)]).await
}

async fn agent_config_change_adds_a_version(world: &World) {
    let bob = world.person("Bob", &[]).await;
    let bot = world.agent("bot", &bob).await;
    let empty = world.get(&bot.token, &path(&bot)).await;
    assert_eq!(empty.etag.as_deref(), Some("\"0\""));
    assert_eq!(empty.expect(200)["config"], json!({}));
    let one = json!({ "room": 1, "regions": ["eu"], "log": { "level": "info", "to": "x" } });
    let two = json!({ "room": 2, "regions": ["eu", "us"], "log": { "level": "info" } });
    let body = json!({ "config": one, "reason": "first" });
    let first = put(world, &bob, &bot, 0, body).await;
    assert_eq!(first.etag.as_deref(), Some("\"1\""));
    let first = first.expect(200);
    assert_eq!((&first["version"], &first["config"]), (&json!(1), &one));
    put(world, &world.admin, &bot, 1, json!({ "config": two })).await.expect(200);
    let read = world.get(&bot.token, &path(&bot)).await;
    assert_eq!(read.etag.as_deref(), Some("\"2\""));
    assert_eq!(read.expect(200)["config"], two);

    let difference = async |query: &str| {
        let path = format!("{}/versions/{query}", path(&bot));
        world.get(&bot.token, &path).await.expect(200)
    };
    let diff = difference("2/diff").await;
    let changes = [
        ("log.to", json!("x"), json!(null)),
        ("regions", json!(["eu"]), json!(["eu", "us"])),
        ("room", json!(1), json!(2)),
    ];
    let changes = changes.map(|(path, before, after)| {
        let mut change = json!({ "path": path, "before": before });
        change["after"] = after;
        change
    });
    assert_eq!(diff, json!({ "version": 2, "against": 1, "changes": changes }));
    assert_eq!(difference("2/diff?against=2").await["changes"], json!([]));
    assert_eq!(difference("1/diff").await["against"], 0);
    assert_eq!(difference("1/diff?against=0").await["changes"].as_array().unwrap().len(), 3);

    let rollback = format!("{}/rollback", path(&bot));
    let body = json!({ "to": 1, "reason": "it was slow" });
    let back = world.post(&bob.token, &rollback, body).await;
    assert_eq!(back.etag.as_deref(), Some("\"3\""));
    assert_eq!(back.expect(200)["config"], one);
    assert_eq!(difference("3/diff?against=1").await["changes"], json!([]));
    let versions = format!("{}/versions", path(&bot));
    let versions = world.get(&bob.token, &versions).await.expect(200);
    let listed = versions["items"].as_array().unwrap().iter();
    let listed: Vec<Value> =
        listed.map(|one| json!([one["version"], one["set_by"], one["reason"]])).collect();
    let expected = [
        json!([3, bob.id, "it was slow"]),
        json!([2, world.admin.id, null]),
        json!([1, bob.id, "first"]),
    ];
    assert_eq!(listed, expected);
    assert!(versions["items"][0].get("config").is_none());
    let session = json!({ "process_id": "ags_01k9xq3vb8f2n4s6t7w8y9z0ab" });
    let beat = format!("/v1/agents/{}/heartbeat", bot.id);
    let beat = world.post(&bot.token, &beat, session).await.expect(200);
    assert_eq!(beat["config_version"], 3, "the heartbeat reports the new version");
}

async fn agent_config_of_another_agent_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author", "operator", "reviewer", "auditor"]).await;
    let [bot, other] = [world.agent("bot", &bob).await, world.agent("other", &bob).await];
    put(world, &bob, &bot, 0, json!({ "config": { "a": 1 } })).await.expect(200);
    let below = |rest: &str| format!("{}{rest}", path(&bot));
    let reads = [below(""), below("/versions"), below("/versions/1/diff")];
    for who in [&eve, &other] {
        for read in &reads {
            world.get(&who.token, read).await.refused(403, "not_allowed");
        }
    }
    assert_eq!(world.refusals(&bot.id, "agent.read_config").await, 6);
    let back = json!({ "to": 1, "reason": "mine" });
    put(world, &eve, &bot, 1, json!({ "config": {} })).await.refused(403, "not_allowed");
    world.post(&eve.token, &below("/rollback"), back.clone()).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(&bot.id, "agent.configure").await, 2);
    put(world, &bot, &bot, 1, json!({ "config": {} })).await.refused(403, "insufficient_scope");
    world.post(&bot.token, &below("/rollback"), back).await.refused(403, "insufficient_scope");
    for read in &reads {
        world.get("", read).await.refused(401, "unauthenticated");
    }
    let nothing = "/v1/agents/agt_00000000000000000000000000/config";
    world.get(&bob.token, nothing).await.refused(404, "not_found");
    world.get(&bob.token, &below("/versions/2/diff")).await.refused(404, "not_found");
    let kept = world.get(&bob.token, &path(&bot)).await.expect(200);
    assert_eq!((&kept["version"], &kept["config"]), (&json!(1), &json!({ "a": 1 })));
}

async fn agent_config_change_with_a_stale_version_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let config = |room: u32| json!({ "config": { "room": room } });
    put(world, &bob, &bot, 1, config(1)).await.refused(412, "version_mismatch");
    let unread = world.send("PUT", &bob.token, &path(&bot), Some(config(1)), &[]).await;
    unread.refused(428, "precondition_required");
    put(world, &bob, &bot, 0, config(1)).await.expect(200);
    let stale = put(world, &world.admin, &bot, 0, config(2)).await;
    stale.refused(412, "version_mismatch");
    put(world, &bob, &bot, 1, config(2)).await.expect(200);
    let rollback = format!("{}/rollback", path(&bot));
    let back = |to: u32, reason: &str| json!({ "to": to, "reason": reason });
    world.post(&bob.token, &rollback, back(2, "same")).await.refused(409, "closed");
    for unknown in [9, 1 << 31, u32::MAX] {
        let missing = world.post(&bob.token, &rollback, back(unknown, "none")).await;
        missing.refused(404, "not_found");
    }
    world.post(&bob.token, &rollback, back(1, " ")).await.refused(422, "invalid_body");
    world.twice("POST", &bob.token, &rollback, [back(1, "a"), back(1, "b")]).await;
    let large = json!({ "config": { "text": "x".repeat(64 * 1024) } });
    put(world, &bob, &bot, 3, large).await.refused(422, "invalid_body");
    for bad in [json!({ "config": [] }), json!({ "config": null }), json!({})] {
        put(world, &bob, &bot, 3, bad).await.refused(422, "invalid_body");
    }
    let agent = format!("/v1/agents/{}", bot.id);
    world.send("DELETE", &world.admin.token, &agent, None, &[]).await.expect(200);
    put(world, &bob, &bot, 3, config(1)).await.refused(409, "closed");
}
