//! The freeze of the whole installation. While it is set, no process grants a permit in any tenant,
//! everything else continues, and callers learn who set it, when and why.

use std::process::{Command, Output};
use std::time::Duration;

use ade_core::time::Timestamp;
use ade_engine::command::installation_freeze::{self, Frozen};
use ade_engine::workers::Driver;
use ade_testkit::eventually;
use serde_json::{Value, json};

use crate::claiming::{approved_of, may_have};
use crate::executions::{claim, permit, runner, say};
use crate::explaining::gate;
use crate::test_server::TestServer;
use crate::world::{Answer, Person, World, path_of};

const SOON: Duration = Duration::from_mins(1);
const PROGRAM: &str = env!("CARGO_BIN_EXE_ade-server");

struct Team {
    admin: Person,
    bob: Person,
    rea: Person,
    bot: Person,
}

async fn team(world: &World, admin: &Person) -> Team {
    let bob = world.person_of(admin, "Bob", &["author"]).await;
    let rea = world.person_of(admin, "Rea", &["reviewer"]).await;
    let bot = world.agent_of(admin, "infra-bot", &bob).await;
    let (path, change) = (format!("/v1/agents/{}", bot.id), json!({ "capabilities": ["db.*"] }));
    world.send("PATCH", &admin.token, &path, Some(change), &[]).await.expect(200);
    Team { admin: admin.clone(), bob, rea, bot }
}

async fn freeze(world: &World) -> Frozen {
    let set = installation_freeze::freeze(&world.database.url(), "Ops", "INC-9: all of it")
        .await
        .unwrap();
    assert!(set.is_new && set.is_drained, "{set:?}");
    set
}

async fn thaw(world: &World) {
    let lifted =
        installation_freeze::thaw(&world.database.url(), "Ops", "it is over").await.unwrap();
    assert!(lifted.is_some());
}

async fn refusals(world: &World, team: &Team) -> Vec<Value> {
    let path = format!("/v1/audit?object={}", team.bot.id);
    let leaves = world.get(&team.admin.token, &path).await.expect(200);
    let leaves = leaves["items"].as_array().unwrap().iter().map(|item| item["leaf"].clone());
    leaves.filter(|leaf| leaf["kind"] == "refusal").collect()
}

#[tokio::test]
async fn installation_freeze_stops_permits_in_all_tenants() {
    let world = World::new().await;
    let (_, other) = world.tenant("other").await;
    let teams = [team(&world, &world.admin).await, team(&world, &other).await];
    let mut tasks = Vec::new();
    for Team { bob, rea, .. } in &teams {
        tasks.push(world.approved(bob, rea, "Add a currency").await);
    }
    let set = freeze(&world).await;
    for (team, task) in teams.iter().zip(&tasks) {
        for _ in 0..2 {
            let refused = claim(&world, &team.bot, json!({})).await.refused(409, "frozen");
            let detail = refused["detail"].as_str().unwrap();
            for part in ["the whole installation", "by Ops", "INC-9: all of it"] {
                assert!(detail.contains(part), "{part}: {refused}");
            }
            let (scope, set_by) = (&refused["scope"], &refused["set_by"]);
            assert_eq!((scope, set_by), (&json!("installation"), &json!("Ops")));
            let since: Timestamp = refused["since"].as_str().unwrap().parse().unwrap();
            assert_eq!(since, set.freeze.since);
        }
        let left = refusals(&world, team).await;
        assert_eq!(left.len(), 1, "one for the agent and this freeze: {left:?}");
        assert_eq!(left[0]["what"]["action"], "execution.claim");
        assert!(left[0]["why"]["reason"].as_str().unwrap().contains("INC-9: all of it"));
        let gate = gate(&world, &team.bob, task, "freeze").await;
        assert_eq!(gate["passed"], false, "{gate}");
        assert!(gate["evidence"].as_str().unwrap().contains("whole installation"), "{gate}");
        assert_eq!(world.task(&team.bob, task).await["state"], "APPROVED");
    }
    // A waiting claim gets its permit as soon as the installation is thawed.
    let watching = Driver::watch(&world.app);
    let [first, second] = &teams;
    let path = format!("/v1/agents/{}/claim?wait=20s", first.bot.id);
    let (waited, ()) = tokio::join!(world.post(&first.bot.token, &path, json!({})), thaw(&world));
    assert_eq!(waited.expect(200)["permit"]["task"]["id"], tasks[0]["id"]);
    assert_eq!(permit(&world, &second.bot).await["task"]["id"], tasks[1]["id"]);
    watching.stop().await;
}

#[tokio::test]
async fn installation_freeze_stops_only_permits_and_is_reported() {
    let world = World::new().await;
    let Team { bob, rea, bot, .. } = team(&world, &world.admin).await;
    let running = world.approved(&bob, &rea, "Add a currency").await;
    let held = permit(&world, &bot).await;
    let unwanted = world.approved(&bob, &rea, "Not wanted").await;
    let asked = world.reviewing(&bob, "Add another").await;
    let ready = async || {
        let response = world.rig.get("/readyz").send().await.unwrap();
        Answer::of(response).await.body["frozen"].clone()
    };
    let status = async || world.get(&bob.token, "/v1/status").await.expect(200);
    assert_eq!((ready().await, &status().await["freeze"]), (json!(false), &Value::Null));

    say(&world, &bot, &held, "begin", json!({})).await.expect(200);
    freeze(&world).await;
    for verb in ["heartbeat", "finish"] {
        say(&world, &bot, &held, verb, json!({})).await.expect(200);
    }
    assert_eq!(world.task(&bob, &running).await["state"], "COMPLETED");
    world.approve(&rea, &asked).await;
    let path = format!("{}/cancel", path_of(&unwanted));
    let gone = world.matching("POST", &bob.token, &path, Some(json!({})), &unwanted).await;
    assert!((200..300).contains(&gone.status), "{}", gone.body);
    assert_eq!(world.task(&bob, &unwanted).await["state"], "CANCELLED");
    world.draft(&bob, "Add a third").await;

    // The status may be cached for a moment, so the test polls it.
    let frozen = eventually("the status reports the freeze", SOON, async || {
        let status = status().await;
        let banner = status["banner"].as_str().unwrap_or_default();
        if banner.starts_with("freeze: ") { Ok(status) } else { Err(status.to_string()) }
    })
    .await;
    assert_eq!(frozen["freeze"]["set_by"], "Ops", "{frozen}");
    assert_eq!(frozen["freeze"]["reason"], "INC-9: all of it", "{frozen}");
    eventually("the readiness probe reports the freeze", SOON, async || {
        let is_frozen = ready().await;
        if is_frozen == json!(true) { Ok(()) } else { Err(is_frozen.to_string()) }
    })
    .await;
    let watching = Driver::watch(&world.app);
    eventually("the metrics report the freeze", SOON, async || {
        let text = world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        if text.contains("ade_degraded{part=\"freeze\"} 1") { Ok(()) } else { Err(text) }
    })
    .await;
    watching.stop().await;
    thaw(&world).await;
    assert_eq!((ready().await, &status().await["freeze"]), (json!(false), &Value::Null));
}

async fn claim_at(rig: &TestServer, agent: &Person) -> Answer {
    let call = rig.json(&format!("/v1/agents/{}/claim", agent.id), "{}");
    let call = call.header("authorization", format!("Bearer {}", agent.token));
    Answer::of(call.send().await.unwrap()).await
}

/// Claims until a claim is refused because of the freeze. Returns the number of permits.
async fn claim_until_frozen(rig: &TestServer, agent: &Person) -> usize {
    let mut permits = 0;
    loop {
        let claimed = claim_at(rig, agent).await;
        match (claimed.status, claimed.body["code"].as_str()) {
            (200, _) => permits += usize::from(claimed.body["permit"].is_object()),
            (409, Some("frozen")) => return permits,
            other => panic!("{other:?}: {}", claimed.body),
        }
    }
}

/// Two processes with separate connections grant permits as fast as they can.
#[tokio::test(flavor = "multi_thread")]
async fn installation_freeze_stops_permits_in_all_processes() {
    const TASKS: u32 = 40;
    let world = World::new().await;
    world.database.be_patient().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = runner(&world, "infra-bot", &bob).await;
    may_have(&world, &bot, TASKS).await;
    for nth in 0..TASKS {
        approved_of(&world, &bob, &rea, &format!("orders-{nth}")).await;
    }
    let beside = world.beside().await;
    let count = async || world.database.number("SELECT count(*) FROM execution").await;
    let stop = async {
        eventually("some permits are granted", SOON, async || {
            let begun = count().await;
            if begun >= 4 { Ok(()) } else { Err(begun) }
        })
        .await;
        freeze(&world).await;
        count().await
    };
    let (here, there, at_return) = tokio::join!(
        claim_until_frozen(&world.rig, &bot),
        claim_until_frozen(&beside, &bot),
        stop,
    );
    assert_eq!(count().await, at_return, "no permit was granted after the freeze had returned");
    assert_eq!(i64::try_from(here + there).unwrap(), at_return, "every reported permit exists");
    for rig in [&world.rig, &beside] {
        claim_at(rig, &bot).await.refused(409, "frozen");
    }
    thaw(&world).await;
    for rig in [&world.rig, &beside] {
        claim_at(rig, &bot).await.expect(200);
    }
}

#[tokio::test]
async fn installation_freeze_is_set_and_lifted_by_a_command() {
    let world = World::new().await;
    let pepper = std::env::temp_dir().join(format!("{}.stop", world.database.name()));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let run = |owner: String, arguments: &[&str]| -> Output {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().env("USER", "root");
        command.env("ADE__DATABASE__OWNER_URL", owner);
        command.env("ADE__DATABASE__URL", world.database.url_as("app"));
        command.env("ADE__DATABASE__WORKER_URL", world.database.url_as("work"));
        command.env("ADE__AUTH__PEPPER_FILE", &pepper).output().unwrap()
    };
    let as_owner = |arguments: &[&str]| {
        let done = run(world.database.url(), arguments);
        let [out, err] =
            [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (done.status.code(), out, err)
    };
    assert_eq!(as_owner(&["freeze"]).0, Some(2), "a freeze needs a reason");
    let spy = run(world.database.url_as("app"), &["freeze", "--reason", "mine"]);
    let stderr = String::from_utf8_lossy(&spy.stderr).into_owned();
    assert!(!spy.status.success() && stderr.contains("database.owner_url"), "{stderr}");

    let (code, out, err) = as_owner(&["freeze", "--reason", "INC-9"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        out.contains("no permits are granted in any tenant") && out.contains("by       root"),
        "{out}"
    );
    assert!(err.contains("installation frozen") && err.contains("INC-9"), "{err}");
    let (code, out, _) = as_owner(&["freeze", "--reason", "INC-10", "--by", "Second"]);
    assert!(code == Some(0) && out.contains("already frozen") && out.contains("INC-9"), "{out}");
    let (code, out, _) = as_owner(&["doctor"]);
    assert!(code == Some(1) && out.contains("fail  freeze: the whole installation"), "{out}");

    let (code, out, err) = as_owner(&["thaw", "--reason", "it is over", "--by", "Second"]);
    assert!(code == Some(0) && out.contains("Permits are granted again"), "{out}{err}");
    let (code, out, _) = as_owner(&["thaw", "--reason", "once more"]);
    assert!(code == Some(0) && out.contains("was not frozen"), "{out}");
    let kept = "SELECT count(*) FROM installation_freeze
                 WHERE (set_by, reason, lifted_by, lifted_because)
                     = ('root', 'INC-9', 'Second', 'it is over')";
    assert_eq!(world.database.number(kept).await, 1);
    std::fs::remove_file(pepper).unwrap();
}
