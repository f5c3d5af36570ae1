//! Explanations of why an approved task waits. The gates for locks and capacity agree with what a
//! permit would find, with the lock queue in PostgreSQL and in Redis.

use std::time::Duration;

use ade_core::time::Timestamp;
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::agent_directives::{OTHER_SESSION, beat, fall_silent};
use crate::claiming::{approved_of, may_have};
use crate::coverage::on_both;
use crate::executions::{claim, permit, runner, say};
use crate::locks::{ACQUIRE, lease_of, release};
use crate::world::{Person, World, id, path_of, plan};

on_both! {
    lock_gate_is_closed_while_another_agent_holds_the_lock:
        Happy "GET /v1/tasks/{id}/explain";
    lock_gate_with_a_shared_lock_is_closed_to_exclusive_use:
        Happy "GET /v1/tasks/{id}/explain";
    lock_gate_stays_closed_while_a_silent_holder_has_begun:
        Happy "GET /v1/tasks/{id}/explain";
    lock_gate_during_an_incident_names_who_declared_it:
        Happy "GET /v1/tasks/{id}/explain";
    capacity_gate_needs_an_active_agent_with_a_free_slot:
        Happy "GET /v1/tasks/{id}/explain";
    capacity_gate_counts_a_waiting_agent_without_heartbeat:
        Happy "GET /v1/tasks/{id}/explain";
}

const SOON: Duration = Duration::from_mins(1);

fn gate_of(explained: &Value, name: &str) -> Value {
    let gates = explained["gates"].as_array().unwrap();
    gates.iter().find(|gate| gate["name"] == name).unwrap().clone()
}

/// One gate of a task, from its explanation now.
pub async fn gate(world: &World, who: &Person, task: &Value, name: &str) -> Value {
    gate_of(&explained(world, who, task).await, name)
}

pub async fn explained(world: &World, who: &Person, task: &Value) -> Value {
    world.get(&who.token, &format!("{}/explain", path_of(task))).await.expect(200)
}

struct Team {
    bob: Person,
    rea: Person,
}

async fn team(world: &World) -> Team {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    Team { bob, rea }
}

/// Acquires a fenced lock for longer than a test takes.
async fn lock(world: &World, agent: &Person, mode: &str) -> Value {
    let wanted = json!({ "resource": "database:orders", "mode": mode });
    let asked = json!({ "resources": [wanted], "fenced": true, "ttl_seconds": 120 });
    world.post(&agent.token, ACQUIRE, asked).await.expect(200)
}

/// Creates a task under review that needs `database:orders` in this mode.
async fn reviewing_in(world: &World, bob: &Person, mode: &str) -> Value {
    let mut wanted = plan("Look at the orders");
    wanted["resources"][0]["mode"] = json!(mode);
    let task = world.post(&bob.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(bob, &task).await;
    world.work("review_opener").await;
    world.task(bob, &task).await
}

async fn lock_gate_is_closed_while_another_agent_holds_the_lock(world: &World) {
    let Team { bob, rea } = team(world).await;
    let other = world.agent("other-bot", &bob).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    assert_eq!(gate(world, &bob, &task, "locks").await["passed"], true);

    let held = lock(world, &other, "exclusive").await;
    let closed = gate(world, &bob, &task, "locks").await;
    assert_eq!(closed["passed"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", other.id));
    assert!(closed["how_to_pass"].is_string(), "{closed}");
    let evaluated = world.post(&bob.token, "/v1/tasks/evaluate", plan("Another")).await.expect(200);
    assert_eq!(gate_of(&evaluated["explanation"], "locks"), closed, "an evaluation shows the same");
    let shown = explained(world, &bob, &task).await;
    for secret in ["lease_id", "process_id"] {
        let secret = held[secret].as_str().unwrap();
        assert!(!shown.to_string().contains(secret), "{shown}");
    }

    release(world, &other, lease_of(&held)).await.expect(200);
    assert_eq!(gate(world, &bob, &task, "locks").await["passed"], true);
}

async fn lock_gate_with_a_shared_lock_is_closed_to_exclusive_use(world: &World) {
    let Team { bob, .. } = team(world).await;
    let other = world.agent("other-bot", &bob).await;
    let shares = reviewing_in(world, &bob, "shared").await;
    let alone = reviewing_in(world, &bob, "exclusive").await;
    let open = async |task: &Value| gate(world, &bob, task, "locks").await["passed"].clone();
    let held = lock(world, &other, "shared").await;
    assert_eq!((open(&shares).await, open(&alone).await), (json!(true), json!(false)));
    release(world, &other, lease_of(&held)).await.expect(200);
    lock(world, &other, "exclusive").await;
    assert_eq!((open(&shares).await, open(&alone).await), (json!(false), json!(false)));
}

async fn lock_gate_stays_closed_while_a_silent_holder_has_begun(world: &World) {
    let Team { bob, rea } = team(world).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let first = world.approved(&bob, &rea, "Add a currency").await;
    let second = world.approved(&bob, &rea, "Drop a currency").await;
    let held = permit(world, &bot).await;
    assert_eq!(held["task"]["id"], first["id"]);
    say(world, &bot, &held, "begin", json!({})).await.expect(200);
    let silent = "UPDATE lock_hold SET deadline = clock_timestamp() - interval '1 hour'";
    world.database.run(silent).await;
    let closed = gate(world, &bob, &second, "locks").await;
    assert_eq!(closed["passed"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", id(&first)));
    // A task's own locks do not close its gates.
    for name in ["locks", "capacity"] {
        let own = gate(world, &bob, &first, name).await;
        assert_eq!(own["passed"], true, "{own}");
        assert!(own["evidence"].as_str().unwrap().contains("APPLYING"), "{own}");
    }
}

async fn lock_gate_during_an_incident_names_who_declared_it(world: &World) {
    let Team { bob, rea } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let olga = world.person("Olga", &["operator"]).await;
    let since: Timestamp = task["state_since"].as_str().unwrap().parse().unwrap();
    let ends_at = since.plus(Duration::from_hours(1)).to_string();
    let asked = json!({ "resources": ["database:orders"], "reason": "INC-7", "ends_at": ends_at });
    let made = world.post(&olga.token, "/v1/locks/incidents", asked).await;
    assert_eq!(made.status / 100, 2, "{}", made.body);
    let closed = gate(world, &bob, &task, "locks").await;
    assert_eq!(closed["passed"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", olga.id));
}

async fn capacity_gate_needs_an_active_agent_with_a_free_slot(world: &World) {
    let Team { bob, rea } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let assert_gate = async |passed: bool, why: &str| {
        let gate = gate(world, &bob, &task, "capacity").await;
        assert_eq!(gate["passed"], passed, "{why}: {gate}");
    };
    assert_gate(false, "there is no agent").await;
    let unable = world.agent("other-bot", &bob).await;
    let (path, session) = (format!("/v1/agents/{}/heartbeat", unable.id), OTHER_SESSION);
    world.post(&unable.token, &path, json!({ "process_id": session })).await.expect(200);
    assert_gate(false, "the agent lacks the capability").await;

    let bot = runner(world, "infra-bot", &bob).await;
    assert_gate(false, "the agent has sent no heartbeat").await;
    beat(world, &bot).await;
    assert_gate(true, "the agent is active").await;
    for order in ["pause", "drain"] {
        let order_agent = async |what: &str| {
            let path = format!("/v1/agents/{}/{what}", bot.id);
            world.post(&world.admin.token, &path, json!({})).await.expect(200);
        };
        order_agent(order).await;
        assert_gate(false, order).await;
        order_agent("resume").await;
        assert_gate(true, "the agent was resumed").await;
    }
    fall_silent(world, &bot, 3_600).await;
    assert_gate(false, "the agent is silent").await;
    beat(world, &bot).await;
    assert_gate(true, "the agent is back").await;

    may_have(world, &bot, 1).await;
    let other = approved_of(world, &bob, &rea, "prices").await;
    let claimed = claim(world, &bot, json!({ "task_id": id(&other) })).await.expect(200);
    let held = claimed["permit"].clone();
    assert!(held.is_object(), "{claimed}");
    assert_gate(false, "the agent has another task").await;
    may_have(world, &bot, 2).await;
    assert_gate(true, "the agent may have two tasks").await;
    may_have(world, &bot, 1).await;
    let failed = json!({ "outcome": "failed", "left_behind": "nothing", "error": "no room" });
    say(world, &bot, &held, "finish", failed).await.expect(200);
    assert_gate(true, "the slot is free again").await;
}

async fn capacity_gate_counts_a_waiting_agent_without_heartbeat(world: &World) {
    let Team { bob, .. } = team(world).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    assert_eq!(gate(world, &bob, &task, "capacity").await["passed"], false);
    let path = format!("/v1/agents/{}/claim?wait=50s", bot.id);
    let seen = eventually("the waiting agent opens the gate", SOON, async || {
        let gate = gate(world, &bob, &task, "capacity").await;
        if gate["passed"] == true { Ok(()) } else { Err(gate.to_string()) }
    });
    tokio::select! {
        claimed = world.post(&bot.token, &path, json!({})) => panic!("{}", claimed.body),
        () = seen => {}
    }
}
