//! What the server tells about itself: probes, metrics, status and the description of its API,
//! and the two answers for calls that reach no handler.

use ade_api::code::Code;
use ade_api::executions::Keys;
use ade_api::status::{
    Degradation, EventsStatus, Health, InstallationFreeze, ReadModels, Readiness, Status, Worker,
};
use ade_engine::ops;
use ade_engine::receipts::KeySet;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::door::Known;
use super::error::Failure;
use super::extract::Json;
use super::state::Shared;

/// The OpenAPI document as it is served, written once at start.
#[derive(Debug, Clone)]
pub struct Document(pub Bytes);

/// Whether the process runs
///
/// Asks nothing of others: a probe must not restart a server because its database is away.
#[utoipa::path(get, path = "/healthz", tag = "system", responses(
    (status = 200, description = "It runs", body = Health)
))]
pub async fn health(State(shared): State<Shared>) -> Json<Health> {
    Json(Health { readiness: readiness(&shared), locks: None, frozen: None })
}

/// Whether the process takes requests
#[utoipa::path(get, path = "/readyz", tag = "system", responses(
    (status = 200, description = "It takes requests", body = Health)
))]
pub async fn ready(State(shared): State<Shared>) -> Result<Json<Health>, Failure> {
    match readiness(&shared) {
        Readiness::Ready if !ops::status::is_reachable(shared.app()).await => {
            Err(Failure::new(Code::DatabaseUnavailable, "the record does not answer"))
        }
        Readiness::Ready => {
            let locks = Some(ops::status::queue(shared.app()).await.is_ok());
            let frozen = Some(ops::status::freeze(shared.app()).await.is_some());
            Ok(Json(Health { readiness: Readiness::Ready, locks, frozen }))
        }
        Readiness::Draining => Err(Failure::new(Code::Draining, "it takes nothing new")),
    }
}

/// Metrics in the text format of Prometheus
#[utoipa::path(get, path = "/metrics", tag = "system", responses(
    (status = 200, description = "Metrics", body = String, content_type = "text/plain")
))]
pub async fn metrics(State(shared): State<Shared>) -> Response {
    let text = shared.metrics().render();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// What works and what does not
#[utoipa::path(get, path = "/v1/status", tag = "system", responses(
    (status = 200, description = "The state of this process", body = Status)
))]
pub async fn status(State(shared): State<Shared>, Known(caller): Known) -> Json<Status> {
    let standing = ops::status::standing(shared.app()).await;
    let webhooks = ops::status::failing_webhooks(shared.app(), &caller).await;
    let webhooks = webhooks.into_iter().map(|detail| ("webhook", detail));
    let backlog = ops::status::overdue(shared.app(), &caller).await;
    let backlog = backlog.into_iter().map(|detail| ("backlog", detail));
    let unreviewed = ops::status::unreviewed(shared.app(), &caller).await;
    let unreviewed = unreviewed.into_iter().map(|detail| ("after_review", detail));
    let own = webhooks.chain(backlog).chain(unreviewed);
    let degradations: Vec<(&str, String)> = standing.degradations.into_iter().chain(own).collect();
    let read_models = ops::status::read_models(shared.app(), &caller).await;
    let workers = standing.workers.into_iter().map(|worker| Worker {
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
        uptime_s: shared.uptime().as_secs(),
        banner: ops::status::banner(&degradations),
        freeze: standing.freeze.map(|freeze| InstallationFreeze {
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
        events: standing.events.map(|backlog| EventsStatus {
            waiting: backlog.waiting,
            lag_ms: u64::try_from(backlog.lag.as_millis()).unwrap_or(u64::MAX),
        }),
        read_models: read_models
            .map(|models| ReadModels { behind: models.behind, differences: models.differences }),
    })
}

/// This description
#[utoipa::path(get, path = "/openapi.json", tag = "system", responses(
    (status = 200, description = "OpenAPI 3.1", body = Object, content_type = "application/json")
))]
pub async fn openapi(Extension(Document(bytes)): Extension<Document>) -> Response {
    ([(CONTENT_TYPE, "application/json")], bytes).into_response()
}

/// The keys with which receipts are verified
///
/// Several while one takes over from another. None if no permit can be signed here.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "system", responses(
    (status = 200, description = "A JSON Web Key Set", body = Keys)
))]
pub async fn keys(State(shared): State<Shared>) -> Json<KeySet> {
    let receipts = shared.app().receipts.as_ref();
    Json(receipts.map(|receipts| receipts.keys().clone()).unwrap_or_default())
}

pub(super) fn nothing_here(uri: &Uri) -> Failure {
    // The path comes from the caller: cut, since it may be as long as the head of a request.
    let path: String = uri.path().chars().take(200).collect();
    Failure::new(Code::NotFound, format!("no route is called `{path}`"))
}

pub(super) async fn not_with_this_method() -> Failure {
    Failure::new(Code::MethodNotAllowed, "the route exists, but not with this method")
}

fn readiness(shared: &Shared) -> Readiness {
    if shared.is_draining() { Readiness::Draining } else { Readiness::Ready }
}
