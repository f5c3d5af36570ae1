//! Review deadlines over HTTP: the warning before a review expires, and extensions.

use std::time::Duration;

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, days_later, id, path_of, quoted};

cases! {
    review_that_is_extended_expires_later:
        Happy "POST /v1/tasks/{id}/extend",
        Denied "POST /v1/tasks/{id}/extend",
        Conflict "POST /v1/tasks/{id}/extend";
    review_about_to_expire_notifies_author_and_reviewer:
        Happy "GET /v1/notifications",
        Denied "GET /v1/notifications";
}

/// The kinds of notification in the list of `who`, newest first.
pub async fn notification_kinds(world: &World, who: &Person) -> Vec<String> {
    let page = world.get(&who.token, "/v1/notifications").await.expect(200);
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["kind"].as_str().unwrap().to_owned()).collect()
}

async fn review_that_is_extended_expires_later(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "slow").await;
    let path = format!("{}/extend", path_of(&task));
    let matching = [("if-match", &*quoted(&task))];
    let ask = async |who: &Person, until: String| {
        let body = json!({ "until": until, "reason": "the owner is away" });
        world.send("POST", &who.token, &path, Some(body), &matching).await
    };
    ask(&bob, days_later(&task, 6)).await.refused(403, "not_allowed");
    let early = ask(&rea, days_later(&task, 0)).await.refused(422, "extension_out_of_range");
    assert_eq!(early["ends_at"], days_later(&task, 2), "48 hours without a policy");
    ask(&rea, days_later(&task, 9)).await.refused(422, "extension_out_of_range");
    let extended = ask(&rea, days_later(&task, 6)).await.expect(200);
    assert_eq!(extended["state"], "REVIEWING");
    ask(&rea, days_later(&task, 7)).await.refused(412, "version_mismatch");
    assert_eq!(notification_kinds(world, &bob).await, ["task.extended"]);
    let state = async || world.task(&bob, &task).await["state"].clone();
    world.pass(Duration::from_hours(3 * 24)).await;
    world.work("task_expirer").await;
    assert_eq!(state().await, "REVIEWING");
    world.pass(Duration::from_hours(6 * 24 + 1)).await;
    assert_eq!(world.work("task_expirer").await.items, 1);
    assert_eq!(state().await, "EXPIRED");
    assert_eq!(notification_kinds(world, &bob).await, ["task.expired", "task.extended"]);
}

async fn review_about_to_expire_notifies_author_and_reviewer(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let [rea, eve] = [world.person("Rea", &["reviewer"]).await, world.person("Eve", &[]).await];
    let task = world.reviewing(&bob, "slow").await;
    assert_eq!(world.work("expiry_warner").await.items, 0, "not yet");
    world.pass(Duration::from_hours(45)).await;
    assert_eq!(world.work("expiry_warner").await.items, 1);
    assert_eq!(world.work("expiry_warner").await.items, 0, "once");
    for who in [&bob, &rea] {
        let page = world.get(&who.token, "/v1/notifications").await.expect(200);
        let items: &Vec<Value> = page["items"].as_array().unwrap();
        assert_eq!(items.len(), 1, "{page}");
        assert_eq!(
            (&items[0]["kind"], &items[0]["task_id"]),
            (&json!("task.expiring"), &task["id"])
        );
    }
    assert_eq!(notification_kinds(world, &eve).await, Vec::<String>::new());
    let leaves = format!("/v1/audit?object={}", id(&task));
    let leaves = world.get(&world.admin.token, &leaves).await.expect(200);
    let warned = |item: &Value| item["leaf"]["what"]["action"] == "task.warn_expiry";
    assert_eq!(leaves["items"].as_array().unwrap().iter().filter(|item| warned(item)).count(), 1);
    world.get("", "/v1/notifications").await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn escalation_notifies_a_holder_of_two_roles_once() {
    let world = World::new().await;
    world
        .policy(
            "name: databases\nrequire: [{roles: [dba], min: 1}]\nescalation: [{after: 4h, \
             notify: {roles: [lead, boss]}}, {after: 8h, widen: {roles: [boss]}}]\n",
        )
        .await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Dba", &["dba"]).await;
    let both = world.person("Both", &["lead", "boss"]).await;
    world.reviewing(&bob, "slow").await;
    world.pass(Duration::from_hours(5)).await;
    assert_eq!(world.work("review_escalator").await.items, 1);
    assert_eq!(notification_kinds(&world, &both).await, ["approval.escalated"]);
    world.pass(Duration::from_hours(9)).await;
    assert_eq!(world.work("review_escalator").await.items, 1);
    assert_eq!(
        notification_kinds(&world, &both).await,
        ["approval.requested", "approval.escalated"]
    );
    assert_eq!(notification_kinds(&world, &bob).await, Vec::<String>::new());
}
