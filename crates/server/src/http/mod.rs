//! The list of all routes. Each has its access rule: open, or the scope that the caller's token
//! must have. There is one file of handlers per noun; the layers around every call are in
//! `request_context` (outermost), `limits_layer` and `auth_layer`.

mod agent_configs;
mod agents;
mod approvals;
mod audit;
mod auth;
pub mod auth_layer;
mod batches;
mod capacity;
mod catalogue;
mod compression;
mod cookie;
mod cross_site;
mod delegations;
mod describe;
mod device;
mod docs;
mod engine_reply;
pub mod error;
mod event_consumers;
mod executions;
pub mod extract;
mod freezes;
mod group_roles;
mod inbound;
mod invitations;
mod limits_layer;
mod links;
mod live;
mod lock_problems;
mod locks;
mod logs;
mod mcp;
mod notifications;
mod on_call;
mod overrides;
mod pages;
mod passkeys;
mod pending_changes;
mod plain_words;
mod policies;
mod rate_limit_headers;
mod reply;
pub mod request_context;
mod resources;
mod route;
pub mod routes;
mod sessions;
mod settings;
mod slack;
pub mod state;
mod stats;
mod system;
mod task_lists;
mod task_path;
mod tasks;
mod tokens;
mod unconfirmed;
mod users;
mod webhooks;

use ade_core::access::Scope;
use axum::body::Bytes;
use axum::middleware::from_fn;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

use self::route::{Route, RouteAuth};
use self::routes::{RouteError, Routes, Table};
use self::state::Shared;
use self::system::{AgentDocument, Document};

const OPEN: RouteAuth = RouteAuth::Public;
const READ: RouteAuth = RouteAuth::Scope(Scope::Read);
const EXECUTE: RouteAuth = RouteAuth::Scope(Scope::Execute);
const PROPOSE: RouteAuth = RouteAuth::Scope(Scope::Propose);
const OPERATE: RouteAuth = RouteAuth::Scope(Scope::Operate);
const DECIDE: RouteAuth = RouteAuth::Scope(Scope::Decide);
const ADMINISTER: RouteAuth = RouteAuth::Scope(Scope::Administer);

fn table(shared: Shared) -> Result<Table, RouteError> {
    let routes = entry(system(Routes::new(shared)));
    let routes = telling(applying(locking(programs(people(rules(work(routes)))))));
    inbound(reading(hooks(routes))).finish()
}

/// Routes about the server and the caller.
fn system(routes: Routes) -> Routes {
    routes
        .route(OPEN, "GET /healthz", routes!(system::health))
        .route(OPEN, "GET /readyz", routes!(system::ready))
        .route(OPEN, "GET /metrics", routes!(system::metrics))
        .route(OPEN, "GET /openapi.json", routes!(system::openapi))
        .route(OPEN, "GET /openapi/agent.json", routes!(system::agent_openapi))
        .route(OPEN, "GET /docs", routes!(docs::page))
        .route(OPEN, "GET /docs/docs.js", routes!(docs::script))
        .route(OPEN, "GET /docs/docs.css", routes!(docs::style))
        .route(OPEN, "GET /llms.txt", routes!(docs::summary))
        .route(OPEN, "GET /v1", routes!(system::index))
        .route(READ, "GET /v1/status", routes!(system::status))
        .route(READ, "GET /v1/me", routes!(users::whoami))
}

/// Routes for signing in and for sessions.
fn entry(routes: Routes) -> Routes {
    routes
        .route(OPEN, "GET /v1/auth", routes!(auth::providers))
        .route(OPEN, "GET /auth/login", routes!(auth::login))
        .route(OPEN, "GET /auth/callback", routes!(auth::callback))
        .route(DECIDE, "POST /auth/logout", routes!(auth::logout))
        .route(READ, "GET /v1/session", routes!(sessions::current))
        .route(DECIDE, "POST /v1/session/tenant", routes!(sessions::switch))
        .route(READ, "GET /v1/sessions", routes!(sessions::list))
        .route(DECIDE, "DELETE /v1/sessions/{id}", routes!(sessions::end))
        .route(ADMINISTER, "POST /v1/users/{id}/invitations", routes!(invitations::create))
        .route(OPEN, "POST /v1/invitations/accept", routes!(invitations::accept))
        .route(OPEN, "POST /v1/tokens/report-leak", routes!(tokens::leak))
        .route(OPEN, "POST /auth/device", routes!(device::begin))
        .route(OPEN, "POST /auth/device/token", routes!(device::token))
        .route(DECIDE, "GET /v1/device/{user_code}", routes!(device::show))
        .route(DECIDE, "POST /v1/device/{user_code}/approve", routes!(device::approve))
        .route(DECIDE, "POST /v1/device/{user_code}/deny", routes!(device::deny))
        .route(READ, "GET /v1/passkeys", routes!(passkeys::list))
        .route(DECIDE, "POST /v1/passkeys", routes!(passkeys::offer))
        .route(DECIDE, "POST /v1/passkeys/{id}", routes!(passkeys::add))
        .route(DECIDE, "DELETE /v1/passkeys/{id}", routes!(passkeys::remove))
        .route(ADMINISTER, "DELETE /v1/users/{id}/passkeys", routes!(passkeys::reset))
        .route(DECIDE, "POST /v1/step-up", routes!(passkeys::ask))
        .route(DECIDE, "POST /v1/step-up/{id}", routes!(passkeys::give))
        .route(READ, "GET /v1/group-roles", routes!(group_roles::list))
        .route(ADMINISTER, "PUT /v1/group-roles", routes!(group_roles::set))
}

/// Routes for tasks and their approvals.
fn work(routes: Routes) -> Routes {
    routes
        .route(PROPOSE, "POST /v1/tasks", routes!(tasks::create))
        .route(READ, "GET /v1/tasks", routes!(task_lists::list))
        .waiting(READ, "GET /v1/tasks/{id}", routes!(tasks::get))
        .route(PROPOSE, "PATCH /v1/tasks/{id}", routes!(tasks::amend))
        .route(PROPOSE, "DELETE /v1/tasks/{id}", routes!(tasks::delete))
        .route(PROPOSE, "POST /v1/tasks/{id}/submit", routes!(tasks::submit))
        .route(PROPOSE, "POST /v1/tasks/{id}/cancel", routes!(tasks::cancel))
        .route(PROPOSE, "POST /v1/tasks/{id}/retry", routes!(tasks::retry))
        .route(PROPOSE, "POST /v1/tasks/{id}/resubmit", routes!(tasks::resubmit))
        .route(PROPOSE, "POST /v1/tasks/{id}/comments", routes!(tasks::comment))
        .route(READ, "GET /v1/tasks/{id}/comments", routes!(tasks::comments))
        .route(READ, "GET /v1/tasks/{id}/revisions", routes!(tasks::revisions))
        .route(READ, "GET /v1/tasks/{id}/revisions/{revision}", routes!(tasks::revision))
        .route(READ, "GET /v1/tasks/{id}/risk", routes!(tasks::risk))
        .route(READ, "GET /v1/tasks/{id}/explain", routes!(tasks::explain))
        .route(READ, "GET /v1/tasks/{id}/approvals", routes!(tasks::approvals))
        .route(READ, "GET /v1/approvals", routes!(approvals::inbox))
        .route(READ, "GET /v1/approvals/{id}", routes!(approvals::get))
        .route(DECIDE, "POST /v1/tasks/{id}/approve", routes!(approvals::approve))
        .route(DECIDE, "POST /v1/tasks/{id}/reject", routes!(approvals::reject))
        .route(DECIDE, "POST /v1/tasks/{id}/request-changes", routes!(approvals::request_changes))
        .route(DECIDE, "POST /v1/approvals/{id}/withdraw", routes!(approvals::withdraw))
        .route(DECIDE, "POST /v1/approvals/batch", routes!(batches::batch))
        .route(DECIDE, "POST /v1/tasks/{id}/override", routes!(overrides::ask))
        .route(DECIDE, "POST /v1/tasks/{id}/override/confirm", routes!(overrides::confirm))
        .route(READ, "GET /v1/after-reviews", routes!(overrides::after_reviews))
        .route(READ, "GET /v1/notifications", routes!(notifications::list))
        .route(DECIDE, "POST /v1/tasks/{id}/extend", routes!(tasks::extend))
        .route(DECIDE, "POST /v1/after-reviews/{id}/close", routes!(overrides::close))
}

/// Routes for policies and other rules.
fn rules(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/policies", routes!(policies::draft))
        .route(READ, "GET /v1/policies", routes!(policies::list))
        .route(READ, "GET /v1/policies/{id}/versions", routes!(policies::versions))
        .route(ADMINISTER, "POST /v1/policies/{id}/rollback", routes!(policies::rollback))
        .route(ADMINISTER, "POST /v1/policies/replay", routes!(policies::replay))
        .route(READ, "GET /v1/policy-drafts", routes!(policies::drafts))
        .route(READ, "GET /v1/policy-drafts/{id}", routes!(policies::get_draft))
        .route(ADMINISTER, "POST /v1/policy-drafts/{id}/publish", routes!(policies::publish))
        .route(ADMINISTER, "DELETE /v1/policy-drafts/{id}", routes!(policies::withdraw))
        .route(READ, "GET /v1/pending-changes", routes!(pending_changes::list))
        .route(READ, "GET /v1/pending-changes/{id}", routes!(pending_changes::get))
        .route(
            ADMINISTER,
            "POST /v1/pending-changes/{id}/publish",
            routes!(pending_changes::publish),
        )
        .route(DECIDE, "POST /v1/pending-changes/{id}/object", routes!(pending_changes::object))
        .route(DECIDE, "DELETE /v1/pending-changes/{id}", routes!(pending_changes::withdraw))
        .route(PROPOSE, "POST /v1/tasks/evaluate", routes!(policies::evaluate))
        .route(DECIDE, "POST /v1/approvals/{id}/delegate", routes!(delegations::hand_over))
        .route(DECIDE, "POST /v1/delegations", routes!(delegations::create))
        .route(READ, "GET /v1/delegations", routes!(delegations::list))
        .route(READ, "GET /v1/delegations/resolve", routes!(delegations::resolve))
        .route(DECIDE, "DELETE /v1/delegations/{id}", routes!(delegations::end))
        .route(READ, "GET /v1/risk/settings", routes!(settings::risk))
        .route(ADMINISTER, "PUT /v1/risk/settings", routes!(settings::set_risk))
        .route(READ, "GET /v1/settings/timeouts", routes!(settings::timeouts))
        .route(ADMINISTER, "PUT /v1/settings/timeouts", routes!(settings::set_timeouts))
        .route(READ, "GET /v1/flags", routes!(settings::flags))
        .route(ADMINISTER, "PUT /v1/flags/{name}", routes!(settings::set_flag))
        .route(OPERATE, "POST /v1/freezes", routes!(freezes::create))
        .route(READ, "GET /v1/freezes", routes!(freezes::list))
        .route(OPERATE, "DELETE /v1/freezes/{id}", routes!(freezes::lift))
}

/// Routes for people, resources and the audit log.
fn people(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/users", routes!(users::create))
        .route(READ, "GET /v1/users", routes!(users::list))
        .route(READ, "GET /v1/users/{id}", routes!(users::get))
        .route(ADMINISTER, "PATCH /v1/users/{id}", routes!(users::change))
        .route(ADMINISTER, "PUT /v1/users/{id}/roles", routes!(users::set_roles))
        .route(ADMINISTER, "POST /v1/users/{id}/aliases", routes!(users::add_alias))
        .route(ADMINISTER, "POST /v1/users/{id}/confirm", routes!(users::confirm))
        .route(READ, "GET /v1/resources", routes!(resources::list))
        .route(ADMINISTER, "POST /v1/resources/import", routes!(resources::import))
        .route(READ, "GET /v1/resources/{type}/{id}", routes!(resources::get))
        .route(ADMINISTER, "PUT /v1/resources/{type}/{id}", routes!(resources::put))
        .route(ADMINISTER, "POST /v1/tokens", routes!(tokens::create))
        .route(READ, "GET /v1/tokens", routes!(tokens::list))
        .route(READ, "DELETE /v1/tokens/{key_id}", routes!(tokens::revoke))
        .route(READ, "GET /v1/audit", routes!(audit::list))
        .route(READ, "GET /v1/stats/reviewers/{id}", routes!(stats::reviewer))
        .route(READ, "GET /v1/stats/tasks/{id}", routes!(stats::task))
        .route(READ, "GET /v1/stats/overview", routes!(stats::overview))
        .route(READ, "GET /v1/stats/pairs", routes!(stats::pairs))
}

/// Routes for agents, their orders and their configuration.
fn programs(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/agents", routes!(agents::create))
        .route(READ, "GET /v1/agents", routes!(agents::list))
        .route(READ, "GET /v1/agents/{id}", routes!(agents::get))
        .route(ADMINISTER, "PATCH /v1/agents/{id}", routes!(agents::change))
        .route(ADMINISTER, "DELETE /v1/agents/{id}", routes!(agents::revoke))
        .route(EXECUTE, "POST /v1/agents/{id}/heartbeat", routes!(agents::heartbeat))
        .route(OPERATE, "POST /v1/agents/{id}/drain", routes!(agents::drain))
        .route(OPERATE, "POST /v1/agents/{id}/pause", routes!(agents::pause))
        .route(OPERATE, "POST /v1/agents/{id}/resume", routes!(agents::resume))
        .route(READ, "GET /v1/agents/{id}/config", routes!(agent_configs::config))
        .route(ADMINISTER, "PUT /v1/agents/{id}/config", routes!(agent_configs::configure))
        .route(READ, "GET /v1/agents/{id}/config/versions", routes!(agent_configs::config_versions))
        .route(
            READ,
            "GET /v1/agents/{id}/config/versions/{version}/diff",
            routes!(agent_configs::config_difference),
        )
        .route(
            ADMINISTER,
            "POST /v1/agents/{id}/config/rollback",
            routes!(agent_configs::roll_back_config),
        )
}

/// Routes for locks.
fn locking(routes: Routes) -> Routes {
    routes
        .waiting(EXECUTE, "POST /v1/locks/acquire", routes!(locks::acquire))
        .route(EXECUTE, "POST /v1/leases/heartbeat", routes!(locks::heartbeat))
        .route(EXECUTE, "POST /v1/leases/{id}/release", routes!(locks::release))
        .route(READ, "GET /v1/leases", routes!(locks::leases))
        .route(READ, "GET /v1/locks", routes!(locks::list))
        .route(READ, "GET /v1/locks/graph", routes!(locks::graph))
        .route(READ, "GET /v1/locks/deadlocks", routes!(locks::deadlocks))
        .route(OPERATE, "POST /v1/locks/incidents", routes!(locks::incident))
        .route(READ, "GET /v1/locks/{type}/{id}", routes!(locks::get))
        .route(OPERATE, "POST /v1/locks/{type}/{id}/break", routes!(locks::break_lock))
}

/// Routes for applying approved tasks.
fn applying(routes: Routes) -> Routes {
    routes
        .waiting(EXECUTE, "POST /v1/agents/{id}/claim", routes!(executions::claim))
        .waiting(EXECUTE, "POST /v1/tasks/{id}/claim", routes!(executions::claim_task))
        .route(EXECUTE, "POST /v1/executions/{id}/begin", routes!(executions::begin))
        .route(EXECUTE, "POST /v1/executions/{id}/heartbeat", routes!(executions::heartbeat))
        .route(EXECUTE, "POST /v1/executions/{id}/log", routes!(executions::log))
        .route(EXECUTE, "POST /v1/executions/{id}/finish", routes!(executions::finish))
        .route(READ, "GET /v1/executions/{id}", routes!(executions::get))
        .route(READ, "GET /v1/executions/{id}/log", routes!(executions::lines))
        .route(READ, "GET /v1/tasks/{id}/executions", routes!(executions::list))
        .route(READ, "GET /v1/tasks/{id}/logs", routes!(logs::follow))
        .route(OPERATE, "POST /v1/tasks/{id}/reconcile", routes!(executions::reconcile))
        .route(OPEN, "GET /.well-known/jwks.json", routes!(system::keys))
        .route(OPEN, "GET /.well-known/oauth-protected-resource", routes!(mcp::metadata))
        .waiting(READ, "POST /mcp", routes!(mcp::mcp))
}

/// Routes for webhooks.
fn hooks(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/webhooks", routes!(webhooks::create))
        .route(READ, "GET /v1/webhooks", routes!(webhooks::list))
        .route(READ, "GET /v1/webhooks/{id}", routes!(webhooks::get))
        .route(ADMINISTER, "PATCH /v1/webhooks/{id}", routes!(webhooks::change))
        .route(ADMINISTER, "DELETE /v1/webhooks/{id}", routes!(webhooks::delete))
        .route(ADMINISTER, "POST /v1/webhooks/{id}/rotate", routes!(webhooks::rotate))
        .route(ADMINISTER, "POST /v1/webhooks/{id}/ping", routes!(webhooks::ping))
        .route(READ, "GET /v1/webhooks/{id}/deliveries", routes!(webhooks::deliveries))
        .route(ADMINISTER, "POST /v1/webhooks/{id}/redeliver", routes!(webhooks::redeliver))
}

/// Routes for inbound sources.
fn inbound(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/inbound-sources", routes!(inbound::create))
        .route(READ, "GET /v1/inbound-sources", routes!(inbound::list))
        .route(READ, "GET /v1/inbound-sources/{id}", routes!(inbound::get))
        .route(ADMINISTER, "PATCH /v1/inbound-sources/{id}", routes!(inbound::change))
        .route(ADMINISTER, "DELETE /v1/inbound-sources/{id}", routes!(inbound::delete))
        .route(ADMINISTER, "POST /v1/inbound-sources/{id}/rotate", routes!(inbound::rotate))
        .route(OPEN, "POST /v1/inbound/{tenant}/{id}", routes!(inbound::receive))
}

/// Routes for event consumers, dead events and notifications.
fn reading(routes: Routes) -> Routes {
    routes
        .route(READ, "GET /v1/event-consumers", routes!(event_consumers::list))
        .route(READ, "GET /v1/event-consumers/dead-events", routes!(event_consumers::dead_events))
        .route(
            OPERATE,
            "POST /v1/event-consumers/dead-events/redrive",
            routes!(event_consumers::redrive),
        )
        .route(READ, "GET /v1/notifications/preferences", routes!(notifications::preferences))
        .route(DECIDE, "PUT /v1/notifications/preferences", routes!(notifications::set_preferences))
        .route(READ, "GET /v1/on-call", routes!(on_call::list))
        .route(OPERATE, "POST /v1/on-call", routes!(on_call::create))
        .route(OPERATE, "DELETE /v1/on-call/{id}", routes!(on_call::delete))
        .route(OPEN, "POST /v1/slack/interactions", routes!(slack::interactions))
}

/// Routes for live events.
fn telling(routes: Routes) -> Routes {
    routes
        .route(READ, "GET /v1/events", routes!(live::stream))
        .route(READ, "POST /v1/ws/tickets", routes!(live::ticket))
        .route(OPEN, "GET /v1/ws", routes!(live::socket))
}

/// The router of the server, its OpenAPI document and its route table.
#[expect(missing_debug_implementations, reason = "the OpenAPI document has none")]
pub struct Http {
    pub router: Router,
    pub document: OpenApi,
    pub routes: Vec<Route>,
}

pub fn build(shared: Shared) -> Result<Http, RouteError> {
    let table = table(shared.clone())?;
    table.check_rates(&shared)?;
    Ok(wrap(table, shared))
}

/// Wraps the whole table, so that unmatched calls pass through the layers as well.
pub fn wrap(table: Table, shared: Shared) -> Http {
    let Table { router, document, routes } = table;
    let written = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
    let for_agents = serde_json::to_vec(&catalogue::for_agents(&document)).unwrap_or_default();
    let router = router
        .layer(Extension(Document(written)))
        .layer(Extension(AgentDocument(Bytes::from(for_agents))))
        .layer(from_fn(request_context::wrap))
        .layer(compression::layer())
        .with_state(shared);
    // MCP tools call the same routes as every other client.
    let router = router.clone().layer(Extension(mcp::Own(router)));
    Http { router, document, routes }
}
