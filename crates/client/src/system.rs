//! Calls about the server itself.

use ade_api::executions::Keys;
use ade_api::status::{Health, Status};
use serde_json::Value;

use crate::Client;
use crate::error::Error;

#[derive(Debug, Clone, Copy)]
pub struct System<'a>(pub(crate) &'a Client);

impl System<'_> {
    /// Whether it is alive.
    pub async fn health(self) -> Result<Health, Error> {
        self.0.read("/healthz".to_owned()).await
    }

    /// Whether it takes requests.
    pub async fn ready(self) -> Result<Health, Error> {
        self.0.read("/readyz".to_owned()).await
    }

    pub async fn status(self) -> Result<Status, Error> {
        self.0.read("/v1/status".to_owned()).await
    }

    /// The keys whose receipts count now.
    pub async fn keys(self) -> Result<Keys, Error> {
        self.0.read("/.well-known/jwks.json".to_owned()).await
    }

    /// The API as it describes itself.
    pub async fn openapi(self) -> Result<Value, Error> {
        self.0.read("/openapi.json".to_owned()).await
    }
}
