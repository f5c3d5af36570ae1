//! Calls for the state of the server.

use ade_api::executions::Keys;
use ade_api::status::{Health, Index, Status};
use serde_json::Value;

use crate::Client;
use crate::error::Error;

#[derive(Debug, Clone, Copy)]
pub struct System<'a>(pub(crate) &'a Client);

impl System<'_> {
    /// Returns links to the descriptions of the API, with the public address of the server.
    pub async fn index(self) -> Result<Index, Error> {
        self.0.read("/v1".to_owned()).await
    }

    /// Returns whether the server is alive.
    pub async fn health(self) -> Result<Health, Error> {
        self.0.read("/healthz".to_owned()).await
    }

    /// Returns whether the server accepts requests.
    pub async fn ready(self) -> Result<Health, Error> {
        self.0.read("/readyz".to_owned()).await
    }

    pub async fn status(self) -> Result<Status, Error> {
        self.0.read("/v1/status".to_owned()).await
    }

    /// Returns the keys that currently verify receipts.
    pub async fn keys(self) -> Result<Keys, Error> {
        self.0.read("/.well-known/jwks.json".to_owned()).await
    }

    /// Returns the OpenAPI document.
    pub async fn openapi(self) -> Result<Value, Error> {
        self.0.read("/openapi.json".to_owned()).await
    }
}
