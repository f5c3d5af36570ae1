//! Raw API requests by method and path.

use ade_api::page::PageQuery;
use reqwest::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

/// A raw request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawCall {
    pub method: String,
    /// The path with its query, starting with a slash.
    pub path: String,
    pub body: Option<Vec<u8>>,
    /// The expected version, sent as `If-Match`.
    pub version: Option<u64>,
}

impl Client {
    /// Sends a raw request and returns JSON, or any other response as a string. It is retried under
    /// one idempotency key like every other call.
    pub async fn raw(&self, raw: RawCall) -> Result<Value, Error> {
        let why = |why: &str| Error::Unusable { why: why.to_owned() };
        let method = Method::from_bytes(raw.method.to_ascii_uppercase().as_bytes())
            .map_err(|_| why("unknown HTTP method"))?;
        if !raw.path.starts_with('/') {
            return Err(why("the path must begin with a slash, such as /v1/tasks"));
        }
        let mut call = Call::written(method, &raw.path).bytes(raw.body);
        if let Some(version) = raw.version {
            call = call.matching(version);
        }
        let body = self.receive(call).await?.body;
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        Ok(serde_json::from_slice(&body).unwrap_or_else(|_| text()))
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, path: String) -> Result<T, Error> {
        self.send(Call::get(path)).await
    }

    pub(crate) async fn read_page<T: DeserializeOwned>(
        &self,
        path: &str,
        page: &PageQuery,
    ) -> Result<T, Error> {
        self.send(Call::get(path).page(page)).await
    }
}
