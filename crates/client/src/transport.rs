//! The transport of a request: over the network, or within the process that serves the API. All
//! other parts of a call are the same for both.

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
pub enum Transport {
    Network(reqwest::Client),
    InProcess(Answering),
}

impl Transport {
    pub fn network() -> Result<Self, Error> {
        reqwest::Client::builder()
            .user_agent(PROGRAM)
            .connect_timeout(CLIENT_CONNECT_TIMEOUT)
            // Redirects are disabled, so that only this server gets the token.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map(Self::Network)
            .map_err(|error| Error::Unusable { why: whole(&error) })
    }

    pub async fn send(&self, request: Request) -> Result<Response, reqwest::Error> {
        match self {
            Self::Network(http) => http.execute(request).await,
            Self::InProcess(answer) => Ok(answer(request).await),
        }
    }

    pub const fn is_in_process(&self) -> bool {
        matches!(self, Self::InProcess(_))
    }

    /// Returns how often a call is attempted, given the requested number of attempts.
    pub fn tries(&self, asked: usize) -> usize {
        match self {
            Self::Network(_) => asked,
            Self::InProcess(_) => 1,
        }
    }
}
