//! A policy may ask that roles be of some age: whoever was given one just before a critical vote
//! has no say in it, neither when they vote nor when the permit is given.

use ade_core::ids::UserId;
use serde_json::{Value, json};

use crate::executions::{claim, runner};
use crate::world::{Person, World, id, path_of, seen};

const OLD_DBA: &str = "name: databases\nmatch: {risk_at_least: 0}\n\
                       require: [{roles: [dba], min: 1}]\nrole_age_min: 24h\n";

/// As if they had been given all their roles so long ago.
async fn since(world: &World, person: &Person, ago: &str) {
    let user: UserId = person.id.parse().unwrap();
    let sql = format!("UPDATE user_role SET granted_at = moment() - interval '{ago}'");
    world.database.run(&format!("{sql} WHERE user_id = '{}'", user.uuid())).await;
}

async fn explained(world: &World, who: &Person, task: &Value) -> Value {
    world.get(&who.token, &format!("{}/explain", path_of(task))).await.expect(200)
}

#[tokio::test]
async fn a_role_that_was_just_given_approves_nothing_critical_until_it_is_old_enough() {
    let world = World::new().await;
    world.policy(OLD_DBA).await;
    let bob = world.person("Bob", &["author"]).await;
    let [ann, eve] = [world.person("Ann", &["dba"]).await, world.person("Eve", &["dba"]).await];
    since(&world, &ann, "25 hours").await;

    let task = world.reviewing(&bob, "critical").await;
    let request = world.request(&ann, &task).await;
    let inbox = world.get(&eve.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "she is not even asked");
    let path = format!("/v1/approvals/{request}/approve");
    let told = world.post(&eve.token, &path, seen(&task)).await.refused(403, "role_too_new");
    assert_eq!(told["role"], "dba");
    assert!(told["counts_from"].is_string(), "{told}");
    assert_eq!(world.refusals(id(&task), "task.approve").await, 1, "and it is kept");
    let told = explained(&world, &bob, &task).await;
    let excluded = &told["groups"][0]["excluded"][0];
    assert_eq!(excluded["user"], json!(eve.id));
    let because = excluded["because"].as_str().unwrap();
    assert!(because.starts_with("the role dba counts once it is 1d old"), "{because}");
    world.approve(&ann, &task, &request).await;

    since(&world, &eve, "25 hours").await;
    let task = world.reviewing(&bob, "critical too").await;
    let request = world.request(&eve, &task).await;
    world.approve(&eve, &task, &request).await;
}

#[tokio::test]
async fn a_permit_asks_for_the_age_of_roles_again() {
    let world = World::new().await;
    world.policy(OLD_DBA).await;
    let bob = world.person("Bob", &["author"]).await;
    let ann = world.person("Ann", &["dba"]).await;
    let bot = runner(&world, "infra-bot", &bob).await;
    since(&world, &ann, "25 hours").await;
    let task = world.approved(&bob, &ann, "critical").await;
    // Taken away and given back: it is a new one.
    since(&world, &ann, "1 hour").await;
    let claimed = claim(&world, &bot, json!({})).await.expect(200);
    assert_eq!(claimed["permit"], Value::Null, "{claimed}");
    assert_eq!(world.task(&bob, &task).await["state"], "SUBMITTED");
}
