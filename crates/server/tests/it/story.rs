//! The main use case: an agent proposes, an uninvolved person approves, and every step is recorded.

use serde_json::json;

use crate::world::{World, id, quoted, seen};

#[tokio::test]
async fn agent_proposal_is_approved_by_a_person() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let bot = world.agent("infra-bot", &bob).await;
    let task = world.reviewing(&bot, "Add a currency").await;
    let path = format!("/v1/tasks/{}", id(&task));

    let explained = world.get(&bot.token, &format!("{path}/explain")).await.expect(200);
    assert_eq!(explained["may_answer"].as_array().unwrap().len(), 2, "{explained}");
    let approve = format!("{path}/approve");
    world.post(&bot.token, &approve, seen(&task)).await.refused(403, "insufficient_scope");
    world.post(&bob.token, &approve, seen(&task)).await.refused(403, "self_approval");
    let voted = world.post(&rea.token, &approve, seen(&task)).await.expect(200);
    assert_eq!((&voted["state"], &voted["counted"]), (&json!("APPROVED"), &json!(true)));

    let audit = format!("/v1/audit?object={}", id(&task));
    let entries = world.get(&world.admin.token, &audit).await.expect(200);
    let actions: Vec<&str> = entries["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["leaf"]["what"]["action"].as_str().unwrap())
        .collect();
    // Newest first. The author's own attempt to approve is recorded as a refusal.
    let expected =
        ["task.approve", "task.approve", "task.open_review", "task.submit", "task.create"];
    assert_eq!(actions, expected);
    assert_eq!(entries["items"][0]["id"], voted["receipt"]);
    assert_eq!(entries["items"][1]["leaf"]["kind"], "refusal");
}

#[tokio::test]
async fn vote_on_an_outdated_revision_is_refused() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "Add a currency").await;
    let other = json!({ "parameters": { "for": "something else" } });
    let path = format!("/v1/tasks/{}", id(&task));
    let matching = [("if-match", &*quoted(&task))];
    let amended = world.send("PATCH", &bob.token, &path, Some(other), &matching).await.expect(200);
    assert_eq!((&amended["state"], &amended["revision"]), (&json!("SUBMITTED"), &json!(2)));
    world.work("review_opener").await;
    let approve = format!("{path}/approve");
    let problem =
        world.post(&rea.token, &approve, seen(&task)).await.refused(409, "stale_revision");
    assert_eq!(problem["current"]["revision"], 2);
    let asked = world.get(&rea.token, &format!("{path}/approvals")).await.expect(200);
    assert_eq!(asked["votes"], json!([]), "nothing was written");
}
