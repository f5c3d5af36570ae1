//! Policies are proposed by one admin and published by another, and change how tasks are reviewed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::authenticator::enrol;
use crate::coverage::cases;
use crate::rule_changes::{end_setup, entries};
use crate::world::{Answer, Person, World, id, path_of, plan, seen};

cases! {
    policy_needs_two_admins_and_then_applies:
        Happy "POST /v1/policies",
        Happy "POST /v1/policy-drafts/{id}/publish",
        Denied "POST /v1/policy-drafts/{id}/publish",
        Conflict "POST /v1/policy-drafts/{id}/publish";
    policy_draft_shows_its_changes_and_becomes_stale:
        Happy "GET /v1/policy-drafts/{id}",
        Happy "POST /v1/policies/{id}/rollback";
    policy_errors_are_all_reported_with_their_positions: Denied "POST /v1/policies";
    policy_replay_lists_auto_approved_tasks_first:
        Happy "POST /v1/policies/replay",
        Denied "POST /v1/policies/replay",
        Happy "GET /v1/policies";
    evaluated_task_is_rated_and_explained_but_not_stored:
        Happy "POST /v1/tasks/evaluate",
        Denied "POST /v1/tasks/evaluate";
    approved_task_returns_to_review_under_a_stricter_policy: Happy "POST /v1/policies";
    policies_are_visible_only_to_their_tenant:
        Happy "GET /v1/policies/{id}/versions",
        Happy "GET /v1/policy-drafts",
        Denied "GET /v1/policies",
        Denied "GET /v1/policies/{id}/versions",
        Denied "GET /v1/policy-drafts",
        Denied "GET /v1/policy-drafts/{id}";
    policy_draft_is_withdrawn_once:
        Happy "DELETE /v1/policy-drafts/{id}",
        Denied "DELETE /v1/policy-drafts/{id}",
        Conflict "DELETE /v1/policy-drafts/{id}";
    idempotency_key_proposes_one_policy_draft:
        Conflict "POST /v1/policies",
        Conflict "POST /v1/policies/{id}/rollback",
        Denied "POST /v1/policies/{id}/rollback";
}

const TWO_DBAS: &str = "name: databases\nmatch: {task_types: [\"db.*\"]}\n\
                        require: [{roles: [dba], min: 2}]\n";

async fn propose(world: &World, admin: &Person, document: &str) -> Value {
    let asked = json!({ "document": document });
    world.post(&admin.token, "/v1/policies", asked).await.expect(201)
}

async fn publish(world: &World, draft: &Value, admin: &Person) -> Value {
    let path = format!("/v1/policy-drafts/{}/publish", id(draft));
    world.send("POST", &admin.token, &path, None, &[]).await.expect(200)
}

async fn policy_needs_two_admins_and_then_applies(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    end_setup(world).await;
    let bob = world.person("Bob", &["author"]).await;
    let dbas = [world.person("D1", &["dba"]).await, world.person("D2", &["dba"]).await];
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    assert_eq!((&draft["base_version"], &draft["is_stale"]), (&json!(0), &json!(false)));
    assert_eq!(draft["publication"], "second_admin");
    let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
    let own = world.send("POST", &world.admin.token, &path, None, &[]).await;
    assert_eq!(own.refused(403, "not_allowed")["rule"], "second_publisher");
    world.send("POST", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    let published = publish(world, &draft, &second).await;
    assert_eq!((&published["version"], &published["name"]), (&json!(1), &json!("databases")));
    let again = world.send("POST", &second.token, &path, None, &[]).await;
    again.refused(409, "closed");
    let sql = "SELECT coalesce(string_agg(concat_ws(' ', kind, object, version,
                    payload->>'name'), '; '), '') FROM outbox WHERE kind LIKE 'policy.%'";
    let events = world.database.session().await.text(sql).await;
    let policy = published["policy_id"].as_str().unwrap();
    assert_eq!(
        events,
        format!("policy.published {policy} 1 databases"),
        "the policy is published once"
    );

    let task = world.reviewing(&bob, "under the policy").await;
    for (dba, state) in dbas.iter().zip(["REVIEWING", "APPROVED"]) {
        world.request(dba, &task).await;
        let path = format!("{}/approve", path_of(&task));
        let voted = world.post(&dba.token, &path, seen(&task)).await.expect(200);
        assert_eq!(voted["state"], state);
    }
}

async fn policy_draft_shows_its_changes_and_becomes_stale(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let first = propose(world, &world.admin, TWO_DBAS).await;
    publish(world, &first, &second).await;
    let three = propose(world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 3")).await;
    let change = json!([{ "path": "require[0].min", "before": 2, "after": 3 }]);
    assert_eq!(three["changes"], change);
    let one = propose(world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 1")).await;
    publish(world, &three, &second).await;
    let path = format!("/v1/policy-drafts/{}", id(&one));
    assert_eq!(world.get(&second.token, &path).await.expect(200)["is_stale"], true);
    let stale = world.send("POST", &second.token, &format!("{path}/publish"), None, &[]).await;
    stale.refused(409, "closed");
    let back = format!("/v1/policies/{}/rollback", one["policy_id"].as_str().unwrap());
    let asked = json!({ "version": 1, "reason": "three are too many" });
    let back = world.post(&world.admin.token, &back, asked).await.expect(201);
    let published = publish(world, &back, &second).await;
    assert_eq!(
        (&published["version"], &published["document"]["require"][0]["min"]),
        (&json!(3), &json!(2))
    );
}

async fn policy_errors_are_all_reported_with_their_positions(world: &World) {
    let document = "name: x\nrequire: [{roles: [dba], min: 0}]\nrespond_within: soon\n";
    let asked = json!({ "document": document });
    let response = world.post(&world.admin.token, "/v1/policies", asked).await;
    let problem = response.refused(422, "invalid_policy");
    let places: Vec<_> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| (error["line"].as_u64().unwrap(), error["path"].as_str().unwrap()))
        .collect();
    assert_eq!(places, [(2, "require[0].min"), (3, "respond_within")]);
    let bob = world.person("Bob", &["author"]).await;
    let asked = json!({ "document": TWO_DBAS });
    world.post(&bob.token, "/v1/policies", asked).await.refused(403, "not_allowed");
}

async fn policy_replay_lists_auto_approved_tasks_first(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..3 {
        let task = world.draft(&bob, &format!("task {number}")).await;
        world.submit(&bob, &task).await;
    }
    let same =
        "name: nothing\nmatch: {task_types: [\"other.*\"]}\nrequire: [{roles: [x], min: 9}]\n";
    let asked = json!({ "document": same, "days": 1 });
    let replay = world.post(&world.admin.token, "/v1/policies/replay", asked).await.expect(200);
    assert_eq!(
        (&replay["examined"], &replay["same"], &replay["tasks"]),
        (&json!(3), &json!(3), &json!([]))
    );
    let open = "name: open\nauto_approve_if: {risk_below: 100, accept_declared_effect: true}\n";
    let asked = json!({ "document": open, "days": 1 });
    let replay = world.post(&world.admin.token, "/v1/policies/replay", asked).await.expect(200);
    assert_eq!(
        (&replay["without_a_person"], &replay["tasks"][0]["without_a_person"]),
        (&json!(3), &json!(true))
    );
    let asked = json!({ "document": open, "days": 1 });
    world.post(&bob.token, "/v1/policies/replay", asked).await.refused(403, "not_allowed");
    let policies = world.get(&world.admin.token, "/v1/policies").await.expect(200);
    assert_eq!(policies["items"], json!([]), "nothing was written");
}

async fn evaluated_task_is_rated_and_explained_but_not_stored(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let evaluated = world.post(&bob.token, "/v1/tasks/evaluate", plan("maybe")).await.expect(200);
    assert_eq!(evaluated["would_pass_without_a_person"], false);
    assert!(evaluated["risk"]["score"].as_u64().unwrap() > 0);
    let may: Vec<_> = evaluated["explanation"]["may_answer"].as_array().unwrap().iter().collect();
    assert!(may.iter().any(|who| who["user_id"] == rea.id.as_str()), "{evaluated}");
    assert!(may.iter().all(|who| who["user_id"] != bob.id.as_str()), "{evaluated}");
    let tasks = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"], json!([]));
    world.post(&rea.token, "/v1/tasks/evaluate", plan("maybe")).await.refused(403, "not_allowed");
}

async fn approved_task_returns_to_review_under_a_stricter_policy(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "approved under no policy").await;
    world.request(&rea, &task).await;
    let approve = format!("{}/approve", path_of(&task));
    world.post(&rea.token, &approve, seen(&task)).await.expect(200);
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    publish(world, &draft, &second).await;
    world.work("basis_checker").await;
    let path = format!("/v1/tasks/{}", id(&task));
    let task = world.get(&bob.token, &path).await.expect(200);
    assert_eq!(task["state"], "SUBMITTED", "{task}");
}

async fn policies_are_visible_only_to_their_tenant(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    let drafts = world.get(&bob.token, "/v1/policy-drafts").await.expect(200);
    assert_eq!(drafts["items"][0]["id"], draft["id"]);
    let versions = format!("/v1/policies/{}/versions", draft["policy_id"].as_str().unwrap());
    let listed = world.get(&bob.token, &versions).await.expect(200);
    assert_eq!(listed["items"], json!([]), "the policy is only proposed");
    let (_, other) = world.tenant("other").await;
    world.get(&other.token, &versions).await.refused(404, "not_found");
    publish(world, &draft, &second).await;
    let listed = world.get(&bob.token, &versions).await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["confirmed_by"], second.id.as_str());
    for path in ["/v1/policies", "/v1/policy-drafts"] {
        world.get("", path).await.refused(401, "unauthenticated");
    }
    world.get(&other.token, &versions).await.refused(404, "not_found");
    let path = format!("/v1/policy-drafts/{}", id(&draft));
    world.get(&other.token, &path).await.refused(404, "not_found");
    let none = world.get(&other.token, "/v1/policies").await.expect(200);
    assert_eq!(none["items"], json!([]));
}

async fn policy_draft_is_withdrawn_once(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    let path = format!("/v1/policy-drafts/{}", id(&draft));
    world.send("DELETE", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    let gone = world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    assert_eq!(gone["outcome"], "withdrawn");
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.refused(409, "closed");
}

async fn idempotency_key_proposes_one_policy_draft(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let admin = &world.admin.token;
    let bodies =
        ["min: 2", "min: 3"].map(|min| json!({ "document": TWO_DBAS.replace("min: 2", min) }));
    world.twice("POST", admin, "/v1/policies", bodies).await;
    for min in ["min: 4", "min: 5"] {
        let draft = propose(world, &world.admin, &TWO_DBAS.replace("min: 2", min)).await;
        publish(world, &draft, &second).await;
    }
    let policies = world.get(admin, "/v1/policies").await.expect(200);
    let policy = policies["items"][0]["policy_id"].as_str().unwrap().to_owned();
    let path = format!("/v1/policies/{policy}/rollback");
    let bodies = ["one", "two"].map(|reason| json!({ "version": 1, "reason": reason }));
    world.post(&bob.token, &path, bodies[0].clone()).await.refused(403, "not_allowed");
    let never = json!({ "version": u32::MAX, "reason": "one" });
    world.post(admin, &path, never).await.refused(404, "not_found");
    world.twice("POST", admin, &path, bodies).await;
}

async fn try_publish(world: &World, draft: &Value, who: &Person) -> Answer {
    let path = format!("/v1/policy-drafts/{}/publish", id(draft));
    world.send("POST", &who.token, &path, None, &[]).await
}

async fn shown(world: &World, draft: &Value) -> Value {
    let path = format!("/v1/policy-drafts/{}", id(draft));
    world.get(&world.admin.token, &path).await.expect(200)
}

async fn change(world: &World, change: &Value) -> Value {
    let path = format!("/v1/pending-changes/{}", id(change));
    world.get(&world.admin.token, &path).await.expect(200)
}

/// The minimum number of people in the version of the only policy that is in force.
async fn min_in_force(world: &World) -> Option<u64> {
    let policies = world.get(&world.admin.token, "/v1/policies").await.expect(200);
    policies["items"][0]["document"]["require"][0]["min"].as_u64()
}

async fn pass_a_day(world: &World) {
    world.pass(Duration::from_mins(24 * 60 + 1)).await;
    world.work("change_applier").await;
}

#[tokio::test]
async fn policy_in_setup_is_published_by_its_proposer_and_marked() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let draft = propose(&world, &world.admin, TWO_DBAS).await;
    assert_eq!(draft["publication"], "at_once");
    assert_eq!(draft["next_action"]["message"], "publish it: it takes effect at once");
    try_publish(&world, &draft, &bob).await.refused(403, "not_allowed");
    let published = publish(&world, &draft, &world.admin).await;
    assert_eq!((&published["version"], &published["confirmed_by"]), (&json!(1), &Value::Null));
    assert_eq!(entries(&world, "policy.publish").await[0]["setup"], true);
    try_publish(&world, &draft, &world.admin).await.refused(409, "closed");
    let looser = propose(&world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 1")).await;
    publish(&world, &looser, &world.admin).await;
    assert_eq!(min_in_force(&world).await, Some(1));
}

#[tokio::test]
async fn policy_of_one_admin_waits_a_day_if_it_is_looser() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "before the policy").await;
    end_setup(&world).await;
    let lax = "name: databases\nrequire: [{roles: [dba, reviewer], min: 2}]\n";
    let draft = propose(&world, &world.admin, lax).await;
    assert_eq!(draft["publication"], "after_wait");
    let waiting = try_publish(&world, &draft, &world.admin).await.expect(202);
    assert_eq!(
        (&waiting["kind"], &waiting["object"]),
        (&json!("policy.publish"), &json!("databases"))
    );
    assert!(waiting["takes_effect_at"].is_string(), "{waiting}");
    let sentence = "the policy databases applies to its first tasks";
    assert_eq!(waiting["findings"], json!([{ "verdict": "mixed", "sentence": sentence }]));
    assert_eq!(waiting["tasks"][0]["task_id"], task["id"], "replayed: {waiting}");
    assert_eq!(min_in_force(&world).await, None, "nothing has changed yet");
    let notices = world.get(&rea.token, "/v1/notifications").await.expect(200);
    assert_eq!(notices["items"][0]["kind"], "change.proposed", "{notices}");
    assert_eq!(shown(&world, &draft).await["publication"], "waiting");
    let again = try_publish(&world, &draft, &world.admin).await.refused(409, "closed");
    assert!(again["detail"].as_str().unwrap().contains("pending change"), "{again}");

    pass_a_day(&world).await;
    assert_eq!(change(&world, &waiting).await["outcome"], "applied");
    assert_eq!(min_in_force(&world).await, Some(2));
    let closed = shown(&world, &draft).await;
    assert_eq!(
        (&closed["outcome"], &closed["publication"]),
        (&json!("published"), &json!("closed"))
    );
    let entry = &entries(&world, "policy.publish").await[0];
    assert_eq!(
        (&entry["setup"], &entry["who"]["worker"]),
        (&json!(false), &json!("change_applier"))
    );
}

#[tokio::test]
async fn policy_of_one_admin_takes_effect_at_once_if_stricter() {
    let world = World::new().await;
    let rea = world.person("Rea", &["reviewer"]).await;
    world.policy(TWO_DBAS).await;
    end_setup(&world).await;
    let stricter = propose(&world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 3")).await;
    assert_eq!(stricter["publication"], "at_once");
    let published = publish(&world, &stricter, &world.admin).await;
    assert_eq!((&published["version"], &published["confirmed_by"]), (&json!(2), &Value::Null));
    assert_eq!(entries(&world, "policy.publish").await[0]["setup"], false);

    let looser = propose(&world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 1")).await;
    assert_eq!(looser["publication"], "after_wait");
    let waiting = try_publish(&world, &looser, &world.admin).await.expect(202);
    let path = format!("/v1/pending-changes/{}/object", id(&waiting));
    world.post(&rea.token, &path, json!({ "reason": "one is too few" })).await.expect(200);
    pass_a_day(&world).await;
    assert_eq!(min_in_force(&world).await, Some(3));
    assert_eq!(shown(&world, &looser).await["publication"], "after_wait", "it can be tried again");

    let waiting = try_publish(&world, &looser, &world.admin).await.expect(202);
    publish(&world, &stricter_again(&world).await, &world.admin).await;
    world.pass(Duration::from_hours(49)).await;
    world.work("change_applier").await;
    assert_eq!(change(&world, &waiting).await["outcome"], "outdated");
    assert_eq!(min_in_force(&world).await, Some(4));
}

async fn stricter_again(world: &World) -> Value {
    propose(world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 4")).await
}

#[tokio::test]
async fn policy_that_waits_is_published_by_a_new_second_admin() {
    let world = World::new().await;
    let second = world.person("Second", &[]).await;
    end_setup(&world).await;
    let draft = propose(&world, &world.admin, TWO_DBAS).await;
    let waiting = try_publish(&world, &draft, &world.admin).await.expect(202);
    let user: ade_core::ids::UserId = second.id.parse().unwrap();
    let grant = format!(
        "INSERT INTO user_role (tenant_id, user_id, role)
         SELECT tenant_id, id, 'admin' FROM app_user WHERE id = '{}'",
        user.uuid()
    );
    world.database.run(&grant).await;
    pass_a_day(&world).await;
    assert_eq!(min_in_force(&world).await, None, "it waits for the second admin");
    let path = format!("/v1/pending-changes/{}/publish", id(&waiting));
    world.send("POST", &world.admin.token, &path, None, &[]).await.refused(403, "not_allowed");
    let published = world.send("POST", &second.token, &path, None, &[]).await.expect(200);
    assert_eq!(published["confirmed_by"], second.id.as_str());
    let other = propose(&world, &world.admin, &TWO_DBAS.replace("min: 2", "min: 3")).await;
    let own = try_publish(&world, &other, &world.admin).await;
    assert_eq!(own.refused(403, "not_allowed")["rule"], "second_publisher");
}

#[tokio::test]
async fn policy_of_one_admin_needs_a_passkey() {
    let world = World::new().await;
    let mut key = enrol(&world, &world.admin).await;
    end_setup(&world).await;
    let draft = propose(&world, &world.admin, TWO_DBAS).await;
    let problem = try_publish(&world, &draft, &world.admin).await.refused(403, "step_up_required");
    assert_eq!(problem["step_up"]["purpose"], "publish_policy");
    key.confirm(&world, &world.admin.token, &problem["step_up"]).await.expect(200);
    try_publish(&world, &draft, &world.admin).await.expect(202);
}
