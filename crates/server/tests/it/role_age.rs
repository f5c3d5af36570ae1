//! A policy can require a minimum age of roles: a role that was granted just before a critical vote
//! does not count, neither for the vote nor when the permit is granted.

use ade_core::ids::UserId;
use serde_json::{Value, json};

use crate::executions::{claim, runner};
use crate::explaining::explained;
use crate::world::{Person, World, id, path_of, seen};

const OLD_DBA: &str = "name: databases\nmatch: {risk_at_least: 0}\n\
                       require: [{roles: [dba], min: 1}]\nrole_age_min: 24h\n";

/// Sets the time at which this person was granted all their roles.
async fn since(world: &World, person: &Person, ago: &str) {
    let user: UserId = person.id.parse().unwrap();
    let sql = format!("UPDATE user_role SET granted_at = moment() - interval '{ago}'");
    world.database.run(&format!("{sql} WHERE user_id = '{}'", user.uuid())).await;
}

#[tokio::test]
async fn new_role_cannot_approve_until_it_is_old_enough() {
    let world = World::new().await;
    world.policy(OLD_DBA).await;
    let bob = world.person("Bob", &["author"]).await;
    let [ann, eve] = [world.person("Ann", &["dba"]).await, world.person("Eve", &["dba"]).await];
    since(&world, &ann, "25 hours").await;
    since(&world, &eve, "1 hour").await;

    let task = world.reviewing(&bob, "critical").await;
    world.request(&ann, &task).await;
    let inbox = world.get(&eve.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]), "she has no approval request");
    let path = format!("{}/approve", path_of(&task));
    let problem = world.post(&eve.token, &path, seen(&task)).await.refused(403, "role_too_new");
    assert_eq!(problem["role"], "dba");
    assert!(problem["counts_from"].is_string(), "{problem}");
    assert_eq!(world.refusals(id(&task), "task.approve").await, 1, "the refusal is recorded");
    let explanation = explained(&world, &bob, &task).await;
    let excluded = &explanation["groups"][0]["excluded"][0];
    assert_eq!(excluded["user_id"], json!(eve.id));
    let because = excluded["because"].as_str().unwrap();
    assert!(because.starts_with("the role dba counts once it has been held for 1d"), "{because}");
    world.approve(&ann, &task).await;

    since(&world, &eve, "25 hours").await;
    let task = world.reviewing(&bob, "critical too").await;
    world.request(&eve, &task).await;
    world.approve(&eve, &task).await;
}

#[tokio::test]
async fn permit_checks_the_age_of_roles_again() {
    let world = World::new().await;
    world.policy(OLD_DBA).await;
    let bob = world.person("Bob", &["author"]).await;
    let ann = world.person("Ann", &["dba"]).await;
    let bot = runner(&world, "infra-bot", &bob).await;
    since(&world, &ann, "25 hours").await;
    let task = world.approved(&bob, &ann, "critical").await;
    // A role that was revoked and granted again is new.
    since(&world, &ann, "1 hour").await;
    let claimed = claim(&world, &bot, json!({})).await.expect(200);
    assert_eq!(claimed["permit"], Value::Null, "{claimed}");
    assert_eq!(world.task(&bob, &task).await["state"], "SUBMITTED");
}
