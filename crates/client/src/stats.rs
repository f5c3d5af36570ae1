//! Calls for statistics and notifications.

use ade_api::notifications::Notification;
use ade_api::page::{Page, PageQuery};
use ade_api::stats::{Overview, Pairs, ReviewerStats, TaskStats};
use ade_core::ids::UserId;
use ade_core::task_ref::TaskRef;

use crate::Client;
use crate::error::Error;
use crate::send::Call;

#[derive(Debug, Clone, Copy)]
pub struct Stats<'a>(pub(crate) &'a Client);

impl Stats<'_> {
    /// Returns the statistics of a reviewer, or the caller's own.
    pub async fn reviewer(self, id: Option<UserId>) -> Result<ReviewerStats, Error> {
        let who = id.map_or_else(|| "me".to_owned(), |id| id.to_string());
        self.0.read(format!("/v1/stats/reviewers/{who}")).await
    }

    pub async fn task(self, id: impl Into<TaskRef>) -> Result<TaskStats, Error> {
        self.0.read(format!("/v1/stats/tasks/{}", id.into())).await
    }

    pub async fn overview(self, days: Option<u32>) -> Result<Overview, Error> {
        let call = Call::get("/v1/stats/overview").query("days", days.map(|days| days.to_string()));
        self.0.send(call).await
    }

    pub async fn pairs(self) -> Result<Pairs, Error> {
        self.0.send(Call::get("/v1/stats/pairs")).await
    }

    pub async fn notifications(self, page: &PageQuery) -> Result<Page<Notification>, Error> {
        self.0.read_page("/v1/notifications", page).await
    }
}
