//! Why an approved task waits: what explain says of locks and of who could run it is what a permit
//! would find. The same with either queue.

use std::time::Duration;

use ade_core::time::Timestamp;
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::agent_orders::{OTHER_SESSION, beat, fall_silent};
use crate::claiming::{approved_of, may_have};
use crate::coverage::on_both;
use crate::executions::{claim, permit, runner, say};
use crate::locks::{ACQUIRE, lease_of, release};
use crate::world::{Person, World, id, path_of, plan};

on_both! {
    a_lock_of_another_closes_its_gate_until_it_is_given_back:
        Happy "GET /v1/tasks/{id}/explain";
    who_shares_is_in_the_way_of_those_alone_who_do_not:
        Happy "GET /v1/tasks/{id}/explain";
    what_a_silent_holder_has_begun_stays_in_the_way:
        Happy "GET /v1/tasks/{id}/explain";
    an_incident_is_in_the_way_under_the_name_of_who_declared_it:
        Happy "GET /v1/tasks/{id}/explain";
    somebody_must_be_there_who_may_run_it_and_has_a_slot:
        Happy "GET /v1/tasks/{id}/explain";
    whoever_waits_for_work_is_there_without_a_heartbeat:
        Happy "GET /v1/tasks/{id}/explain";
}

const SOON: Duration = Duration::from_secs(30);

fn gate_of(told: &Value, name: &str) -> Value {
    let gates = told["gates"].as_array().unwrap();
    gates.iter().find(|gate| gate["name"] == name).unwrap().clone()
}

/// One gate of a task, as explain tells it now.
pub async fn gate(world: &World, who: &Person, task: &Value, name: &str) -> Value {
    let told = world.get(&who.token, &format!("{}/explain", path_of(task))).await.expect(200);
    gate_of(&told, name)
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

/// On the record, and for longer than a test takes.
async fn lock(world: &World, agent: &Person, mode: &str) -> Value {
    let wanted = json!({ "type": "database", "id": "orders", "mode": mode });
    let asked = json!({ "resources": [wanted], "fenced": true, "ttl": "120s" });
    world.post(&agent.token, ACQUIRE, asked).await.expect(200)
}

/// Waits for its reviewers, and wants `database:orders` in this mode.
async fn reviewing_in(world: &World, bob: &Person, mode: &str) -> Value {
    let mut wanted = plan("Look at the orders");
    wanted["resources"][0]["mode"] = json!(mode);
    let task = world.post(&bob.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(bob, &task).await;
    world.work("review_opener").await;
    world.task(bob, &task).await
}

async fn a_lock_of_another_closes_its_gate_until_it_is_given_back(world: &World) {
    let Team { bob, rea } = team(world).await;
    let other = world.agent("other-bot", &bob).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    assert_eq!(gate(world, &bob, &task, "locks").await["is_open"], true);

    let held = lock(world, &other, "exclusive").await;
    let closed = gate(world, &bob, &task, "locks").await;
    assert_eq!(closed["is_open"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", other.id));
    assert!(closed["opens_with"].is_string(), "{closed}");
    let told = world.post(&bob.token, "/v1/simulate", plan("Another")).await.expect(200);
    assert_eq!(gate_of(&told["explanation"], "locks"), closed, "for what is not there yet too");
    let told = world.get(&bob.token, &format!("{}/explain", path_of(&task))).await.expect(200);
    for secret in ["lease", "session"] {
        let secret = held[secret].as_str().unwrap();
        assert!(!told.to_string().contains(secret), "{told}");
    }

    release(world, &other, lease_of(&held)).await.expect(200);
    assert_eq!(gate(world, &bob, &task, "locks").await["is_open"], true);
}

async fn who_shares_is_in_the_way_of_those_alone_who_do_not(world: &World) {
    let Team { bob, .. } = team(world).await;
    let other = world.agent("other-bot", &bob).await;
    let shares = reviewing_in(world, &bob, "shared").await;
    let alone = reviewing_in(world, &bob, "exclusive").await;
    let open = async |task: &Value| gate(world, &bob, task, "locks").await["is_open"].clone();
    let held = lock(world, &other, "shared").await;
    assert_eq!((open(&shares).await, open(&alone).await), (json!(true), json!(false)));
    release(world, &other, lease_of(&held)).await.expect(200);
    lock(world, &other, "exclusive").await;
    assert_eq!((open(&shares).await, open(&alone).await), (json!(false), json!(false)));
}

async fn what_a_silent_holder_has_begun_stays_in_the_way(world: &World) {
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
    assert_eq!(closed["is_open"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", id(&first)));
    // What it holds itself is in nobody's way but others'.
    for name in ["locks", "capacity"] {
        let own = gate(world, &bob, &first, name).await;
        assert_eq!(own["is_open"], true, "{own}");
        assert!(own["evidence"].as_str().unwrap().contains("APPLYING"), "{own}");
    }
}

async fn an_incident_is_in_the_way_under_the_name_of_who_declared_it(world: &World) {
    let Team { bob, rea } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let olga = world.person("Olga", &["operator"]).await;
    let since: Timestamp = task["since"].as_str().unwrap().parse().unwrap();
    let ends_at = since.plus(Duration::from_hours(1)).to_string();
    let asked = json!({ "resources": ["database:orders"], "reason": "INC-7", "ends_at": ends_at });
    let made = world.post(&olga.token, "/v1/locks/incidents", asked).await;
    assert_eq!(made.status / 100, 2, "{}", made.body);
    let closed = gate(world, &bob, &task, "locks").await;
    assert_eq!(closed["is_open"], false, "{closed}");
    assert_eq!(closed["evidence"], format!("database:orders is held by {}", olga.id));
}

async fn somebody_must_be_there_who_may_run_it_and_has_a_slot(world: &World) {
    let Team { bob, rea } = team(world).await;
    let task = world.approved(&bob, &rea, "Add a currency").await;
    let says = async |is_open: bool, why: &str| {
        let told = gate(world, &bob, &task, "capacity").await;
        assert_eq!(told["is_open"], is_open, "{why}: {told}");
    };
    says(false, "there is no agent").await;
    let unable = world.agent("other-bot", &bob).await;
    let (path, session) = (format!("/v1/agents/{}/heartbeat", unable.id), OTHER_SESSION);
    world.post(&unable.token, &path, json!({ "session": session })).await.expect(200);
    says(false, "it may not run this").await;

    let bot = runner(world, "infra-bot", &bob).await;
    says(false, "nobody has heard of it").await;
    beat(world, &bot).await;
    says(true, "it is there").await;
    for order in ["pause", "drain"] {
        let tell = async |what: &str| {
            let path = format!("/v1/agents/{}/{what}", bot.id);
            world.post(&world.admin.token, &path, json!({})).await.expect(200);
        };
        tell(order).await;
        says(false, order).await;
        tell("resume").await;
        says(true, "it was resumed").await;
    }
    fall_silent(world, &bot, 3_600).await;
    says(false, "it has gone").await;
    beat(world, &bot).await;
    says(true, "it is back").await;

    may_have(world, &bot, 1).await;
    let other = approved_of(world, &bob, &rea, "prices").await;
    let claimed = claim(world, &bot, json!({ "task": id(&other) })).await.expect(200);
    let held = claimed["permit"].clone();
    assert!(held.is_object(), "{claimed}");
    says(false, "it is at another").await;
    may_have(world, &bot, 2).await;
    says(true, "it may have two").await;
    may_have(world, &bot, 1).await;
    let failed = json!({ "result": "failure", "left": "nothing", "error": "no room" });
    say(world, &bot, &held, "fail", failed).await.expect(200);
    says(true, "its slot is free again").await;
}

async fn whoever_waits_for_work_is_there_without_a_heartbeat(world: &World) {
    let Team { bob, .. } = team(world).await;
    let bot = runner(world, "infra-bot", &bob).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    assert_eq!(gate(world, &bob, &task, "capacity").await["is_open"], false);
    let path = format!("/v1/agents/{}/claim?wait=50s", bot.id);
    let seen = eventually("the one who waits is seen", SOON, async || {
        let told = gate(world, &bob, &task, "capacity").await;
        if told["is_open"] == true { Ok(()) } else { Err(told.to_string()) }
    });
    tokio::select! {
        claimed = world.post(&bot.token, &path, json!({})) => panic!("{}", claimed.body),
        () = seen => {}
    }
}
