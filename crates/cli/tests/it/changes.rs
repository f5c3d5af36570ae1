//! Changes to the rules that wait, as the command that proposes them and `ade changes` show them.

use serde_json::{Value, json};

use crate::installation::{Ended, Installation, ended};

async fn admin(at: &Installation, args: &[&str]) -> Ended {
    ended(at.ade_as(&at.admin, args)).await
}

/// Proposes a capability of the agent and returns the id of the change.
async fn proposed(at: &Installation, capability: &str) -> String {
    let args = ["agents", "change", &at.agent_id, "--capability", capability, "-o", "json"];
    let change: Value = serde_json::from_str(&admin(at, &args).await.with(0).out).unwrap();
    assert_eq!((&change["kind"], &change["outcome"]), (&json!("agent.change"), &Value::Null));
    change["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn pending_change_is_shown_and_published_by_another_admin() {
    let at = Installation::start().await;
    let sam = json!({ "name": "Sam", "roles": ["admin"] });
    let sam = at.post(&at.admin, "/v1/users", sam).await;
    let sam = at.join(sam["id"].as_str().unwrap(), &["read", "administer"]).await;
    at.end_setup().await;
    let doctor = admin(&at, &["doctor"]).await;
    assert!(!doctor.out.contains("setup"), "{}", doctor.out);

    let change = ["agents", "change", &at.agent_id, "--capability", "a.*"];
    let waiting = admin(&at, &change).await.with(0);
    waiting.prints("◐ Proposed: waits for a second admin. Nothing has changed yet.\n");
    waiting.prints("because  the agent infra-bot may apply tasks of type a.* (and 1 more)\n");
    waiting.prints("next     ade changes show chg_");
    let agent = ["agents", "get", &at.agent_id];
    admin(&at, &agent).await.with(0).prints("command.run");

    let listed = admin(&at, &["changes", "list", "-o", "name"]).await.with(0);
    let id = listed.out.trim();
    let shown = admin(&at, &["changes", "show", id]).await.with(0);
    shown.prints("agent.change\n").prints("waits for a second admin").prints(&at.agent_id);
    shown.prints("looser    the agent infra-bot may apply tasks of type a.*\n");
    shown.prints("stricter  the agent infra-bot no longer applies tasks of type command.run\n");
    shown.prints(&format!("ade changes publish {id}"));
    admin(&at, &["changes", "publish", id]).await.with(77).says("cannot publish it");
    let published = ended(at.ade_as(&sam, &["changes", "publish", id])).await.with(0);
    published.prints(&format!("Published {id}"));
    admin(&at, &agent).await.with(0).prints("a.*");
    admin(&at, &["changes", "list"]).await.with(0).prints("No pending changes.");
    admin(&at, &["changes", "list", "--closed"]).await.with(0).prints(id).prints("published");
}

#[tokio::test]
async fn pending_change_of_one_admin_is_ended_by_an_objection() {
    let at = Installation::start().await;
    at.end_setup().await;
    let id = proposed(&at, "a.*").await;
    let shown = admin(&at, &["changes", "show", &id]).await.with(0);
    shown.prints("takes effect at ").prints(" unless someone objects");
    let object = ["changes", "object", &id, "--reason", "too much"];
    ended(at.ade_as(&at.reviewer, &object)).await.with(0).prints("Objected to chg_");
    let shown = admin(&at, &["changes", "show", &id]).await.with(0);
    shown.prints("objected").prints("too much");
    admin(&at, &["changes", "withdraw", &id]).await.with(71).says("it is already closed");

    let id = proposed(&at, "b.*").await;
    admin(&at, &["changes", "withdraw", &id]).await.with(0).prints("Withdrew chg_");
    admin(&at, &["agents", "get", &at.agent_id]).await.with(0).prints("command.run");
}
