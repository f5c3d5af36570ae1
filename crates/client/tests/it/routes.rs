//! Checks that every route of the API has a client method, or a reason why not. The methods are
//! called against a server that refuses everything, and the requests are compared with the OpenAPI
//! document: path, method, query and required version.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ade_api::agent_configs::{AgentConfigRollback, NewAgentConfig};
use ade_api::agents::{AgentChange, AgentDirective, AgentHeartbeat, NewAgent};
use ade_api::approvals::NewVote;
use ade_api::batches::{BatchAction, NewBatch};
use ade_api::claims::{Claim, ClaimTask};
use ade_api::delegations::{DelegationConditions, HandOver, NewDelegation};
use ade_api::device::{DeviceApproval, NewDeviceLogin};
use ade_api::event_consumers::{DeadEventState, EventConsumer, Redrive};
use ade_api::executions::{Beginning, Finding, Finish, NewLog, Pulse, Reconciliation};
use ade_api::freezes::{FreezeScope, NewFreeze};
use ade_api::inbound::{InboundRotation, InboundSourceChange, NewInboundSource};
use ade_api::locks::{Breaking, Heartbeat, NewIncident, NewLease};
use ade_api::notifications::NewPreferences;
use ade_api::on_call::NewDuty;
use ade_api::overrides::{NewFinding, NewOverride, OverrideConfirmation};
use ade_api::page::PageQuery;
use ade_api::pending_changes::ChangeObjection;
use ade_api::policies::{NewDraft, PolicyRollback, Replay};
use ade_api::resources::{ResourceEntry, ResourceImport};
use ade_api::seconds::Seconds;
use ade_api::sessions::GroupRoles;
use ade_api::settings::{NewRiskSettings, NewTimeouts, RiskThresholds, RiskWeights, SetFlag};
use ade_api::tasks::{Amendment, Cancellation, Extension, NewComment, NewTask};
use ade_api::tokens::NewToken;
use ade_api::users::{Alias, NewUser, Roles, UserChange};
use ade_api::webhooks::{
    DeliveryState, NewWebhook, Redelivery, WebhookChange, WebhookRotation, WebhookScheme,
};
use ade_client::{AuditFilter, Client, Error, TaskFilter, Wanted};
use ade_core::approval::ApprovalStatus;
use ade_core::approval::delegation::DelegationKind;
use ade_core::change::Digest;
use ade_core::event::Topic;
use ade_core::flag::Flag;
use ade_core::ids::{
    AfterReviewId, AgentId, ApprovalId, DelegationId, DutyId, ExecutionId, FreezeId, InboundId,
    LeaseId, PendingChangeId, PolicyDraftId, PolicyId, ProcessId, TaskId, UserId, WebhookId,
};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::time::Timestamp;
use serde_json::{Map, Value};

use crate::calls::refusal;
use crate::fake::{Fake, header};

const DOCUMENT: &str = include_str!("../../../../docs/reference/openapi.json");
const SOON: Duration = Duration::from_secs(30);

const WITHOUT: &[(&str, &str)] = &[
    ("GET /openapi/agent.json", "read by generators of clients"),
    ("GET /docs", "a page for people"),
    ("GET /docs/docs.js", "a part of that page"),
    ("GET /docs/docs.css", "a part of that page"),
    ("GET /llms.txt", "a text for models"),
    ("GET /metrics", "Prometheus reads it, in its own format"),
    ("GET /v1/auth", "for the page where people sign in"),
    ("GET /auth/login", "a browser goes there"),
    ("GET /auth/callback", "a browser comes back there"),
    ("POST /v1/tokens/report-leak", "for callers without an account"),
    ("POST /v1/invitations/accept", "opens the session of a browser"),
    ("POST /auth/logout", "ends the session of a browser"),
    ("GET /v1/session", "the session of a browser"),
    ("POST /v1/session/tenant", "changes the session of a browser"),
    ("GET /v1/sessions", "the sessions of browsers"),
    ("DELETE /v1/sessions/{id}", "ends the session of a browser"),
    ("GET /v1/passkeys", "passkeys are managed in a browser"),
    ("POST /v1/passkeys", "a browser asks a new passkey"),
    ("POST /v1/passkeys/{id}", "a browser brings its answer"),
    ("DELETE /v1/passkeys/{id}", "confirmed in a browser"),
    ("POST /v1/step-up", "a browser asks a passkey"),
    ("POST /v1/step-up/{id}", "a browser brings its answer"),
    ("POST /mcp", "the tools of agents, which are made of the calls here"),
    ("GET /.well-known/oauth-protected-resource", "read by hosts before they have a token"),
    ("POST /v1/inbound/{tenant}/{id}", "others send here, with a signature in place of a token"),
    ("POST /v1/slack/interactions", "Slack sends here, with a signature in place of a token"),
    ("GET /v1/ws", "a socket for pages: programs listen to the stream, which says the same"),
];

/// Checks that a call was refused.
fn refused<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let error = answer.unwrap_err();
    assert!(error.refusal().is_some(), "the call did not arrive: {error}");
}

fn resource() -> ResourceRef {
    "database:a/b".parse().unwrap()
}

fn at() -> Timestamp {
    Timestamp::from_micros(0)
}

fn digest() -> Digest {
    serde_json::from_value(format!("sha256:{}", "0".repeat(64)).into()).unwrap()
}

fn page() -> PageQuery {
    PageQuery { page_size: Some(7), page_token: Some("next".to_owned()) }
}

fn task() -> NewTask {
    let body = serde_json::json!({
        "title": "x", "type": "command.run", "parameters": {},
        "resources": [{ "resource": "database:a" }]
    });
    serde_json::from_value(body).unwrap()
}

async fn tasks(client: &Client) {
    let (tasks, id) = (client.tasks(), TaskId::from_u128(1));
    let filter = TaskFilter {
        states: vec![State::Draft, State::Submitted],
        author: Some(UserId::from_u128(1)),
        agent: Some(AgentId::from_u128(1)),
        task_type: Some("a.b".to_owned()),
        resource: Some(resource()),
        tag: Some("t".to_owned()),
        level: Some(Level::High),
        is_mine: true,
        title: Some("shop".to_owned()),
        created_from: Some(Timestamp::from_micros(0)),
        created_before: Some(Timestamp::from_micros(1)),
        is_oldest_first: true,
    };
    refused(tasks.list(&filter, &page()).await);
    refused(tasks.create(&task()).await);
    refused(tasks.get(id).await);
    refused(tasks.wait(id, 1, SOON).await);
    refused(tasks.claim(id, &ClaimTask::default(), SOON).await);
    refused(tasks.until(id, None, |_| true).await);
    refused(tasks.delete(id, 1).await);
    refused(tasks.amend(id, 1, &Amendment::default()).await);
    refused(tasks.submit(id, 1).await);
    refused(tasks.cancel(id, 1, &Cancellation::default()).await);
    refused(tasks.retry(id, 1).await);
    refused(tasks.resubmit(id, 1).await);
    refused(tasks.comments(id, &page()).await);
    refused(tasks.comment(id, &NewComment { text: "x".to_owned() }).await);
    refused(tasks.revisions(id).await);
    refused(tasks.revision(id, 1).await);
    refused(tasks.risk(id).await);
    refused(tasks.explain(id).await);
    refused(tasks.approvals(id).await);
    let extension = Extension { until: at(), reason: "x".to_owned() };
    refused(tasks.extend(id, 1, &extension).await);
    let found = Reconciliation { found: Finding::Completed, reason: "x".to_owned() };
    refused(tasks.reconcile(id, 1, &found).await);
    let overrides = client.overrides();
    let new = NewOverride { ticket: "INC-1".to_owned(), reason: "x".to_owned() };
    refused(overrides.ask(id, 1, &new).await);
    let confirmation = OverrideConfirmation { revision: 1, digest: digest() };
    refused(overrides.confirm(id, &confirmation).await);
    refused(overrides.after_reviews(&page()).await);
    let finding = NewFinding { finding: "x".to_owned() };
    refused(overrides.close(AfterReviewId::from_u128(1), &finding).await);
}

async fn approvals(client: &Client) {
    let (approvals, id) = (client.approvals(), ApprovalId::from_u128(1));
    let vote = NewVote { revision: 1, digest: digest(), reason: None };
    refused(approvals.inbox(Some(ApprovalStatus::Pending), &page()).await);
    refused(approvals.get(id).await);
    let task = TaskId::from_u128(1);
    refused(approvals.approve(task, &vote).await);
    refused(approvals.reject(task, &vote).await);
    refused(approvals.request_changes(task, &vote).await);
    refused(approvals.withdraw(id).await);
    let handed = HandOver { delegate_id: UserId::from_u128(1), reason: None };
    refused(approvals.hand_over(id, &handed).await);
    let batch = NewBatch {
        action: BatchAction::Approve,
        reason: None,
        items: Vec::new(),
        apply_immediately: false,
        skip_validation: false,
    };
    refused(approvals.batch(&batch, true).await);
    let delegations = client.delegations();
    refused(delegations.list(Some(UserId::from_u128(1)), &page()).await);
    let new = NewDelegation {
        owner_id: None,
        delegate_id: UserId::from_u128(1),
        kind: DelegationKind::Follow,
        conditions: DelegationConditions::default(),
        cascade: false,
        starts_at: None,
        expires_at: at(),
        move_pending: false,
    };
    refused(delegations.create(&new).await);
    refused(delegations.end(DelegationId::from_u128(1)).await);
    let (user, task) = (UserId::from_u128(1), TaskId::from_u128(1));
    refused(delegations.resolve(Some(user), Some(task.into())).await);
}

async fn rules(client: &Client) {
    let (policies, id) = (client.policies(), PolicyId::from_u128(1));
    refused(policies.list(&page()).await);
    refused(policies.draft(&NewDraft { document: "x".to_owned(), reason: None }).await);
    refused(policies.versions(id).await);
    refused(policies.rollback(id, &PolicyRollback { version: 1, reason: "x".to_owned() }).await);
    refused(policies.replay(&Replay { document: None, draft_id: None, days: 30 }).await);
    refused(policies.drafts(&page()).await);
    let draft = PolicyDraftId::from_u128(1);
    refused(policies.get_draft(draft).await);
    refused(policies.withdraw(draft).await);
    refused(policies.publish(draft).await);
    refused(client.tasks().evaluate(&task()).await);
    let settings = client.settings();
    refused(settings.risk().await);
    let new = NewRiskSettings {
        weights: RiskWeights::default(),
        thresholds: RiskThresholds::default(),
        pattern_defaults: BTreeMap::new(),
        reason: None,
    };
    refused(settings.set_risk(1, &new).await);
    refused(settings.timeouts().await);
    let new = NewTimeouts { lock: None, approval: None, task: None, reason: None };
    refused(settings.set_timeouts(1, &new).await);
    refused(settings.flags().await);
    let set = SetFlag { enabled: true, reason: None };
    refused(settings.set_flag(Flag::ALL[0], &set).await);
    let freezes = client.freezes();
    refused(freezes.list(&page()).await);
    let new = NewFreeze {
        scope: FreezeScope::Tenant,
        target: None,
        reason: "x".to_owned(),
        ends_at: None,
    };
    refused(freezes.create(&new).await);
    refused(freezes.lift(FreezeId::from_u128(1), "over".to_owned()).await);
    pending_changes(client).await;
}

async fn pending_changes(client: &Client) {
    let (changes, id) = (client.pending_changes(), PendingChangeId::from_u128(1));
    refused(changes.list(true, &page()).await);
    refused(changes.get(id).await);
    refused(changes.publish(id).await);
    refused(changes.object(id, &ChangeObjection { reason: "x".to_owned() }).await);
    refused(changes.withdraw(id).await);
}

async fn people_and_things(client: &Client) {
    let (users, id) = (client.users(), UserId::from_u128(1));
    refused(client.me().await);
    refused(users.list(&page()).await);
    let new: NewUser = serde_json::from_str(r#"{"name":"x"}"#).unwrap();
    refused(users.create(&new).await);
    refused(users.get(id).await);
    refused(users.change(id, &UserChange::default()).await);
    refused(users.set_roles(id, &Roles { roles: BTreeSet::new() }).await);
    refused(users.add_alias(id, &Alias { alias_id: id }).await);
    refused(users.reset_passkeys(id).await);
    refused(users.confirm(id).await);
    refused(users.invite(id).await);
    refused(users.group_roles(&page()).await);
    let groups = GroupRoles { issuer: "x".to_owned(), groups: BTreeMap::new() };
    refused(users.set_group_roles(&groups).await);
    let resources = client.resources();
    refused(resources.list(&page()).await);
    refused(resources.import(&ResourceImport { items: Vec::new() }).await);
    refused(resources.get(&resource()).await);
    let entry: ResourceEntry = serde_json::from_str("{}").unwrap();
    refused(resources.put(&resource(), &entry).await);
    let tokens = client.tokens();
    refused(tokens.list(Some(id), Some(AgentId::from_u128(1)), &page()).await);
    let new: NewToken = serde_json::from_str(r#"{"scopes":["read"]}"#).unwrap();
    refused(tokens.create(&new).await);
    refused(tokens.revoke("abc").await);
    let device = client.device();
    refused(device.begin(&NewDeviceLogin::default()).await);
    refused(device.token("abc").await);
    refused(device.get("BCDF-GHJK").await);
    refused(device.approve("BCDF-GHJK", &DeviceApproval::default()).await);
    refused(device.deny("BCDF-GHJK").await);
    let filter = AuditFilter {
        object: Some("x".to_owned()),
        user: Some(id),
        agent: Some(AgentId::from_u128(1)),
        kind: Some(ade_core::audit::EntryKind::Refusal),
        from: Some(at()),
        to: Some(at()),
    };
    refused(client.audit().list(&filter, &page()).await);
    let stats = client.stats();
    refused(stats.reviewer(None).await);
    refused(stats.task(TaskId::from_u128(1)).await);
    refused(stats.overview(Some(7)).await);
    refused(stats.pairs().await);
    refused(stats.notifications(&page()).await);
    let system = client.system();
    refused(system.index().await);
    refused(system.health().await);
    refused(system.ready().await);
    refused(system.status().await);
    refused(system.keys().await);
    refused(system.openapi().await);
}

async fn agents(client: &Client) {
    let (agents, id) = (client.agents(), AgentId::from_u128(1));
    refused(agents.list(&page()).await);
    let new = NewAgent {
        name: "x".to_owned(),
        owner_id: UserId::from_u128(1),
        capabilities: BTreeSet::new(),
        max_tasks: 1,
    };
    refused(agents.create(&new).await);
    refused(agents.get(id).await);
    refused(agents.revoke(id).await);
    refused(agents.change(id, &AgentChange::default()).await);
    let process_id = ProcessId::from_u128(1);
    let heartbeat = AgentHeartbeat { process_id, lease_ids: Vec::new(), load: None };
    refused(agents.heartbeat(id, &heartbeat, SOON).await);
    let order = AgentDirective::default();
    refused(agents.drain(id, &order).await);
    refused(agents.pause(id, &order).await);
    refused(agents.resume(id, &order).await);
    refused(agents.config(id).await);
    let config = NewAgentConfig { config: Map::new(), reason: None };
    refused(agents.configure(id, 1, &config).await);
    refused(agents.config_versions(id).await);
    refused(agents.config_difference(id, 2, Some(1)).await);
    let rollback = AgentConfigRollback { to: 1, reason: "x".to_owned() };
    refused(agents.roll_back_config(id, &rollback).await);
    refused(agents.claim(id, &Claim::default(), SOON).await);
}

async fn locks_and_attempts(client: &Client) {
    let locks = client.locks();
    let lease_id = LeaseId::from_u128(1);
    let new: NewLease = serde_json::from_str(r#"{"resources":[]}"#).unwrap();
    refused(locks.acquire(new, SOON).await);
    let heartbeat = Heartbeat { process_id: None, lease_ids: vec![lease_id] };
    refused(locks.heartbeat(&heartbeat, SOON).await);
    refused(locks.release(lease_id).await);
    refused(locks.leases(Some(AgentId::from_u128(1)), &page()).await);
    refused(locks.list(&page()).await);
    refused(locks.graph().await);
    refused(locks.deadlocks().await);
    let incident =
        NewIncident { resources: vec![resource()], reason: "x".to_owned(), ends_at: at() };
    refused(locks.incident(&incident).await);
    refused(locks.get(&resource()).await);
    let breaking = Breaking { reason: "x".to_owned(), lease_hash: None };
    refused(locks.break_lock(&resource(), &breaking).await);
    let (executions, id) = (client.executions(), ExecutionId::from_u128(1));
    refused(executions.begin(id, &Beginning { lease_id, plan: None }).await);
    refused(executions.heartbeat(id, &Pulse { lease_id }, SOON).await);
    refused(executions.lines(id, 0).await);
    refused(executions.log(id, &NewLog { lease_id, first: 0, lines: Vec::new() }).await);
    refused(executions.finish(id, &Finish::succeeded(lease_id)).await);
    refused(executions.get(id).await);
    refused(executions.list(TaskId::from_u128(1)).await);
    refused(executions.follow(TaskId::from_u128(1)).next().await);
}

async fn telling(client: &Client) {
    let wanted = Wanted { topics: vec![Topic::Task], object: Some("x".to_owned()), after: Some(1) };
    refused(client.events().listen(&wanted).next().await);
    refused(client.events().ticket().await);
    let (webhooks, id) = (client.webhooks(), WebhookId::from_u128(1));
    refused(webhooks.list(&page()).await);
    let new = NewWebhook {
        url: "https://x".to_owned(),
        events: Vec::new(),
        label: None,
        scheme: WebhookScheme::V1,
    };
    refused(webhooks.create(&new).await);
    refused(webhooks.get(id).await);
    refused(webhooks.delete(id).await);
    refused(webhooks.change(id, 1, &WebhookChange::default()).await);
    refused(webhooks.rotate(id, &WebhookRotation::default()).await);
    refused(webhooks.ping(id).await);
    refused(webhooks.deliveries(id, Some(DeliveryState::Dead), &page()).await);
    refused(webhooks.redeliver(id, &Redelivery::default()).await);
}

async fn consumers_sources_and_on_call(client: &Client) {
    let consumers = client.event_consumers();
    refused(consumers.list().await);
    let (consumer, state) = (EventConsumer::AuditLogger, DeadEventState::Dead);
    refused(consumers.dead(Some(consumer), Some(state), &page()).await);
    refused(consumers.redrive(&Redrive { event_ids: None, consumer: None }).await);
    let (sources, id) = (client.inbound_sources(), InboundId::from_u128(1));
    refused(sources.list(&page()).await);
    let agent_id = AgentId::from_u128(1);
    let source = NewInboundSource { label: None, agent_id, template: Value::Null };
    refused(sources.create(&source).await);
    refused(sources.get(id).await);
    refused(sources.delete(id).await);
    let change =
        InboundSourceChange { label: None, agent_id: None, template: None, active: Some(false) };
    refused(sources.change(id, 1, &change).await);
    refused(sources.rotate(id, &InboundRotation { overlap_seconds: None }).await);
    let on_call = client.on_call();
    refused(on_call.list().await);
    let duty = NewDuty {
        role: "dba".to_owned(),
        user_id: UserId::from_u128(1),
        starts_at: Timestamp::from_micros(1),
        ends_at: Timestamp::from_micros(2),
    };
    refused(on_call.create(&duty).await);
    refused(on_call.delete(DutyId::from_u128(1)).await);
    refused(on_call.preferences().await);
    let preferences = NewPreferences {
        mail: Vec::new(),
        slack: Vec::new(),
        slack_member: None,
        quiet_hours: None,
        digest_seconds: Seconds::new(0),
    };
    refused(on_call.prefer(1, &preferences).await);
}

/// One route of the OpenAPI document, with the parameters of a call.
struct Route {
    name: String,
    parts: Vec<String>,
    queries: BTreeSet<String>,
    asks_version: bool,
}

fn routes() -> Vec<Route> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let none = Vec::new();
            let parameters = operation["parameters"].as_array().unwrap_or(&none);
            let of = |place: &str| {
                let here = parameters.iter().filter(|parameter| parameter["in"] == place);
                let names = here.map(|parameter| parameter["name"].as_str().unwrap().to_owned());
                names.collect::<BTreeSet<String>>()
            };
            routes.push(Route {
                name: format!("{} {path}", method.to_uppercase()),
                parts: path.split('/').map(str::to_owned).collect(),
                queries: of("query"),
                asks_version: of("header").contains("If-Match"),
            });
        }
    }
    routes
}

impl Route {
    fn takes(&self, method: &str, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.name.starts_with(&format!("{method} "))
            && parts.len() == self.parts.len()
            && parts
                .iter()
                .zip(&self.parts)
                .all(|(one, other)| one == other || (other.starts_with('{') && !one.is_empty()))
    }
}

#[tokio::test]
async fn routes_have_a_client_method_or_a_reason() {
    let fake = Fake::start(vec![refusal(ade_api::code::Code::WrongState)]).await;
    let client = Client::new(&fake.url, "ade_agt_x").unwrap();
    tasks(&client).await;
    approvals(&client).await;
    rules(&client).await;
    people_and_things(&client).await;
    agents(&client).await;
    locks_and_attempts(&client).await;
    telling(&client).await;
    consumers_sources_and_on_call(&client).await;

    let routes = routes();
    let mut called = BTreeSet::new();
    for request in fake.seen() {
        let mut words = request.split_whitespace();
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        // A literal path takes precedence over one with a placeholder.
        let found = routes.iter().filter(|route| route.takes(method, path));
        let route = found.min_by_key(|route| route.name.matches('{').count());
        let route = route.unwrap_or_else(|| panic!("{method} {path} is not a route"));
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split('=').next().unwrap();
            assert!(route.queries.contains(name), "{} has no `{name}`", route.name);
        }
        let has_version = header(&request, "if-match").is_some();
        assert_eq!(has_version, route.asks_version, "If-Match of {}", route.name);
        called.insert(route.name.clone());
    }
    let without: BTreeSet<String> = WITHOUT.iter().map(|(name, _)| (*name).to_owned()).collect();
    let all: BTreeSet<String> = routes.iter().map(|route| route.name.clone()).collect();
    let missing: Vec<&String> =
        all.iter().filter(|name| !called.contains(*name) && !without.contains(*name)).collect();
    assert!(missing.is_empty(), "no method calls {missing:?}");
    for name in &without {
        assert!(all.contains(name) && !called.contains(name), "{name} no longer needs a reason");
    }
}
