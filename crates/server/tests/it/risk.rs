//! What a tenant sets about risk, its flags, and what the past says of a new task.

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::previews::{change, target};
use crate::stats::fold_all;
use crate::world::{Person, World, id, plan};

cases! {
    settings_hold_from_the_call_on_and_keep_their_versions:
        Happy "GET /v1/risk/settings",
        Denied "GET /v1/risk/settings",
        Happy "PUT /v1/risk/settings",
        Denied "PUT /v1/risk/settings",
        Conflict "PUT /v1/risk/settings";
    flags_are_off_until_an_admin_says_otherwise:
        Happy "GET /v1/flags",
        Denied "GET /v1/flags",
        Happy "PUT /v1/flags/{name}",
        Denied "PUT /v1/flags/{name}",
        Conflict "PUT /v1/flags/{name}";
    a_low_risk_passes_by_a_clause_only_while_the_flag_is_on: Happy "PUT /v1/flags/{name}";
    no_task_passes_by_a_flag_that_was_off_when_it_did: Happy "PUT /v1/flags/{name}";
    tasks_like_those_that_failed_rate_higher: Happy "PUT /v1/resources/{type}/{id}";
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

async fn settings_hold_from_the_call_on_and_keep_their_versions(world: &World) {
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
    assert_eq!((&now["score"], &now["level"]), (&json!(15), &json!("HIGH")), "{now}");
    assert_eq!(world.get(&bob.token, SETTINGS).await.expect(200), made);
    set(world, 0, body.clone()).await.refused(412, "version_mismatch");
    let leaves = world.get(&world.admin.token, "/v1/audit?object=risk settings version 1").await;
    let leaf = &leaves.expect(200)["items"][0]["leaf"];
    assert_eq!(leaf["what"]["action"], "risk.set");
    assert_eq!(leaf["why"]["reason"], "we know our databases");

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
        let told = set(world, 1, bad).await.refused(422, "invalid_body");
        assert_eq!(told["path"], path, "{told}");
    }
    let version = [("if-match", "\"1\"")];
    let denied = world.send("PUT", &bob.token, SETTINGS, Some(body), &version).await;
    denied.refused(403, "not_allowed");
    assert_eq!(world.refusals(&world.tenant, "settings.edit").await, 1);
    world.get("", SETTINGS).await.refused(401, "unauthenticated");
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, SETTINGS).await.expect(200);
    assert_eq!(theirs["version"], 0, "of another tenant");
}

async fn flags_are_off_until_an_admin_says_otherwise(world: &World) {
    world.database.run("DELETE FROM feature_flag").await;
    let bob = world.person("Bob", &["author"]).await;
    let flags = async || {
        let told = world.get(&bob.token, "/v1/flags").await.expect(200);
        let shown = |flag: &Value| {
            (flag["name"].as_str().unwrap().to_owned(), flag["enabled"].as_bool().unwrap())
        };
        told["items"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>()
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
    let leaves = "/v1/audit?object=auto_approve_low_risk";
    let leaves = world.get(&world.admin.token, leaves).await.expect(200);
    let actions: Vec<&str> = leaves["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["leaf"]["what"]["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["flag.disable", "flag.enable"]);
    assert_eq!(leaves["items"][1]["leaf"]["why"]["reason"], "nights are quiet");
    let bodies = [json!({ "enabled": true }), json!({ "enabled": false })];
    world.twice("PUT", &world.admin.token, path, bodies).await;
    let unknown = world.send("PUT", &world.admin.token, "/v1/flags/x", Some(json!({})), &[]).await;
    unknown.refused(404, "not_found");
    world.get("", "/v1/flags").await.refused(401, "unauthenticated");
}

/// Two columns on a resource of no weight: seen, small, and LOW.
async fn small(world: &World, who: &Person, title: &str) -> Value {
    let mut proposal = change("orders", "ALTER TABLE sale ADD COLUMN a text, ADD COLUMN b text");
    proposal["title"] = json!(title);
    let task = world.post(&who.token, "/v1/tasks", proposal).await.expect(201);
    assert_eq!(task["risk"]["level"], "LOW", "{task}");
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

async fn a_low_risk_passes_by_a_clause_only_while_the_flag_is_on(world: &World) {
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
    assert_eq!(state, "REVIEWING", "what passed by the flag stands no more without it");
    // A policy that has no clause is not widened.
    flag(world, true).await;
    world.policy("name: people\nrequire: [{roles: [reviewer]}]\n").await;
    let ann = world.person("Ann", &["author"]).await;
    assert_eq!(small(world, &ann, "asked").await["state"], "REVIEWING");
}

/// The gate puts one after the other, and numbers of transactions are given behind it.
async fn no_task_passes_by_a_flag_that_was_off_when_it_did(world: &World) {
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
                "SELECT count(*) FROM audit_leaf p
                  WHERE p.action = 'task.auto_approve'
                    AND (SELECT f.action FROM audit_leaf f
                          WHERE f.action LIKE 'flag.%' AND f.xid < p.xid
                          ORDER BY f.xid DESC LIMIT 1) = 'flag.disable'",
            )
            .await;
        assert_eq!(late, 0, "round {round}");
        // Tasks of one hour count together; here each is to be small by itself.
        let earlier = "submitted_at = submitted_at - interval '2 hours'";
        let closed = "WHERE submitted_at IS NOT NULL";
        world.database.run(&format!("UPDATE task SET {earlier} {closed}")).await;
    }
    println!("{passed} of {ROUNDS} passed before the flag was off");
}

/// Nothing applies over HTTP yet: the leaf that a failed apply would have left.
async fn failed(world: &World, task: &Value, to: &str) {
    let task = id(task);
    world
        .database
        .run(&format!(
            "INSERT INTO audit_leaf SELECT (jsonb_populate_record(l, jsonb_build_object(
                 'id', uuid_v7(), 'xid', pg_current_xact_id()::text, 'at', now(),
                 'action', 'task.end_apply', 'from_state', 'APPLYING', 'to_state', '{to}'))).*
               FROM audit_leaf l WHERE l.object = '{task}' AND l.action = 'task.create'"
        ))
        .await;
}

async fn tasks_like_those_that_failed_rate_higher(world: &World) {
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
    fold_all(world).await;
    let like = rated(world, &bob, "like").await;
    let told = factor(&like, past)["sentence"].as_str().unwrap().to_owned();
    let expected = "2 of 3 similar tasks failed; of all tasks 2 of 4 failed";
    assert_eq!(told, expected);
    let score = factor(&like, past)["score"].as_u64().unwrap();
    assert!(score > fresh, "{score} after {fresh}");
    let elsewhere = world.post(&bob.token, "/v1/tasks", other).await.expect(201);
    let path = format!("/v1/tasks/{}/risk", id(&elsewhere));
    let elsewhere = world.get(&bob.token, &path).await.expect(200);
    let told = &factor(&elsewhere, past)["sentence"];
    assert_eq!(told, "0 of 1 similar tasks failed; of all tasks 2 of 4 failed");
    world.work("tally_keeper").await;
    let again = rated(world, &bob, "again").await;
    assert_eq!(factor(&again, past)["sentence"], expected, "each end counts once");
}
