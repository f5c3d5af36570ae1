//! A server on a free loopback port. It uses the same builder, layers and connection handling as
//! in production, and has additional test handlers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::TaskId;
use ade_server::config::{self, Config};
use ade_server::http::error::ApiError;
use ade_server::http::extract::{
    IdempotencyKey, IfMatch, Json, Path, Query, RepeatHeader, VersionHeader,
};
use ade_server::http::routes::{RouteAuth, Routes};
use ade_server::http::state::Shared;
use ade_server::serve::{ShutdownOutcome, serve};
use ade_server::tls::Tls;
use ade_server::{assemble, http, telemetry};
use axum::Extension;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use utoipa::ToSchema;
use utoipa_axum::routes;

pub struct TestServer {
    pub address: SocketAddr,
    pub shared: Shared,
    pub gate: Gate,
    client: Client,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<ShutdownOutcome>,
}

/// Holds a handler until the test lets it go.
#[derive(Clone, Default)]
pub struct Gate {
    pub entered: Arc<Notify>,
    pub leave: Arc<Notify>,
    pub left: Arc<Notify>,
}

pub fn settings(pairs: &[(&str, &str)]) -> config::ServerConfig {
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in pairs {
        variables.insert(format!("ADE__SERVER__{}", name.to_uppercase()), (*value).to_owned());
    }
    Config::read(None, variables).unwrap().server
}

/// The state of a server without a database, for requests that are answered before it is queried.
pub fn shared(pairs: &[(&str, &str)]) -> Shared {
    let config = Config::read(None, BTreeMap::new()).unwrap();
    let app = assemble::unconnected(&config).unwrap();
    Shared::new(app, settings(pairs), telemetry::metrics().unwrap())
}

impl TestServer {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(pairs: &[(&str, &str)]) -> Self {
        Self::over(shared(pairs)).await
    }

    pub async fn over(shared: Shared) -> Self {
        Self::behind(shared, None).await
    }

    /// Starts a server, with TLS if given.
    pub async fn behind(shared: Shared, tls: Option<Tls>) -> Self {
        let gate = Gate::default();
        let table = Routes::new(shared.clone())
            .route(RouteAuth::Public, "POST /echo", routes!(echo))
            .route(RouteAuth::Public, "GET /tasks/{id}", routes!(named))
            .route(RouteAuth::Public, "PATCH /versions", routes!(versioned))
            .route(RouteAuth::Public, "GET /panic", routes!(panic))
            .route(RouteAuth::Public, "GET /held", routes!(held))
            .route(RouteAuth::Public, "POST /held", routes!(held_change))
            .waiting(RouteAuth::Public, "GET /waits", routes!(waits))
            .finish()
            .unwrap();
        let router = http::build(shared.clone()).unwrap().router;
        let tests = http::wrap(table, shared.clone()).router.layer(Extension(gate.clone()));
        // Paths below `/test` go to the test handlers, all others to the product.
        let router = axum::Router::new().nest_service("/test", tests).fallback_service(router);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(serve(listener, router, shared.clone(), tls, async move {
            let _ = stopped.await;
        }));
        // Shorter than the idle timeout of the server, which could otherwise close a connection
        // that a request is about to use.
        let idle = Duration::from_secs(1);
        let client = Client::builder().no_proxy().pool_idle_timeout(idle);
        // Redirects are not followed, so that the tests can check them.
        let client = client.redirect(Policy::none()).build().unwrap();
        Self { address, shared, gate, client, stop: Some(stop), served }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(self.url(path))
    }

    pub fn request(&self, method: &str, path: &str) -> RequestBuilder {
        self.client.request(method.parse().unwrap(), self.url(path))
    }

    pub fn json(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        self.post(path).header("content-type", "application/json").body(body)
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    pub async fn ended(self) -> ShutdownOutcome {
        self.served.await.unwrap()
    }
}

/// Reads until the server closes the connection.
pub async fn rest_of(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

pub async fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// Asserts that the response is a problem with this status and code.
#[track_caller]
pub fn assert_problem(status: u16, headers: &reqwest::header::HeaderMap, body: &Value, code: &str) {
    assert_eq!(headers["content-type"], "application/problem+json");
    assert_eq!(body["code"], code, "{body}");
    assert_eq!(body["status"], status, "{body}");
    assert_eq!(body["request_id"].as_str().unwrap(), headers["x-request-id"]);
    let message = body["next_action"]["message"].as_str();
    assert!(message.is_some_and(|message| !message.is_empty()), "{body}");
}

pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    assert_eq!(response.status().as_u16(), status, "{code}");
    let headers = response.headers().clone();
    let body: Value = response.json().await.unwrap();
    assert_problem(status, &headers, &body, code);
    body
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Letter {
    pub title: String,
    pub items: Vec<Item>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    pub count: u32,
}

#[utoipa::path(post, path = "/echo", request_body = Letter,
    responses((status = 200, description = "The same", body = Letter)))]
async fn echo(Json(letter): Json<Letter>) -> Json<Letter> {
    Json(letter)
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
struct Asked {
    size: Option<u32>,
}

#[utoipa::path(get, path = "/tasks/{id}", params(("id" = String, Path), Asked),
    responses((status = 200, description = "Its id", body = String)))]
async fn named(Path(id): Path<TaskId>, Query(asked): Query<Asked>) -> Json<String> {
    Json(format!("{id} {}", asked.size.unwrap_or_default()))
}

#[utoipa::path(patch, path = "/versions", params(VersionHeader, RepeatHeader),
    responses((status = 200, description = "What was sent", body = String)))]
async fn versioned(IfMatch(version): IfMatch, IdempotencyKey(key): IdempotencyKey) -> Json<String> {
    Json(format!("{version} {}", key.unwrap_or_default()))
}

#[utoipa::path(get, path = "/panic", responses((status = 200, description = "Never")))]
async fn panic() -> Result<(), ApiError> {
    panic!("hunter2");
}

async fn hold(gate: &Gate) {
    gate.entered.notify_one();
    gate.leave.notified().await;
    gate.left.notify_one();
}

#[utoipa::path(get, path = "/held", responses((status = 200, description = "Let go")))]
async fn held(Extension(gate): Extension<Gate>) {
    hold(&gate).await;
}

#[utoipa::path(post, path = "/held", responses((status = 200, description = "Let go")))]
async fn held_change(Extension(gate): Extension<Gate>) {
    hold(&gate).await;
}

#[utoipa::path(get, path = "/waits", params(("wait" = Option<String>, Query)),
    responses((status = 200, description = "Let go")))]
async fn waits(Extension(gate): Extension<Gate>) {
    hold(&gate).await;
}
