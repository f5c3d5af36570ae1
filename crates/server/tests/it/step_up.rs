//! High-risk decisions are confirmed with a passkey: for exactly this decision, by this person, in
//! this session, recently, and once.

use std::time::Duration;

use ade_core::step_up::Rule;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::authenticator::{Authenticator, enrol, second_token};
use crate::world::{
    Answer, LockBackend, OWN_PAGE, Person, TestServerOptions, World, id, path_of, quoted, seen,
};

struct Cast {
    author: Person,
    reviewer: Person,
}

async fn cast(world: &World) -> Cast {
    let author = world.person("Bob", &["author"]).await;
    Cast { author, reviewer: world.person("Rea", &["reviewer"]).await }
}

/// Sets the criticality of the databases that the tests use.
async fn weigh(world: &World, criticality: u32) {
    for name in ["orders", "one", "two"] {
        let (path, entry) = (format!("/v1/resources/database/{name}"), json!(criticality));
        let body = Some(json!({ "criticality": entry }));
        world.send("PUT", &world.admin.token, &path, body, &[]).await.expect(200);
    }
}

async fn approve(world: &World, token: &str, task: &Value) -> Answer {
    let path = format!("{}/approve", path_of(task));
    world.post(token, &path, seen(task)).await
}

fn about(task: &Value) -> Value {
    json!({ "id": task["id"], "digest": task["digest"] })
}

#[tokio::test]
async fn step_up_for_a_high_risk_vote_covers_only_this_task() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let token = &cast.reviewer.token;
    let other = world.reviewing(&cast.author, "other").await;
    let task = world.reviewing(&cast.author, "this").await;
    assert_eq!(task["risk"]["level"], "high", "{task}");

    let problem = approve(&world, token, &task).await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"], json!({ "purpose": "approve", "about": [about(&task)] }));
    assert_eq!(problem["has_passkey"], true);
    assert_eq!(problem["next_action"]["call"], "POST /v1/step-up");
    assert_eq!(problem["page"], format!("https://ade.example.org/tasks/{}", id(&task)));
    assert_eq!(world.task(&cast.author, &task).await["state"], "REVIEWING");

    // A confirmation of another task, another effect, another purpose or more tasks is refused.
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
        approve(&world, token, &task).await.refused(403, "step_up_required");
    }
    let given = key.confirm(&world, token, &problem["step_up"]).await.expect(200);
    let voted = approve(&world, token, &task).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
    let path = format!("/v1/audit?object={}", id(&given));
    let entries = world.get(&world.admin.token, &path).await.expect(200);
    let used = &entries["items"][0]["leaf"];
    assert_eq!(
        (&used["what"]["action"], &used["what"]["to"]),
        (&json!("step_up.use"), &json!("approve"))
    );
    assert_eq!(used["what"]["digest"], given["subject"]);
    let who = world.who_did(&task, "task.approve").await;
    assert_eq!(who["credential"]["step_up"], given["id"], "the vote names it");
}

#[tokio::test]
async fn step_up_is_used_once_and_a_replayed_vote_counts_once() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let token = &cast.reviewer.token;
    world.policy("name: two\nrequire:\n  - {roles: [reviewer], min: 2}\n").await;
    world.person("Roy", &["reviewer"]).await;
    let task = world.reviewing(&cast.author, "this").await;
    let request = world.request(&cast.reviewer, &task).await;
    let path = format!("{}/approve", path_of(&task));
    let repeat = [("idempotency-key", "vote")];
    let vote = async || world.send("POST", token, &path, Some(seen(&task)), &repeat).await;
    let problem = vote().await.refused(403, "step_up_required");
    key.confirm(&world, token, &problem["step_up"]).await.expect(200);
    assert_eq!(vote().await.expect(200)["state"], "REVIEWING");
    assert!(vote().await.is_repeated, "the same request again");
    // A vote that is withdrawn and given again is a new decision.
    world
        .send("POST", token, &format!("/v1/approvals/{request}/withdraw"), None, &[])
        .await
        .expect(200);
    approve(&world, token, &task).await.refused(403, "step_up_required");
}

#[tokio::test]
async fn step_up_is_valid_for_five_minutes() {
    for (seconds, counts) in [(240, true), (302, false)] {
        let world = World::new().await;
        let cast = cast(&world).await;
        let mut key = enrol(&world, &cast.reviewer).await;
        let task = world.reviewing(&cast.author, "this").await;
        let subject = json!({ "purpose": "approve", "about": [about(&task)] });
        key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
        world.pass(Duration::from_secs(seconds)).await;
        let voted = approve(&world, &cast.reviewer.token, &task).await;
        if counts {
            voted.expect(200);
        } else {
            voted.refused(403, "step_up_required");
        }
    }
}

#[tokio::test]
async fn step_up_of_another_person_or_session_is_refused() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let roy = world.person("Roy", &["reviewer"]).await;
    let (mut hers, mut his) = (enrol(&world, &cast.reviewer).await, enrol(&world, &roy).await);
    let elsewhere = second_token(&world, &cast.reviewer).await;
    let task = world.reviewing(&cast.author, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    his.confirm(&world, &roy.token, &subject).await.expect(200);
    hers.confirm(&world, &elsewhere, &subject).await.expect(200);
    let response = approve(&world, &cast.reviewer.token, &task).await;
    response.refused(403, "step_up_required");
    assert_eq!(world.task(&cast.author, &task).await["state"], "REVIEWING");
    approve(&world, &elsewhere, &task).await.expect(200);
}

#[tokio::test]
async fn step_up_with_a_removed_passkey_is_refused() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let token = &cast.reviewer.token;
    let mut key = enrol(&world, &cast.reviewer).await;
    let task = world.reviewing(&cast.author, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, token, &subject).await.expect(200);
    let add = json!({ "purpose": "add_passkey", "about": [] });
    key.confirm(&world, token, &add).await.expect(200);
    let second = Authenticator::new();
    crate::authenticator::add(&world, token, &second).await.expect(201);
    let known = world.get(token, "/v1/passkeys").await.expect(200);
    let path = format!("/v1/passkeys/{}", id(&known["items"][0]));
    let response = world.send("DELETE", token, &path, None, &[]).await;
    let problem = response.refused(403, "step_up_required");
    key.confirm(&world, token, &problem["step_up"]).await.expect(200);
    world.send("DELETE", token, &path, None, &[]).await.expect(200);
    approve(&world, token, &task).await.refused(403, "step_up_required");
}

#[tokio::test]
async fn step_up_is_not_needed_for_low_risk_or_rejections() {
    let world = World::new().await;
    let cast = cast(&world).await;
    enrol(&world, &cast.reviewer).await;
    let heavy = world.reviewing(&cast.author, "heavy").await;
    let mut no = seen(&heavy);
    no["reason"] = json!("not today");
    let path = format!("{}/reject", path_of(&heavy));
    world.post(&cast.reviewer.token, &path, no).await.expect(200);
    weigh(&world, 0).await;
    let light = world.reviewing(&cast.author, "light").await;
    assert_eq!(light["risk"]["level"], "medium", "{light}");
    approve(&world, &cast.reviewer.token, &light).await.expect(200);
    weigh(&world, 100).await;
    let thresholds = json!({ "medium": 30, "high": 60, "critical": 70 });
    let (body, path) = (json!({ "thresholds": thresholds }), "/v1/risk/settings");
    let first = [("if-match", "\"0\"")];
    world.send("PUT", &world.admin.token, path, Some(body), &first).await.expect(200);
    let critical = world.reviewing(&cast.author, "critical").await;
    assert_eq!(critical["risk"]["level"], "critical", "{critical}");
    let response = approve(&world, &cast.reviewer.token, &critical).await;
    response.refused(403, "step_up_required");
}

#[tokio::test]
async fn step_up_required_refuses_reviewers_without_a_passkey() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let eve = world.person("Eve", &["reviewer"]).await;
    let free = world.reviewing(&cast.author, "free").await;
    // The installation may require it from the first vote on.
    let strict = TestServerOptions {
        step_up: Rule::Required,
        ..LockBackend::Rows(LockBackend::SETTINGS).into()
    };
    let strict = world.beside_fitted(&strict).await;
    let voted = strict
        .request("POST", &format!("{}/approve", path_of(&free)))
        .header("authorization", format!("Bearer {}", cast.reviewer.token))
        .header("content-type", "application/json")
        .body(seen(&free).to_string());
    assert_eq!(voted.send().await.unwrap().status(), 403);
    approve(&world, &cast.reviewer.token, &free).await.expect(200);
    // Once anyone in the tenant has a passkey, people without one cannot decide.
    enrol(&world, &eve).await;
    let task = world.reviewing(&cast.author, "this").await;
    let response = approve(&world, &cast.reviewer.token, &task).await;
    let problem = response.refused(403, "step_up_required");
    assert_eq!(problem["has_passkey"], false);
    assert_eq!(problem["next_action"]["call"], "POST /v1/passkeys", "{problem}");
    weigh(&world, 0).await;
    let light = world.reviewing(&cast.author, "light").await;
    approve(&world, &cast.reviewer.token, &light).await.expect(200);
    let mut key = enrol(&world, &cast.reviewer).await;
    key.confirm(&world, &cast.reviewer.token, &problem["step_up"]).await.expect(200);
    approve(&world, &cast.reviewer.token, &task).await.expect(200);
}

/// Makes every sign-in of the world older by this time.
async fn age_sign_ins(world: &World, by: &str) {
    let set = ["signed_in_at", "expires_at"].map(|at| format!("{at} = {at} - interval '{by}'"));
    let sql = format!("UPDATE token SET {} WHERE signed_in_at IS NOT NULL", set.join(", "));
    world.database.run(&sql).await;
}

#[tokio::test]
async fn vote_of_an_old_session_needs_a_passkey_or_a_new_sign_in() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let asked = json!({ "name": "Eve", "roles": ["reviewer"] });
    let eve = world.post(&world.admin.token, "/v1/users", asked).await.expect(201);
    let invitation = world.invite(&world.admin, id(&eve)).await;
    let session = world.accept(&invitation).await.1.unwrap();
    let send = async |path: &str, body: Value| {
        let headers = [&[("cookie", session.as_str())], OWN_PAGE.as_slice()].concat();
        world.send("POST", "", path, Some(body), &headers).await
    };
    weigh(&world, 0).await;
    let vote = async |task: &Value, verb: &str| {
        let mut body = seen(task);
        body["reason"] = json!("checked");
        send(&format!("{}/{verb}", path_of(task)), body).await
    };
    let light = world.reviewing(&cast.author, "light").await;
    vote(&light, "approve").await.expect(200);
    age_sign_ins(&world, "61 minutes").await;
    let light = world.reviewing(&cast.author, "lighter").await;
    let problem = vote(&light, "approve").await.refused(403, "sign_in_too_old");
    assert!(problem["detail"].as_str().unwrap().contains("60 minutes"), "{problem}");
    assert!(problem["signed_in_at"].is_string(), "{problem}");
    // An old session, which may be a stolen one, cannot add the first passkey either.
    let add = send("/v1/passkeys", json!({ "name": "mine" })).await;
    add.refused(403, "sign_in_too_old");
    // A rejection does no harm, and tokens have no sign-in.
    approve(&world, &cast.reviewer.token, &light).await.expect(200);
    let third = world.reviewing(&cast.author, "lightest").await;
    vote(&third, "reject").await.expect(200);
    // The holder of a passkey confirms instead of signing in again.
    age_sign_ins(&world, "-61 minutes").await;
    let offer = send("/v1/passkeys", json!({ "name": "mine" })).await.expect(201);
    let mut key = Authenticator::new();
    let path = format!("/v1/passkeys/{}", id(&offer));
    send(&path, key.created(&offer["options"])).await.expect(201);
    age_sign_ins(&world, "61 minutes").await;
    let fourth = world.reviewing(&cast.author, "fourth").await;
    let problem = vote(&fourth, "approve").await.refused(403, "step_up_required");
    let question = send("/v1/step-up", problem["step_up"].clone()).await.expect(201);
    let path = format!("/v1/step-up/{}", id(&question));
    let given = send(&path, key.word(&question["options"])).await;
    given.expect(200);
}

/// Creates a task in review with the same change for another database.
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
async fn step_up_for_a_batch_covers_exactly_that_batch() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let token = &cast.reviewer.token;
    let mut key = enrol(&world, &cast.reviewer).await;
    let tasks = [twin(&world, &cast, "one").await, twin(&world, &cast, "two").await];
    assert!(tasks.iter().all(|task| task["risk"]["level"] == "high"), "{tasks:?}");
    let mut items = Vec::new();
    for task in &tasks {
        let mut item = seen(task);
        item["approval_id"] = json!(world.request(&cast.reviewer, task).await);
        items.push(item);
    }
    let batch = json!({ "action": "approve", "items": items });
    let path = "/v1/approvals/batch";
    world.post(token, &format!("{path}?dry_run=true"), batch.clone()).await.expect(200);
    let problem = world.post(token, path, batch.clone()).await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"]["about"].as_array().unwrap().len(), 2, "{problem}");
    // Neither a confirmation of each task nor one of a set with another effect is sufficient.
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
async fn override_needs_the_passkeys_of_both_admins() {
    let world = World::new().await;
    let cast = cast(&world).await;
    weigh(&world, 0).await;
    let second = world.person("Second", &["admin"]).await;
    let mut keys = [enrol(&world, &world.admin).await, enrol(&world, &second).await];
    let task = world.reviewing(&cast.author, "burning").await;
    let path = format!("{}/override", path_of(&task));
    let body = json!({ "ticket": "INC-1", "reason": "fire" });
    let matching = [("if-match", &*quoted(&task))];
    let ask =
        async || world.send("POST", &world.admin.token, &path, Some(body.clone()), &matching).await;
    let problem = ask().await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"], json!({ "purpose": "override", "about": [about(&task)] }));
    keys[0].confirm(&world, &world.admin.token, &problem["step_up"]).await.expect(200);
    ask().await.expect(202);
    let path = format!("{path}/confirm");
    let confirm = async || world.post(&second.token, &path, seen(&task)).await;
    let problem = confirm().await.refused(403, "step_up_required");
    keys[0].confirm(&world, &world.admin.token, &problem["step_up"]).await.expect(200);
    confirm().await.refused(403, "step_up_required");
    keys[1].confirm(&world, &second.token, &problem["step_up"]).await.expect(200);
    assert_eq!(confirm().await.expect(200)["state"], "APPROVED");
}

#[tokio::test]
async fn step_up_is_needed_to_publish_policies_and_break_locks() {
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
    let problem = publish(&drafts[0]).await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"]["purpose"], "publish_policy");
    key.confirm(&world, token, &problem["step_up"]).await.expect(200);
    publish(&drafts[1]).await.refused(403, "step_up_required");
    publish(&drafts[0]).await.expect(200);

    let bot = world.agent("bot", &cast.author).await;
    let mut held = Vec::new();
    for name in ["one", "two"] {
        let lock = json!({ "resource": format!("database:{name}"), "mode": "exclusive" });
        let asked = json!({ "resources": [lock], "ttl_seconds": 300 });
        held.push(world.post(&bot.token, "/v1/locks/acquire", asked).await.expect(200));
    }
    let break_it = async |name: &str, holder: &Value| {
        let path = format!("/v1/locks/database/{name}/break");
        world.post(token, &path, json!({ "reason": "it hangs", "lease_hash": holder })).await
    };
    let anybody = Value::Null;
    let problem = break_it("one", &anybody).await.refused(403, "step_up_required");
    let subject = json!({ "purpose": "break_lock", "about": [{ "id": "database:one" }] });
    assert_eq!(problem["step_up"], subject);
    key.confirm(&world, token, &subject).await.expect(200);
    break_it("two", &anybody).await.refused(403, "step_up_required");
    break_it("one", &anybody).await.expect(200);

    let holder = &held[1]["lease_hash"];
    let problem = break_it("two", holder).await.refused(403, "step_up_required");
    assert_eq!(&problem["step_up"]["about"][0]["digest"], holder);
    key.confirm(&world, token, &problem["step_up"]).await.expect(200);
    break_it("two", &anybody).await.refused(403, "step_up_required");
    break_it("two", holder).await.expect(200);
}

/// A caller who may not decide is refused without having to use a passkey.
#[tokio::test]
async fn step_up_is_not_requested_from_unauthorized_callers() {
    let world = World::new().await;
    let cast = cast(&world).await;
    enrol(&world, &cast.author).await;
    let task = world.reviewing(&cast.author, "this").await;
    let own = approve(&world, &cast.author.token, &task).await;
    own.refused(403, "self_approval");
    let mut stale = seen(&task);
    stale["revision"] = json!(7);
    let mut key = enrol(&world, &cast.reviewer).await;
    let path = format!("{}/approve", path_of(&task));
    world.post(&cast.reviewer.token, &path, stale).await.refused(409, "stale_revision");
    // The task is changed after the confirmation, which was for another effect.
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
    let change = Some(json!({ "parameters": { "for": "something else" } }));
    let changed = world.matching("PATCH", &cast.author.token, &path_of(&task), change, &task).await;
    changed.expect(200);
    world.work("review_opener").await;
    let task = world.task(&cast.author, &task).await;
    let response = approve(&world, &cast.reviewer.token, &task).await;
    response.refused(403, "step_up_required");
}

#[tokio::test]
async fn step_up_signature_covers_the_decision() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let mut key = enrol(&world, &cast.reviewer).await;
    let task = world.reviewing(&cast.author, "this").await;
    let subject = json!({ "purpose": "approve", "about": [about(&task)] });
    key.confirm(&world, &cast.reviewer.token, &subject).await.expect(200);
    approve(&world, &cast.reviewer.token, &task).await.expect(200);
    // The expected subject is computed independently, from the task and the database row.
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
