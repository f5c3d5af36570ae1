//! Locks over HTTP: each handler parses the request and calls the operation of the same name. A
//! lease id in a path or body proves that the caller holds the lease.

use ade_api::code::Code;
use ade_api::locks::{
    Beat, Beats, Breaking, Broken, Deadlocks, Heartbeat, Incident, Lease, LeaseView, Lock,
    LockGraph, NewIncident, NewLease,
};
use ade_api::page::{Page, PageQuery};
use ade_api::schema;
use ade_core::actor::Actor;
use ade_core::ids::{AgentId, LeaseId};
use ade_core::resource::ResourceRef;
use ade_engine::locks;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::limits_layer::ClientDisconnected;
use super::reply::{EngineReply, Listing, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Acquire a set of locks, all or none
///
/// At once, or within `wait`. A request that is still waiting then gets 423 and keeps its place for
/// ten seconds: send the same `lease` again.
#[utoipa::path(post, path = "/v1/locks/acquire", tag = "locks", request_body = NewLease,
    responses(
        (status = 200, description = "The granted lease", body = Lease),
        (status = 409, description = "`lease_lost`, `lease_reused`, `lock_self_conflict`, \
            `lock_already_waiting`, `too_many_locks`, `process_expired`",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 423, description = "`lock_held` with the `holders`; `deadlock_detected` with the \
            `cycle` of leases, each of which waits for the next",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 429, description = "`rate_limited`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn acquire(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    gone: ClientDisconnected,
    Json(new): Json<NewLease>,
) -> Result<Json<Lease>, ApiError> {
    Ok(Json(Box::pin(locks::acquire(shared.app(), &caller, new, gone.wait())).await?))
}

/// Send a heartbeat for a session and its leases
///
/// Every ten seconds, also for waiting requests, which lose their place otherwise. A lease that was
/// held for a day is not extended: `refused` says so, and it expires.
#[utoipa::path(post, path = "/v1/leases/heartbeat", tag = "leases", request_body = Heartbeat,
    responses(
        (status = 200, description = "The state of each lease", body = Beats),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`process_expired`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Json(beat): Json<Heartbeat>,
) -> Result<Json<Beats>, ApiError> {
    Ok(Json(locks::heartbeat(shared.app(), &caller, beat).await?))
}

/// Release a lease, or leave the queue
#[utoipa::path(post, path = "/v1/leases/{id}/release", tag = "leases",
    params(("id" = schema::LeaseId, Path)),
    responses(
        (status = 200, description = "Released, now or earlier", body = Beat),
        (status = 409, description = "`lease_lost`: the lease was already lost",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn release(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path(id): Path<LeaseId>,
) -> Result<Json<Beat>, ApiError> {
    Ok(Json(locks::release(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaseQuery {
    /// Only leases of this agent. Agents can only see their own.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent_id: Option<AgentId>,
    /// The approximate number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// The `next_page_token` of the previous page.
    pub page_token: Option<String>,
}

/// List held leases
///
/// Unordered. A page ends with a resource, so it may contain fewer items than requested, or more if
/// many share a resource.
#[utoipa::path(get, path = "/v1/leases", tag = "leases", operation_id = "list", params(LeaseQuery),
    responses((status = 200, description = "A page", body = Page<LeaseView>)))]
pub async fn leases(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(mut query): Query<LeaseQuery>,
) -> Result<Listing<LeaseView>, ApiError> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    if let Actor::Agent { id, .. } = caller.actor {
        query.agent_id = Some(id);
    }
    let span = span(&wanted, &caller, &("leases", &query))?;
    let paged = locks::leases(shared.app(), &caller, query.agent_id, span).await?;
    Ok(page(paged, &caller, &("leases", &query)))
}

/// List locks
///
/// Each item is one resource with its first holders; get a lock to see its queue. Unordered. A page
/// may contain fewer items than requested, or slightly more.
#[utoipa::path(get, path = "/v1/locks", tag = "locks", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Lock>)))]
pub async fn list(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Query(query): Query<ListQuery>,
) -> Result<Listing<Lock>, ApiError> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"locks")?;
    Ok(page(locks::list(shared.app(), &caller, span).await?, &caller, &"locks"))
}

/// Get the lock wait graph
#[utoipa::path(get, path = "/v1/locks/graph", tag = "locks", operation_id = "get_graph",
    responses((status = 200, description = "The wait graph", body = LockGraph)))]
pub async fn graph(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<LockGraph>, ApiError> {
    Ok(Json(locks::graph(shared.app(), &caller).await?))
}

/// List resolved deadlocks, newest first
#[utoipa::path(get, path = "/v1/locks/deadlocks", tag = "locks", operation_id = "list_deadlocks",
    responses((status = 200, description = "The latest deadlocks", body = Deadlocks)))]
pub async fn deadlocks(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Result<Json<Deadlocks>, ApiError> {
    Ok(Json(locks::deadlocks(shared.app(), &caller).await?))
}

/// Get a lock with its holders and its queue
///
/// Returns 404 if the resource is neither held nor waited for.
#[utoipa::path(get, path = "/v1/locks/{type}/{id}", tag = "locks",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "The current state of the lock", body = Lock)))]
pub async fn get(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<Lock>, ApiError> {
    Ok(Json(locks::lock(shared.app(), &caller, resource(&kind, &id)?).await?))
}

/// Break a lock
///
/// Its holders can no longer commit. Make sure that they have stopped.
#[utoipa::path(post, path = "/v1/locks/{type}/{id}/break", tag = "locks", operation_id = "break",
    params(("type" = String, Path), ("id" = String, Path), RepeatHeader),
    request_body = Breaking,
    responses((status = 200, description = "The lease that was broken", body = Broken)))]
pub async fn break_lock(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    Path((kind, id)): Path<(String, String)>,
    key: IdempotencyKey,
    Json(breaking): Json<Breaking>,
) -> Result<EngineReply, ApiError> {
    let resource = resource(&kind, &id)?;
    let attempt = attempt("locks.break", &resource.to_string(), key, &breaking);
    let broken = locks::break_lock(shared.app(), &caller, &attempt, resource, breaking);
    Ok(EngineReply(Box::pin(broken).await?))
}

/// Lock resources for an incident
///
/// Advisory leases give way; a fenced lease must be broken first. Break the lock to end the
/// incident early.
#[utoipa::path(post, path = "/v1/locks/incidents", tag = "locks",
    operation_id = "begin_incident", params(RepeatHeader),
    request_body = NewIncident,
    responses(
        (status = 201, description = "The incident lock, in force until its end", body = Incident),
        (status = 423, description = "`lock_held`: a fenced lease holds the resource",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn incident(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
    key: IdempotencyKey,
    Json(new): Json<NewIncident>,
) -> Result<EngineReply, ApiError> {
    let attempt = attempt("locks.incident", "", key, &new);
    Ok(EngineReply(Box::pin(locks::incident(shared.app(), &caller, &attempt, new)).await?))
}

fn resource(kind: &str, id: &str) -> Result<ResourceRef, ApiError> {
    ResourceRef::new(kind, id).map_err(|_| ApiError::new(Code::NotFound, "invalid id in the path"))
}
