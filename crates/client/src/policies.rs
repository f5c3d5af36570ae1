//! Calls for policies, drafts and replays.

use ade_api::page::{Page, PageQuery};
use ade_api::policies::{
    NewDraft, PolicyDraft, PolicyHistory, PolicyRollback, PolicyVersionShown, Replay, Replayed,
};
use ade_core::ids::{PolicyDraftId, PolicyId};

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Policies<'a>(pub(crate) &'a Client);

impl Policies<'_> {
    /// Lists the policies with the version in force.
    pub async fn list(self, page: &PageQuery) -> Result<Page<PolicyVersionShown>, Error> {
        self.0.read_page("/v1/policies", page).await
    }

    pub async fn versions(self, id: PolicyId) -> Result<PolicyHistory, Error> {
        self.0.read(format!("/v1/policies/{id}/versions")).await
    }

    pub async fn draft(self, new: &NewDraft) -> Result<PolicyDraft, Error> {
        self.0.send(Call::post("/v1/policies").body(new)).await
    }

    pub async fn rollback(self, id: PolicyId, to: &PolicyRollback) -> Result<PolicyDraft, Error> {
        self.0.send(Call::post(format!("/v1/policies/{id}/rollback")).body(to)).await
    }

    pub async fn drafts(self, page: &PageQuery) -> Result<Page<PolicyDraft>, Error> {
        self.0.read_page("/v1/policy-drafts", page).await
    }

    pub async fn get_draft(self, id: PolicyDraftId) -> Result<PolicyDraft, Error> {
        self.0.read(format!("/v1/policy-drafts/{id}")).await
    }

    pub async fn withdraw(self, id: PolicyDraftId) -> Result<PolicyDraft, Error> {
        self.0.send(Call::delete(format!("/v1/policy-drafts/{id}"))).await
    }

    pub async fn publish(self, id: PolicyDraftId) -> Result<Submitted<PolicyVersionShown>, Error> {
        self.0.submit(Call::post(format!("/v1/policy-drafts/{id}/publish"))).await
    }

    /// Replays recent tasks against a policy. Nothing is saved.
    pub async fn replay(self, replay: &Replay) -> Result<Replayed, Error> {
        self.0.send(Call::post("/v1/policies/replay").body(replay)).await
    }
}
