//! Probes, metrics, status and the API description, and the two responses for calls without a
//! handler.

use ade_api::code::Code;
use ade_api::executions::Keys;
use ade_api::status::{
    Degradation, EventsStatus, Health, Index, InstallationFreeze, ReadModels, Readiness, Status,
    Worker,
};
use ade_engine::admin;
use ade_engine::services::receipts::KeySet;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::auth_layer::Authenticated;
use super::error::ApiError;
use super::extract::Json;
use super::state::Shared;

/// The OpenAPI document as it is served, written once at start.
#[derive(Debug, Clone)]
pub struct Document(pub Bytes);

/// The part of the OpenAPI document for agents as it is served, written once at start.
#[derive(Debug, Clone)]
pub struct AgentDocument(pub Bytes);

/// Liveness probe
///
/// Checks no dependencies: a probe must not restart a server because its database is unavailable.
#[utoipa::path(get, path = "/healthz", tag = "system", responses(
    (status = 200, description = "The process is running", body = Health)
))]
pub async fn health(State(shared): State<Shared>) -> Json<Health> {
    Json(Health { readiness: readiness(&shared), locks: None, frozen: None })
}

/// Readiness probe
///
/// Checks that PostgreSQL responds and accepts writes on the connections of requests and workers.
#[utoipa::path(get, path = "/readyz", tag = "system", responses(
    (status = 200, description = "The process accepts requests", body = Health)
))]
pub async fn ready(State(shared): State<Shared>) -> Result<Json<Health>, ApiError> {
    match readiness(&shared) {
        Readiness::Ready => {
            let database = admin::status::database(shared.app()).await;
            database.map_err(|fault| ApiError::new(Code::DatabaseUnavailable, fault))?;
            let locks = Some(admin::status::queue(shared.app()).await.is_ok());
            let frozen = Some(admin::status::freeze(shared.app()).await.is_some());
            Ok(Json(Health { readiness: Readiness::Ready, locks, frozen }))
        }
        Readiness::Draining => Err(ApiError::new(Code::Draining, "the process is shutting down")),
    }
}

/// Metrics in the Prometheus text format
#[utoipa::path(get, path = "/metrics", tag = "system", responses(
    (status = 200, description = "Metrics", body = String, content_type = "text/plain")
))]
pub async fn metrics(State(shared): State<Shared>) -> Response {
    let text = shared.metrics().render();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// Get the status of the server and its components
#[utoipa::path(get, path = "/v1/status", tag = "system", operation_id = "get_status", responses(
    (status = 200, description = "The state of this process", body = Status)
))]
pub async fn status(
    State(shared): State<Shared>,
    Authenticated(caller): Authenticated,
) -> Json<Status> {
    let status = admin::status::standing(shared.app()).await;
    let webhooks = admin::status::failing_webhooks(shared.app(), &caller).await;
    let webhooks = webhooks.into_iter().map(|detail| ("webhook", detail));
    let backlog = admin::status::overdue(shared.app(), &caller).await;
    let backlog = backlog.into_iter().map(|detail| ("backlog", detail));
    let unreviewed = admin::status::unreviewed(shared.app(), &caller).await;
    let unreviewed = unreviewed.into_iter().map(|detail| ("after_review", detail));
    let own = webhooks.chain(backlog).chain(unreviewed);
    let degradations: Vec<(&str, String)> = status.degradations.into_iter().chain(own).collect();
    let read_models = admin::status::read_models(shared.app(), &caller).await;
    let workers = status.workers.into_iter().map(|worker| Worker {
        name: worker.name,
        shard: worker.shard,
        is_held: worker.is_held,
        ran_at: worker.ran_at,
        runs: worker.runs,
        items: worker.items,
        failure: worker.failure,
    });
    Json(Status {
        readiness: readiness(&shared),
        uptime_seconds: shared.uptime().as_secs(),
        banner: admin::status::banner(&degradations),
        freeze: status.freeze.map(|freeze| InstallationFreeze {
            number: freeze.number,
            reason: freeze.reason,
            set_by: freeze.set_by,
            since: freeze.since,
        }),
        degradations: degradations
            .into_iter()
            .map(|(part, detail)| Degradation { part: part.to_owned(), detail })
            .collect(),
        workers: workers.collect(),
        events: status.events.map(|backlog| EventsStatus {
            waiting: backlog.waiting,
            lag_seconds: backlog.lag.as_secs_f64(),
        }),
        read_models: read_models
            .map(|models| ReadModels { behind: models.behind, differences: models.differences }),
    })
}

/// Get links to the descriptions of the API
#[utoipa::path(get, path = "/v1", tag = "system", operation_id = "get_index", responses(
    (status = 200, description = "Links to the descriptions of this API", body = Index)
))]
pub async fn index(State(shared): State<Shared>) -> Json<Index> {
    let page = &shared.app().notify.page;
    let link = |path: &str| format!("{page}{path}");
    Json(Index {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        docs: link("/docs"),
        openapi: link("/openapi.json"),
        agent_openapi: link("/openapi/agent.json"),
        llms: link("/llms.txt"),
        status: link("/v1/status"),
        me: link("/v1/me"),
    })
}

/// This OpenAPI document
#[utoipa::path(get, path = "/openapi.json", tag = "system", responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json")
))]
pub async fn openapi(Extension(Document(bytes)): Extension<Document>) -> Response {
    ([(CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// The part of the OpenAPI document that an agent needs
#[utoipa::path(get, path = "/openapi/agent.json", tag = "system", operation_id = "agent_openapi",
    responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json")
))]
pub async fn agent_openapi(Extension(AgentDocument(bytes)): Extension<AgentDocument>) -> Response {
    ([(CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// Get the keys that verify receipts
///
/// Several during a key rotation. None if this server cannot sign permits.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "system", responses(
    (status = 200, description = "A JSON Web Key Set", body = Keys)
))]
pub async fn keys(State(shared): State<Shared>) -> Json<KeySet> {
    let receipts = shared.app().receipts.as_ref();
    Json(receipts.map(|receipts| receipts.keys().clone()).unwrap_or_default())
}

pub(super) fn nothing_here(uri: &Uri) -> ApiError {
    // The path is shortened, because it can be as long as the head of a request.
    let path: String = uri.path().chars().take(200).collect();
    ApiError::new(Code::NotFound, format!("no route matches `{path}`"))
}

pub(super) async fn not_with_this_method() -> ApiError {
    ApiError::new(Code::MethodNotAllowed, "the route exists, but not with this method")
}

fn readiness(shared: &Shared) -> Readiness {
    if shared.is_draining() { Readiness::Draining } else { Readiness::Ready }
}
