//! Calls every route as every kind of caller. The table below lists the callers that each route
//! allows, and all others are refused. To a person of another tenant, objects of this tenant look
//! like objects that do not exist.

use std::collections::BTreeSet;

use ade_core::ids::UserId;
use ade_server::http;
use ade_server::http::routes::RouteAuth;
use serde_json::{Value, json};

use crate::executions;
use crate::rule_changes::{end_setup, settled};
use crate::test_server::shared;
use crate::world::{
    ALL_SCOPES, Answer, Person, World, days_later, id, path_of, quoted, seen, without_request_id,
};

const EVERYONE: &str = "agent author reviewer operator auditor admin";
const PEOPLE: &str = "author reviewer operator auditor admin";

/// Each route with its class and the callers of the tenant that it allows. The task belongs to the
/// author and was proposed by the author's agent; the reviewer and the admin are asked to approve
/// it. All other objects belong to people who make no calls here. Freezes come after the routes
/// that they would stop. An operator stops and releases, but does not approve, run or configure. An
/// auditor reads what everyone reads and the whole audit log, and reviews overrides.
const TABLE: &[(&str, &str, &str)] = &[
    ("GET /healthz", "open", EVERYONE),
    ("GET /readyz", "open", EVERYONE),
    ("GET /metrics", "open", EVERYONE),
    ("GET /openapi.json", "open", EVERYONE),
    ("GET /openapi/agent.json", "open", EVERYONE),
    ("GET /docs", "open", EVERYONE),
    ("GET /docs/docs.js", "open", EVERYONE),
    ("GET /docs/docs.css", "open", EVERYONE),
    ("GET /llms.txt", "open", EVERYONE),
    ("GET /v1", "open", EVERYONE),
    ("GET /v1/status", "read", EVERYONE),
    ("GET /v1/me", "read", EVERYONE),
    ("GET /v1/auth", "open", EVERYONE),
    ("GET /auth/login", "open", EVERYONE),
    ("GET /auth/callback", "open", EVERYONE),
    // A token is not a session, so there is no session to end or to switch.
    ("POST /auth/logout", "decide", ""),
    ("GET /v1/session", "read", ""),
    ("POST /v1/session/tenant", "decide", ""),
    ("GET /v1/sessions", "read", PEOPLE),
    ("DELETE /v1/sessions/{id}", "decide", ""),
    ("POST /v1/invitations/accept", "open", EVERYONE),
    ("POST /v1/tokens/report-leak", "open", EVERYONE),
    ("POST /auth/device", "open", EVERYONE),
    ("POST /auth/device/token", "open", EVERYONE),
    // A pending device login belongs to no tenant: any person with its code can decide on it.
    ("GET /v1/device/{user_code}", "decide", PEOPLE),
    ("POST /v1/device/{user_code}/approve", "decide", PEOPLE),
    ("POST /v1/device/{user_code}/deny", "decide", PEOPLE),
    ("GET /v1/passkeys", "read", PEOPLE),
    ("POST /v1/passkeys", "decide", PEOPLE),
    // No caller here has a passkey or a pending challenge.
    ("POST /v1/passkeys/{id}", "decide", ""),
    ("DELETE /v1/passkeys/{id}", "decide", ""),
    ("DELETE /v1/users/{id}/passkeys", "administer", "admin"),
    ("POST /v1/step-up", "decide", ""),
    ("POST /v1/step-up/{id}", "decide", ""),
    ("GET /v1/group-roles", "read", "admin"),
    ("PUT /v1/group-roles", "administer", "admin"),
    ("POST /v1/tasks", "propose", "agent author admin"),
    ("GET /v1/tasks", "read", EVERYONE),
    ("GET /v1/tasks/{id}", "read", EVERYONE),
    ("PATCH /v1/tasks/{id}", "propose", "agent author admin"),
    ("DELETE /v1/tasks/{id}", "propose", "author admin"),
    ("POST /v1/tasks/{id}/submit", "propose", "agent author admin"),
    ("POST /v1/tasks/{id}/cancel", "propose", "agent author admin"),
    ("POST /v1/tasks/{id}/retry", "propose", "author admin"),
    ("POST /v1/tasks/{id}/resubmit", "propose", "author"),
    ("POST /v1/tasks/{id}/comments", "propose", EVERYONE),
    ("GET /v1/tasks/{id}/comments", "read", EVERYONE),
    ("GET /v1/tasks/{id}/revisions", "read", EVERYONE),
    ("GET /v1/tasks/{id}/revisions/{revision}", "read", EVERYONE),
    ("GET /v1/tasks/{id}/risk", "read", EVERYONE),
    ("GET /v1/tasks/{id}/explain", "read", EVERYONE),
    ("GET /v1/tasks/{id}/approvals", "read", EVERYONE),
    ("POST /v1/agents/{id}/claim", "execute", "agent"),
    ("POST /v1/tasks/{id}/claim", "execute", "agent"),
    ("POST /v1/executions/{id}/begin", "execute", "agent"),
    ("POST /v1/executions/{id}/heartbeat", "execute", "agent"),
    ("POST /v1/executions/{id}/log", "execute", "agent"),
    ("POST /v1/executions/{id}/finish", "execute", "agent"),
    ("GET /v1/executions/{id}", "read", EVERYONE),
    ("GET /v1/executions/{id}/log", "read", EVERYONE),
    ("GET /v1/tasks/{id}/executions", "read", EVERYONE),
    ("GET /v1/tasks/{id}/logs", "read", EVERYONE),
    ("POST /v1/tasks/{id}/reconcile", "operate", "admin"),
    ("GET /v1/approvals", "read", PEOPLE),
    ("GET /v1/approvals/{id}", "read", PEOPLE),
    ("POST /v1/tasks/{id}/approve", "decide", "reviewer admin"),
    ("POST /v1/tasks/{id}/reject", "decide", "reviewer admin"),
    ("POST /v1/tasks/{id}/request-changes", "decide", "reviewer admin"),
    ("POST /v1/approvals/{id}/withdraw", "decide", "reviewer admin"),
    ("POST /v1/users", "administer", "admin"),
    ("GET /v1/users", "read", EVERYONE),
    ("GET /v1/users/{id}", "read", EVERYONE),
    ("PATCH /v1/users/{id}", "administer", "admin"),
    ("PUT /v1/users/{id}/roles", "administer", "admin"),
    ("POST /v1/users/{id}/invitations", "administer", "admin"),
    ("POST /v1/users/{id}/aliases", "administer", "admin"),
    ("POST /v1/users/{id}/confirm", "administer", "admin"),
    ("POST /v1/agents", "administer", "admin"),
    ("GET /v1/agents", "read", EVERYONE),
    ("GET /v1/agents/{id}", "read", EVERYONE),
    ("PATCH /v1/agents/{id}", "administer", "admin"),
    ("DELETE /v1/agents/{id}", "administer", "admin"),
    ("POST /v1/agents/{id}/heartbeat", "execute", "agent"),
    ("POST /v1/agents/{id}/drain", "operate", "admin"),
    ("POST /v1/agents/{id}/pause", "operate", "admin"),
    ("POST /v1/agents/{id}/resume", "operate", "admin"),
    ("GET /v1/agents/{id}/config", "read", "admin"),
    ("PUT /v1/agents/{id}/config", "administer", "admin"),
    ("GET /v1/agents/{id}/config/versions", "read", "admin"),
    ("GET /v1/agents/{id}/config/versions/{version}/diff", "read", "admin"),
    ("POST /v1/agents/{id}/config/rollback", "administer", "admin"),
    ("GET /v1/resources", "read", EVERYONE),
    ("POST /v1/resources/import", "administer", "admin"),
    ("GET /v1/resources/{type}/{id}", "read", EVERYONE),
    ("PUT /v1/resources/{type}/{id}", "administer", "admin"),
    ("POST /v1/tokens", "administer", "admin"),
    ("GET /v1/tokens", "read", "admin"),
    ("DELETE /v1/tokens/{key_id}", "read", "admin"),
    ("GET /v1/audit", "read", "agent author reviewer auditor admin"),
    ("GET /v1/stats/reviewers/{id}", "read", "admin"),
    ("GET /v1/stats/tasks/{id}", "read", EVERYONE),
    ("GET /v1/stats/overview", "read", EVERYONE),
    ("GET /v1/stats/pairs", "read", "auditor admin"),
    ("POST /v1/policies", "administer", "admin"),
    ("GET /v1/policies", "read", EVERYONE),
    ("GET /v1/policies/{id}/versions", "read", EVERYONE),
    ("POST /v1/policies/{id}/rollback", "administer", "admin"),
    ("POST /v1/policies/replay", "administer", "admin"),
    ("GET /v1/policy-drafts", "read", EVERYONE),
    ("GET /v1/policy-drafts/{id}", "read", EVERYONE),
    ("POST /v1/policy-drafts/{id}/publish", "administer", "admin"),
    ("DELETE /v1/policy-drafts/{id}", "administer", "admin"),
    ("GET /v1/pending-changes", "read", EVERYONE),
    ("GET /v1/pending-changes/{id}", "read", EVERYONE),
    ("POST /v1/pending-changes/{id}/publish", "administer", "admin"),
    ("POST /v1/pending-changes/{id}/object", "decide", "admin"),
    ("DELETE /v1/pending-changes/{id}", "decide", "admin"),
    ("POST /v1/tasks/evaluate", "propose", "agent author admin"),
    ("POST /v1/approvals/batch", "decide", "reviewer admin"),
    ("POST /v1/approvals/{id}/delegate", "decide", "reviewer admin"),
    ("POST /v1/delegations", "decide", PEOPLE),
    ("GET /v1/delegations", "read", EVERYONE),
    ("GET /v1/delegations/resolve", "read", "admin"),
    ("DELETE /v1/delegations/{id}", "decide", "admin"),
    ("GET /v1/risk/settings", "read", EVERYONE),
    ("PUT /v1/risk/settings", "administer", "admin"),
    ("GET /v1/settings/timeouts", "read", EVERYONE),
    ("PUT /v1/settings/timeouts", "administer", "admin"),
    ("GET /v1/flags", "read", EVERYONE),
    ("PUT /v1/flags/{name}", "administer", "admin"),
    ("POST /v1/freezes", "operate", "operator admin"),
    ("GET /v1/freezes", "read", EVERYONE),
    ("DELETE /v1/freezes/{id}", "operate", "operator admin"),
    ("POST /v1/tasks/{id}/extend", "decide", "reviewer admin"),
    ("GET /v1/notifications", "read", PEOPLE),
    ("POST /v1/tasks/{id}/override", "decide", "admin"),
    ("POST /v1/tasks/{id}/override/confirm", "decide", "admin"),
    ("GET /v1/after-reviews", "read", EVERYONE),
    ("POST /v1/after-reviews/{id}/close", "decide", "reviewer auditor"),
    ("POST /v1/locks/acquire", "execute", "agent"),
    ("POST /v1/leases/heartbeat", "execute", "agent"),
    ("POST /v1/leases/{id}/release", "execute", "agent"),
    ("GET /v1/leases", "read", EVERYONE),
    ("GET /v1/locks", "read", EVERYONE),
    ("GET /v1/locks/graph", "read", EVERYONE),
    ("GET /v1/locks/deadlocks", "read", EVERYONE),
    ("POST /v1/locks/incidents", "operate", "operator admin"),
    ("GET /v1/locks/{type}/{id}", "read", EVERYONE),
    ("POST /v1/locks/{type}/{id}/break", "operate", "operator admin"),
    ("POST /v1/webhooks", "administer", "admin"),
    ("GET /v1/webhooks", "read", "admin"),
    ("GET /v1/webhooks/{id}", "read", "admin"),
    ("PATCH /v1/webhooks/{id}", "administer", "admin"),
    ("DELETE /v1/webhooks/{id}", "administer", "admin"),
    ("POST /v1/webhooks/{id}/rotate", "administer", "admin"),
    ("POST /v1/webhooks/{id}/ping", "administer", "admin"),
    ("GET /v1/webhooks/{id}/deliveries", "read", "admin"),
    ("POST /v1/webhooks/{id}/redeliver", "administer", "admin"),
    ("GET /v1/event-consumers", "read", "operator admin"),
    ("GET /v1/event-consumers/dead-events", "read", "operator admin"),
    ("POST /v1/event-consumers/dead-events/redrive", "operate", "operator admin"),
    ("GET /v1/notifications/preferences", "read", PEOPLE),
    ("PUT /v1/notifications/preferences", "decide", PEOPLE),
    ("GET /v1/on-call", "read", EVERYONE),
    ("POST /v1/on-call", "operate", "operator admin"),
    ("DELETE /v1/on-call/{id}", "operate", "operator admin"),
    ("POST /v1/slack/interactions", "open", ""),
    ("POST /v1/inbound-sources", "administer", "admin"),
    ("GET /v1/inbound-sources", "read", "admin"),
    ("GET /v1/inbound-sources/{id}", "read", "admin"),
    ("PATCH /v1/inbound-sources/{id}", "administer", "admin"),
    ("DELETE /v1/inbound-sources/{id}", "administer", "admin"),
    ("POST /v1/inbound-sources/{id}/rotate", "administer", "admin"),
    ("POST /v1/inbound/{tenant}/{id}", "open", ""),
    ("GET /v1/events", "read", EVERYONE),
    ("POST /v1/ws/tickets", "read", EVERYONE),
    ("GET /v1/ws", "open", EVERYONE),
    ("GET /.well-known/jwks.json", "open", EVERYONE),
    ("GET /.well-known/oauth-protected-resource", "open", EVERYONE),
    ("POST /mcp", "read", EVERYONE),
];

const SIGNED: [&str; 2] = ["POST /v1/slack/interactions", "POST /v1/inbound/{tenant}/{id}"];
const CLOSED_TO_AGENTS: [&str; 3] = ["decide", "operate", "administer"];
const DATABASE: &str = "acme-ledger";
const PASSKEY: &str = "psk_01k9xq3vb8f2n4s6t7w8y9z0ab";
const STEP_UP: &str = "stp_01k9xq3vb8f2n4s6t7w8y9z0ab";
const SESSION: &str = "ags_01k9xq3vb8f2n4s6t7w8y9z0ab";

struct Cast {
    agent: Person,
    author: Person,
    reviewer: Person,
    operator: Person,
    auditor: Person,
    /// A second admin, for changes that need two.
    second: Person,
    /// A policy with two versions.
    policy: String,
    other: Person,
}

/// The objects that requests refer to.
#[derive(Clone)]
struct Named {
    task: String,
    version: String,
    vote: Value,
    /// Six days after the task entered its state.
    until: String,
    approval: String,
    user: String,
    alias: String,
    agent: String,
    key_id: String,
    database: String,
    delegate: String,
    policy: String,
    draft: String,
    change: String,
    delegation: String,
    freeze: String,
    review: String,
    lease: String,
    execution: String,
    hook: String,
    duty: String,
    source: String,
    /// The user code of a pending device login.
    code: String,
    /// The calling agent, for routes that an agent can only call for itself.
    asker: String,
    /// A time within a day.
    soon: String,
    /// A resource that no incident holds yet.
    incident: String,
}

struct Ask {
    method: &'static str,
    path: String,
    body: Option<Value>,
    version: String,
}

async fn cast(world: &World) -> Cast {
    let author = world.person("acme-bob", &["author"]).await;
    let reviewer = world.person("acme-rea", &["reviewer"]).await;
    let operator = world.person("acme-olga", &["operator"]).await;
    let auditor = world.person("acme-aude", &["auditor"]).await;
    let agent = world.agent("acme-bot", &author).await;
    let path = format!("/v1/agents/{}", agent.id);
    let able = json!({ "capabilities": ["db.*"], "max_tasks": 1000 });
    world.send("PATCH", &world.admin.token, &path, Some(able), &[]).await.expect(200);
    let second = world.person("acme-second", &["admin"]).await;
    let (_, other) = world.tenant("other").await;
    world.policy(WIDE).await;
    let mut policy = String::new();
    for min in [1, 2] {
        let draft = draft_of(world, &second, &format!("acme-rule\nreject_threshold: {min}")).await;
        let path = format!("/v1/policy-drafts/{}/publish", id(&draft));
        world.send("POST", &world.admin.token, &path, None, &[]).await.expect(200);
        policy = draft["policy_id"].as_str().unwrap().to_owned();
    }
    let entry = Some(json!({ "criticality": 10 }));
    let path = format!("/v1/resources/database/{DATABASE}");
    world.send("PUT", &world.admin.token, &path, entry, &[]).await.expect(200);
    Cast { agent, author, reviewer, operator, auditor, second, policy, other }
}

/// A policy with this name that matches none of the tasks here.
fn rule(name: &str) -> String {
    let rest = "match: {task_types: [\"nothing.*\"]}\nrequire: [{roles: [x], min: 1}]\n";
    format!("name: {name}\n{rest}")
}

async fn draft_of(world: &World, admin: &Person, name: &str) -> Value {
    let asked = json!({ "document": rule(name) });
    world.post(&admin.token, "/v1/policies", asked).await.expect(201)
}

/// Marks a user as a person who joined by an invitation of this admin.
async fn unconfirm(world: &World, user: &str, inviter: &str) {
    let [user, inviter] = [user, inviter].map(|id| id.parse::<UserId>().unwrap().uuid());
    let sql = format!(
        "UPDATE app_user SET invited_by = '{inviter}', unconfirmed_since = moment()
          WHERE id = '{user}'"
    );
    world.database.run(&sql).await;
}

/// Adds the objects that only the route under test needs, such as a policy draft or a lease.
async fn rules(world: &World, cast: &Cast, route: &str, mut named: Named) -> Named {
    let admin = &world.admin.token;
    named.delegate = cast.second.id.clone();
    named.policy = cast.policy.clone();
    named.incident = format!("incident:{}", named.user);
    if route.contains("/policy-drafts/") || route == "GET" {
        let name = format!("acme-{}", named.user);
        named.draft = id(&draft_of(world, &cast.second, &name).await).to_owned();
    }
    if route.contains("/pending-changes/") || route == "GET" {
        end_setup(world).await;
        let path = format!("/v1/users/{}/roles", named.user);
        let body = Some(json!({ "roles": ["acme-role"] }));
        let made = world.send("PUT", &cast.second.token, &path, body, &[]).await.expect(202);
        named.change = id(&made).to_owned();
    }
    if route == "DELETE /v1/delegations/{id}" || route == "GET" {
        let body = json!({
            "owner_id": named.user, "delegate_id": cast.second.id, "kind": "transfer",
            "expires_at": "2100-01-01T00:00:00Z"
        });
        let made = world.post(admin, "/v1/delegations", body).await;
        named.delegation = id(&settled(world, &cast.second, made).await).to_owned();
    }
    if route == "DELETE /v1/freezes/{id}" || route == "GET" {
        let body = json!({ "scope": "environment", "target": "acme-env", "reason": "acme-why" });
        named.freeze = id(&world.post(admin, "/v1/freezes", body).await.expect(201)).to_owned();
    }
    if route.contains("/v1/webhooks/{id}") || route == "GET" {
        let body = json!({ "url": "http://127.0.0.1:9/acme", "events": ["task.*"] });
        named.hook = id(&world.post(admin, "/v1/webhooks", body).await.expect(201)).to_owned();
    }
    if route == "DELETE /v1/on-call/{id}" || route == "GET" {
        let body = json!({
            "role": "admin", "user_id": cast.second.id, "starts_at": "2020-01-01T00:00:00Z",
            "ends_at": "2100-01-01T00:00:00Z"
        });
        named.duty = id(&world.post(admin, "/v1/on-call", body).await.expect(201)).to_owned();
    }
    if route.contains("/v1/inbound") || route == "GET" {
        let body = crate::inbound::source(&cast.agent.id);
        let made = world.post(admin, "/v1/inbound-sources", body).await.expect(201);
        named.source = id(&made).to_owned();
    }
    if route.contains("/v1/le") || route.contains("/v1/locks") || route == "GET" {
        let made = world.post(&cast.agent.token, "/v1/locks/acquire", wanted(&named)).await;
        named.lease = made.expect(200)["lease_id"].as_str().unwrap().to_owned();
    }
    if route.contains("/v1/device/") || route == "GET" {
        let asked = world.post("", "/auth/device", json!({})).await.expect(200);
        named.code = asked["user_code"].as_str().unwrap().to_owned();
    }
    if route == "POST /v1/agents/{id}/heartbeat" {
        named.agent = cast.agent.id.clone();
    }
    let path = format!("/v1/tasks/{}/override", named.task);
    if route.ends_with("/override/confirm") || route.contains("/after-reviews/") {
        let body = Some(json!({ "ticket": "INC-1", "reason": "acme-fire" }));
        let version = [("if-match", &*named.version)];
        world.send("POST", &cast.second.token, &path, body, &version).await.expect(202);
    }
    if route.contains("/after-reviews/") {
        world.post(admin, &format!("{path}/confirm"), on_screen(&named)).await.expect(200);
        let owed = world.get(admin, "/v1/after-reviews").await.expect(200);
        let of_task = owed["items"].as_array().unwrap().iter();
        let mut of_task = of_task.filter(|review| review["task_id"] == named.task.as_str());
        named.review = id(of_task.next().unwrap()).to_owned();
    }
    named
}

/// Returns the time in an hour.
pub async fn soon(world: &World) -> String {
    let now = "SELECT extract(epoch FROM clock_timestamp())::bigint";
    let at = world.database.number(now).await + 3_600;
    ade_core::time::Timestamp::from_micros(at * 1_000_000).to_string()
}

/// A request for a shared lock that lasts longer than the test.
fn wanted(named: &Named) -> Value {
    let lock = json!({ "resource": format!("database:{}", named.database), "mode": "shared" });
    json!({ "resources": [lock], "ttl_seconds": 300 })
}

/// The revision and digest of a vote, without a reason.
fn on_screen(named: &Named) -> Value {
    json!({ "revision": named.vote["revision"], "digest": named.vote["digest"] })
}

/// A policy that needs more than two votes, so that a vote can still be withdrawn.
const WIDE: &str = "name: wide
match: {task_types: [\"wide.*\"]}
require:
  - {roles: [reviewer, admin], min: 3}";

fn proposal(task_type: &str) -> Value {
    let resource = format!("database:{DATABASE}");
    json!({
        "title": "acme-title", "type": task_type, "parameters": { "for": "acme-parameter" },
        "resources": [{ "resource": resource, "mode": "shared" }],
        "plan": { "changes": [{
            "resource": resource, "action": "add", "irreversible": false, "summary": "acme-column"
        }] }
    })
}

/// Creates new objects in the state that the route needs. The rest is as in `known`.
async fn stage(world: &World, cast: &Cast, route: &str, known: &Named) -> Named {
    let of_tasks = ["/v1/tasks/{id}", "/v1/approvals/", "/v1/after-reviews/", "/v1/executions/"];
    let named = if of_tasks.iter().any(|it| route.contains(it)) {
        stage_task(world, cast, route, known).await
    } else {
        stage_people(world, known).await
    };
    if route == "POST /v1/users/{id}/confirm" {
        unconfirm(world, &named.user, &cast.second.id).await;
    }
    rules(world, cast, route, named).await
}

/// Creates one object of each kind, for routes that change nothing.
async fn stage_all(world: &World, cast: &Cast) -> Named {
    let nothing = Named {
        task: String::new(),
        version: String::new(),
        vote: Value::Null,
        until: String::new(),
        approval: String::new(),
        user: String::new(),
        alias: String::new(),
        agent: String::new(),
        key_id: String::new(),
        database: DATABASE.to_owned(),
        delegate: String::new(),
        policy: String::new(),
        draft: String::new(),
        change: String::new(),
        delegation: String::new(),
        freeze: String::new(),
        review: format!("arv_{}", "0".repeat(26)),
        lease: String::new(),
        execution: String::new(),
        hook: String::new(),
        duty: String::new(),
        source: String::new(),
        code: String::new(),
        asker: cast.agent.id.clone(),
        soon: soon(world).await,
        incident: String::new(),
    };
    let people = stage_people(world, &nothing).await;
    let attempt = stage_task(world, cast, "GET /v1/executions/{id}", &people).await;
    let all = stage_task(world, cast, "GET", &people).await;
    let all = Named { execution: attempt.execution, ..all };
    rules(world, cast, "GET", all).await
}

async fn stage_task(world: &World, cast: &Cast, route: &str, known: &Named) -> Named {
    let task_type = if route.ends_with("/withdraw") { "wide.change" } else { "db.change" };
    let made = world.post(&cast.agent.token, "/v1/tasks", proposal(task_type)).await.expect(201);
    let path = path_of(&made);
    let is_draft = ["PATCH /v1/tasks", "DELETE /v1/tasks"].iter().any(|it| route.starts_with(it))
        || ["/submit", "/cancel"].iter().any(|it| route.ends_with(it));
    let mut approval = known.approval.clone();
    if route.ends_with("/resubmit") {
        let cancel = format!("{path}/cancel");
        let body = Some(json!({}));
        world.matching("POST", &cast.author.token, &cancel, body, &made).await.expect(200);
    } else if !is_draft {
        world.submit(&cast.agent, &made).await;
        world.work("review_opener").await;
        approval = world.request(&cast.reviewer, &made).await;
    }
    let task = world.task(&cast.author, &made).await;
    if route.ends_with("/retry") {
        world.approve(&cast.reviewer, &task).await;
        world.fail("acme-title").await;
    }
    if route.ends_with("/withdraw") {
        for who in [&cast.reviewer.token, &world.admin.token] {
            let voted = world.post(who, &format!("{path}/approve"), seen(&task)).await.expect(200);
            assert_eq!(voted["state"], "REVIEWING");
        }
    }
    let mut applied = None;
    if route.contains("/v1/executions/") || route.ends_with("/reconcile") {
        applied = Some(apply(world, cast, route, &task).await);
    }
    let (execution, lease) = applied.unwrap_or_default();
    let task = world.task(&cast.author, &made).await;
    let mut vote = seen(&task);
    vote["reason"] = json!("because");
    let (until, version) = (days_later(&task, 6), quoted(&task));
    let task = id(&task).to_owned();
    Named { task, version, vote, until, approval, lease, execution, ..known.clone() }
}

/// Creates an attempt of the agent in the state that the route needs.
async fn apply(world: &World, cast: &Cast, route: &str, task: &Value) -> (String, String) {
    world.approve(&cast.reviewer, task).await;
    let claimed = executions::claim(world, &cast.agent, json!({ "task_id": task["id"] })).await;
    let permit = claimed.expect(200)["permit"].clone();
    if route.ends_with("/finish") || route.ends_with("/reconcile") {
        executions::say(world, &cast.agent, &permit, "begin", json!({})).await.expect(200);
    }
    if route.ends_with("/reconcile") {
        let lost = "UPDATE task SET state = 'UNKNOWN' WHERE state = 'APPLYING'";
        world.database.run(lost).await;
    }
    let text = |name: &str| permit[name].as_str().unwrap().to_owned();
    (text("execution_id"), text("lease_id"))
}

async fn stage_people(world: &World, known: &Named) -> Named {
    let admin = &world.admin.token;
    let [user, alias] = [victim(world).await, victim(world).await];
    let name = format!("acme-agent-{user}");
    let owned = json!({ "name": name, "owner_id": user });
    let agent = world.post(admin, "/v1/agents", owned).await.expect(201);
    for version in 0..2 {
        let path = format!("/v1/agents/{}/config", id(&agent));
        let body = Some(json!({ "config": { "secret": "acme-secret", "room": version } }));
        let read = format!("\"{version}\"");
        world.send("PUT", admin, &path, body, &[("if-match", &*read)]).await.expect(200);
    }
    let token = json!({ "user_id": user, "scopes": ["read"] });
    let token = world.post(admin, "/v1/tokens", token).await.expect(201);
    let key_id = token["key_id"].as_str().unwrap().to_owned();
    Named { user, alias, agent: id(&agent).to_owned(), key_id, ..known.clone() }
}

async fn victim(world: &World) -> String {
    let asked = json!({ "name": "acme-vic", "roles": [] });
    let user = world.post(&world.admin.token, "/v1/users", asked).await.expect(201);
    id(&user).to_owned()
}

/// The same request parameters with ids that do not exist.
fn absent(named: &Named) -> Named {
    let none = |prefix: &str| format!("{prefix}_{}", "0".repeat(26));
    Named {
        task: none("task"),
        approval: none("apr"),
        user: none("usr"),
        alias: format!("usr_{}1", "0".repeat(25)),
        agent: none("agt"),
        key_id: "0".repeat(16),
        database: "nothing".to_owned(),
        delegate: format!("usr_{}2", "0".repeat(25)),
        policy: none("pol"),
        draft: none("pdr"),
        change: none("chg"),
        delegation: none("del"),
        freeze: none("frz"),
        review: none("arv"),
        lease: none("lease"),
        execution: none("exec"),
        hook: none("hook"),
        duty: none("duty"),
        source: none("inb"),
        asker: none("agt"),
        ..named.clone()
    }
}

fn noun_of(template: &str) -> &str {
    template.split('/').nth(2).unwrap_or_default()
}

/// The value of `{id}` in the path.
fn subject<'a>(template: &str, named: &'a Named) -> &'a str {
    match noun_of(template) {
        "stats" if template.contains("/tasks/") => &named.task,
        "tasks" => &named.task,
        "approvals" => &named.approval,
        "users" | "stats" => &named.user,
        "agents" if template.ends_with("/claim") => &named.asker,
        "agents" => &named.agent,
        "executions" => &named.execution,
        "policies" => &named.policy,
        "policy-drafts" => &named.draft,
        "pending-changes" => &named.change,
        "delegations" => &named.delegation,
        "freezes" => &named.freeze,
        "after-reviews" => &named.review,
        "leases" => &named.lease,
        "webhooks" => &named.hook,
        "on-call" => &named.duty,
        "inbound-sources" | "inbound" => &named.source,
        "sessions" => &named.key_id,
        "passkeys" => PASSKEY,
        "step-up" => STEP_UP,
        _ => &named.database,
    }
}

fn for_agent(route: &str, named: &Named) -> Option<Value> {
    let body = match route {
        "POST /v1/agents" => {
            json!({ "name": format!("new-{}", named.agent), "owner_id": named.user })
        }
        "PATCH /v1/agents/{id}" => json!({ "capabilities": ["db.*"] }),
        "POST /v1/agents/{id}/heartbeat" => json!({ "process_id": SESSION }),
        "PUT /v1/agents/{id}/config" => json!({ "config": { "room": 3 } }),
        "POST /v1/agents/{id}/config/rollback" => json!({ "to": 1, "reason": "back" }),
        _ if route.starts_with("POST ") => json!({}),
        _ => return None,
    };
    Some(body)
}

fn for_hook(route: &str) -> Option<Value> {
    match route {
        "POST /v1/webhooks" => Some(json!({ "url": "http://127.0.0.1:9/", "events": ["*"] })),
        "PATCH /v1/webhooks/{id}" => Some(json!({ "label": "x" })),
        "POST /v1/webhooks/{id}/rotate" => Some(json!({})),
        "POST /v1/webhooks/{id}/redeliver" => Some(json!({ "dead_since": "2026-01-01T00:00:00Z" })),
        _ => None,
    }
}

/// A tenant that does not exist.
const NOWHERE: &str = "ten_00000000000000000000000000";
const NOTIFYING: [&str; 4] = ["inbound-sources", "notifications", "on-call", "event-consumers"];

fn for_notifications(route: &str, named: &Named) -> Option<Value> {
    match route {
        "POST /v1/inbound-sources" => Some(crate::inbound::source(&named.asker)),
        "PATCH /v1/inbound-sources/{id}" => Some(json!({ "label": "x" })),
        "POST /v1/inbound-sources/{id}/rotate" => Some(json!({})),
        "PUT /v1/notifications/preferences" => {
            Some(json!({ "mail": [], "slack": [], "digest_seconds": 300 }))
        }
        "POST /v1/on-call" => Some(json!({
            "role": "admin", "user_id": named.delegate, "starts_at": "2020-01-01T00:00:00Z",
            "ends_at": "2100-01-01T00:00:00Z"
        })),
        "POST /v1/event-consumers/dead-events/redrive" => {
            Some(json!({ "consumer": "audit_logger" }))
        }
        _ => None,
    }
}

/// Bodies for the passkey routes, with made-up passkey data.
fn for_passkey(route: &str) -> Option<Value> {
    let part = json!({ "client_data": "AA", "authenticator_data": "AA" });
    let with = |more: Value| {
        let mut body = part.clone();
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        Some(body)
    };
    match route {
        "POST /v1/passkeys" => Some(json!({ "name": "mine" })),
        "POST /v1/passkeys/{id}" => with(json!({ "public_key": "AA", "algorithm": -7 })),
        "POST /v1/step-up" => Some(json!({ "purpose": "add_passkey", "about": [] })),
        "POST /v1/step-up/{id}" => with(json!({ "credential": "AA", "signature": "AA" })),
        _ => None,
    }
}

fn path_to(template: &str, named: &Named) -> String {
    template
        .replace("{id}", subject(template, named))
        .replace("{revision}", "1")
        .replace("{version}", "1")
        .replace("{type}", "database")
        .replace("{name}", "deadlock_detection")
        .replace("{tenant}", NOWHERE)
        .replace("{key_id}", &named.key_id)
        .replace("{user_code}", &named.code)
}

fn for_person(route: &str, named: &Named) -> Option<Value> {
    match route {
        "POST /v1/users" => Some(json!({ "name": "new", "manager_id": named.user })),
        "PATCH /v1/users/{id}" => Some(json!({ "email": "v@example.org" })),
        "PUT /v1/users/{id}/roles" => Some(json!({ "roles": ["author"] })),
        "POST /v1/users/{id}/aliases" => Some(json!({ "alias_id": named.alias })),
        _ => None,
    }
}

fn ask(route: &'static str, named: &Named) -> Ask {
    let (method, template) = route.split_once(' ').unwrap();
    let noun = noun_of(template);
    let mut path = path_to(template, named);
    if let Some((name, asked)) = filter(route, named) {
        path = format!("{path}?{name}={asked}");
    }
    let body = match route {
        "POST /v1/tasks" | "POST /v1/tasks/evaluate" => Some(proposal("db.change")),
        "PATCH /v1/tasks/{id}" => Some(json!({ "tags": ["x"], "parameters": { "for": "y" } })),
        "POST /v1/tasks/{id}/cancel"
        | "PUT /v1/risk/settings"
        | "PUT /v1/settings/timeouts"
        | "POST /v1/agents/{id}/claim"
        | "POST /v1/tasks/{id}/claim" => Some(json!({})),
        "POST /mcp" => Some(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
        "POST /v1/tasks/{id}/comments" => Some(json!({ "text": "hm" })),
        "POST /v1/tasks/{id}/approve"
        | "POST /v1/tasks/{id}/reject"
        | "POST /v1/tasks/{id}/request-changes" => Some(named.vote.clone()),
        "POST /v1/approvals/{id}/withdraw" | "POST /v1/policy-drafts/{id}/publish" => None,
        "POST /v1/approvals/batch" => {
            let mut item = on_screen(named);
            item["approval_id"] = json!(named.approval);
            Some(json!({ "action": "approve", "items": [item] }))
        }
        "POST /v1/approvals/{id}/delegate" => Some(json!({ "delegate_id": named.delegate })),
        "POST /v1/delegations" => Some(json!({
            "delegate_id": named.delegate, "kind": "follow",
            "expires_at": "2100-01-01T00:00:00Z"
        })),
        "POST /v1/freezes" => Some(json!({ "scope": "tenant", "reason": "month's end" })),
        "POST /v1/tasks/{id}/extend" => Some(json!({ "until": named.until, "reason": "holidays" })),
        "POST /v1/tasks/{id}/override" => Some(json!({ "ticket": "INC-2", "reason": "fire" })),
        "POST /v1/tasks/{id}/override/confirm" => Some(on_screen(named)),
        "POST /v1/after-reviews/{id}/close" => Some(json!({ "finding": "right" })),
        "POST /v1/tasks/{id}/reconcile" => {
            Some(json!({ "found": "completed", "reason": "acme-look" }))
        }
        _ if noun == "executions" && method == "POST" => Some(report_body(route, named)),
        "POST /v1/locks/acquire" => Some(wanted(named)),
        "POST /v1/leases/heartbeat" => Some(json!({ "lease_ids": [named.lease] })),
        "POST /v1/locks/{type}/{id}/break" => Some(json!({ "reason": "it hangs" })),
        "POST /v1/locks/incidents" => Some(json!({
            "resources": [named.incident], "reason": "fire", "ends_at": named.soon
        })),
        _ if noun == "webhooks" => for_hook(route),
        _ if NOTIFYING.contains(&noun) => for_notifications(route, named),
        _ if ["passkeys", "step-up"].contains(&noun) => for_passkey(route),
        "POST /v1/pending-changes/{id}/object" => Some(json!({ "reason": "acme-no" })),
        "POST /v1/policies" => Some(json!({ "document": rule("fresh") })),
        "POST /v1/policies/replay" => Some(json!({ "document": rule("fresh"), "days": 1 })),
        "POST /v1/policies/{id}/rollback" => Some(json!({ "version": 1, "reason": "back" })),
        _ if noun == "users" => for_person(route, named),
        "PUT /v1/resources/{type}/{id}" => Some(json!({ "owner_id": named.user })),
        "POST /v1/resources/import" => {
            Some(json!({ "items": [{ "resource": "database:new", "owner_id": named.user }] }))
        }
        "PUT /v1/flags/{name}" => Some(json!({ "enabled": true })),
        "POST /v1/session/tenant" => Some(json!({ "tenant_id": NOWHERE })),
        "POST /v1/tokens/report-leak" => Some(json!({ "token": "none" })),
        "POST /v1/invitations/accept" => Some(json!({ "invitation": "none" })),
        "POST /auth/device" | "POST /v1/device/{user_code}/approve" => Some(json!({})),
        "POST /auth/device/token" => Some(json!({ "device_code": "none" })),
        "PUT /v1/group-roles" => Some(json!({ "issuer": "acme-issuer", "groups": {} })),
        "POST /v1/tokens" => Some(json!({ "user_id": named.user, "scopes": ["read"] })),
        _ if noun == "agents" => for_agent(route, named),
        _ => None,
    };
    Ask { method, path, body, version: version_of(route, named) }
}

/// The version of the object, as `stage_people` and `stage_task` leave it.
fn version_of(route: &str, named: &Named) -> String {
    match route {
        "PUT /v1/risk/settings"
        | "PUT /v1/settings/timeouts"
        | "PUT /v1/notifications/preferences" => "\"0\"".to_owned(),
        "PATCH /v1/webhooks/{id}" | "PATCH /v1/inbound-sources/{id}" => "\"1\"".to_owned(),
        "PUT /v1/agents/{id}/config" => "\"2\"".to_owned(),
        _ => named.version.clone(),
    }
}

/// The query parameter of a route.
fn filter<'a>(route: &str, named: &'a Named) -> Option<(&'static str, &'a str)> {
    match route {
        "GET /v1/tasks" => Some(("author_id", &named.user)),
        "GET /v1/delegations" => Some(("owner_id", &named.user)),
        "GET /v1/tokens" | "GET /v1/delegations/resolve" => Some(("user_id", &named.user)),
        "GET /v1/audit" => Some(("object", &named.task)),
        "GET /v1/events" | "GET /v1/tasks/{id}/logs" => Some(("wait", "0s")),
        "GET /v1/ws" => Some(("ticket", "none")),
        "GET /auth/login" => Some(("provider", "none")),
        _ => None,
    }
}

/// The body of a report by the holder of an attempt.
fn report_body(route: &str, named: &Named) -> Value {
    let mut body = match route.rsplit('/').next() {
        Some("log") => json!({ "first": 0, "lines": [{ "stream": "note", "text": "acme-line" }] }),
        _ => json!({}),
    };
    body["lease_id"] = json!(named.lease);
    body
}

impl Ask {
    async fn send(&self, world: &World, token: &str) -> Answer {
        let version = [("if-match", &*self.version)];
        world.send(self.method, token, &self.path, self.body.clone(), &version).await
    }

    fn text(&self) -> String {
        format!("{} {}", self.path, self.body.clone().unwrap_or_default())
    }
}

#[tokio::test]
async fn access_table_has_each_route_with_its_class() {
    let door = |door| match door {
        RouteAuth::Public => "open",
        RouteAuth::Scope(class) => class.as_str(),
    };
    let built = http::build(shared(&[])).unwrap().routes;
    let built: BTreeSet<(String, &str)> =
        built.iter().map(|it| (format!("{} {}", it.method, it.path), door(it.door))).collect();
    let listed = TABLE.iter().map(|(route, class, _)| ((*route).to_owned(), *class));
    assert_eq!(listed.collect::<BTreeSet<_>>(), built);
}

#[tokio::test]
async fn access_table_excludes_all_other_callers() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let read = stage_all(&world, &cast).await;
    for (route, class, allowed) in TABLE {
        // A request that is refused changes nothing, so the next caller finds what it needs.
        let mut unused = route.starts_with("GET ").then(|| read.clone());
        for (who, token) in [
            ("anonymous", ""),
            ("agent", &*cast.agent.token),
            ("author", &*cast.author.token),
            ("reviewer", &*cast.reviewer.token),
            ("operator", &*cast.operator.token),
            ("auditor", &*cast.auditor.token),
            ("admin", &*world.admin.token),
        ] {
            let named = match unused.take() {
                Some(named) => named,
                None => stage(&world, &cast, route, &read).await,
            };
            let answer = ask(route, &named).send(&world, token).await;
            let shown = format!("{route} as {who}: {} {}", answer.status, answer.body);
            let is_allowed = *class == "open" || allowed.split(' ').any(|name| name == who);
            match answer.status {
                200..300 => assert!(is_allowed, "{shown}"),
                // The ticket or the code identifies the caller, and the test sends neither.
                400 if ["GET /v1/ws", "POST /auth/device/token"].contains(route) => {}
                // No session is opened for a request that does not come from a page of the server.
                403 if *route == "POST /v1/invitations/accept" => {
                    assert_eq!(answer.body["code"], "cross_site", "{shown}");
                }
                // A browser is redirected in any case.
                303 if route.starts_with("GET /auth/") => {}
                // A signature identifies the caller.
                401 if SIGNED.contains(route) => {}
                401 => assert!(who == "anonymous" && !is_allowed, "{shown}"),
                403 | 404 => assert!(who != "anonymous" && !is_allowed, "{shown}"),
                409 if answer.body["code"] == "batch_refused" => assert!(!is_allowed, "{shown}"),
                _ => panic!("{shown}"),
            }
            if route.starts_with("GET ") || answer.status >= 300 {
                unused = Some(named);
            }
            if who == "agent" && CLOSED_TO_AGENTS.contains(class) {
                answer.refused(403, "insufficient_scope");
            }
        }
    }
}

/// Whether the text contains the whole word. Random ids may contain a short word by chance.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |end: Option<char>| end.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[tokio::test]
async fn access_from_another_tenant_looks_like_not_found() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let known = stage_all(&world, &cast).await;
    let mut compared = 0;
    for (route, ..) in TABLE {
        let named = stage(&world, &cast, route, &known).await;
        let before = world.task(&cast.author, &json!({ "id": named.task })).await;
        let (real, nothing) = (ask(route, &named), ask(route, &absent(&named)));
        let answer = real.send(&world, &cast.other.token).await;
        let words = [
            "acme",
            &world.tenant,
            &world.admin.id,
            &cast.author.id,
            &cast.reviewer.id,
            &cast.agent.id,
            &named.task,
            &named.approval,
            &named.user,
            &named.alias,
            &named.agent,
            &named.key_id,
        ];
        let shown = without_request_id(answer.body.clone()).to_string();
        let asked = real.text();
        for word in words.into_iter().filter(|word| !asked.contains(word)) {
            assert!(!has_word(&shown, word), "{route} reveals {word}: {shown}");
        }
        if asked != nothing.text() {
            compared += 1;
            let other = nothing.send(&world, &cast.other.token).await;
            let strip = |answer: Answer| {
                let mut body = without_request_id(answer.body);
                if let Some(members) = body.as_object_mut() {
                    members.remove("as_of");
                }
                (answer.status, answer.etag, body)
            };
            assert_eq!(strip(answer), strip(other), "{route}");
        }
        let after = world.task(&cast.author, &json!({ "id": named.task })).await;
        assert_eq!(after, before, "{route}");
    }
    assert!(compared > 30, "{compared}");
}

/// This holds even if wider scopes are written into the database.
#[tokio::test]
async fn access_of_an_agent_to_routes_for_people_is_refused() {
    let world = World::new().await;
    let cast = cast(&world).await;
    let scopes = ALL_SCOPES.map(|scope| format!("'{scope}'")).join(", ");
    let sql = format!("UPDATE token SET scopes = ARRAY[{scopes}] WHERE agent_id IS NOT NULL");
    world.database.run(&sql).await;
    let known = stage_all(&world, &cast).await;
    let mut tried = 0;
    for (route, class, _) in TABLE.iter().filter(|row| CLOSED_TO_AGENTS.contains(&row.1)) {
        let named = stage(&world, &cast, route, &known).await;
        let answer = ask(route, &named).send(&world, &cast.agent.token).await;
        assert_eq!(answer.refused(403, "insufficient_scope")["required_scope"], *class, "{route}");
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
}
