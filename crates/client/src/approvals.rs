//! Calls about requests to reviewers, and their answers. A vote names the revision and the digest
//! that its author had on screen; nothing here looks them up for them.

use ade_api::approvals::{Approval, NewVote, Voted};
use ade_api::batches::{BatchAnswer, NewBatch};
use ade_api::delegations::HandOver;
use ade_api::page::{Page, PageQuery};
use ade_api::tasks::TaskSummary;
use ade_core::approval::Status;
use ade_core::ids::ApprovalId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::spelled;

#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a>(pub(crate) &'a Client);

impl Approvals<'_> {
    /// The caller's own, the most urgent first; those that wait if no status is named.
    pub async fn inbox(
        self,
        status: Option<Status>,
        page: &PageQuery,
    ) -> Result<Page<Approval>, Error> {
        let call = Call::get("/v1/approvals").query("status", spelled(status)).page(page);
        self.0.send(call).await
    }

    pub async fn get(self, id: ApprovalId) -> Result<Approval, Error> {
        self.0.read(path(id)).await
    }

    pub async fn approve(self, id: ApprovalId, vote: &NewVote) -> Result<Voted, Error> {
        self.0.send(Call::post(format!("{}/approve", path(id))).body(vote)).await
    }

    pub async fn reject(self, id: ApprovalId, vote: &NewVote) -> Result<Voted, Error> {
        self.0.send(Call::post(format!("{}/reject", path(id))).body(vote)).await
    }

    pub async fn request_changes(self, id: ApprovalId, vote: &NewVote) -> Result<Voted, Error> {
        self.0.send(Call::post(format!("{}/request-changes", path(id))).body(vote)).await
    }

    pub async fn withdraw(self, id: ApprovalId) -> Result<TaskSummary, Error> {
        self.0.send(Call::post(format!("{}/withdraw", path(id)))).await
    }

    pub async fn hand_over(self, id: ApprovalId, to: &HandOver) -> Result<TaskSummary, Error> {
        self.0.send(Call::post(format!("{}/delegate", path(id))).body(to)).await
    }

    /// All of them or none; a dry run writes nothing.
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
