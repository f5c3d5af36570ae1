//! Calls for tasks.

use std::time::Duration;

use ade_api::approvals::TaskApprovals;
use ade_api::claims::{ClaimTask, Claimed};
use ade_api::executions::Reconciliation;
use ade_api::explain::Explanation;
use ade_api::page::{Page, PageQuery};
use ade_api::policies::Evaluation;
use ade_api::seconds::Seconds;
use ade_api::tasks::{
    Amendment, Cancellation, Comment, Extension, NewComment, NewTask, Revision, Revisions,
    RiskAssessment, Task, TaskSummary, Watched,
};
use ade_core::ids::{AgentId, UserId};
use ade_core::limits::{RUN_CLAIM_PAUSE, RUN_UNREACHABLE_MAX, WAIT_MAX};
use ade_core::resource::ResourceRef;
use ade_core::risk::Level;
use ade_core::task::State;
use ade_core::task_ref::TaskRef;
use ade_core::time::Timestamp;
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::send::Call;
use crate::{Client, spelled};

#[derive(Debug, Clone, Copy)]
pub struct Tasks<'a>(pub(crate) &'a Client);

/// Selects tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// The states to include; empty means all.
    pub states: Vec<State>,
    pub author: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<String>,
    pub resource: Option<ResourceRef>,
    pub tag: Option<String>,
    pub level: Option<Level>,
    /// Only what the caller proposed.
    pub is_mine: bool,
    /// Text that the title contains.
    pub title: Option<String>,
    pub created_from: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    pub is_oldest_first: bool,
}

/// The result of a wait.
#[derive(Debug, Clone, PartialEq)]
pub enum Waited {
    Reached(Task),
    /// The wait timed out; contains the last known task.
    TimedOut(Task),
}

impl Tasks<'_> {
    /// Evaluates a task without creating it. Nothing is saved.
    pub async fn evaluate(self, new: &NewTask) -> Result<Evaluation, Error> {
        self.0.send(Call::post("/v1/tasks/evaluate").body(new)).await
    }

    pub async fn create(self, new: &NewTask) -> Result<Task, Error> {
        self.create_as(new, None).await
    }

    /// Creates a task under a key of the caller; repeating the call returns the same task.
    pub async fn create_as(self, new: &NewTask, key: Option<String>) -> Result<Task, Error> {
        self.0.send(Call::post("/v1/tasks").body(new).keyed(key)).await
    }

    pub async fn list(
        self,
        filter: &TaskFilter,
        page: &PageQuery,
    ) -> Result<Page<TaskSummary>, Error> {
        let states = filter.states.iter().map(|state| Some(state.to_string()));
        let call = states
            .fold(Call::get("/v1/tasks"), |call, state| call.query("state", state))
            .query("author_id", filter.author.map(|author| author.to_string()))
            .query("agent_id", filter.agent.map(|agent| agent.to_string()))
            .query("type", filter.task_type.clone())
            .query("resource", filter.resource.as_ref().map(ToString::to_string))
            .query("tag", filter.tag.clone())
            .query("level", spelled(filter.level))
            .query("mine", filter.is_mine.then(|| true.to_string()))
            .query("q", filter.title.clone())
            .query("created_from", filter.created_from.map(|at| at.to_string()))
            .query("created_before", filter.created_before.map(|at| at.to_string()))
            .query("sort", filter.is_oldest_first.then(|| "oldest".to_owned()))
            .page(page);
        self.0.send(call).await
    }

    pub async fn get(self, id: impl Into<TaskRef>) -> Result<Task, Error> {
        let watched: Watched = self.0.read(path(id)).await?;
        Ok(watched.task)
    }

    /// Returns the task once its version differs from `since_version`, or after `wait`.
    pub async fn wait(
        self,
        id: impl Into<TaskRef>,
        since_version: u64,
        wait: Duration,
    ) -> Result<Watched, Error> {
        let call = Call::get(path(id))
            .waiting(wait)
            .query("since_version", Some(since_version.to_string()));
        self.0.send(call).await
    }

    /// Waits until `is_it` accepts a version of the task or the deadline passes. The wait survives
    /// restarts of the server, unless the client runs within it.
    pub async fn until(
        self,
        id: impl Into<TaskRef>,
        deadline: Option<Instant>,
        mut is_it: impl FnMut(&Task) -> bool,
    ) -> Result<Waited, Error> {
        let id = id.into();
        let mut task = self.get(id).await?;
        let (mut heard, mut is_ending) = (Instant::now(), false);
        loop {
            if is_it(&task) {
                return Ok(Waited::Reached(task));
            }
            let left =
                deadline.map_or(WAIT_MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() || (is_ending && self.0.transport.is_in_process()) {
                return Ok(Waited::TimedOut(task));
            }
            // The API accepts whole seconds, so less than one second is rounded up.
            let wait = left.clamp(Duration::from_secs(1), WAIT_MAX);
            let asked = Instant::now();
            match self.wait(id, task.summary.version, wait).await {
                Ok(watched) => {
                    // A server that shuts down ends its waits early; another call would not wait.
                    is_ending = watched.timed_out && asked.elapsed() < wait / 2;
                    (task, heard) = (watched.task, Instant::now());
                    if is_ending && !self.0.transport.is_in_process() {
                        sleep(RUN_CLAIM_PAUSE).await;
                    }
                }
                Err(error) if error.is_passing() && heard.elapsed() < RUN_UNREACHABLE_MAX => {
                    sleep(RUN_CLAIM_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub async fn amend(
        self,
        id: impl Into<TaskRef>,
        version: u64,
        amendment: &Amendment,
    ) -> Result<Task, Error> {
        self.0.send(Call::patch(path(id)).matching(version).body(amendment)).await
    }

    pub async fn delete(self, id: impl Into<TaskRef>, version: u64) -> Result<TaskSummary, Error> {
        self.0.send(Call::delete(path(id)).matching(version)).await
    }

    /// Claims the task for the calling agent. Returns a permit as soon as there is one, or what
    /// prevents it after `wait`.
    pub async fn claim(
        self,
        id: impl Into<TaskRef>,
        claim: &ClaimTask,
        wait: Duration,
    ) -> Result<Claimed, Error> {
        let claim = ClaimTask { wait: Some(Seconds::rounded_up(wait)), ..claim.clone() };
        self.0.send(verb(id, "claim").lasting(wait).body(&claim)).await
    }

    pub async fn submit(self, id: impl Into<TaskRef>, version: u64) -> Result<Task, Error> {
        self.submit_as(id, version, None).await
    }

    /// Submits a task under a key of the caller, like [`Self::create_as`].
    pub async fn submit_as(
        self,
        id: impl Into<TaskRef>,
        version: u64,
        key: Option<String>,
    ) -> Result<Task, Error> {
        self.0.send(verb(id, "submit").matching(version).keyed(key)).await
    }

    pub async fn cancel(
        self,
        id: impl Into<TaskRef>,
        version: u64,
        cancellation: &Cancellation,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "cancel").matching(version).body(cancellation)).await
    }

    /// Cancels the task whatever its version is.
    pub async fn cancel_any_version(
        self,
        id: impl Into<TaskRef>,
        cancellation: &Cancellation,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "cancel").body(cancellation)).await
    }

    pub async fn retry(self, id: impl Into<TaskRef>, version: u64) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "retry").matching(version)).await
    }

    /// Creates a new task with the same content.
    pub async fn resubmit(self, id: impl Into<TaskRef>, version: u64) -> Result<Task, Error> {
        self.0.send(verb(id, "resubmit").matching(version)).await
    }

    /// Records the outcome of an execution whose outcome was unknown.
    pub async fn reconcile(
        self,
        id: impl Into<TaskRef>,
        version: u64,
        reconciliation: &Reconciliation,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "reconcile").matching(version).body(reconciliation)).await
    }

    pub async fn extend(
        self,
        id: impl Into<TaskRef>,
        version: u64,
        extension: &Extension,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "extend").matching(version).body(extension)).await
    }

    pub async fn comment(
        self,
        id: impl Into<TaskRef>,
        comment: &NewComment,
    ) -> Result<TaskSummary, Error> {
        self.0.send(verb(id, "comments").body(comment)).await
    }

    pub async fn comments(
        self,
        id: impl Into<TaskRef>,
        page: &PageQuery,
    ) -> Result<Page<Comment>, Error> {
        self.0.read_page(&format!("{}/comments", path(id)), page).await
    }

    pub async fn revisions(self, id: impl Into<TaskRef>) -> Result<Revisions, Error> {
        self.0.read(format!("{}/revisions", path(id))).await
    }

    pub async fn revision(self, id: impl Into<TaskRef>, revision: u32) -> Result<Revision, Error> {
        self.0.read(format!("{}/revisions/{revision}", path(id))).await
    }

    pub async fn risk(self, id: impl Into<TaskRef>) -> Result<RiskAssessment, Error> {
        self.0.read(format!("{}/risk", path(id))).await
    }

    pub async fn explain(self, id: impl Into<TaskRef>) -> Result<Explanation, Error> {
        self.0.read(format!("{}/explain", path(id))).await
    }

    pub async fn approvals(self, id: impl Into<TaskRef>) -> Result<TaskApprovals, Error> {
        self.0.read(format!("{}/approvals", path(id))).await
    }
}

fn path(id: impl Into<TaskRef>) -> String {
    format!("/v1/tasks/{}", id.into())
}

fn verb(id: impl Into<TaskRef>, verb: &str) -> Call {
    Call::post(format!("{}/{verb}", path(id)))
}
