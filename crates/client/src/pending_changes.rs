//! Calls for changes to the rules that wait for a second admin.

use ade_api::page::{Page, PageQuery};
use ade_api::pending_changes::{ChangeObjection, PendingChange};
use ade_core::ids::PendingChangeId;
use serde_json::Value;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

#[derive(Debug, Clone, Copy)]
pub struct PendingChanges<'a>(pub(crate) &'a Client);

impl PendingChanges<'_> {
    /// Lists the open changes, or the closed ones.
    pub async fn list(
        self,
        is_closed: bool,
        page: &PageQuery,
    ) -> Result<Page<PendingChange>, Error> {
        let closed = is_closed.then(|| "true".to_owned());
        self.0.send(Call::get("/v1/pending-changes").query("closed", closed).page(page)).await
    }

    pub async fn get(self, id: PendingChangeId) -> Result<PendingChange, Error> {
        self.0.read(path(id)).await
    }

    /// Publishes a change and returns the changed object, whose type depends on the change.
    pub async fn publish(self, id: PendingChangeId) -> Result<Value, Error> {
        self.0.send(Call::post(format!("{}/publish", path(id)))).await
    }

    /// Objects to a change that would take effect without a second admin.
    pub async fn object(
        self,
        id: PendingChangeId,
        objection: &ChangeObjection,
    ) -> Result<PendingChange, Error> {
        self.0.send(Call::post(format!("{}/object", path(id))).body(objection)).await
    }

    pub async fn withdraw(self, id: PendingChangeId) -> Result<PendingChange, Error> {
        self.0.send(Call::delete(path(id))).await
    }
}

fn path(id: PendingChangeId) -> String {
    format!("/v1/pending-changes/{id}")
}
