//! Rules proposed by one admin and published by another, and what they change for tasks.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, plan, seen};

cases! {
    a_policy_takes_two_admins_and_is_asked_from_then_on:
        Happy "POST /v1/policies",
        Happy "POST /v1/policy-drafts/{id}/publish",
        Denied "POST /v1/policy-drafts/{id}/publish",
        Conflict "POST /v1/policy-drafts/{id}/publish";
    a_draft_shows_what_it_changes_and_grows_stale:
        Happy "GET /v1/policy-drafts/{id}",
        Happy "POST /v1/policies/{id}/rollback";
    everything_wrong_with_a_document_is_told_with_its_place: Denied "POST /v1/policies";
    a_replay_puts_first_what_would_pass_without_a_person:
        Happy "POST /v1/policies/simulate",
        Denied "POST /v1/policies/simulate",
        Happy "GET /v1/policies";
    a_simulated_task_is_rated_and_explained_and_does_not_exist:
        Happy "POST /v1/simulate",
        Denied "POST /v1/simulate";
    what_was_approved_goes_back_when_stricter_rules_come: Happy "POST /v1/policies";
    policies_are_seen_by_the_tenant_alone:
        Happy "GET /v1/policies/{id}/versions",
        Happy "GET /v1/policy-drafts",
        Denied "GET /v1/policies",
        Denied "GET /v1/policies/{id}/versions",
        Denied "GET /v1/policy-drafts",
        Denied "GET /v1/policy-drafts/{id}";
    a_draft_is_withdrawn_once:
        Happy "DELETE /v1/policy-drafts/{id}",
        Denied "DELETE /v1/policy-drafts/{id}",
        Conflict "DELETE /v1/policy-drafts/{id}";
    a_key_proposes_one_draft:
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

async fn a_policy_takes_two_admins_and_is_asked_from_then_on(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let dbas = [world.person("D1", &["dba"]).await, world.person("D2", &["dba"]).await];
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    assert_eq!((&draft["base_version"], &draft["is_stale"]), (&json!(0), &json!(false)));
    let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
    let own = world.send("POST", &world.admin.token, &path, None, &[]).await;
    assert_eq!(own.refused(403, "not_allowed")["rule"], "second_publisher");
    world.send("POST", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    let published = publish(world, &draft, &second).await;
    assert_eq!((&published["version"], &published["name"]), (&json!(1), &json!("databases")));
    let again = world.send("POST", &second.token, &path, None, &[]).await;
    again.refused(409, "closed");
    let told = "SELECT coalesce(string_agg(concat_ws(' ', kind, object, version,
                    payload->>'name'), '; '), '') FROM outbox WHERE kind LIKE 'policy.%'";
    let told = world.database.session().await.text(told).await;
    let policy = published["policy"].as_str().unwrap();
    assert_eq!(told, format!("policy.published {policy} 1 databases"), "once, by who could");

    let task = world.reviewing(&bob, "under the policy").await;
    for (dba, state) in dbas.iter().zip(["REVIEWING", "APPROVED"]) {
        let request = world.request(dba, &task).await;
        let path = format!("/v1/approvals/{request}/approve");
        let voted = world.post(&dba.token, &path, seen(&task)).await.expect(200);
        assert_eq!(voted["state"], state);
    }
}

async fn a_draft_shows_what_it_changes_and_grows_stale(world: &World) {
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
    let back = format!("/v1/policies/{}/rollback", one["policy"].as_str().unwrap());
    let asked = json!({ "version": 1, "reason": "three are too many" });
    let back = world.post(&world.admin.token, &back, asked).await.expect(201);
    let published = publish(world, &back, &second).await;
    assert_eq!(
        (&published["version"], &published["document"]["require"][0]["min"]),
        (&json!(3), &json!(2))
    );
}

async fn everything_wrong_with_a_document_is_told_with_its_place(world: &World) {
    let document = "name: x\nrequire: [{roles: [dba], min: 0}]\nrespond_within: soon\n";
    let asked = json!({ "document": document });
    let told = world.post(&world.admin.token, "/v1/policies", asked).await;
    let told = told.refused(422, "invalid_policy");
    let places: Vec<_> = told["errors"]
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

async fn a_replay_puts_first_what_would_pass_without_a_person(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    for number in 0..3 {
        let task = world.draft(&bob, &format!("task {number}")).await;
        world.submit(&bob, &task).await;
    }
    let same =
        "name: nothing\nmatch: {task_types: [\"other.*\"]}\nrequire: [{roles: [x], min: 9}]\n";
    let asked = json!({ "document": same, "days": 1 });
    let told = world.post(&world.admin.token, "/v1/policies/simulate", asked).await.expect(200);
    assert_eq!(
        (&told["examined"], &told["same"], &told["tasks"]),
        (&json!(3), &json!(3), &json!([]))
    );
    let open = "name: open\nauto_approve_if: {risk_below: 100, accept_declared_effect: true}\n";
    let asked = json!({ "document": open, "days": 1 });
    let told = world.post(&world.admin.token, "/v1/policies/simulate", asked).await.expect(200);
    assert_eq!(
        (&told["without_a_person"], &told["tasks"][0]["without_a_person"]),
        (&json!(3), &json!(true))
    );
    let asked = json!({ "document": open, "days": 1 });
    world.post(&bob.token, "/v1/policies/simulate", asked).await.refused(403, "not_allowed");
    let policies = world.get(&world.admin.token, "/v1/policies").await.expect(200);
    assert_eq!(policies["items"], json!([]), "nothing was written");
}

async fn a_simulated_task_is_rated_and_explained_and_does_not_exist(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let told = world.post(&bob.token, "/v1/simulate", plan("maybe")).await.expect(200);
    assert_eq!(told["would_pass_without_a_person"], false);
    assert!(told["risk"]["score"].as_u64().unwrap() > 0);
    let may: Vec<_> = told["explanation"]["may_answer"].as_array().unwrap().iter().collect();
    assert!(may.iter().any(|who| who["user"] == rea.id.as_str()), "{told}");
    assert!(may.iter().all(|who| who["user"] != bob.id.as_str()), "{told}");
    let tasks = world.get(&bob.token, "/v1/tasks").await.expect(200);
    assert_eq!(tasks["items"], json!([]));
    world.post(&rea.token, "/v1/simulate", plan("maybe")).await.refused(403, "not_allowed");
}

async fn what_was_approved_goes_back_when_stricter_rules_come(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let task = world.reviewing(&bob, "approved under no policy").await;
    let request = world.request(&rea, &task).await;
    let approve = format!("/v1/approvals/{request}/approve");
    world.post(&rea.token, &approve, seen(&task)).await.expect(200);
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    publish(world, &draft, &second).await;
    world.work("basis_checker").await;
    let path = format!("/v1/tasks/{}", id(&task));
    let task = world.get(&bob.token, &path).await.expect(200);
    assert_eq!(task["state"], "SUBMITTED", "{task}");
}

async fn policies_are_seen_by_the_tenant_alone(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    let drafts = world.get(&bob.token, "/v1/policy-drafts").await.expect(200);
    assert_eq!(drafts["items"][0]["id"], draft["id"]);
    let versions = format!("/v1/policies/{}/versions", draft["policy"].as_str().unwrap());
    let told = world.get(&bob.token, &versions).await.expect(200);
    assert_eq!(told["items"], json!([]), "it is only proposed");
    let (_, other) = world.tenant("other").await;
    world.get(&other.token, &versions).await.refused(404, "not_found");
    publish(world, &draft, &second).await;
    let told = world.get(&bob.token, &versions).await.expect(200);
    assert_eq!(told["items"].as_array().unwrap().len(), 1);
    assert_eq!(told["items"][0]["confirmed_by"], second.id.as_str());
    for path in ["/v1/policies", "/v1/policy-drafts"] {
        world.get("", path).await.refused(401, "unauthenticated");
    }
    world.get(&other.token, &versions).await.refused(404, "not_found");
    let path = format!("/v1/policy-drafts/{}", id(&draft));
    world.get(&other.token, &path).await.refused(404, "not_found");
    let none = world.get(&other.token, "/v1/policies").await.expect(200);
    assert_eq!(none["items"], json!([]));
}

async fn a_draft_is_withdrawn_once(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let draft = propose(world, &world.admin, TWO_DBAS).await;
    let path = format!("/v1/policy-drafts/{}", id(&draft));
    world.send("DELETE", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    let gone = world.send("DELETE", &world.admin.token, &path, None, &[]).await.expect(200);
    assert_eq!(gone["outcome"], "withdrawn");
    world.send("DELETE", &world.admin.token, &path, None, &[]).await.refused(409, "closed");
}

async fn a_key_proposes_one_draft(world: &World) {
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
    let policy = policies["items"][0]["policy"].as_str().unwrap().to_owned();
    let path = format!("/v1/policies/{policy}/rollback");
    let bodies = ["one", "two"].map(|reason| json!({ "version": 1, "reason": reason }));
    world.post(&bob.token, &path, bodies[0].clone()).await.refused(403, "not_allowed");
    let never = json!({ "version": u32::MAX, "reason": "one" });
    world.post(admin, &path, never).await.refused(404, "not_found");
    world.twice("POST", admin, &path, bodies).await;
}
