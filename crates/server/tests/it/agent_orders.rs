//! Agents that beat, fall silent and are told what to do. Silence is made by moving the last
//! heartbeat back, so that nothing is waited for.

use ade_core::ids::AgentId;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::locks::{ACQUIRE, HEARTBEAT, lease_of, want, with};
use crate::world::{Line, Person, World};

cases! {
    a_heartbeat_keeps_the_process_and_its_leases:
        Happy "POST /v1/agents/{id}/heartbeat";
    only_an_agent_beats_for_itself:
        Denied "POST /v1/agents/{id}/heartbeat";
    a_session_that_was_lost_stays_lost:
        Conflict "POST /v1/agents/{id}/heartbeat";
    owners_and_admins_tell_an_agent_what_to_do:
        Happy "POST /v1/agents/{id}/drain",
        Happy "POST /v1/agents/{id}/pause",
        Happy "POST /v1/agents/{id}/resume";
    nobody_else_gives_orders:
        Denied "POST /v1/agents/{id}/drain",
        Denied "POST /v1/agents/{id}/pause",
        Denied "POST /v1/agents/{id}/resume";
    an_order_is_given_once_and_not_to_the_revoked:
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
    world.post(&bot.token, &beat_path(bot), json!({ "session": SESSION })).await.expect(200)
}

async fn seen(world: &World, bot: &Person) -> Value {
    world.get(&world.admin.token, &format!("/v1/agents/{}", bot.id)).await.expect(200)
}

async fn status(world: &World, bot: &Person) -> String {
    seen(world, bot).await["status"].as_str().unwrap().to_owned()
}

/// As if its last heartbeat had been so much earlier, and the watcher looks.
pub async fn fall_silent(world: &World, bot: &Person, seconds: u32) {
    let agent = bot.id.parse::<AgentId>().unwrap().uuid();
    let sql = format!(
        "UPDATE agent_session SET seen_at = clock_timestamp() - interval '{seconds} s'
          WHERE agent_id = '{agent}';
         UPDATE due SET at = moment() WHERE kind = 'watch_agent'"
    );
    world.database.run(&sql).await;
}

/// What others heard of agents, oldest first.
async fn told(world: &World) -> Vec<String> {
    let events = "SELECT coalesce(string_agg(kind, ' ' ORDER BY xid, seq), '') FROM outbox
                   WHERE kind LIKE 'agent.%'";
    let told = world.database.session().await.text(events).await;
    told.split_whitespace().map(str::to_owned).collect()
}

async fn due(world: &World) -> i64 {
    world.database.number("SELECT count(*) FROM due WHERE kind = 'watch_agent'").await
}

async fn a_heartbeat_keeps_the_process_and_its_leases(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let fresh = seen(world, &bot).await;
    assert_eq!((&fresh["status"], &fresh["seen_at"]), (&json!("offline"), &json!(null)));
    let first = beat(world, &bot).await;
    assert_eq!(first["leases"], json!([]));
    assert_eq!(first["orders"], json!({ "is_draining": false, "is_paused": false }));
    assert_eq!(first["config_version"], 0);
    let body = with(want(&["orders"]), &json!({ "session": SESSION, "fenced": true }));
    let held = world.post(&bot.token, ACQUIRE, body).await.expect(200);
    let advisory = world.post(&bot.token, ACQUIRE, want(&["cache"])).await.expect(200);
    let nobodys = "lease_00000000000000000000000000";
    let leases = json!([lease_of(&held), lease_of(&advisory), nobodys]);
    let asked = json!({ "session": SESSION, "leases": leases, "load": 3 });
    let again = world.post(&bot.token, &beat_path(&bot), asked).await.expect(200);
    let same = world.post(&bot.token, HEARTBEAT, json!({ "leases": leases })).await.expect(200);
    let states = |beats: &Value| -> Vec<(Value, Value)> {
        let beats = beats["leases"].as_array().unwrap().iter();
        beats.map(|beat| (beat["state"].clone(), beat["token"].clone())).collect()
    };
    assert_eq!(states(&again), states(&same), "as the other heartbeat tells it");
    assert_eq!(states(&again)[0], (json!("granted"), held["token"].clone()));
    assert_eq!(states(&again)[2].0, "unknown");
    assert!(again["session_until"].as_str() > first["session_until"].as_str());
    let shown = seen(world, &bot).await;
    assert_eq!((&shown["status"], &shown["load"]), (&json!("active"), &json!(3)));
    beat(world, &bot).await;
    assert_eq!(seen(world, &bot).await["load"], 3, "what is not said stays");
    assert_eq!(told(world).await, ["agent.online"], "once");
    let wide = json!({ "session": SESSION, "load": 10_001 });
    world.post(&bot.token, &beat_path(&bot), wide).await.refused(422, "invalid_body");
    let many = json!({ "session": SESSION, "leases": vec![nobodys; 1_001] });
    world.post(&bot.token, &beat_path(&bot), many).await.refused(422, "invalid_body");
}

async fn only_an_agent_beats_for_itself(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let [bot, other] = [world.agent("bot", &bob).await, world.agent("other", &bob).await];
    let body = json!({ "session": SESSION });
    for (number, token) in [&other.token, &bob.token, &world.admin.token].into_iter().enumerate() {
        let told = world.post(token, &beat_path(&bot), body.clone()).await;
        told.refused(403, "not_allowed");
        assert_eq!(world.refusals(&world.tenant, "execution.heartbeat").await, number + 1);
    }
    assert_eq!(seen(world, &bot).await["seen_at"], json!(null));
    beat(world, &bot).await;
    let stolen = world.post(&other.token, &beat_path(&other), body).await;
    stolen.refused(404, "not_found");
}

async fn a_session_that_was_lost_stays_lost(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(world, &bot).await;
    world.database.run("UPDATE agent_session SET lease_until = clock_timestamp()").await;
    let body = json!({ "session": SESSION });
    let late = world.post(&bot.token, &beat_path(&bot), body).await;
    late.refused(409, "session_over");
    let body = json!({ "session": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
}

#[tokio::test]
async fn silence_is_noticed_and_a_heartbeat_ends_it() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    assert_eq!(due(&world).await, 1);
    assert_eq!(world.work("agent_watcher").await.items, 0, "nothing is due yet");

    fall_silent(&world, &bot, 31).await;
    assert_eq!(status(&world, &bot).await, "late", "without a worker");
    assert_eq!(world.work("agent_watcher").await.items, 1);
    assert_eq!(world.work("agent_watcher").await.items, 0, "told once");
    fall_silent(&world, &bot, 75).await;
    assert_eq!(world.work("agent_watcher").await.items, 0, "late still");
    assert_eq!(due(&world).await, 1, "and looked at again");
    beat(&world, &bot).await;
    assert_eq!(status(&world, &bot).await, "active");

    fall_silent(&world, &bot, 91).await;
    assert_eq!(status(&world, &bot).await, "offline");
    assert_eq!(world.work("agent_watcher").await.items, 1);
    assert_eq!(due(&world).await, 0, "nothing more can be noticed");
    let body = json!({ "session": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
    assert_eq!(due(&world).await, 1);
    let expected = ["agent.online", "agent.late", "agent.online", "agent.offline", "agent.online"];
    assert_eq!(told(&world).await, expected);
}

/// The heartbeat of a second process is enough, and an early look at one that beats tells nothing.
#[tokio::test]
async fn any_process_of_an_agent_keeps_it_active() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    fall_silent(&world, &bot, 500).await;
    let body = json!({ "session": OTHER_SESSION });
    world.post(&bot.token, &beat_path(&bot), body).await.expect(200);
    world.database.run("UPDATE due SET at = moment() WHERE kind = 'watch_agent'").await;
    assert_eq!(world.work("agent_watcher").await.items, 0);
    assert_eq!(status(&world, &bot).await, "active");
    assert_eq!(told(&world).await, ["agent.online"]);
}

/// A lease that nobody asked a session for says nothing of a process.
#[tokio::test]
async fn a_lease_alone_is_no_heartbeat() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    let body = with(want(&["orders"]), &json!({ "fenced": true }));
    world.post(&bot.token, ACQUIRE, body).await.expect(200);
    assert_eq!(status(&world, &bot).await, "offline");
    assert_eq!(told(&world).await, [""; 0]);
}

#[tokio::test]
async fn agents_beat_where_no_queue_of_locks_is() {
    let world = World::locking(Line::Off).await;
    let bob = world.person("Bob", &["author"]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    assert_eq!(status(&world, &bot).await, "active");
}

async fn owners_and_admins_tell_an_agent_what_to_do(world: &World) {
    let bob = world.person("Bob", &[]).await;
    let bot = world.agent("bot", &bob).await;
    beat(world, &bot).await;
    let orders = [
        ("drain", "draining", json!({ "is_draining": true, "is_paused": false })),
        ("pause", "paused", json!({ "is_draining": false, "is_paused": true })),
        ("resume", "active", json!({ "is_draining": false, "is_paused": false })),
    ];
    for token in [&bob.token, &world.admin.token] {
        for (word, status, orders) in &orders {
            let path = format!("/v1/agents/{}/{word}", bot.id);
            let body = json!({ "reason": format!("to {word}") });
            let told = world.post(token, &path, body.clone()).await.expect(200);
            assert_eq!(told["status"], *status);
            let again = world.post(token, &path, body).await.expect(200);
            assert_eq!(again["status"], *status, "told again it is the same");
            assert_eq!(beat(world, &bot).await["orders"], *orders);
            assert_eq!(seen(world, &bot).await["status"], *status);
        }
    }
    let expected = ["agent.draining", "agent.paused", "agent.online"];
    let events = told(world).await;
    assert_eq!(events[1..], [expected, expected].concat(), "each once, after it came online");
    let audit = format!("/v1/audit?object={}&page_size=200", bot.id);
    let leaves = world.get(&world.admin.token, &audit).await.expect(200);
    let leaves = leaves["items"].as_array().unwrap().iter();
    let why = |leaf: &Value| {
        let leaf = &leaf["leaf"];
        let told = leaf["what"]["action"].as_str().unwrap().strip_prefix("agent.");
        (leaf["why"]["reason"] == format!("to {}", told.unwrap())).then(|| told.unwrap().to_owned())
    };
    let given: Vec<String> = leaves.filter_map(why).collect();
    assert_eq!(given.len(), 12, "every order has a leaf with its reason: {given:?}");
    let long = json!({ "reason": "x".repeat(4_097) });
    let path = format!("/v1/agents/{}/drain", bot.id);
    world.post(&bob.token, &path, long).await.refused(422, "invalid_body");
}

/// An order outlives the process that heard it, and silence with it.
#[tokio::test]
async fn an_agent_that_drains_stays_so_until_it_is_resumed() {
    let world = World::new().await;
    let bob = world.person("Bob", &[]).await;
    let bot = world.agent("bot", &bob).await;
    beat(&world, &bot).await;
    let path = |word: &str| format!("/v1/agents/{}/{word}", bot.id);
    world.post(&bob.token, &path("drain"), json!({})).await.expect(200);
    fall_silent(&world, &bot, 91).await;
    assert_eq!(world.work("agent_watcher").await.items, 0, "it drains, here or not");
    assert_eq!(status(&world, &bot).await, "draining");
    let resumed = world.post(&bob.token, &path("resume"), json!({})).await.expect(200);
    assert_eq!(resumed["status"], "offline");
    assert_eq!(told(&world).await, ["agent.online", "agent.draining", "agent.offline"]);
    let listed = world.get(&bob.token, "/v1/agents").await.expect(200);
    assert_eq!(listed["items"][0]["status"], "offline");
}

async fn nobody_else_gives_orders(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author", "operator", "reviewer", "auditor"]).await;
    let bot = world.agent("bot", &bob).await;
    let before = seen(world, &bot).await;
    for word in ["drain", "pause", "resume"] {
        let path = format!("/v1/agents/{}/{word}", bot.id);
        world.post(&eve.token, &path, json!({})).await.refused(403, "not_allowed");
        world.post(&bot.token, &path, json!({})).await.refused(403, "class_closed");
        world.post("", &path, json!({})).await.refused(401, "unauthenticated");
        let path = format!("/v1/agents/{NOTHING}/{word}");
        world.post(&world.admin.token, &path, json!({})).await.refused(404, "not_found");
    }
    assert_eq!(world.refusals(&bot.id, "agent.order").await, 3);
    assert_eq!(seen(world, &bot).await, before);
}

async fn an_order_is_given_once_and_not_to_the_revoked(world: &World) {
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
    assert_eq!(gone["status"], "offline", "no order is left");
    for word in ["drain", "pause", "resume"] {
        let path = format!("/v1/agents/{}/{word}", bot.id);
        world.post(&bob.token, &path, json!({})).await.refused(409, "closed");
    }
}
