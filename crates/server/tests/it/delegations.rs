//! Delegations: standing ones, the delegation of a single request, and cycles. Also escalations,
//! which ask more people over time and never approve automatically.

use std::time::Duration;

use ade_core::ids::UserId;
use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, seen};

cases! {
    delegation_transfer_can_move_pending_requests:
        Happy "POST /v1/delegations",
        Happy "DELETE /v1/delegations/{id}",
        Denied "DELETE /v1/delegations/{id}",
        Conflict "DELETE /v1/delegations/{id}";
    delegation_reports_requests_that_stay_and_is_replayed:
        Happy "POST /v1/delegations",
        Conflict "POST /v1/delegations";
    delegation_with_a_cycle_or_invalid_date_is_refused: Denied "POST /v1/delegations";
    approval_request_is_delegated_to_an_eligible_reviewer:
        Happy "POST /v1/approvals/{id}/delegate",
        Denied "POST /v1/approvals/{id}/delegate",
        Conflict "POST /v1/approvals/{id}/delegate";
    escalation_that_is_due_widens_the_group: Happy "POST /v1/policies";
    delegation_is_listed_and_created_once_per_key:
        Happy "GET /v1/delegations",
        Denied "GET /v1/delegations",
        Conflict "POST /v1/delegations";
    delegation_resolution_shows_each_way_and_its_reason:
        Happy "GET /v1/delegations/resolve",
        Denied "GET /v1/delegations/resolve";
    delegation_cycle_in_the_database_is_reported_and_ignored: Happy "GET /v1/delegations/resolve";
}

const LATER: &str = "2100-01-01T00:00:00Z";

fn transfer(to: &Person) -> Value {
    json!({ "delegate_id": to.id, "kind": "transfer", "expires_at": LATER })
}

/// The reasons why this person may vote, from the explanation of the task.
async fn why(world: &World, task: &Value, person: &Person) -> Value {
    let path = format!("/v1/tasks/{}/explain", id(task));
    let explained = world.get(&world.admin.token, &path).await.expect(200);
    let mut reviewers = explained["may_answer"].as_array().unwrap().iter();
    let found = reviewers.find(|one| one["user_id"] == person.id.as_str());
    found.unwrap_or_else(|| panic!("{explained}"))["because"].clone()
}

async fn delegation_transfer_can_move_pending_requests(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let waiting = world.reviewing(&bob, "asked before").await;
    assert_eq!(why(world, &waiting, &cas).await, json!(["has the role reviewer"]));
    let mut body = transfer(&cas);
    body["move_pending"] = json!(true);
    let made = world.post(&rea.token, "/v1/delegations", body).await.expect(201);
    assert_eq!((&made["moved"], &made["stayed"]), (&json!(1), &json!([])), "{made}");
    let inbox = world.get(&rea.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]));
    let given = format!("answers for {} by delegation", rea.id);
    let reasons = why(world, &waiting, &cas).await;
    assert!(reasons.as_array().unwrap().contains(&json!(given)), "{reasons}");
    world.request(&cas, &waiting).await;
    let approve = format!("{}/approve", path_of(&waiting));
    let voted = world.post(&cas.token, &approve, seen(&waiting)).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
    let path = format!("/v1/delegations/{}", id(&made));
    world.send("DELETE", &bob.token, &path, None, &[]).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&made), "delegation.edit").await, 1);
    let ended = world.send("DELETE", &rea.token, &path, None, &[]).await.expect(200);
    assert_eq!(ended["active"], false);
    world.send("DELETE", &rea.token, &path, None, &[]).await.refused(409, "closed");
}

async fn delegation_reports_requests_that_stay_and_is_replayed(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["author", "reviewer"]).await;
    let moving = world.reviewing(&bob, "goes along").await;
    let staying = world.reviewing(&cas, "their own").await;
    let request = world.request(&rea, &staying).await;
    let mut body = transfer(&cas);
    body["move_pending"] = json!(true);
    let key = [("idempotency-key", "away")];
    let send = || world.send("POST", &rea.token, "/v1/delegations", Some(body.clone()), &key);
    let made = send().await.expect(201);
    assert_eq!(made["moved"], 1, "{made}");
    let stayed = made["stayed"].as_array().unwrap();
    assert_eq!(stayed.len(), 1, "{made}");
    assert_eq!(stayed[0]["approval_id"], request.as_str());
    assert_eq!(stayed[0]["code"], "delegate_not_allowed");
    assert!(stayed[0]["detail"].as_str().unwrap().contains(&cas.id), "{made}");
    // The pending requests agree with the response, and a repetition returns the same response.
    assert_eq!(world.request(&rea, &staying).await, request);
    world.request(&cas, &moving).await;
    let again = send().await;
    assert!(again.is_repeated, "{}", again.body);
    assert_eq!(again.expect(201), made);
}

async fn delegation_with_a_cycle_or_invalid_date_is_refused(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let dan = world.person("Dan", &["reviewer"]).await;
    for (from, to) in [(&rea, &cas), (&cas, &dan)] {
        world.post(&from.token, "/v1/delegations", transfer(to)).await.expect(201);
    }
    let refused = world.post(&dan.token, "/v1/delegations", transfer(&rea)).await;
    let refused = refused.refused(422, "invalid_body");
    let cycle = format!("{} → {} → {} → {}", dan.id, rea.id, cas.id, dan.id);
    assert!(refused["detail"].as_str().unwrap().contains(&cycle), "{refused}");
    let mut over = transfer(&cas);
    over["expires_at"] = json!("2020-01-01T00:00:00Z");
    world.post(&dan.token, "/v1/delegations", over).await.refused(422, "invalid_body");
    world.post(&dan.token, "/v1/delegations", transfer(&dan)).await.refused(422, "invalid_body");
    let mut others = transfer(&cas);
    others["owner_id"] = json!(rea.id);
    let refused = world.post(&dan.token, "/v1/delegations", others.clone()).await;
    refused.refused(403, "not_allowed");
    world.post(&world.admin.token, "/v1/delegations", others).await.expect(201);
}

async fn approval_request_is_delegated_to_an_eligible_reviewer(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let task = world.reviewing(&bob, "handed on").await;
    let request = world.request(&rea, &task).await;
    let path = format!("/v1/approvals/{request}/delegate");
    let own = world.post(&bob.token, &path, json!({ "delegate_id": cas.id })).await;
    own.refused(403, "self_approval");
    let to_author = world.post(&rea.token, &path, json!({ "delegate_id": bob.id })).await;
    to_author.refused(409, "delegate_not_allowed");
    let handed = world.post(&rea.token, &path, json!({ "delegate_id": cas.id })).await.expect(200);
    assert_eq!(handed["state"], "REVIEWING");
    let asked = world.get(&bob.token, &format!("/v1/tasks/{}/approvals", id(&task))).await;
    let asked = asked.expect(200);
    let of = |person: &Person| {
        let all = asked["approvals"].as_array().unwrap();
        all.iter().find(|asked| asked["reviewer_id"] == person.id.as_str()).unwrap().clone()
    };
    assert_eq!(of(&rea)["status"], "DELEGATED");
    assert_eq!(of(&cas)["status"], "PENDING");
    let handed = format!("was handed the request of {}", rea.id);
    assert_eq!(why(world, &task, &cas).await, json!(["has the role reviewer", handed]));
}

async fn escalation_that_is_due_widens_the_group(world: &World) {
    let second = world.person("Second", &["admin"]).await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Dba", &["dba"]).await;
    let lead = world.person("Lead", &["lead"]).await;
    let document = "name: databases\nrequire: [{roles: [dba], min: 1}]\nrespond_within: 48h\n\
                    escalation: [{after: 4h, widen: {roles: [lead]}}]\n";
    let draft = json!({ "document": document });
    let draft = world.post(&world.admin.token, "/v1/policies", draft).await.expect(201);
    let publish = format!("/v1/policy-drafts/{}/publish", id(&draft));
    world.send("POST", &second.token, &publish, None, &[]).await.expect(200);
    let task = world.reviewing(&bob, "slow").await;
    assert_eq!(world.work("review_escalator").await.items, 0, "not yet");
    let inbox = world.get(&lead.token, "/v1/approvals").await.expect(200);
    assert_eq!(inbox["items"], json!([]));
    world.pass(Duration::from_hours(5)).await;
    assert_eq!(world.work("review_escalator").await.items, 1);
    world.request(&lead, &task).await;
    let approve = format!("{}/approve", path_of(&task));
    let voted = world.post(&lead.token, &approve, seen(&task)).await.expect(200);
    assert_eq!(voted["state"], "APPROVED");
}

async fn delegation_is_listed_and_created_once_per_key(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let mut other = transfer(&cas);
    other["kind"] = json!("follow");
    world.twice("POST", &rea.token, "/v1/delegations", [transfer(&cas), other]).await;
    let listed = world.get(&rea.token, "/v1/delegations").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let path = format!("/v1/delegations?owner_id={}", rea.id);
    assert_eq!(world.get(&cas.token, &path).await.expect(200), listed);
    world.get("", "/v1/delegations").await.refused(401, "unauthenticated");
}

/// Formats who acts, as `route chain`, and each way, as `kind path: because`, with people's names.
fn described(resolved: &Value, people: &[(&str, &Person)]) -> Vec<String> {
    let name = |id: &Value| {
        let known = people.iter().find(|(_, person)| id == person.id.as_str());
        known.map_or("?", |(name, _)| *name)
    };
    let path =
        |ids: &Value| ids.as_array().unwrap().iter().map(name).collect::<Vec<&str>>().join(" → ");
    let acting = resolved["acting"].as_array().unwrap().iter();
    let acting =
        acting.map(|one| format!("{} {}", one["route"].as_str().unwrap(), path(&one["chain"])));
    let ways = resolved["ways"].as_array().unwrap().iter().map(|way| {
        let because = way["because"][0].as_str().unwrap_or("acts").to_owned();
        format!("{} {}: {because}", way["kind"].as_str().unwrap(), path(&way["path"]))
    });
    acting.chain(ways).collect()
}

async fn delegation_resolution_shows_each_way_and_its_reason(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let dan = world.person("Dan", &["reviewer"]).await;
    let people = [("Bob", &bob), ("Rea", &rea), ("Cas", &cas), ("Dan", &dan)];
    let resolve = "/v1/delegations/resolve";
    let alone = world.get(&rea.token, resolve).await.expect(200);
    assert_eq!(described(&alone, &people), ["own Rea"]);

    let mut risky = transfer(&dan);
    risky["conditions"] = json!({ "risk_above": 99 });
    world.post(&rea.token, "/v1/delegations", risky).await.expect(201);
    let some = world.get(&rea.token, resolve).await.expect(200);
    let conditional = ["own Rea", "transfer Rea → Dan", "transfer Rea → Dan: acts"];
    assert_eq!(described(&some, &people), conditional);
    assert_eq!(some["ways"][0]["steps"][0]["conditions"]["risk_above"], 99);

    let mut further = transfer(&cas);
    further["cascade"] = json!(true);
    world.post(&rea.token, "/v1/delegations", further).await.expect(201);
    world.post(&cas.token, "/v1/delegations", transfer(&bob)).await.expect(201);
    let all = world.get(&rea.token, resolve).await.expect(200);
    let cascading = [
        "transfer Rea → Dan",
        "transfer Rea → Cas → Bob",
        "transfer Rea → Dan: acts",
        "transfer Rea → Cas → Bob: acts",
    ];
    assert_eq!(described(&all, &people), cascading);

    let task = world.reviewing(&bob, "asked about").await;
    let path = format!("{resolve}?task_id={}", id(&task));
    let asked = world.get(&rea.token, &path).await.expect(200);
    let risk = &task["risk"]["score"];
    let of_task = [
        "own Rea".to_owned(),
        format!("transfer Rea → Dan: the delegation covers risk above 99, the task has {risk}"),
        format!("transfer Rea → Cas → Bob: {} cannot approve this task in their own right", bob.id),
    ];
    assert_eq!(described(&asked, &people), of_task, "{asked}");
    assert_eq!((&asked["task_id"], &asked["user_id"]), (&task["id"], &json!(rea.id)));
    // The resolution agrees with the review: the request waits for Rea herself.
    world.request(&rea, &task).await;

    let path = format!("{resolve}?user_id={}", rea.id);
    assert_eq!(
        described(&world.get(&world.admin.token, &path).await.expect(200), &people),
        cascading
    );
    world.get(&cas.token, &path).await.refused(403, "not_allowed");
    world.get("", resolve).await.refused(401, "unauthenticated");
    let path = format!("{resolve}?user_id=usr_{}", "0".repeat(26));
    world.get(&world.admin.token, &path).await.refused(404, "not_found");
    let path = format!("{resolve}?task_id=task_{}", "0".repeat(26));
    world.get(&rea.token, &path).await.refused(404, "not_found");
}

/// The server refuses cycles, but delegations that begin at different times may form one.
async fn delegation_cycle_in_the_database_is_reported_and_ignored(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let cas = world.person("Cas", &["reviewer"]).await;
    let dan = world.person("Dan", &["reviewer"]).await;
    for (from, to) in [(&rea, &cas), (&cas, &dan)] {
        let mut on = transfer(to);
        on["cascade"] = json!(true);
        world.post(&from.token, "/v1/delegations", on).await.expect(201);
    }
    let [to, from] = [&rea, &dan].map(|person| person.id.parse::<UserId>().unwrap().uuid());
    world
        .database
        .run(&format!(
            "INSERT INTO delegation SELECT (jsonb_populate_record(d, jsonb_build_object(
                 'id', uuid_v7(), 'owner_id', '{from}', 'delegate_to', '{to}'))).*
               FROM delegation d WHERE d.delegate_to = '{from}'"
        ))
        .await;
    let resolved = world.get(&rea.token, "/v1/delegations/resolve").await.expect(200);
    let people = [("Rea", &rea), ("Cas", &cas), ("Dan", &dan)];
    assert_eq!(described(&resolved, &people), ["own Rea"]);
    let fault = &resolved["faults"][0];
    assert_eq!(fault["fault"], "cycle", "{resolved}");
    assert_eq!(fault["path"], json!([rea.id, cas.id, dan.id, rea.id]));
    assert!(resolved["next_action"]["message"].as_str().unwrap().contains("faults"), "{resolved}");
}
