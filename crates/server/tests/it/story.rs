//! The one story everything is for: an agent proposes, a person who had no part in it agrees, and
//! every step can be read afterwards.

use serde_json::json;

use crate::world::{World, id, quoted, seen};

#[tokio::test]
async fn an_agent_proposes_and_a_person_approves() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = world.agent("infra-bot", &bob).await;
    let task = world.reviewing(&bot, "Add a currency").await;
    let path = format!("/v1/tasks/{}", id(&task));

    let told = world.get(&bot.token, &format!("{path}/explain")).await.expect(200);
    assert_eq!(told["may_answer"].as_array().unwrap().len(), 2, "{told}");
    let request = world.request(&rea, &task).await;
    let approve = format!("/v1/approvals/{request}/approve");
    world.post(&bot.token, &approve, seen(&task)).await.refused(403, "class_closed");
    world.post(&bob.token, &approve, seen(&task)).await.refused(403, "self_approval");
    let voted = world.post(&rea.token, &approve, seen(&task)).await.expect(200);
    assert_eq!((&voted["state"], &voted["effectual"]), (&json!("APPROVED"), &json!(true)));

    let audit = format!("/v1/audit?object={}", id(&task));
    let leaves = world.get(&world.admin.token, &audit).await.expect(200);
    let actions: Vec<&str> = leaves["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["leaf"]["what"]["action"].as_str().unwrap())
        .collect();
    // Newest first; the author's own attempt to agree is kept as a refusal.
    let expected =
        ["task.approve", "task.approve", "task.open_review", "task.submit", "task.create"];
    assert_eq!(actions, expected);
    assert_eq!(leaves["items"][0]["id"], voted["receipt"]);
    assert_eq!(leaves["items"][1]["leaf"]["kind"], "refusal");
}

#[tokio::test]
async fn a_vote_on_what_was_amended_meanwhile_is_refused() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    let request = world.request(&rea, &task).await;
    let other = json!({ "parameters": { "for": "something else" } });
    let path = format!("/v1/tasks/{}", id(&task));
    let matching = [("if-match", &*quoted(&task))];
    let amended = world.send("PATCH", &bob.token, &path, Some(other), &matching).await.expect(200);
    assert_eq!((&amended["state"], &amended["revision"]), (&json!("SUBMITTED"), &json!(2)));
    world.work("review_opener").await;
    let approve = format!("/v1/approvals/{request}/approve");
    let told = world.post(&rea.token, &approve, seen(&task)).await.refused(409, "stale_revision");
    assert_eq!(told["current"]["revision"], 2);
    let asked = world.get(&rea.token, &format!("{path}/approvals")).await.expect(200);
    assert_eq!(asked["votes"], json!([]), "nothing was written");
}
