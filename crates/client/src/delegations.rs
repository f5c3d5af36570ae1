//! Calls for approval delegations.

use ade_api::delegations::{Delegation, DelegationMade, NewDelegation, Resolved};
use ade_api::page::{Page, PageQuery};
use ade_core::ids::{DelegationId, UserId};
use ade_core::task_ref::TaskRef;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Delegations<'a>(pub(crate) &'a Client);

impl Delegations<'_> {
    /// Lists the delegations of `owner`, or the caller's own.
    pub async fn list(
        self,
        owner: Option<UserId>,
        page: &PageQuery,
    ) -> Result<Page<Delegation>, Error> {
        let owner = owner.map(|owner| owner.to_string());
        let call = Call::get("/v1/delegations").query("owner_id", owner).page(page);
        self.0.send(call).await
    }

    /// Creates a delegation. One for another person is a change to the rules.
    pub async fn create(self, new: &NewDelegation) -> Result<Submitted<DelegationMade>, Error> {
        self.0.submit(Call::post("/v1/delegations").body(new)).await
    }

    pub async fn end(self, id: DelegationId) -> Result<Delegation, Error> {
        self.0.send(Call::delete(format!("/v1/delegations/{id}"))).await
    }

    /// Returns who may currently decide for a user, on one task or in general.
    pub async fn resolve(
        self,
        user: Option<UserId>,
        task: Option<TaskRef>,
    ) -> Result<Resolved, Error> {
        let call = Call::get("/v1/delegations/resolve")
            .query("user_id", user.map(|user| user.to_string()))
            .query("task_id", task.map(|task| task.to_string()));
        self.0.send(call).await
    }
}
