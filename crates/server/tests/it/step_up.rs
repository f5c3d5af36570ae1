//! What weighs is decided with the word of a passkey: for exactly this, by this person, in this
//! session, lately, and once.

use std::time::Duration;

use ade_core::step_up::Rule;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::authenticator::{Authenticator, enrol, second_token};
use crate::world::{Answer, Fittings, Line, Person, World, id, path_of, quoted, seen};

/// A task of this weight that waits, and the request to the reviewer.
async fn waiting(world: &World, cast: &Cast, title: &str) -> (Value, String) {
    let task = world.reviewing(&cast.author, title).await;
    let request = world.request(&cast.reviewer, &task).await;
    (task, request)
}

struct Cast {
    author: Person,
    reviewer: Person,
}

async fn cast(world: &World) -> Cast {
    let author = world.person("Bob", &["author"]).await;
    Cast { author, reviewer: world.person("Rea", &["reviewer"]).await }
}

/// From now on what is declared of the database is rated so.
async fn weigh(world: &World, criticality: u32) {
    for name in ["orders", "one", "two"] {
        let (path, entry) = (format!("/v1/resources/database/{name}"), json!(criticality));
        let body = Some(json!({ "criticality": entry }));
        world.send("PUT", &world.admin.token, &path, body, &[]).await.expect(200);
    }
}

async fn approve(world: &World, token: &str, task: &Value, request: &str) -> Answer {
    let path = format!("/v1/approvals/{request}/approve");
    world.post(token, &path, seen(task)).await
}

fn about(task: &Value) -> Value {
    json!({ "id": task["id"], "digest": task["digest"] })
}

#[tokio::test]
async fn a_vote_on_what_is_high_needs_a_word_for_exactly_this_task() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let token = &cast.reviewer.token;
    let (other, _) = waiting(&world, &cast, "other").await;
    let (task, request) = waiting(&world, &cast, "this").await;
    assert_eq!(task["risk"]["level"], "HIGH", "{task}");

    let told = approve(&world, token, &task, &request).await.refused(403, "step_up_required");
    assert_eq!(told["step_up"], json!({ "purpose": "approve", "about": [about(&task)] }));
    assert_eq!(told["has_passkey"], true);
    assert_eq!(told["next_action"]["call"], "POST /v1/step-up");
    assert_eq!(told["page"], format!("https://ade.example.org/tasks/{}", id(&task)));
    assert_eq!(world.task(&cast.author, &task).await["state"], "REVIEWING");

    // For another task, for another effect, for something else about it, for more than this.
    let mut elsewhere = about(&task);
    elsewhere["digest"] = other["digest"].clone();
    for wrong in [
        json!({ "purpose": "approve", "about": [about(&other)] }),
        json!({ "purpose": "approve", "about": [elsewhere] }),
        json!({ "purpose": "override", "about": [about(&task)] }),
        json!({ "purpose": "approve", "about": [about(&task), about(&other)] }),
        json!({ "purpose": "approve", "about": [{ "id": task["id"] }] }),
        json!({ "purpose": "approve", "about": [] }),
    ] {
        key.confirm(&world, token, &wrong).await.expect(200);
        approve(&world, token, &task, &request).await.refused(403, "step_up_required");
    }
    let given = key.confirm(&world, token, &told["step_up"]).await.expect(200);
    let voted = approve(&world, token, &task, &request).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
    let path = format!("/v1/audit?object={}", id(&given));
    let leaves = world.get(&world.admin.token, &path).await.expect(200);
    let used = &leaves["items"][0]["leaf"];
    assert_eq!(
        (&used["what"]["action"], &used["what"]["to"]),
        (&json!("step_up.use"), &json!("approve"))
    );
    assert_eq!(used["what"]["digest"], given["subject"]);
}

#[tokio::test]
async fn a_word_is_used_once_and_a_repeated_vote_is_still_one_vote() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let token = &cast.reviewer.token;
    world.policy("name: two\nrequire:\n  - {roles: [reviewer], min: 2}\n").await;
    world.person("Roy", &["reviewer"]).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let path = format!("/v1/approvals/{request}/approve");
    let repeat = [("idempotency-key", "vote")];
    let vote = async || world.send("POST", token, &path, Some(seen(&task)), &repeat).await;
    let told = vote().await.refused(403, "step_up_required");
    key.confirm(&world, token, &told["step_up"]).await.expect(200);
    assert_eq!(vote().await.expect(200)["state"], "REVIEWING");
    assert!(vote().await.is_repeated, "the same call again");
    // Taken back and given again, it is another decision.
    world
        .send("POST", token, &format!("/v1/approvals/{request}/withdraw"), None, &[])
        .await
        .expect(200);
    approve(&world, token, &task, &request).await.refused(403, "step_up_required");
}

#[tokio::test]
async fn a_word_counts_for_five_minutes() {
    for (seconds, counts) in [(240, true), (302, false)] {
        let world = World::new().await;
        let cast = cast(&world).await;
        let mut key = enrol(&world, &cast.reviewer).await;
        let (task, request) = waiting(&world, &cast, "this").await;
        let subject = json!({ "purpose": "approve", "about": [about(&task)] });
        key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
        world.pass(Duration::from_secs(seconds)).await;
        let voted = approve(&world, &cast.reviewer.token, &task, &request).await;
        if counts {
            voted.expect(200);
        } else {
            voted.refused(403, "step_up_required");
        }
    }
}

#[tokio::test]
async fn a_word_is_no_word_of_somebody_else_nor_of_another_session() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let roy = world.person("Roy", &["reviewer"]).await;
    let (mut hers, mut his) = (enrol(&world, &cast.reviewer).await, enrol(&world, &roy).await);
    let elsewhere = second_token(&world, &cast.reviewer).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    his.confirm(&world, &roy.token, &subject).await.expect(200);
    hers.confirm(&world, &elsewhere, &subject).await.expect(200);
    let told = approve(&world, &cast.reviewer.token, &task, &request).await;
    told.refused(403, "step_up_required");
    assert_eq!(world.task(&cast.author, &task).await["state"], "REVIEWING");
    approve(&world, &elsewhere, &task, &request).await.expect(200);
}

#[tokio::test]
async fn a_word_of_a_key_that_was_removed_since_is_none() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let token = &cast.reviewer.token;
    let mut key = enrol(&world, &cast.reviewer).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, token, &subject).await.expect(200);
    let add = json!({ "purpose": "add_passkey", "about": [] });
    key.confirm(&world, token, &add).await.expect(200);
    let second = Authenticator::new();
    crate::authenticator::add(&world, token, &second).await.expect(201);
    let known = world.get(token, "/v1/passkeys").await.expect(200);
    let path = format!("/v1/passkeys/{}", id(&known["items"][0]));
    let told = world.send("DELETE", token, &path, None, &[]).await;
    let told = told.refused(403, "step_up_required");
    key.confirm(&world, token, &told["step_up"]).await.expect(200);
    world.send("DELETE", token, &path, None, &[]).await.expect(200);
    approve(&world, token, &task, &request).await.refused(403, "step_up_required");
}

#[tokio::test]
async fn what_does_not_weigh_and_what_stops_something_needs_no_word() {
    let world = World::new().await;
    let cast = cast(&world).await;
    enrol(&world, &cast.reviewer).await;
    let (heavy, request) = waiting(&world, &cast, "heavy").await;
    let mut no = seen(&heavy);
    no["reason"] = json!("not today");
    let path = format!("/v1/approvals/{request}/reject");
    world.post(&cast.reviewer.token, &path, no).await.expect(200);
    weigh(&world, 0).await;
    let (light, request) = waiting(&world, &cast, "light").await;
    assert_eq!(light["risk"]["level"], "MEDIUM", "{light}");
    approve(&world, &cast.reviewer.token, &light, &request).await.expect(200);
    weigh(&world, 100).await;
    let thresholds = json!({ "medium": 30, "high": 60, "critical": 70 });
    let (body, path) = (json!({ "thresholds": thresholds }), "/v1/risk/settings");
    let first = [("if-match", "\"0\"")];
    world.send("PUT", &world.admin.token, path, Some(body), &first).await.expect(200);
    let (critical, request) = waiting(&world, &cast, "critical").await;
    assert_eq!(critical["risk"]["level"], "CRITICAL", "{critical}");
    let told = approve(&world, &cast.reviewer.token, &critical, &request).await;
    told.refused(403, "step_up_required");
}

#[tokio::test]
async fn where_it_is_required_nobody_without_a_passkey_decides_what_weighs() {
    let fittings = Fittings { step_up: Rule::Required, ..Line::Rows(Line::SETTINGS).into() };
    let world = World::fitted(fittings).await;
    let cast = cast(&world).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let told = approve(&world, &cast.reviewer.token, &task, &request).await;
    let told = told.refused(403, "step_up_required");
    assert_eq!(told["has_passkey"], false);
    assert_eq!(told["next_action"]["call"], "POST /v1/passkeys", "{told}");
    weigh(&world, 0).await;
    let (light, of_light) = waiting(&world, &cast, "light").await;
    approve(&world, &cast.reviewer.token, &light, &of_light).await.expect(200);
    let mut key = enrol(&world, &cast.reviewer).await;
    key.confirm(&world, &cast.reviewer.token, &told["step_up"]).await.expect(200);
    approve(&world, &cast.reviewer.token, &task, &request).await.expect(200);
}

/// The same change to another database.
async fn twin(world: &World, cast: &Cast, database: &str) -> Value {
    let resource = format!("database:{database}");
    let body = json!({
        "title": database, "type": "db.change", "parameters": { "for": "both" },
        "resources": [{ "resource": resource, "mode": "exclusive" }],
        "plan": { "changes": [{
            "resource": resource, "action": "add", "irreversible": false, "summary": "one column"
        }] }
    });
    let task = world.post(&cast.author.token, "/v1/tasks", body).await.expect(201);
    world.submit(&cast.author, &task).await;
    world.work("review_opener").await;
    world.task(&cast.author, &task).await
}

#[tokio::test]
async fn a_batch_needs_one_word_for_all_of_it_and_for_nothing_else() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let token = &cast.reviewer.token;
    let mut key = enrol(&world, &cast.reviewer).await;
    let tasks = [twin(&world, &cast, "one").await, twin(&world, &cast, "two").await];
    assert!(tasks.iter().all(|task| task["risk"]["level"] == "HIGH"), "{tasks:?}");
    let mut items = Vec::new();
    for task in &tasks {
        let mut item = seen(task);
        item["approval"] = json!(world.request(&cast.reviewer, task).await);
        items.push(item);
    }
    let batch = json!({ "action": "approve", "items": items });
    let path = "/v1/approvals/batch";
    world.post(token, &format!("{path}?dry_run=true"), batch.clone()).await.expect(200);
    let told = world.post(token, path, batch.clone()).await.refused(403, "step_up_required");
    assert_eq!(told["step_up"]["about"].as_array().unwrap().len(), 2, "{told}");
    // A word for each of them, and one for a set in which one effect is another.
    let mut swapped = about(&tasks[1]);
    swapped["digest"] = tasks[0]["digest"].clone();
    for wrong in [vec![about(&tasks[0])], vec![about(&tasks[1])], vec![about(&tasks[0]), swapped]] {
        let subject = json!({ "purpose": "approve", "about": wrong });
        key.confirm(&world, token, &subject).await.expect(200);
        world.post(token, path, batch.clone()).await.refused(403, "step_up_required");
    }
    let both = json!({ "purpose": "approve", "about": [about(&tasks[1]), about(&tasks[0])] });
    key.confirm(&world, token, &both).await.expect(200);
    let written = world.post(token, path, batch).await.expect(200);
    assert_eq!(written["is_written"], true);
    for task in &tasks {
        assert_eq!(world.task(&cast.author, task).await["state"], "APPROVED");
    }
}

#[tokio::test]
async fn both_admins_of_an_override_confirm_it_with_their_own_passkeys() {
    let world = World::new().await;
    let cast = cast(&world).await;
    weigh(&world, 0).await;
    let second = world.person("Second", &["admin"]).await;
    let mut keys = [enrol(&world, &world.admin).await, enrol(&world, &second).await];
    let (task, _) = waiting(&world, &cast, "burning").await;
    let path = format!("{}/override", path_of(&task));
    let body = json!({ "ticket": "INC-1", "reason": "fire" });
    let matching = [("if-match", &*quoted(&task))];
    let ask =
        async || world.send("POST", &world.admin.token, &path, Some(body.clone()), &matching).await;
    let told = ask().await.refused(403, "step_up_required");
    assert_eq!(told["step_up"], json!({ "purpose": "override", "about": [about(&task)] }));
    keys[0].confirm(&world, &world.admin.token, &told["step_up"]).await.expect(200);
    ask().await.expect(202);
    let path = format!("{path}/confirm");
    let confirm = async || world.post(&second.token, &path, seen(&task)).await;
    let told = confirm().await.refused(403, "step_up_required");
    keys[0].confirm(&world, &world.admin.token, &told["step_up"]).await.expect(200);
    confirm().await.refused(403, "step_up_required");
    keys[1].confirm(&world, &second.token, &told["step_up"]).await.expect(200);
    assert_eq!(confirm().await.expect(200)["state"], "APPROVED");
}

#[tokio::test]
async fn policies_are_published_and_locks_broken_with_a_word() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let second = world.person("Second", &["admin"]).await;
    let mut key = enrol(&world, &world.admin).await;
    let token = &world.admin.token;
    let mut drafts = Vec::new();
    for name in ["one", "other"] {
        let rule = format!("name: {name}\nrequire: [{{roles: [reviewer], min: 1}}]\n");
        let body = json!({ "document": rule });
        drafts.push(world.post(&second.token, "/v1/policies", body).await.expect(201));
    }
    let publish = async |draft: &Value| {
        let path = format!("/v1/policy-drafts/{}/publish", id(draft));
        world.send("POST", token, &path, None, &[]).await
    };
    let told = publish(&drafts[0]).await.refused(403, "step_up_required");
    assert_eq!(told["step_up"]["purpose"], "publish_policy");
    key.confirm(&world, token, &told["step_up"]).await.expect(200);
    publish(&drafts[1]).await.refused(403, "step_up_required");
    publish(&drafts[0]).await.expect(200);

    let bot = world.agent("bot", &cast.author).await;
    let mut held = Vec::new();
    for name in ["one", "two"] {
        let lock = json!({ "type": "database", "id": name, "mode": "exclusive" });
        let asked = json!({ "resources": [lock], "ttl": "300s" });
        held.push(world.post(&bot.token, "/v1/locks/acquire", asked).await.expect(200));
    }
    let break_it = async |name: &str, holder: &Value| {
        let path = format!("/v1/locks/database/{name}/break");
        world.post(token, &path, json!({ "reason": "it hangs", "lease_hash": holder })).await
    };
    let anybody = Value::Null;
    let told = break_it("one", &anybody).await.refused(403, "step_up_required");
    let subject = json!({ "purpose": "break_lock", "about": [{ "id": "database:one" }] });
    assert_eq!(told["step_up"], subject);
    key.confirm(&world, token, &subject).await.expect(200);
    break_it("two", &anybody).await.refused(403, "step_up_required");
    break_it("one", &anybody).await.expect(200);

    let holder = &held[1]["lease_hash"];
    let told = break_it("two", holder).await.refused(403, "step_up_required");
    assert_eq!(&told["step_up"]["about"][0]["digest"], holder);
    key.confirm(&world, token, &told["step_up"]).await.expect(200);
    break_it("two", &anybody).await.refused(403, "step_up_required");
    break_it("two", holder).await.expect(200);
}

/// Whoever may not do it is told so, and touches nothing in vain.
#[tokio::test]
async fn who_may_not_is_not_asked_for_a_word() {
    let world = World::new().await;
    let cast = cast(&world).await;
    enrol(&world, &cast.author).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let own = approve(&world, &cast.author.token, &task, &request).await;
    own.refused(403, "self_approval");
    let mut stale = seen(&task);
    stale["revision"] = json!(7);
    let mut key = enrol(&world, &cast.reviewer).await;
    let path = format!("/v1/approvals/{request}/approve");
    world.post(&cast.reviewer.token, &path, stale).await.refused(409, "stale_revision");
    // Changed after the word was given: the word was for another effect.
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
    let change = Some(json!({ "parameters": { "for": "something else" } }));
    let changed = world.matching("PATCH", &cast.author.token, &path_of(&task), change, &task).await;
    changed.expect(200);
    world.work("review_opener").await;
    let task = world.task(&cast.author, &task).await;
    let request = world.request(&cast.reviewer, &task).await;
    let told = approve(&world, &cast.reviewer.token, &task, &request).await;
    told.refused(403, "step_up_required");
}

#[tokio::test]
async fn what_was_signed_says_what_was_decided() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let (task, request) = waiting(&world, &cast, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
    approve(&world, &cast.reviewer.token, &task, &request).await.expect(200);
    // By hand, from the task and the row alone.
    let [task, digest] = ["id", "digest"].map(|name| task[name].as_str().unwrap());
    let named = Sha256::digest(format!("ade step-up 1\napprove\n{task} {digest}\n"));
    let named = named.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    let holds = format!(
        "SELECT count(*) FROM step_up
          WHERE used_at IS NOT NULL AND subject = decode('{named}', 'hex')
            AND convert_from(client_data, 'UTF8')::json ->> 'challenge'
                = translate(encode(sha256(subject || nonce), 'base64'), '+/=', '-_')"
    );
    assert_eq!(world.database.number(&holds).await, 1);
}
