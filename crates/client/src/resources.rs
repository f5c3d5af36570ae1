//! Calls for the resource registry.

use ade_api::page::{Page, PageQuery};
use ade_api::resources::{Resource, ResourceEntry, ResourceImport, ResourcesImported};
use ade_core::resource::ResourceRef;

use crate::Client;
use crate::error::Error;
use crate::send::{Call, segment};
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Resources<'a>(pub(crate) &'a Client);

impl Resources<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<Resource>, Error> {
        self.0.read_page("/v1/resources", page).await
    }

    pub async fn get(self, resource: &ResourceRef) -> Result<Resource, Error> {
        self.0.read(path(resource)).await
    }

    pub async fn put(
        self,
        resource: &ResourceRef,
        entry: &ResourceEntry,
    ) -> Result<Submitted<Resource>, Error> {
        self.0.submit(Call::put(path(resource)).body(entry)).await
    }

    pub async fn import(
        self,
        import: &ResourceImport,
    ) -> Result<Submitted<ResourcesImported>, Error> {
        self.0.submit(Call::post("/v1/resources/import").body(import)).await
    }
}

fn path(resource: &ResourceRef) -> String {
    format!("/v1/resources/{}/{}", segment(resource.kind()), segment(resource.id()))
}
