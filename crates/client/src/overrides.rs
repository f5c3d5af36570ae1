//! Calls for break-glass overrides and their follow-up reviews.

use ade_api::overrides::{AfterReview, NewFinding, NewOverride, OverrideConfirmation};
use ade_api::page::{Page, PageQuery};
use ade_api::tasks::TaskSummary;
use ade_core::ids::AfterReviewId;
use ade_core::task_ref::TaskRef;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

#[derive(Debug, Clone, Copy)]
pub struct Overrides<'a>(pub(crate) &'a Client);

impl Overrides<'_> {
    pub async fn ask(
        self,
        task: impl Into<TaskRef>,
        version: u64,
        new: &NewOverride,
    ) -> Result<TaskSummary, Error> {
        let call =
            Call::post(format!("/v1/tasks/{}/override", task.into())).matching(version).body(new);
        self.0.send(call).await
    }

    pub async fn confirm(
        self,
        task: impl Into<TaskRef>,
        confirmation: &OverrideConfirmation,
    ) -> Result<TaskSummary, Error> {
        let call =
            Call::post(format!("/v1/tasks/{}/override/confirm", task.into())).body(confirmation);
        self.0.send(call).await
    }

    pub async fn after_reviews(self, page: &PageQuery) -> Result<Page<AfterReview>, Error> {
        self.0.read_page("/v1/after-reviews", page).await
    }

    pub async fn close(
        self,
        id: AfterReviewId,
        finding: &NewFinding,
    ) -> Result<AfterReview, Error> {
        self.0.send(Call::post(format!("/v1/after-reviews/{id}/close")).body(finding)).await
    }
}
