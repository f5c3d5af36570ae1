//! All routes on one screen. Each line has its door: open, or the class that a caller's token
//! must hold. Handlers are in one file per noun; what every call goes through is in `envelope`
//! (outermost), `guard` and `door`.

mod agent_configs;
mod agents;
mod approvals;
mod audit;
mod auth;
mod batches;
mod cookie;
mod cross_site;
mod delegations;
mod describe;
mod device;
mod docs;
pub mod door;
pub mod envelope;
pub mod error;
mod executions;
pub mod extract;
mod freezes;
mod group_roles;
mod groups;
mod guard;
mod inbound;
mod links;
mod live;
mod locks;
mod logs;
mod mcp;
mod notifications;
mod on_call;
mod overrides;
mod pace;
mod pages;
mod passkeys;
mod policies;
mod reply;
mod resources;
pub mod routes;
mod sessions;
mod settings;
mod slack;
pub mod state;
mod stats;
mod system;
mod tasks;
mod tokens;
mod users;
mod webhooks;

use ade_core::access::Class;
use axum::body::Bytes;
use axum::middleware::from_fn;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::routes;

use self::routes::{Door, Route, RouteError, Routes, Table};
use self::state::Shared;
use self::system::Document;

const OPEN: Door = Door::Open;
const READ: Door = Door::Class(Class::Read);
const EXECUTE: Door = Door::Class(Class::Execute);
const PROPOSE: Door = Door::Class(Class::Propose);
const OPERATE: Door = Door::Class(Class::Operate);
const DECIDE: Door = Door::Class(Class::Decide);
const ADMINISTER: Door = Door::Class(Class::Administer);

fn table(shared: Shared) -> Result<Table, RouteError> {
    let routes = entry(system(Routes::new(shared)));
    let routes = telling(applying(locking(programs(people(rules(work(routes)))))));
    inbound(reading(hooks(routes))).finish()
}

/// What the server says of itself, and of the caller.
fn system(routes: Routes) -> Routes {
    routes
        .route(OPEN, "GET /healthz", routes!(system::health))
        .route(OPEN, "GET /readyz", routes!(system::ready))
        .route(OPEN, "GET /metrics", routes!(system::metrics))
        .route(OPEN, "GET /openapi.json", routes!(system::openapi))
        .route(OPEN, "GET /docs", routes!(docs::page))
        .route(OPEN, "GET /docs/docs.js", routes!(docs::script))
        .route(OPEN, "GET /docs/docs.css", routes!(docs::style))
        .route(READ, "GET /v1/status", routes!(system::status))
        .route(READ, "GET /v1/me", routes!(users::whoami))
}

/// How people come in, and stay.
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
        .route(OPEN, "POST /leak", routes!(tokens::leak))
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

/// Tasks, and what people answer to them.
fn work(routes: Routes) -> Routes {
    routes
        .route(PROPOSE, "POST /v1/tasks", routes!(tasks::create))
        .route(READ, "GET /v1/tasks", routes!(tasks::list))
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
        .route(DECIDE, "POST /v1/approvals/{id}/approve", routes!(approvals::approve))
        .route(DECIDE, "POST /v1/approvals/{id}/reject", routes!(approvals::reject))
        .route(
            DECIDE,
            "POST /v1/approvals/{id}/request-changes",
            routes!(approvals::request_changes),
        )
        .route(DECIDE, "POST /v1/approvals/{id}/withdraw", routes!(approvals::withdraw))
        .route(DECIDE, "POST /v1/approvals/batch", routes!(batches::batch))
        .route(DECIDE, "POST /v1/tasks/{id}/override", routes!(overrides::ask))
        .route(DECIDE, "POST /v1/tasks/{id}/override/confirm", routes!(overrides::confirm))
        .route(READ, "GET /v1/after-reviews", routes!(overrides::after_reviews))
        .route(READ, "GET /v1/notifications", routes!(notifications::list))
        .route(DECIDE, "POST /v1/tasks/{id}/extend", routes!(tasks::extend))
        .route(DECIDE, "POST /v1/after-reviews/{id}/close", routes!(overrides::close))
}

/// What tasks are judged by.
fn rules(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/policies", routes!(policies::draft))
        .route(READ, "GET /v1/policies", routes!(policies::list))
        .route(READ, "GET /v1/policies/{id}/versions", routes!(policies::versions))
        .route(ADMINISTER, "POST /v1/policies/{id}/rollback", routes!(policies::rollback))
        .route(ADMINISTER, "POST /v1/policies/simulate", routes!(policies::replay))
        .route(READ, "GET /v1/policy-drafts", routes!(policies::drafts))
        .route(READ, "GET /v1/policy-drafts/{id}", routes!(policies::get_draft))
        .route(ADMINISTER, "POST /v1/policy-drafts/{id}/publish", routes!(policies::publish))
        .route(ADMINISTER, "DELETE /v1/policy-drafts/{id}", routes!(policies::withdraw))
        .route(PROPOSE, "POST /v1/simulate", routes!(policies::simulate))
        .route(DECIDE, "POST /v1/approvals/{id}/delegate", routes!(delegations::hand_over))
        .route(DECIDE, "POST /v1/delegations", routes!(delegations::create))
        .route(READ, "GET /v1/delegations", routes!(delegations::list))
        .route(READ, "GET /v1/delegations/resolve", routes!(delegations::resolve))
        .route(DECIDE, "DELETE /v1/delegations/{id}", routes!(delegations::end))
        .route(READ, "GET /v1/risk/settings", routes!(settings::risk))
        .route(ADMINISTER, "PUT /v1/risk/settings", routes!(settings::set_risk))
        .route(READ, "GET /v1/times", routes!(settings::times))
        .route(ADMINISTER, "PUT /v1/times", routes!(settings::set_times))
        .route(READ, "GET /v1/flags", routes!(settings::flags))
        .route(ADMINISTER, "PUT /v1/flags/{name}", routes!(settings::set_flag))
        .route(OPERATE, "POST /v1/freezes", routes!(freezes::create))
        .route(READ, "GET /v1/freezes", routes!(freezes::list))
        .route(OPERATE, "DELETE /v1/freezes/{id}", routes!(freezes::lift))
}

/// Who is who, what is what, and what happened.
fn people(routes: Routes) -> Routes {
    routes
        .route(ADMINISTER, "POST /v1/users", routes!(users::create))
        .route(READ, "GET /v1/users", routes!(users::list))
        .route(READ, "GET /v1/users/{id}", routes!(users::get))
        .route(ADMINISTER, "PATCH /v1/users/{id}", routes!(users::change))
        .route(ADMINISTER, "PUT /v1/users/{id}/roles", routes!(users::set_roles))
        .route(ADMINISTER, "POST /v1/users/{id}/aliases", routes!(users::add_alias))
        .route(READ, "GET /v1/resources", routes!(resources::list))
        .route(ADMINISTER, "POST /v1/resources/import", routes!(resources::import))
        .route(READ, "GET /v1/resources/{type}/{id}", routes!(resources::get))
        .route(ADMINISTER, "PUT /v1/resources/{type}/{id}", routes!(resources::put))
        .route(ADMINISTER, "POST /v1/tokens", routes!(tokens::create))
        .route(READ, "GET /v1/tokens", routes!(tokens::list))
        .route(ADMINISTER, "DELETE /v1/tokens/{key_id}", routes!(tokens::revoke))
        .route(READ, "GET /v1/audit", routes!(audit::list))
        .route(READ, "GET /v1/stats/reviewers/{id}", routes!(stats::reviewer))
        .route(READ, "GET /v1/stats/tasks/{id}", routes!(stats::task))
        .route(READ, "GET /v1/stats/overview", routes!(stats::overview))
        .route(READ, "GET /v1/stats/pairs", routes!(stats::pairs))
}

/// Registered programs, what they are told and what they are set up with.
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

/// Who holds what, for how long.
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

/// What becomes of approved tasks.
fn applying(routes: Routes) -> Routes {
    routes
        .waiting(EXECUTE, "POST /v1/agents/{id}/claim", routes!(executions::claim))
        .route(EXECUTE, "POST /v1/executions/{id}/begin", routes!(executions::begin))
        .route(EXECUTE, "POST /v1/executions/{id}/heartbeat", routes!(executions::heartbeat))
        .route(EXECUTE, "POST /v1/executions/{id}/log", routes!(executions::log))
        .route(EXECUTE, "POST /v1/executions/{id}/finish", routes!(executions::finish))
        .route(EXECUTE, "POST /v1/executions/{id}/fail", routes!(executions::fail))
        .route(READ, "GET /v1/executions/{id}", routes!(executions::get))
        .route(READ, "GET /v1/executions/{id}/log", routes!(executions::lines))
        .route(READ, "GET /v1/tasks/{id}/executions", routes!(executions::list))
        .route(READ, "GET /v1/tasks/{id}/logs", routes!(logs::follow))
        .route(OPERATE, "POST /v1/tasks/{id}/reconcile", routes!(executions::reconcile))
        .route(OPEN, "GET /.well-known/jwks.json", routes!(system::keys))
        .route(OPEN, "GET /.well-known/oauth-protected-resource", routes!(mcp::metadata))
        .waiting(READ, "POST /mcp", routes!(mcp::mcp))
}

/// Who is told of events, over HTTP.
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

/// Whose events become drafts.
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

/// Who reads events, what they could not take, and how people are told.
fn reading(routes: Routes) -> Routes {
    routes
        .route(READ, "GET /v1/groups", routes!(groups::list))
        .route(READ, "GET /v1/dead-events", routes!(groups::dead_events))
        .route(OPERATE, "POST /v1/dead-events/redrive", routes!(groups::redrive))
        .route(READ, "GET /v1/notifications/preferences", routes!(notifications::preferences))
        .route(DECIDE, "PUT /v1/notifications/preferences", routes!(notifications::set_preferences))
        .route(READ, "GET /v1/on-call", routes!(on_call::list))
        .route(OPERATE, "POST /v1/on-call", routes!(on_call::create))
        .route(OPERATE, "DELETE /v1/on-call/{id}", routes!(on_call::delete))
        .route(OPEN, "POST /v1/slack/interactions", routes!(slack::interactions))
}

/// What happens, as it happens.
fn telling(routes: Routes) -> Routes {
    routes
        .route(READ, "GET /v1/events", routes!(live::events))
        .route(READ, "POST /v1/ws/tickets", routes!(live::ticket))
        .route(OPEN, "GET /v1/ws", routes!(live::socket))
}

/// Everything the server answers, and what it says about it.
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

/// Around a whole table, so that what no route takes goes through it too.
pub fn wrap(table: Table, shared: Shared) -> Http {
    let Table { router, document, routes } = table;
    let written = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
    let router = router
        .layer(Extension(Document(written)))
        .layer(from_fn(envelope::wrap))
        .with_state(shared);
    // The tools of agents call what everybody calls.
    let router = router.clone().layer(Extension(mcp::Own(router)));
    Http { router, document, routes }
}
