//! Calls for approval requests and votes. A vote names the revision and the digest that the
//! reviewer has seen; this module never looks them up itself.

use ade_api::approvals::{Approval, NewVote, Voted};
use ade_api::batches::{BatchAnswer, NewBatch};
use ade_api::delegations::HandOver;
use ade_api::page::{Page, PageQuery};
use ade_api::tasks::TaskSummary;
use ade_core::approval::ApprovalStatus;
use ade_core::ids::ApprovalId;
use ade_core::task_ref::TaskRef;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::spelled;

#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a>(pub(crate) &'a Client);

impl Approvals<'_> {
    /// Lists the caller's requests, most urgent first; pending ones if no status is given.
    pub async fn inbox(
        self,
        status: Option<ApprovalStatus>,
        page: &PageQuery,
    ) -> Result<Page<Approval>, Error> {
        let call = Call::get("/v1/approvals").query("status", spelled(status)).page(page);
        self.0.send(call).await
    }

    pub async fn get(self, id: ApprovalId) -> Result<Approval, Error> {
        self.0.read(path(id)).await
    }

    pub async fn approve(self, task: impl Into<TaskRef>, vote: &NewVote) -> Result<Voted, Error> {
        self.0.send(Call::post(format!("/v1/tasks/{}/approve", task.into())).body(vote)).await
    }

    pub async fn reject(self, task: impl Into<TaskRef>, vote: &NewVote) -> Result<Voted, Error> {
        self.0.send(Call::post(format!("/v1/tasks/{}/reject", task.into())).body(vote)).await
    }

    pub async fn request_changes(
        self,
        task: impl Into<TaskRef>,
        vote: &NewVote,
    ) -> Result<Voted, Error> {
        self.0
            .send(Call::post(format!("/v1/tasks/{}/request-changes", task.into())).body(vote))
            .await
    }

    pub async fn withdraw(self, id: ApprovalId) -> Result<TaskSummary, Error> {
        self.0.send(Call::post(format!("{}/withdraw", path(id)))).await
    }

    pub async fn hand_over(self, id: ApprovalId, to: &HandOver) -> Result<TaskSummary, Error> {
        self.0.send(Call::post(format!("{}/delegate", path(id))).body(to)).await
    }

    /// Decides on all requests or none; a dry run saves nothing.
    pub async fn batch(self, batch: &NewBatch, is_dry_run: bool) -> Result<BatchAnswer, Error> {
        let call = Call::post("/v1/approvals/batch")
            .query("dry_run", is_dry_run.then(|| "true".to_owned()))
            .body(batch);
        self.0.send(call).await
    }
}

fn path(id: ApprovalId) -> String {
    format!("/v1/approvals/{id}")
}
