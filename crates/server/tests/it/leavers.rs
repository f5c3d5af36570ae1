//! People who leave or lose a role. Their pending requests are reassigned at once, and tasks that
//! they approved need a new approval.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Person, World, id, path_of};

const TWO_DBAS: &str = "name: databases\nrequire: [{roles: [dba], min: 2}]\n";

/// Creates a database administrator with a manager.
async fn managed(world: &World, name: &str, manager: &Person) -> Person {
    let person = world.person(name, &["dba"]).await;
    let path = format!("/v1/users/{}", person.id);
    let change = json!({ "manager_id": manager.id });
    world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await.expect(200);
    person
}

pub async fn leave(world: &World, person: &Person) {
    let (path, gone) = (format!("/v1/users/{}", person.id), json!({ "active": false }));
    world.send("PATCH", &world.admin.token, &path, Some(gone), &[]).await.expect(200);
}

async fn asked(world: &World, task: &Value) -> Vec<(String, String)> {
    let path = format!("{}/approvals", path_of(task));
    let approvals = world.get(&world.admin.token, &path).await.expect(200);
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = approvals["approvals"].as_array().unwrap();
    items.iter().map(|item| (text(item, "reviewer_id"), text(item, "status"))).collect()
}

#[tokio::test]
async fn requests_of_a_leaver_move_to_the_manager_at_once() {
    let world = World::new().await;
    world.policy(TWO_DBAS).await;
    let bob = world.person("Bob", &["author"]).await;
    let bosses =
        [world.person("Max", &["reviewer"]).await, world.person("Mia", &["reviewer"]).await];
    let dbas = [managed(&world, "Ann", &bosses[0]).await, managed(&world, "Abe", &bosses[1]).await];
    let task = world.reviewing(&bob, "waits").await;
    assert_eq!(world.work("review_reassigner").await.items, 0);
    for dba in &dbas {
        leave(&world, dba).await;
    }
    assert_eq!(world.work("review_reassigner").await.items, 1, "one task");
    let mut found = asked(&world, &task).await;
    found.sort();
    let mut expected: Vec<(String, String)> = dbas
        .iter()
        .map(|dba| (dba.id.clone(), "SUPERSEDED".to_owned()))
        .chain(bosses.iter().map(|boss| (boss.id.clone(), "PENDING".to_owned())))
        .collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(world.work("review_reassigner").await.items, 0, "nothing is left to reassign");
    let leaves = format!("/v1/audit?object={}", id(&task));
    let leaves = world.get(&world.admin.token, &leaves).await.expect(200);
    let escalated = |item: &&Value| item["leaf"]["what"]["action"] == "task.escalate";
    assert_eq!(leaves["items"].as_array().unwrap().iter().filter(escalated).count(), 2);
}

#[tokio::test]
async fn escalation_step_keeps_the_reassignment_of_a_leaver() {
    let world = World::new().await;
    world
        .policy(&format!("{TWO_DBAS}escalation: [{{after: 4h, notify: {{roles: [lead]}}}}]\n"))
        .await;
    let bob = world.person("Bob", &["author"]).await;
    let max = world.person("Max", &["reviewer"]).await;
    let ann = managed(&world, "Ann", &max).await;
    world.person("Abe", &["dba"]).await;
    let task = world.reviewing(&bob, "waits").await;
    leave(&world, &ann).await;
    world.pass(Duration::from_hours(5)).await;
    assert_eq!(world.work("review_escalator").await.items, 1);
    assert_eq!(world.work("review_reassigner").await.items, 1);
    assert!(asked(&world, &task).await.contains(&(max.id, "PENDING".to_owned())));
}

#[tokio::test]
async fn approval_by_a_former_reviewer_is_requested_again() {
    let world = World::new().await;
    world.policy("name: databases\nrequire: [{roles: [dba], min: 1}]\n").await;
    let bob = world.person("Bob", &["author"]).await;
    let roles = |person: &Person| format!("/v1/users/{}/roles", person.id);
    for how in ["role", "leaves", "account of the author"] {
        let ann = world.person("Ann", &["dba"]).await;
        let task = world.approved(&bob, &ann, how).await;
        assert_eq!(world.work("basis_checker").await.items, 0, "{how}");
        match how {
            "role" => {
                let none = json!({ "roles": ["author"] });
                let path = roles(&ann);
                world.send("PUT", &world.admin.token, &path, Some(none), &[]).await.expect(200);
            }
            "leaves" => leave(&world, &ann).await,
            _ => {
                let (path, same) =
                    (format!("/v1/users/{}/aliases", bob.id), json!({ "alias_id": ann.id }));
                world.post(&world.admin.token, &path, same).await.expect(200);
            }
        }
        assert!(world.work("basis_checker").await.items > 0, "{how}");
        assert_eq!(world.task(&bob, &task).await["state"], "SUBMITTED", "{how}");
    }
}

#[tokio::test]
async fn approval_without_its_basis_is_requested_again_at_expiry() {
    let world = World::new().await;
    world.policy("name: databases\nrequire: [{roles: [dba], min: 1}]\n").await;
    let bob = world.person("Bob", &["author"]).await;
    let ann = world.person("Ann", &["dba"]).await;
    let stands = world.approved(&bob, &ann, "stands").await;
    world.pass(Duration::from_hours(4 * 24)).await;
    let abe = world.person("Abe", &["dba"]).await;
    let falls = world.approved(&bob, &abe, "falls").await;
    leave(&world, &abe).await;
    world.pass(Duration::from_hours(12 * 24)).await;
    assert_eq!(world.work("task_expirer").await.items, 2);
    assert_eq!(world.task(&bob, &stands).await["state"], "EXPIRED");
    assert_eq!(world.task(&bob, &falls).await["state"], "SUBMITTED");
}
