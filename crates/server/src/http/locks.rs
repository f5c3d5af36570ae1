//! Locks over HTTP: takes the request apart, calls the operation of the same name. A lease id in
//! a path or body is the proof that its holder calls.

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
use ade_engine::ops::locks;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::door::Known;
use super::error::Failure;
use super::extract::{IdempotencyKey, Json, Path, Query, RepeatHeader};
use super::guard::Gone;
use super::reply::{Kept, attempt, page, span};
use super::state::Shared;
use super::users::ListQuery;

/// Acquire a set of locks, all or none
///
/// At once, or within `wait`. A request that is still in line then is answered with 423 and keeps
/// its place for ten seconds: send the same `lease` again.
#[utoipa::path(post, path = "/v1/locks/acquire", tag = "locks", request_body = NewLease,
    responses(
        (status = 200, description = "Held", body = Lease),
        (status = 409, description = "`lease_lost`, `lease_reused`, `lock_self_conflict`, \
            `lock_already_waiting`, `too_many_locks`, `session_over`",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 423, description = "`lock_held`, `deadlock_detected`",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 429, description = "`rate_limited`",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn acquire(
    State(shared): State<Shared>,
    Known(caller): Known,
    gone: Gone,
    Json(new): Json<NewLease>,
) -> Result<Json<Lease>, Failure> {
    Ok(Json(Box::pin(locks::acquire(shared.app(), &caller, new, gone.wait())).await?))
}

/// Keep a session and many leases alive
///
/// Every ten seconds. Also for requests in line, which would lose their place without it. A lease
/// that was held for a day gets no more time: its `refused` says so, and it runs out.
#[utoipa::path(post, path = "/v1/leases/heartbeat", tag = "leases", request_body = Heartbeat,
    responses(
        (status = 200, description = "How each of them stands", body = Beats),
        (status = 404, description = "The session is not yours",
            body = ade_api::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "`session_over`", body = ade_api::problem::Problem,
            content_type = "application/problem+json")))]
pub async fn heartbeat(
    State(shared): State<Shared>,
    Known(caller): Known,
    Json(beat): Json<Heartbeat>,
) -> Result<Json<Beats>, Failure> {
    Ok(Json(locks::heartbeat(shared.app(), &caller, beat).await?))
}

/// Give a lease back, or leave the line
#[utoipa::path(post, path = "/v1/leases/{id}/release", tag = "leases",
    params(("id" = schema::LeaseId, Path)),
    responses(
        (status = 200, description = "Released, now or before", body = Beat),
        (status = 409, description = "`lease_lost`: it was lost before",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn release(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path(id): Path<LeaseId>,
) -> Result<Json<Beat>, Failure> {
    Ok(Json(locks::release(shared.app(), &caller, id).await?))
}

#[derive(Debug, Clone, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LeaseQuery {
    /// Only those of this agent. An agent sees its own.
    #[param(value_type = Option<schema::AgentId>)]
    pub agent: Option<AgentId>,
    /// About how many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub page_size: Option<u32>,
    /// `next_page_token` of the page before.
    pub page_token: Option<String>,
}

/// List leases that are held
///
/// In no order. A page ends with a resource, so it may hold fewer than were asked for, and more if
/// many share one.
#[utoipa::path(get, path = "/v1/leases", tag = "leases", params(LeaseQuery),
    responses((status = 200, description = "A page", body = Page<LeaseView>)))]
pub async fn leases(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(mut query): Query<LeaseQuery>,
) -> Result<Json<Page<LeaseView>>, Failure> {
    let wanted =
        PageQuery { page_size: query.page_size.take(), page_token: query.page_token.take() };
    if let Actor::Agent { id, .. } = caller.actor {
        query.agent = Some(id);
    }
    let span = span(&wanted, &caller, &("leases", &query))?;
    let paged = locks::leases(shared.app(), &caller, query.agent, span).await?;
    Ok(page(paged, &caller, &("leases", &query)))
}

/// List what is locked
///
/// In no order. A page may hold fewer than were asked for, or a few more.
#[utoipa::path(get, path = "/v1/locks", tag = "locks", params(ListQuery),
    responses((status = 200, description = "A page", body = Page<Lock>)))]
pub async fn list(
    State(shared): State<Shared>,
    Known(caller): Known,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Lock>>, Failure> {
    let wanted = PageQuery { page_size: query.page_size, page_token: query.page_token };
    let span = span(&wanted, &caller, &"locks")?;
    Ok(page(locks::list(shared.app(), &caller, span).await?, &caller, &"locks"))
}

/// Who waits for whom
#[utoipa::path(get, path = "/v1/locks/graph", tag = "locks",
    responses((status = 200, description = "The graph", body = LockGraph)))]
pub async fn graph(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<LockGraph>, Failure> {
    Ok(Json(locks::graph(shared.app(), &caller).await?))
}

/// Circles of waits that were found, newest first
#[utoipa::path(get, path = "/v1/locks/deadlocks", tag = "locks",
    responses((status = 200, description = "The newest of them", body = Deadlocks)))]
pub async fn deadlocks(
    State(shared): State<Shared>,
    Known(caller): Known,
) -> Result<Json<Deadlocks>, Failure> {
    Ok(Json(locks::deadlocks(shared.app(), &caller).await?))
}

/// One resource with its holders and its queue
///
/// Nothing is there if nobody holds it or waits for it.
#[utoipa::path(get, path = "/v1/locks/{type}/{id}", tag = "locks",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "As it stands", body = Lock)))]
pub async fn get(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((kind, id)): Path<(String, String)>,
) -> Result<Json<Lock>, Failure> {
    Ok(Json(locks::lock(shared.app(), &caller, resource(&kind, &id)?).await?))
}

/// Take a lock from its holders
///
/// They cannot commit any more. Make sure that they have stopped.
#[utoipa::path(post, path = "/v1/locks/{type}/{id}/break", tag = "locks",
    params(("type" = String, Path), ("id" = String, Path), RepeatHeader),
    request_body = Breaking,
    responses((status = 200, description = "Who had it", body = Broken)))]
pub async fn break_lock(
    State(shared): State<Shared>,
    Known(caller): Known,
    Path((kind, id)): Path<(String, String)>,
    key: IdempotencyKey,
    Json(breaking): Json<Breaking>,
) -> Result<Kept, Failure> {
    let resource = resource(&kind, &id)?;
    let attempt = attempt("locks.break", &resource.to_string(), key, &breaking);
    let broken = locks::break_lock(shared.app(), &caller, &attempt, resource, breaking);
    Ok(Kept(Box::pin(broken).await?))
}

/// Keep resources from everybody until an end
///
/// Advisory leases give way; a fenced one has to be broken first. Break the lock to end it early.
#[utoipa::path(post, path = "/v1/locks/incidents", tag = "locks", params(RepeatHeader),
    request_body = NewIncident,
    responses(
        (status = 201, description = "In force until its end", body = Incident),
        (status = 423, description = "`lock_held`: a fenced lease is in the way",
            body = ade_api::problem::Problem, content_type = "application/problem+json")))]
pub async fn incident(
    State(shared): State<Shared>,
    Known(caller): Known,
    key: IdempotencyKey,
    Json(new): Json<NewIncident>,
) -> Result<Kept, Failure> {
    let attempt = attempt("locks.incident", "", key, &new);
    Ok(Kept(Box::pin(locks::incident(shared.app(), &caller, &attempt, new)).await?))
}

fn resource(kind: &str, id: &str) -> Result<ResourceRef, Failure> {
    ResourceRef::new(kind, id)
        .map_err(|_| Failure::new(Code::NotFound, "there is nothing by this name"))
}
