//! One request of streamable HTTP, answered with JSON and without a session. The caller has
//! already been authenticated, and the tools act for this caller only.

use std::convert::Infallible;
use std::sync::Arc;

use ade_core::limits::BODY_MAX_BYTES;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::ToolServer;
use crate::work::Tools;

pub type HttpQuestion = Request<Bytes>;
pub type HttpAnswer = Response<BoxBody<Bytes, Infallible>>;

/// The allowed host names and origins. Both are checked first, to stop pages that use DNS
/// rebinding.
#[derive(Debug, Clone)]
pub struct HttpDoor(StreamableHttpServerConfig);

impl HttpDoor {
    /// Allows these host names and origins, and always loopback as a host. A request without an
    /// origin does not come from a page.
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        let loopback = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            .with_max_request_body_bytes(BODY_MAX_BYTES)
            .with_allowed_hosts(loopback.iter().chain(hosts))
            .with_allowed_origins(origins)
            .enforce_origin_validation();
        Self(config)
    }

    pub async fn answer(&self, tools: Tools, question: HttpQuestion) -> HttpAnswer {
        let door = ToolServer(tools);
        let sessions = Arc::new(NeverSessionManager::default());
        let service =
            StreamableHttpService::new(move || Ok(door.clone()), sessions, self.0.clone());
        service.handle(question.map(Full::new)).await
    }
}
