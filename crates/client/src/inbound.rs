//! Calls for inbound sources, whose messages become drafts.

use ade_api::inbound::{
    InboundRotation, InboundSecret, InboundSource, InboundSourceChange, NewInboundSource,
};
use ade_api::page::{Page, PageQuery};
use ade_core::ids::InboundId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

#[derive(Debug, Clone, Copy)]
pub struct InboundSources<'a>(pub(crate) &'a Client);

impl InboundSources<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<InboundSource>, Error> {
        self.0.read_page("/v1/inbound-sources", page).await
    }

    pub async fn get(self, id: InboundId) -> Result<InboundSource, Error> {
        self.0.read(path(id)).await
    }

    /// Creates a source. Only this response contains its secret.
    pub async fn create(self, new: &NewInboundSource) -> Result<InboundSecret, Error> {
        self.0.send(Call::post("/v1/inbound-sources").body(new)).await
    }

    pub async fn change(
        self,
        id: InboundId,
        version: u64,
        change: &InboundSourceChange,
    ) -> Result<InboundSource, Error> {
        self.0.send(Call::patch(path(id)).matching(version).body(change)).await
    }

    pub async fn delete(self, id: InboundId) -> Result<InboundSource, Error> {
        self.0.send(Call::delete(path(id))).await
    }

    /// Rotates the secret. Only this response contains the new one.
    pub async fn rotate(
        self,
        id: InboundId,
        rotation: &InboundRotation,
    ) -> Result<InboundSecret, Error> {
        self.0.send(Call::post(format!("{}/rotate", path(id))).body(rotation)).await
    }
}

fn path(id: InboundId) -> String {
    format!("/v1/inbound-sources/{id}")
}
