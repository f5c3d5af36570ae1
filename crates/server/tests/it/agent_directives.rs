//! Heartbeats, silence and directives of agents. The tests simulate silence by moving the last
//! heartbeat back, so that they do not have to wait.

use ade_core::ids::AgentId;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::locks::{ACQUIRE, HEARTBEAT, lease_of, want, with};
use crate::world::{LockBackend, Person, World};

cases! {
    heartbeat_extends_the_session_and_its_leases:
        Happy "POST /v1/agents/{id}/heartbeat";
    heartbeat_for_another_agent_is_refused:
        Denied "POST /v1/agents/{id}/heartbeat";
    heartbeat_of_an_expired_session_is_refused:
        Conflict "POST /v1/agents/{id}/heartbeat";
    agent_order_by_owner_or_admin_is_followed:
        Happy "POST /v1/agents/{id}/drain",
        Happy "POST /v1/agents/{id}/pause",
        Happy "POST /v1/agents/{id}/resume";
    agent_order_by_others_is_refused:
        Denied "POST /v1/agents/{id}/drain",
        Denied "POST /v1/agents/{id}/pause",
        Denied "POST /v1/agents/{id}/resume";
    agent_order_reusing_a_key_or_after_revocation_is_refused:
        Conflict "POST /v1/agents/{id}/drain",
        Conflict "POST /v1/agents/{id}/pause",
        Conflict "POST /v1/agents/{id}/resume";
}

const SESSION: &str = "ags_01k9xq3vb8f2n4s6t7w8y9z0ab";
pub const OTHER_SESSION: &str = "ags_01k9xq3vb8f2n4s6t7w8y9z0ac";
const NOTHING: &str = "agt_00000000000000000000000000";

fn beat_path(bot: &Person) -> String {
    format!("/v1/agents/{}/heartbeat", bot.id)
}

pub async fn beat(world: &World, bot: &Person) -> Value {
    world.post(&bot.token, &beat_path(bot), json!({ "process_id": SESSION })).await.expect(200)
}

async fn seen(world: &World, bot: &Person) -> Value {
    world.get(&world.admin.token, &format!("/v1/agents/{}", bot.id)).await.expect(200)
}

async fn status(world: &World, bot: &Person) -> String {
    seen(world, bot).await["status"].as_str().unwrap().to_owned()
}

/// Moves the agent's last heartbeat back by `seconds` and makes the watcher's check due.
pub async fn fall_silent(world: &World, bot: &Person, seconds: u32) {
    let agent = bot.id.parse::<AgentId>().unwrap().uuid();
    let sql = format!(
        "UPDATE agent_session SET seen_at = clock_timestamp() - interval '{seconds} s'
          WHERE agent_id = '{agent}';
         UPDATE scheduled_job SET at = moment() WHERE kind = 'watch_agent'"
    );
    world.database.run(&sql).await;
}

/// The kinds of all agent events, oldest first.
async fn agent_events(world: &World) -> Vec<String> {
    let events = "SELECT coalesce(string_agg(kind, ' ' ORDER BY xid, seq), '') FROM outbox
                   WHERE kind LIKE 'agent.%'";
    let kinds = world.database.session().await.text(events).await;
    kinds.split_whitespace().map(str::to_owned).collect()
}

async fn due(world: &World) -> i64 {
    world.database.number("SELECT count(*) FROM scheduled_job WHERE kind = 'watch_agent'").await
}

async fn heartbeat_extends_the_session_and_its_leases(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let fresh = seen(world, &bot).await;
    assert_eq!((&fresh["status"], &fresh["seen_at"]), (&json!("offline"), &json!(null)));
    let first = beat(world, &bot).await;
    assert_eq!(first["leases"], json!([]));
    assert_eq!(first["directives"], json!({ "is_draining": false, "is_paused": false }));
    assert_eq!(first["config_version"], 0);
    let body = with(want(&["orders"]), &json!({ "process_id": SESSION, "fenced": true }));
    let held = world.post(&bot.token, ACQUIRE, body).await.expect(200);
    let advisory = world.post(&bot.token, ACQUIRE, want(&["cache"])).await.expect(200);
    let unknown = "lease_00000000000000000000000000";
    let leases = json!([lease_of(&held), lease_of(&advisory), unknown]);
    let asked = json!({ "process_id": SESSION, "lease_ids": leases, "load": 3 });
    let again = world.post(&bot.token, &beat_path(&bot), asked).await.expect(200);
    let same = world.post(&bot.token, HEARTBEAT, json!({ "lease_ids": leases })).await.expect(200);
    let states = |beats: &Value| -> Vec<(Value, Value)> {
        let beats = beats["leases"].as_array().unwrap().iter();
        beats.map(|beat| (beat["state"].clone(), beat["fence"].clone())).collect()
    };
    assert_eq!(states(&again), states(&same), "both heartbeats report the same");
    assert_eq!(states(&again)[0], (json!("GRANTED"), held["fence"].clone()));
    assert_eq!(states(&again)[2].0, "UNKNOWN");
    assert!(again["process_expires_at"].as_str() > first["process_expires_at"].as_str());
    let shown = seen(world, &bot).await;
    assert_eq!((&shown["status"], &shown["load"]), (&json!("active"), &json!(3)));
    beat(world, &bot).await;
    assert_eq!(seen(world, &bot).await["load"], 3, "a field that is not sent keeps its value");
    assert_eq!(agent_events(world).await, ["agent.online"], "emitted once");
    let wide = json!({ "process_id": SESSION, "load": 10_001 });
    world.post(&bot.token, &beat_path(&bot), wide).await.refused(422, "invalid_body");
    let many = json!({ "process_id": SESSION, "lease_ids": vec![unknown; 1_001] });
    world.post(&bot.token, &beat_path(&bot), many).await.refused(422, "invalid_body");
}

async fn heartbeat_for_another_agent_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let [bot, other] = [world.agent("bot", &bob).await, world.agent("other", &bob).await];
    let body = json!({ "process_id": SESSION });
    for (number, token) in [&other.token, &bob.token, &world.admin.token].into_iter().enumerate() {
        let foreign = world.post(token, &beat_path(&bot), body.clone()).await;
        foreign.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "execution.heartbeat").await, number + 1);
    }
    assert_eq!(seen(world, &bot).await["seen_at"], json!(null));
    beat(world, &bot).await;
    let stolen = world.post(&other.token, &beat_path(&other), body).await;
    stolen.refused(404, "not_found");
}

async fn heartbeat_of_an_expired_session_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(world, &bot).await;
    world.database.run("UPDATE agent_session SET lease_until = clock_timestamp()").await;
    let body = json!({ "process_id": SESSION });
    let late = world.post(&bot.token, &beat_path(&bot), body).await;
    late.refused(409, "process_expired");
    let body = json!({ "process_id": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
}

#[tokio::test]
async fn agent_silence_is_reported_until_the_next_heartbeat() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    assert_eq!(due(&world).await, 1);
    assert_eq!(world.work("agent_watcher").await.items, 0, "nothing is due yet");

    fall_silent(&world, &bot, 31).await;
    assert_eq!(status(&world, &bot).await, "late", "the status needs no worker");
    assert_eq!(world.work("agent_watcher").await.items, 1);
    assert_eq!(world.work("agent_watcher").await.items, 0, "reported once");
    fall_silent(&world, &bot, 75).await;
    assert_eq!(world.work("agent_watcher").await.items, 0, "the agent is still late");
    assert_eq!(due(&world).await, 1, "the next check is scheduled");
    beat(&world, &bot).await;
    assert_eq!(status(&world, &bot).await, "active");

    fall_silent(&world, &bot, 91).await;
    assert_eq!(status(&world, &bot).await, "offline");
    assert_eq!(world.work("agent_watcher").await.items, 1);
    assert_eq!(due(&world).await, 0, "there is nothing left to report");
    let body = json!({ "process_id": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
    assert_eq!(due(&world).await, 1);
    let expected = ["agent.online", "agent.late", "agent.online", "agent.offline", "agent.online"];
    assert_eq!(agent_events(&world).await, expected);
}

/// The heartbeat of a second process is enough, and an early check of a live agent emits no event.
#[tokio::test]
async fn agent_with_one_live_process_stays_active() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    fall_silent(&world, &bot, 500).await;
    let body = json!({ "process_id": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
    world.database.run("UPDATE scheduled_job SET at = moment() WHERE kind = 'watch_agent'").await;
    assert_eq!(world.work("agent_watcher").await.items, 0);
    assert_eq!(status(&world, &bot).await, "active");
    assert_eq!(agent_events(&world).await, ["agent.online"]);
}

/// A lease that was acquired without a session does not show that a process is alive.
#[tokio::test]
async fn lease_without_a_session_is_not_a_heartbeat() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let body = with(want(&["orders"]), &json!({ "fenced": true }));
    world.post(&bot.token, ACQUIRE, body).await.expect(200);
    assert_eq!(status(&world, &bot).await, "offline");
    assert_eq!(agent_events(&world).await, [""; 0]);
}

#[tokio::test]
async fn heartbeat_without_a_lock_queue_is_accepted() {
    let world = World::locking(LockBackend::Off).await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    assert_eq!(status(&world, &bot).await, "active");
}

async fn agent_order_by_owner_or_admin_is_followed(world: &World) {
    let bob = world.person("Bob", &[]).await;
    let bot = world.agent("bot", &bob).await;
    beat(world, &bot).await;
    let orders = [
        (
            "drain",
            "draining",
            json!({ "is_draining": true, "is_paused": false, "reason": "to drain" }),
        ),
        (
            "pause",
            "paused",
            json!({ "is_draining": false, "is_paused": true, "reason": "to pause" }),
        ),
        ("resume", "active", json!({ "is_draining": false, "is_paused": false })),
    ];
    for token in [&bob.token, &world.admin.token] {
        for (word, status, orders) in &orders {
            let path = format!("/v1/agents/{}/{word}", bot.id);
            let body = json!({ "reason": format!("to {word}") });
            let ordered = world.post(token, &path, body.clone()).await.expect(200);
            assert_eq!(ordered["status"], *status);
            let again = world.post(token, &path, body).await.expect(200);
            assert_eq!(again["status"], *status, "repeating the order changes nothing");
            assert_eq!(beat(world, &bot).await["directives"], *orders);
            assert_eq!(seen(world, &bot).await["status"], *status);
        }
    }
    let expected = ["agent.draining", "agent.paused", "agent.online"];
    let events = agent_events(world).await;
    assert_eq!(
        events[1..],
        [expected, expected].concat(),
        "each is emitted once, after the agent came online"
    );
    let audit = format!("/v1/audit?object={}&page_size=200", bot.id);
    let leaves = world.get(&world.admin.token, &audit).await.expect(200);
    let leaves = leaves["items"].as_array().unwrap().iter();
    let why = |leaf: &Value| {
        let leaf = &leaf["leaf"];
        let action = leaf["what"]["action"].as_str().unwrap().strip_prefix("agent.").unwrap();
        (leaf["why"]["reason"] == format!("to {action}")).then(|| action.to_owned())
    };
    let given: Vec<String> = leaves.filter_map(why).collect();
    assert_eq!(given.len(), 12, "every order has an audit entry with its reason: {given:?}");
    let long = json!({ "reason": "x".repeat(4_097) });
    let path = format!("/v1/agents/{}/drain", bot.id);
    world.post(&bob.token, &path, long).await.refused(422, "invalid_body");
}

/// An order stays in force when the process that received it falls silent.
#[tokio::test]
async fn draining_agent_stays_draining_until_it_is_resumed() {
    let world = World::new().await;
    let bob = world.person("Bob", &[]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    let path = |word: &str| format!("/v1/agents/{}/{word}", bot.id);
    world.post(&bob.token, &path("drain"), json!({})).await.expect(200);
    fall_silent(&world, &bot, 91).await;
    assert_eq!(
        world.work("agent_watcher").await.items,
        0,
        "a draining agent is not reported as offline"
    );
    assert_eq!(status(&world, &bot).await, "draining");
    let resumed = world.post(&bob.token, &path("resume"), json!({})).await.expect(200);
    assert_eq!(resumed["status"], "offline");
    assert_eq!(agent_events(&world).await, ["agent.online", "agent.draining", "agent.offline"]);
    let listed = world.get(&bob.token, "/v1/agents").await.expect(200);
    assert_eq!(listed["items"][0]["status"], "offline");
}

async fn agent_order_by_others_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author", "operator", "reviewer", "auditor"]).await;
    let bot = world.agent("bot", &bob).await;
    let before = seen(world, &bot).await;
    for word in ["drain", "pause", "resume"] {
        let path = format!("/v1/agents/{}/{word}", bot.id);
        world.post(&eve.token, &path, json!({})).await.refused(403, "not_allowed");
        world.post(&bot.token, &path, json!({})).await.refused(403, "insufficient_scope");
        world.post("", &path, json!({})).await.refused(401, "unauthenticated");
        let path = format!("/v1/agents/{NOTHING}/{word}");
        world.post(&world.admin.token, &path, json!({})).await.refused(404, "not_found");
    }
    assert_eq!(world.refusals(&bot.id, "agent.order").await, 3);
    assert_eq!(seen(world, &bot).await, before);
}

async fn agent_order_reusing_a_key_or_after_revocation_is_refused(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    for word in ["drain", "pause", "resume"] {
        let path = format!("/v1/agents/{}/{word}", bot.id);
        let bodies = [json!({ "reason": "one" }), json!({ "reason": "other" })];
        world.twice("POST", &bob.token, &path, bodies).await;
    }
    let path = format!("/v1/agents/{}/drain", bot.id);
    world.post(&bob.token, &path, json!({})).await.expect(200);
    let path = format!("/v1/agents/{}", bot.id);
    let gone = world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    assert_eq!(gone["status"], "offline", "the order ended with the revocation");
    for word in ["drain", "pause", "resume"] {
        let path = format!("/v1/agents/{}/{word}", bot.id);
        world.post(&bob.token, &path, json!({})).await.refused(409, "closed");
    }
}
