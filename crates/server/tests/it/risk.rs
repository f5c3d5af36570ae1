//! The risk settings and flags of a tenant, and the influence of past failures on the risk.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::previews::{change, target};
use crate::stats::fold_all;
use crate::world::{Person, World, id, plan};

cases! {
    risk_settings_apply_at_once_and_are_versioned:
        Happy "GET /v1/risk/settings",
        Denied "GET /v1/risk/settings",
        Happy "PUT /v1/risk/settings",
        Denied "PUT /v1/risk/settings",
        Conflict "PUT /v1/risk/settings";
    flags_are_off_until_an_admin_enables_them:
        Happy "GET /v1/flags",
        Denied "GET /v1/flags",
        Happy "PUT /v1/flags/{name}",
        Denied "PUT /v1/flags/{name}",
        Conflict "PUT /v1/flags/{name}";
    low_risk_task_is_auto_approved_only_with_the_flag: Happy "PUT /v1/flags/{name}";
    disabled_flag_never_auto_approves_a_task: Happy "PUT /v1/flags/{name}";
    tasks_similar_to_failed_ones_are_rated_higher: Happy "PUT /v1/resources/{type}/{id}";
}

const SETTINGS: &str = "/v1/risk/settings";

async fn set(world: &World, version: u64, body: Value) -> crate::world::Answer {
    let version = format!("\"{version}\"");
    world.send("PUT", &world.admin.token, SETTINGS, Some(body), &[("if-match", &*version)]).await
}

async fn rated(world: &World, who: &Person, title: &str) -> Value {
    let task = world.draft(who, title).await;
    let path = format!("/v1/tasks/{}/risk", id(&task));
    world.get(&who.token, &path).await.expect(200)
}

fn factor<'a>(risk: &'a Value, name: &str) -> &'a Value {
    let factors = risk["factors"].as_array().unwrap();
    factors.iter().find(|factor| factor["name"] == name).unwrap_or_else(|| panic!("{risk}"))
}

async fn risk_settings_apply_at_once_and_are_versioned(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let before = world.get(&bob.token, SETTINGS).await.expect(200);
    assert_eq!((&before["version"], &before["set_by"]), (&json!(0), &json!(null)));
    assert_eq!(before["thresholds"], json!({ "medium": 30, "high": 60, "critical": 85 }));
    let usual = rated(world, &bob, "usual").await;
    assert_eq!(factor(&usual, "resource_criticality")["score"], 50, "{usual}");

    let body = json!({
        "weights": {
            "resource_criticality_bp": 10000, "change_magnitude_bp": 0, "blast_radius_bp": 0,
            "historical_failure_rate_bp": 0
        },
        "thresholds": { "medium": 5, "high": 10, "critical": 20 },
        "pattern_defaults": { "database:*": 15, "**": 3 },
        "reason": "we know our databases"
    });
    let made = set(world, 0, body.clone()).await.expect(200);
    assert_eq!((&made["version"], &made["set_by"]), (&json!(1), &json!(world.admin.id)));
    assert_eq!(made["pattern_defaults"], body["pattern_defaults"]);
    let now = rated(world, &bob, "now").await;
    assert_eq!((&now["score"], &now["level"]), (&json!(15), &json!("high")), "{now}");
    assert_eq!(world.get(&bob.token, SETTINGS).await.expect(200), made);
    set(world, 0, body.clone()).await.refused(412, "version_mismatch");
    let entries = world.get(&world.admin.token, "/v1/audit?object=risk settings version 1").await;
    let entry = &entries.expect(200)["items"][0]["leaf"];
    assert_eq!(entry["what"]["action"], "risk.set");
    assert_eq!(entry["why"]["reason"], "we know our databases");

    for (bad, path) in [
        (
            json!({ "weights": { "resource_criticality_bp": 1, "change_magnitude_bp": 0,
            "blast_radius_bp": 0, "historical_failure_rate_bp": 0 } }),
            "weights",
        ),
        (json!({ "thresholds": { "medium": 30, "high": 30, "critical": 85 } }), "thresholds"),
        (json!({ "pattern_defaults": { "[": 1 } }), "pattern_defaults"),
        (json!({ "pattern_defaults": { "a": 101 } }), "pattern_defaults"),
        (json!({ "reason": " " }), "reason"),
    ] {
        let problem = set(world, 1, bad).await.refused(422, "invalid_body");
        assert_eq!(problem["path"], path, "{problem}");
    }
    let version = [("if-match", "\"1\"")];
    let denied = world.send("PUT", &bob.token, SETTINGS, Some(body), &version).await;
    denied.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "settings.edit").await, 1);
    world.get("", SETTINGS).await.refused(401, "unauthenticated");
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, SETTINGS).await.expect(200);
    assert_eq!(theirs["version"], 0, "the settings of another tenant");
}

async fn flags_are_off_until_an_admin_enables_them(world: &World) {
    world.database.run("DELETE FROM feature_flag").await;
    let bob = world.person("Bob", &["author"]).await;
    let flags = async || {
        let listed = world.get(&bob.token, "/v1/flags").await.expect(200);
        let shown = |flag: &Value| {
            (flag["name"].as_str().unwrap().to_owned(), flag["enabled"].as_bool().unwrap())
        };
        listed["items"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
    };
    let of = |low| {
        [("auto_approve_low_risk", low), ("batch_approvals", false), ("deadlock_detection", false)]
            .map(|(name, is_on)| (name.to_owned(), is_on))
    };
    assert_eq!(flags().await, of(false));
    let path = "/v1/flags/auto_approve_low_risk";
    let on = json!({ "enabled": true, "reason": "nights are quiet" });
    let put =
        async |token: &str, body: Value| world.send("PUT", token, path, Some(body), &[]).await;
    put(&bob.token, on.clone()).await.refused(403, "not_allowed");
    let shown = put(&world.admin.token, on).await.expect(200);
    assert_eq!((&shown["enabled"], &shown["set_by"]), (&json!(true), &json!(world.admin.id)));
    assert_eq!(flags().await, of(true));
    put(&world.admin.token, json!({ "enabled": false })).await.expect(200);
    assert_eq!(flags().await, of(false));
    let entries = "/v1/audit?object=auto_approve_low_risk";
    let entries = world.get(&world.admin.token, entries).await.expect(200);
    let actions: Vec<&str> = entries["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["leaf"]["what"]["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["flag.disable", "flag.enable"]);
    assert_eq!(entries["items"][1]["leaf"]["why"]["reason"], "nights are quiet");
    let bodies = [json!({ "enabled": true }), json!({ "enabled": false })];
    world.twice("PUT", &world.admin.token, path, bodies).await;
    let unknown = world.send("PUT", &world.admin.token, "/v1/flags/x", Some(json!({})), &[]).await;
    unknown.refused(404, "not_found");
    world.get("", "/v1/flags").await.refused(401, "unauthenticated");
}

/// Creates and submits a small previewed change of an uncritical resource, whose risk is LOW.
async fn small(world: &World, who: &Person, title: &str) -> Value {
    let mut proposal = change("orders", "ALTER TABLE sale ADD COLUMN a text, ADD COLUMN b text");
    proposal["title"] = json!(title);
    let task = world.post(&who.token, "/v1/tasks", proposal).await.expect(201);
    assert_eq!(task["risk"]["level"], "low", "{task}");
    let score = task["risk"]["score"].as_u64().unwrap();
    assert!((11..30).contains(&score), "{score} is between the clause and MEDIUM");
    world.submit(who, &task).await;
    world.work("review_opener").await;
    world.task(who, &task).await
}

async fn flag(world: &World, enabled: bool) {
    let (path, body) = ("/v1/flags/auto_approve_low_risk", json!({ "enabled": enabled }));
    world.send("PUT", &world.admin.token, path, Some(body), &[]).await.expect(200);
}

async fn low_risk_task_is_auto_approved_only_with_the_flag(world: &World) {
    let _target = target(world).await;
    let bob = world.person("Bob", &["author"]).await;
    let eve = world.person("Eve", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let (path, entry) = ("/v1/resources/database/orders", json!({ "criticality": 0 }));
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    world.policy("name: tiny\nauto_approve_if: {risk_below: 5}\n").await;
    assert_eq!(small(world, &bob, "off").await["state"], "REVIEWING");
    flag(world, true).await;
    let passed = small(world, &eve, "on").await;
    assert_eq!(passed["state"], "APPROVED", "{passed}");
    flag(world, false).await;
    world.work("basis_checker").await;
    world.work("review_opener").await;
    let state = world.task(&eve, &passed).await["state"].clone();
    assert_eq!(state, "REVIEWING", "an approval by the flag is not valid without it");
    // A policy that has no clause is not widened.
    flag(world, true).await;
    world.policy("name: people\nrequire: [{roles: [reviewer]}]\n").await;
    let ann = world.person("Ann", &["author"]).await;
    assert_eq!(small(world, &ann, "asked").await["state"], "REVIEWING");
}

/// A lock of the tenant serializes both, and transaction ids are assigned while it is held.
async fn disabled_flag_never_auto_approves_a_task(world: &World) {
    const ROUNDS: usize = 25;
    world.database.be_patient().await;
    let _target = target(world).await;
    let bob = world.person("Bob", &["author"]).await;
    world.person("Rea", &["reviewer"]).await;
    let (path, entry) = ("/v1/resources/database/orders", json!({ "criticality": 0 }));
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    world.policy("name: tiny\nauto_approve_if: {risk_below: 5}\n").await;
    let mut passed = 0;
    for round in 0..ROUNDS {
        flag(world, true).await;
        let mut proposal = change("orders", "ALTER TABLE sale ADD COLUMN a text");
        proposal["title"] = json!(format!("round {round}"));
        let task = world.post(&bob.token, "/v1/tasks", proposal).await.expect(201);
        world.submit(&bob, &task).await;
        if round % 2 == 0 {
            tokio::join!(flag(world, false), world.work("review_opener"));
        } else {
            tokio::join!(world.work("review_opener"), flag(world, false));
        }
        passed += usize::from(world.task(&bob, &task).await["state"] == "APPROVED");
        let late = world
            .database
            .number(
                "SELECT count(*) FROM audit_entry p
                  WHERE p.action = 'task.auto_approve'
                    AND (SELECT f.action FROM audit_entry f
                          WHERE f.action LIKE 'flag.%' AND f.xid < p.xid
                          ORDER BY f.xid DESC LIMIT 1) = 'flag.disable'",
            )
            .await;
        assert_eq!(late, 0, "round {round}");
        // The tasks of one hour are rated together; this keeps each of them separate.
        let earlier = "submitted_at = submitted_at - interval '2 hours'";
        let closed = "WHERE submitted_at IS NOT NULL";
        world.database.run(&format!("UPDATE task SET {earlier} {closed}")).await;
    }
    println!("{passed} of {ROUNDS} tasks were approved before the flag was disabled");
}

/// Inserts the audit entry that an apply with this final state would have written.
async fn failed(world: &World, task: &Value, to: &str) {
    let task = id(task);
    world
        .database
        .run(&format!(
            "INSERT INTO audit_entry SELECT (jsonb_populate_record(l, jsonb_build_object(
                 'id', uuid_v7(), 'xid', pg_current_xact_id()::text, 'at', now(),
                 'action', 'task.end_apply', 'from_state', 'APPLYING', 'to_state', '{to}'))).*
               FROM audit_entry l WHERE l.object = '{task}' AND l.action = 'task.create'"
        ))
        .await;
}

async fn tasks_similar_to_failed_ones_are_rated_higher(world: &World) {
    let bob = world.person("Bob", &["author"]).await;
    let past = "historical_failure_rate";
    let (path, entry) = ("/v1/resources/database/orders", json!({ "criticality": 1 }));
    world.send("PUT", &world.admin.token, path, Some(entry), &[]).await.expect(200);
    let fresh = rated(world, &bob, "fresh").await;
    let fresh = factor(&fresh, past)["score"].as_u64().unwrap();
    for (title, to) in [("a", "COMPLETED"), ("b", "FAILED"), ("c", "FAILED")] {
        let task = world.draft(&bob, title).await;
        failed(world, &task, to).await;
    }
    let mut other = plan("elsewhere");
    other["resources"][0]["resource"] = json!("database:other");
    other["plan"]["changes"][0]["resource"] = json!("database:other");
    let elsewhere = world.post(&bob.token, "/v1/tasks", other.clone()).await.expect(201);
    failed(world, &elsewhere, "COMPLETED").await;
    // A result that is not known counts neither way, also if it is the only one of a batch.
    fold_all(world).await;
    let released = world.draft(&bob, "released").await;
    failed(world, &released, "COMPLETED").await;
    world.database.run("UPDATE task SET is_released = true WHERE title = 'released'").await;
    fold_all(world).await;
    let like = rated(world, &bob, "like").await;
    let sentence = factor(&like, past)["sentence"].as_str().unwrap().to_owned();
    let expected = "2 of 3 similar tasks failed; 2 of all 4 tasks failed";
    assert_eq!(sentence, expected);
    let score = factor(&like, past)["score"].as_u64().unwrap();
    assert!(score > fresh, "{score} after {fresh}");
    let elsewhere = world.post(&bob.token, "/v1/tasks", other).await.expect(201);
    let path = format!("/v1/tasks/{}/risk", id(&elsewhere));
    let elsewhere = world.get(&bob.token, &path).await.expect(200);
    let sentence = &factor(&elsewhere, past)["sentence"];
    assert_eq!(sentence, "0 of 1 similar tasks failed; 2 of all 4 tasks failed");
    world.work("tally_keeper").await;
    let again = rated(world, &bob, "again").await;
    assert_eq!(factor(&again, past)["sentence"], expected, "each outcome counts once");
}
