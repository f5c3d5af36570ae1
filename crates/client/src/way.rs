//! How a request reaches who answers it: over the network, or by a call within the process that
//! serves the API itself. Everything else about a call is the same on both ways.

use std::pin::Pin;
use std::sync::Arc;

use ade_core::limits::CLIENT_CONNECT_TIMEOUT;
use reqwest::{Request, Response};

use crate::error::{Error, whole};

const PROGRAM: &str = concat!("ade/", env!("CARGO_PKG_VERSION"));

/// Answers a request within this process, in bounded time.
pub type Answering =
    Arc<dyn Fn(Request) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

#[derive(Clone)]
pub enum Way {
    Network(reqwest::Client),
    Within(Answering),
}

impl Way {
    pub fn network() -> Result<Self, Error> {
        reqwest::Client::builder()
            .user_agent(PROGRAM)
            .connect_timeout(CLIENT_CONNECT_TIMEOUT)
            // Nobody but this server is shown the token.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map(Self::Network)
            .map_err(|error| Error::Unusable { why: whole(&error) })
    }

    pub async fn send(&self, request: Request) -> Result<Response, reqwest::Error> {
        match self {
            Self::Network(http) => http.execute(request).await,
            Self::Within(answer) => Ok(answer(request).await),
        }
    }

    /// How often a call is tried that asks for so many tries.
    pub fn tries(&self, asked: usize) -> usize {
        match self {
            Self::Network(_) => asked,
            Self::Within(_) => 1,
        }
    }
}
