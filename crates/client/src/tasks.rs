//! Calls about tasks.

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::executions::Reconciliation;
use ade_api::explain::Explanation;
use ade_api::page::{Page, PageQuery};
use ade_api::tasks::{
    Amendment, Cancellation, Comment, Extension, NewComment, NewTask, Revision, Revisions,
    RiskAssessment, Task, TaskSummary, Watched,
};
use ade_core::ids::{AgentId, TaskId, UserId};
use ade_core::limits::{RUN_CLAIM_PAUSE, RUN_UNREACHABLE_MAX, WAIT_MAX};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::send::Call;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct Tasks<'a>(pub(crate) &'a Client);

/// Which tasks a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    pub state: Option<State>,
    pub author: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<String>,
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    pub level: Option<Level>,
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Waited {
    Reached(Task),
    /// The time was over before; the task as it was last seen.
    InVain(Task),
}

impl Tasks<'_> {
    pub async fn create(self, new: &NewTask) -> Result<Task, Error> {
        self.create_as(new, None).await
    }

    /// Under a key of the caller's: whoever asks again with it gets the same task.
    pub async fn create_as(self, new: &NewTask, key: Option<String>) -> Result<Task, Error> {
        self.0.send(Call::post("/v1/tasks").body(new).keyed(key)).await
    }

    pub async fn list(
        self,
        filter: &TaskFilter,
        page: &PageQuery,
    ) -> Result<Page<TaskSummary>, Error> {
        let call = Call::get("/v1/tasks")
            .query("state", filter.state.map(|state| state.to_string()))
            .query("author", filter.author.map(|author| author.to_string()))
            .query("agent", filter.agent.map(|agent| agent.to_string()))
            .query("type", filter.task_type.clone())
            .query("resource", filter.resource.as_ref().map(ToString::to_string))
            .query("tag", filter.tag.clone())
            .query("level", spelled(filter.level))
            .page(page);
        self.0.send(call).await
    }

    pub async fn get(self, id: TaskId) -> Result<Task, Error> {
        let watched: Watched = self.0.read(path(id)).await?;
        Ok(watched.task)
    }

    /// Answered when the task is not at `since_version` any more, or after `wait`.
    pub async fn wait(
        self,
        id: TaskId,
        since_version: u64,
        wait: Duration,
    ) -> Result<Watched, Error> {
        let call = Call::get(path(id))
            .waiting(wait)
            .query("since_version", Some(since_version.to_string()));
        self.0.send(call).await
    }

    /// Looks at the task and at each of its versions to come, until `is_it` says so or the time
    /// is over. A wait of hours outlives a restart of the server.
    pub async fn until(
        self,
        id: TaskId,
        deadline: Option<Instant>,
        mut is_it: impl FnMut(&Task) -> bool,
    ) -> Result<Waited, Error> {
        let mut task = self.get(id).await?;
        let mut heard = Instant::now();
        loop {
            if is_it(&task) {
                return Ok(Waited::Reached(task));
            }
            let left =
                deadline.map_or(WAIT_MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(Waited::InVain(task));
            }
            // Whole seconds are asked for: less than one is still one question more.
            let wait = left.clamp(Duration::from_secs(1), WAIT_MAX);
            match self.wait(id, task.summary.version, wait).await {
                Ok(watched) => (task, heard) = (watched.task, Instant::now()),
                Err(error) if error.is_passing() && heard.elapsed() < RUN_UNREACHABLE_MAX => {
                    sleep(RUN_CLAIM_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub async fn amend(
        self,
        id: TaskId,
        version: u64,
        amendment: &Amendment,
    ) -> Result<Task, Error> {
        self.0.send(Call::patch(path(id)).matching(version).body(amendment)).await
    }

    pub async fn delete(self, id: TaskId, version: u64) -> Result<TaskSummary, Error> {
        self.0.send(Call::delete(path(id)).matching(version)).await
    }

    pub async fn submit(self, id: TaskId, version: u64) -> Result<Task, Error> {
        self.submit_as(id, version, None).await
    }

    /// Under a key of the caller's, like [`Self::create_as`].
    pub async fn submit_as(
        self,
        id: TaskId,
        version: u64,
        key: Option<String>,
    ) -> Result<Task, Error> {
        self.0.send(verb(id, "submit").matching(version).keyed(key)).await
    }

    pub async fn cancel(
        self,
        id: TaskId,
        version: u64,
        cancellation: &Cancellation,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "cancel").matching(version).body(cancellation)).await
    }

    pub async fn retry(self, id: TaskId, version: u64) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "retry").matching(version)).await
    }

    /// The same content as a new task.
    pub async fn resubmit(self, id: TaskId, version: u64) -> Result<Task, Error> {
        self.0.send(verb(id, "resubmit").matching(version)).await
    }

    /// What somebody found out about an attempt whose end nobody knew.
    pub async fn reconcile(
        self,
        id: TaskId,
        version: u64,
        reconciliation: &Reconciliation,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "reconcile").matching(version).body(reconciliation)).await
    }

    pub async fn extend(
        self,
        id: TaskId,
        version: u64,
        extension: &Extension,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "extend").matching(version).body(extension)).await
    }

    pub async fn comment(self, id: TaskId, comment: &NewComment) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "comments").body(comment)).await
    }

    pub async fn comments(self, id: TaskId, page: &PageQuery) -> Result<Page<Comment>, Error> {
        self.0.read_page(&format!("{}/comments", path(id)), page).await
    }

    pub async fn revisions(self, id: TaskId) -> Result<Revisions, Error> {
        self.0.read(format!("{}/revisions", path(id))).await
    }

    pub async fn revision(self, id: TaskId, revision: u32) -> Result<Revision, Error> {
        self.0.read(format!("{}/revisions/{revision}", path(id))).await
    }

    pub async fn risk(self, id: TaskId) -> Result<RiskAssessment, Error> {
        self.0.read(format!("{}/risk", path(id))).await
    }

    pub async fn explain(self, id: TaskId) -> Result<Explanation, Error> {
        self.0.read(format!("{}/explain", path(id))).await
    }

    pub async fn approvals(self, id: TaskId) -> Result<TaskApprovals, Error> {
        self.0.read(format!("{}/approvals", path(id))).await
    }
}

fn path(id: TaskId) -> String {
    format!("/v1/tasks/{id}")
}

fn verb(id: TaskId, verb: &str) -> Call {
    Call::post(format!("{}/{verb}", path(id)))
}
