//! Changes to the rules: one that makes approvals easier waits for a second admin, or for its time
//! in a tenant with one admin, and every other one takes effect at once.

use std::time::Duration;

use serde_json::{Value, json};

use crate::authenticator::{Authenticator, enrol};
use crate::coverage::cases;
use crate::world::{Answer, Person, World, id};

cases! {
    change_that_loosens_waits_for_a_second_admin:
        Happy "GET /v1/pending-changes", Happy "GET /v1/pending-changes/{id}",
        Happy "POST /v1/pending-changes/{id}/publish";
    change_is_published_by_another_admin_only:
        Denied "GET /v1/pending-changes", Denied "GET /v1/pending-changes/{id}",
        Denied "POST /v1/pending-changes/{id}/publish",
        Denied "DELETE /v1/pending-changes/{id}";
    change_is_closed_once:
        Happy "DELETE /v1/pending-changes/{id}", Conflict "DELETE /v1/pending-changes/{id}",
        Conflict "POST /v1/pending-changes/{id}/publish";
    change_of_one_admin_ends_with_an_objection:
        Happy "POST /v1/pending-changes/{id}/object",
        Denied "POST /v1/pending-changes/{id}/object",
        Conflict "POST /v1/pending-changes/{id}/object";
}

const HOUR: Duration = Duration::from_hours(1);
const LAX: [u8; 3] = [98, 99, 100];

/// Ends the setup of the tenant, in which changes do not wait.
pub async fn end_setup(world: &World) {
    let sql = "UPDATE tenant SET setup_ended_at = moment() WHERE setup_ended_at IS NULL";
    world.database.run(sql).await;
}

/// Returns the result of a change, which this admin publishes if it has to wait.
pub async fn settled(world: &World, publisher: &Person, answer: Answer) -> Value {
    if answer.status == 202 {
        return publish(world, publisher, &answer.body).await.body;
    }
    answer.body
}

/// A tenant that is set up, with a second admin.
async fn second_admin(world: &World) -> Person {
    let second = world.person("Second", &["admin"]).await;
    end_setup(world).await;
    second
}

fn thresholds([medium, high, critical]: [u8; 3]) -> Value {
    json!({
        "weights": {
            "resource_criticality_bp": 4_000, "change_magnitude_bp": 3_000,
            "blast_radius_bp": 2_000, "historical_failure_rate_bp": 1_000
        },
        "thresholds": { "medium": medium, "high": high, "critical": critical },
        "pattern_defaults": {},
        "reason": "fewer alarms"
    })
}

async fn set_risk(world: &World, who: &Person, to: [u8; 3]) -> Answer {
    let version = world.get(&who.token, "/v1/risk/settings").await.expect(200)["version"].clone();
    let matching = [("if-match", &*format!("\"{version}\""))];
    world.send("PUT", &who.token, "/v1/risk/settings", Some(thresholds(to)), &matching).await
}

async fn risk(world: &World) -> Value {
    world.get(&world.admin.token, "/v1/risk/settings").await.expect(200)["thresholds"].clone()
}

fn path_of(change: &Value) -> String {
    format!("/v1/pending-changes/{}", id(change))
}

pub async fn publish(world: &World, who: &Person, change: &Value) -> Answer {
    let path = format!("{}/publish", path_of(change));
    world.send("POST", &who.token, &path, None, &[]).await
}

async fn withdraw(world: &World, who: &Person, change: &Value) -> Answer {
    world.send("DELETE", &who.token, &path_of(change), None, &[]).await
}

async fn object(world: &World, who: &Person, change: &Value) -> Answer {
    let path = format!("{}/object", path_of(change));
    world.post(&who.token, &path, json!({ "reason": "too lax" })).await
}

async fn shown(world: &World, change: &Value) -> Value {
    world.get(&world.admin.token, &path_of(change)).await.expect(200)
}

fn sentences(change: &Value) -> Vec<&str> {
    let findings = change["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["sentence"].as_str().unwrap()).collect()
}

/// The audit entries with this action, oldest last.
pub async fn entries(world: &World, action: &str) -> Vec<Value> {
    let found = world.get(&world.admin.token, "/v1/audit?page_size=200").await.expect(200);
    let items = found["items"].as_array().unwrap().iter().map(|item| item["leaf"].clone());
    items.filter(|leaf| leaf["what"]["action"] == action).collect()
}

async fn change_that_loosens_waits_for_a_second_admin(world: &World) {
    let second = second_admin(world).await;
    let before = risk(world).await;
    let change = set_risk(world, &world.admin, LAX).await.expect(202);
    assert_eq!((&change["kind"], &change["verdict"]), (&json!("risk.settings"), &json!("looser")));
    let wanted = [
        "MEDIUM begins at 98 points instead of 30",
        "HIGH begins at 99 points instead of 60",
        "CRITICAL begins at 100 points instead of 85",
    ];
    assert_eq!(sentences(&change), wanted);
    assert_eq!(change["next_action"]["message"], "another admin must publish it");
    assert_eq!(change["takes_effect_at"], Value::Null);
    assert_eq!(risk(world).await, before, "nothing has changed yet");
    assert_eq!(entries(world, "risk.set").await, Vec::<Value>::new());

    let listed = world.get(&second.token, "/v1/pending-changes").await.expect(200);
    assert_eq!(listed["items"], json!([change]));
    let notices = world.get(&second.token, "/v1/notifications").await.expect(200);
    assert_eq!(notices["items"][0]["kind"], "change.proposed", "{notices}");
    let published = publish(world, &second, &change).await.expect(200);
    assert_eq!(published["thresholds"]["high"], 99);
    assert_eq!(published["set_by"], json!(world.admin.id), "its proposer set it");
    let closed = shown(world, &change).await;
    assert_eq!(
        (&closed["outcome"], &closed["closed_by"]),
        (&json!("published"), &json!(second.id))
    );
    for action in ["change.propose", "change.publish", "risk.set"] {
        assert_eq!(entries(world, action).await.len(), 1, "{action}");
    }
    let listed = world.get(&second.token, "/v1/pending-changes").await.expect(200);
    assert_eq!(listed["items"], json!([]));
    let listed = world.get(&second.token, "/v1/pending-changes?closed=true").await.expect(200);
    assert_eq!(listed["items"][0]["id"], change["id"]);
}

async fn change_is_published_by_another_admin_only(world: &World) {
    second_admin(world).await;
    let eve = world.person("Eve", &[]).await;
    let bot = world.agent("bot", &world.admin).await;
    let change = set_risk(world, &world.admin, LAX).await.expect(202);
    let problem = publish(world, &world.admin, &change).await.refused(403, "not_allowed");
    assert!(problem["detail"].as_str().unwrap().contains("cannot publish it"), "{problem}");
    publish(world, &eve, &change).await.refused(403, "not_allowed");
    publish(world, &bot, &change).await.refused(403, "insufficient_scope");
    withdraw(world, &eve, &change).await.refused(403, "not_allowed");
    assert_eq!(world.refusals(id(&change), "change.publish").await, 2);
    let (_, stranger) = world.tenant("other").await;
    publish(world, &stranger, &change).await.refused(404, "not_found");
    withdraw(world, &stranger, &change).await.refused(404, "not_found");
    world.get(&stranger.token, &path_of(&change)).await.refused(404, "not_found");
    let listed = world.get(&stranger.token, "/v1/pending-changes").await.expect(200);
    assert_eq!(listed["items"], json!([]));
    world.get("", "/v1/pending-changes").await.refused(401, "unauthenticated");
    assert_eq!(shown(world, &change).await["outcome"], Value::Null);
}

async fn change_is_closed_once(world: &World) {
    let second = second_admin(world).await;
    let change = set_risk(world, &world.admin, LAX).await.expect(202);
    let closed = withdraw(world, &world.admin, &change).await.expect(200);
    assert_eq!(closed["outcome"], "withdrawn");
    withdraw(world, &world.admin, &change).await.refused(409, "closed");
    publish(world, &second, &change).await.refused(409, "closed");
    let change = set_risk(world, &world.admin, LAX).await.expect(202);
    withdraw(world, &second, &change).await.expect(200);
    assert_eq!(risk(world).await["high"], 60);
}

async fn change_of_one_admin_ends_with_an_objection(world: &World) {
    let rea = world.person("Rea", &["reviewer"]).await;
    let eve = world.person("Eve", &[]).await;
    end_setup(world).await;
    let change = set_risk(world, &world.admin, LAX).await.expect(202);
    assert!(change["takes_effect_at"].is_string(), "{change}");
    let notices = world.get(&rea.token, "/v1/notifications").await.expect(200);
    assert_eq!(notices["items"][0]["kind"], "change.proposed", "{notices}");
    object(world, &eve, &change).await.refused(403, "not_allowed");
    let closed = object(world, &rea, &change).await.expect(200);
    let outcome = (&closed["outcome"], &closed["closed_by"], &closed["objection"]);
    assert_eq!(outcome, (&json!("objected"), &json!(rea.id), &json!("too lax")));
    object(world, &rea, &change).await.refused(409, "closed");
    world.pass(25 * HOUR).await;
    world.work("change_applier").await;
    assert_eq!(risk(world).await["high"], 60, "it never takes effect");
}

#[tokio::test]
async fn change_of_one_admin_takes_effect_after_a_day() {
    let world = World::new().await;
    world.person("Rea", &["reviewer"]).await;
    end_setup(&world).await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    publish(&world, &world.admin, &change).await.refused(403, "not_allowed");
    world.pass(Duration::from_mins(24 * 60 - 1)).await;
    world.work("change_applier").await;
    assert_eq!(risk(&world).await["high"], 60);
    world.pass(24 * HOUR + Duration::from_mins(1)).await;
    assert_eq!(world.work("change_applier").await.items, 1);
    assert_eq!(risk(&world).await["high"], 99);
    let closed = shown(&world, &change).await;
    assert_eq!((&closed["outcome"], &closed["closed_by"]), (&json!("applied"), &Value::Null));
    let entry = &entries(&world, "risk.set").await[0];
    assert_eq!(entry["who"]["worker"], "change_applier");
    assert_eq!(world.work("change_applier").await.items, 0);
}

#[tokio::test]
async fn change_of_one_admin_waits_for_a_new_second_admin() {
    let world = World::new().await;
    let rea = world.person("Rea", &["reviewer"]).await;
    end_setup(&world).await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    let tenant = "SELECT tenant_id FROM tenant LIMIT 1";
    let user: ade_core::ids::UserId = rea.id.parse().unwrap();
    let grant = format!(
        "INSERT INTO user_role (tenant_id, user_id, role) VALUES (({tenant}), '{}', 'admin')",
        user.uuid()
    );
    world.database.run(&grant).await;
    world.pass(25 * HOUR).await;
    assert_eq!(world.work("change_applier").await.items, 0);
    assert_eq!(risk(&world).await["high"], 60);
    assert_eq!(shown(&world, &change).await["takes_effect_at"], Value::Null);
    publish(&world, &rea, &change).await.expect(200);
    assert_eq!(risk(&world).await["high"], 99);
}

/// A change of a person by the only admin.
async fn change_user(world: &World, of: &Person, change: Value) -> Answer {
    let path = format!("/v1/users/{}", of.id);
    world.send("PATCH", &world.admin.token, &path, Some(change), &[]).await
}

/// A tenant with one admin and a reviewer with a mail address, after its setup.
async fn with_objector(world: &World) -> Person {
    let rea = world.person("Rea", &["reviewer"]).await;
    change_user(world, &rea, json!({ "email": "rea@example.org" })).await.expect(200);
    end_setup(world).await;
    rea
}

#[tokio::test]
async fn change_of_one_admin_keeps_its_objectors() {
    let world = World::new().await;
    let rea = with_objector(&world).await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    let token = &world.admin.token;

    let roles = Some(json!({ "roles": [] }));
    let path = format!("/v1/users/{}/roles", rea.id);
    world.send("PUT", token, &path, roles, &[]).await.expect(200);
    let closing = change_user(&world, &rea, json!({ "active": false })).await.expect(202);
    let lost = format!("Rea could no longer object to pending change {}", id(&change));
    assert_eq!(sentences(&closing), [&*lost]);
    let hindered = format!(
        "Rea might no longer be able to sign in and object to pending change {}",
        id(&change)
    );
    let alias = json!({ "alias_id": world.admin.id });
    let path = format!("/v1/users/{}/aliases", rea.id);
    let linked = world.post(token, &path, alias).await.expect(202);
    assert!(sentences(&linked).contains(&&*hindered), "{linked}");
    let double = json!({ "name": "Double", "email": "REA@example.org", "roles": [] });
    let double = world.post(token, "/v1/users", double).await.expect(202);
    assert_eq!(sentences(&double), [&*hindered]);

    let closed = object(&world, &rea, &change).await.expect(200);
    assert_eq!(closed["outcome"], "objected");
    for waiting in [&linked, &double] {
        withdraw(&world, &world.admin, waiting).await.expect(200);
    }
    object(&world, &rea, &closing).await.refused(403, "not_allowed");
    withdraw(&world, &world.admin, &closing).await.expect(200);
    change_user(&world, &rea, json!({ "active": false })).await.expect(200);
}

#[tokio::test]
async fn change_that_removes_an_objector_follows_the_other() {
    let world = World::new().await;
    let rea = with_objector(&world).await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    let closing = change_user(&world, &rea, json!({ "active": false })).await.expect(202);
    world.pass(24 * HOUR + Duration::from_mins(1)).await;
    while world.work("change_applier").await.items > 0 {}
    for change in [&change, &closing] {
        assert_eq!(shown(&world, change).await["outcome"], "applied");
    }
    object(&world, &rea, &closing).await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn change_that_removes_an_objector_of_a_later_one_is_outdated() {
    let world = World::new().await;
    let rea = with_objector(&world).await;
    let first = set_risk(&world, &world.admin, LAX).await.expect(202);
    let closing = change_user(&world, &rea, json!({ "active": false })).await.expect(202);
    withdraw(&world, &world.admin, &first).await.expect(200);
    world.pass(23 * HOUR).await;
    let later = set_risk(&world, &world.admin, LAX).await.expect(202);
    world.pass(25 * HOUR).await;
    while world.work("change_applier").await.items > 0 {}
    assert_eq!(shown(&world, &closing).await["outcome"], "outdated");
    object(&world, &rea, &later).await.expect(200);
}

#[tokio::test]
async fn change_of_one_admin_notifies_linked_accounts() {
    let world = World::new().await;
    let rea = with_objector(&world).await;
    let alias = json!({ "alias_id": world.admin.id });
    let path = format!("/v1/users/{}/aliases", rea.id);
    world.post(&world.admin.token, &path, alias).await.expect(200);
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    let notices = world.get(&rea.token, "/v1/notifications").await.expect(200);
    assert_eq!(notices["items"][0]["kind"], "change.proposed", "{notices}");
    object(&world, &rea, &change).await.expect(200);
}

#[tokio::test]
async fn change_that_is_stricter_takes_effect_at_once() {
    let world = World::new().await;
    second_admin(&world).await;
    let set = set_risk(&world, &world.admin, [20, 50, 80]).await.expect(200);
    assert_eq!(set["thresholds"]["high"], 50);
    assert_eq!(entries(&world, "risk.set").await[0]["setup"], false);
    let mixed = set_risk(&world, &world.admin, [10, 51, 80]).await.expect(202);
    assert_eq!(mixed["verdict"], "mixed");
}

#[tokio::test]
async fn change_is_outdated_when_its_consequences_differ() {
    let world = World::new().await;
    let rea = world.person("Rea", &[]).await.id;
    let second = second_admin(&world).await;
    let path = format!("/v1/users/{rea}/roles");
    let roles = |roles: Value| Some(json!({ "roles": roles }));
    let token = &world.admin.token;
    let change = world.send("PUT", token, &path, roles(json!(["dba"])), &[]).await.expect(202);
    assert_eq!(sentences(&change), ["Rea gets the role dba"]);
    let other = world.send("PUT", token, &path, roles(json!(["sre"])), &[]).await.expect(202);
    publish(&world, &second, &other).await.expect(200);
    let problem = publish(&world, &second, &change).await.refused(409, "closed");
    assert!(problem["detail"].as_str().unwrap().contains("propose it again"), "{problem}");
    let user = world.get(token, &format!("/v1/users/{rea}")).await.expect(200);
    assert_eq!(user["roles"], json!(["sre"]));
}

#[tokio::test]
async fn change_is_published_with_a_passkey() {
    let world = World::new().await;
    let second = second_admin(&world).await;
    let mut key = enrol(&world, &second).await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    let other = set_risk(&world, &world.admin, [97, 98, 99]).await.expect(202);
    let problem = publish(&world, &second, &change).await.refused(403, "step_up_required");
    let about = json!([{ "id": change["id"], "digest": change["digest"] }]);
    assert_eq!(problem["step_up"], json!({ "purpose": "publish_change", "about": about }));
    key.confirm(&world, &second.token, &problem["step_up"]).await.expect(200);
    publish(&world, &second, &other).await.refused(403, "step_up_required");
    publish(&world, &second, &change).await.expect(200);
}

/// Sends a request, and once more with the passkey confirmation that it may need.
async fn confirmed(
    world: &World,
    who: &Person,
    key: &mut Authenticator,
    ask: impl AsyncFn() -> Answer,
) -> Answer {
    let answer = ask().await;
    if answer.status != 403 {
        return answer;
    }
    let problem = answer.refused(403, "step_up_required");
    key.confirm(world, &who.token, &problem["step_up"]).await.expect(200);
    ask().await
}

/// Every kind of change that one admin could use to weaken the approvals of others.
#[tokio::test]
async fn change_of_every_kind_waits_and_is_published() {
    let world = World::new().await;
    let second = world.person("Second", &["admin"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let sam = world.person("Sam", &["dba"]).await;
    enrol(&world, &rea).await;
    let mut keys = [enrol(&world, &world.admin).await, enrol(&world, &second).await];
    let bot = world.agent("bot", &rea).await;
    let token = &world.admin.token;
    let entry = json!({ "criticality": 95, "environment": "prod" });
    let resource = "/v1/resources/database/orders";
    world.send("PUT", token, resource, Some(entry), &[]).await.expect(200);
    let freeze = json!({ "scope": "tenant", "reason": "incident" });
    let freeze = world.post(token, "/v1/freezes", freeze).await.expect(201);
    end_setup(&world).await;
    let user = |rest: &str| format!("/v1/users/{}{rest}", rea.id);
    let flag = "/v1/flags/auto_approve_low_risk".to_owned();
    let groups = json!({ "issuer": "https://idp.example.org", "groups": { "ops": ["admin"] } });
    let delegation = json!({
        "owner_id": rea.id, "delegate_id": sam.id, "kind": "transfer",
        "expires_at": "2099-01-01T00:00:00Z"
    });
    let import = json!({ "items": [{ "resource": "database:a", "criticality": 1 }] });
    let timeouts = json!({ "approval": {
        "default_timeout_seconds": 1_000_000, "max_timeout_seconds": 1_000_000
    } });
    let name = json!({ "name": "New", "roles": ["reviewer"] });
    let capable = json!({ "capabilities": ["sql.*"] });
    let cases = [
        ("PUT", "/v1/settings/timeouts".to_owned(), Some(timeouts), "settings.timeouts"),
        ("PUT", flag, Some(json!({ "enabled": true })), "settings.flag"),
        ("PUT", resource.to_owned(), Some(json!({ "criticality": 0 })), "resource.put"),
        ("POST", "/v1/resources/import".to_owned(), Some(import), "resource.import"),
        ("POST", "/v1/users".to_owned(), Some(name), "user.create"),
        ("PATCH", user(""), Some(json!({ "email": "me@example.org" })), "user.change"),
        ("PUT", user("/roles"), Some(json!({ "roles": ["reviewer", "dba"] })), "user.roles"),
        ("DELETE", user("/passkeys"), None, "user.passkeys"),
        ("PUT", "/v1/group-roles".to_owned(), Some(groups), "group_roles.set"),
        ("PATCH", format!("/v1/agents/{}", bot.id), Some(capable), "agent.change"),
        ("POST", "/v1/delegations".to_owned(), Some(delegation), "delegation.create"),
        ("DELETE", format!("/v1/freezes/{}", id(&freeze)), None, "freeze.lift"),
    ];
    let count = "SELECT (SELECT count(*) FROM passkey WHERE removed_at IS NULL) \
                 + (SELECT count(*) FROM app_user) \
                 + (SELECT count(*) FROM group_role) + (SELECT count(*) FROM delegation) \
                 + (SELECT count(*) FROM feature_flag) + (SELECT count(*) FROM resource)";
    for (method, path, body, kind) in cases {
        let before = world.database.number(count).await;
        let version = [("if-match", "\"0\"")];
        let matching = if kind == "settings.timeouts" { version.as_slice() } else { &[] };
        let ask = async || world.send(method, token, &path, body.clone(), matching).await;
        let change = confirmed(&world, &world.admin, &mut keys[0], ask).await.expect(202);
        assert_eq!(change["kind"], kind);
        assert!(!sentences(&change).is_empty(), "{change}");
        assert_eq!(world.database.number(count).await, before, "{kind} has not taken effect");
        let ask = async || publish(&world, &second, &change).await;
        let published = confirmed(&world, &second, &mut keys[1], ask).await;
        assert!([200, 201].contains(&published.status), "{kind}: {}", published.body);
        assert_eq!(shown(&world, &change).await["outcome"], "published", "{kind}");
    }
    let keys_left = "SELECT count(*) FROM passkey WHERE removed_at IS NULL";
    assert_eq!(world.database.number(keys_left).await, 2, "of the admins");
}

#[tokio::test]
async fn change_in_setup_takes_effect_at_once_and_is_marked() {
    let world = World::new().await;
    let me = world.get(&world.admin.token, "/v1/me").await.expect(200);
    assert_eq!(me["tenant_in_setup"], true);
    set_risk(&world, &world.admin, [40, 70, 90]).await.expect(200);
    assert_eq!(entries(&world, "risk.set").await[0]["setup"], true);
    set_risk(&world, &world.admin, [30, 60, 85]).await.expect(200);
    assert_eq!(entries(&world, "risk.set").await[0]["setup"], false, "stricter in any case");

    // The second admin has joined with their first session; the first admin with a passkey.
    world.person("Second", &["admin"]).await;
    set_risk(&world, &world.admin, LAX).await.expect(200);
    set_risk(&world, &world.admin, [30, 60, 85]).await.expect(200);
    enrol(&world, &world.admin).await;
    set_risk(&world, &world.admin, LAX).await.expect(202);
    assert_eq!(entries(&world, "tenant.end_setup").await.len(), 1);
    let me = world.get(&world.admin.token, "/v1/me").await.expect(200);
    assert_eq!(me["tenant_in_setup"], false);
}

#[tokio::test]
async fn setup_ends_with_the_first_applied_task() {
    let world = World::new().await;
    let author = world.person("Author", &["author"]).await;
    let reviewer = world.person("Reviewer", &["reviewer"]).await;
    world.approved(&author, &reviewer, "first").await;
    set_risk(&world, &world.admin, [40, 70, 90]).await.expect(200);
    world.database.run("UPDATE task SET state = 'COMPLETED', closed_at = moment()").await;
    let change = set_risk(&world, &world.admin, LAX).await.expect(202);
    assert!(change["takes_effect_at"].is_string(), "{change}");
}

#[tokio::test]
async fn change_lists_the_tasks_that_would_need_fewer_people() {
    let world = World::new().await;
    let policy = "name: quick\nrequire: [{roles: [reviewer], min: 1}]\n\
                  auto_approve_if: {risk_below: 1, accept_declared_effect: true}\n";
    world.policy(policy).await;
    let author = world.person("Author", &["author"]).await;
    let task = world.reviewing(&author, "drop the table").await;
    set_risk(&world, &world.admin, LAX).await.expect(200);
    second_admin(&world).await;
    let body = Some(json!({ "enabled": true, "reason": "noise" }));
    let flag = "/v1/flags/auto_approve_low_risk";
    let change = world.send("PUT", &world.admin.token, flag, body, &[]).await.expect(202);
    assert_eq!(sentences(&change), ["auto_approve_low_risk is enabled"]);
    assert_eq!(change["reason"], "noise");
    let easier = &change["tasks"][0];
    assert_eq!(easier["task_id"], task["id"], "{change}");
    assert_eq!(
        (&easier["without_a_person"], &easier["after"]),
        (&json!(true), &json!("auto-approved"))
    );
}
