//! All that tools can reach of the API: calls of the classes read, propose and execute. The
//! client is private here, so that no tool can come by one that decides.

use std::time::Duration;

use ade_api::executions::{Alive, Beginning, Claim, Claimed, Execution, Fail, Finish, Pulse};
use ade_api::explain::Explanation;
use ade_api::locks::{Beat, Beats, Heartbeat, Lease, NewLease};
use ade_api::tasks::{Amendment, Cancellation, NewTask, Task, TaskSummary};
use ade_api::users::Me;
use ade_client::{Client, Error, Waited};
use ade_core::ids::{AgentId, ExecutionId, LeaseId, TaskId};
use ade_core::limits::CLIENT_CALL_TIMEOUT;
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub struct Reach(Client);

impl Reach {
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    pub async fn me(&self) -> Result<Me, Error> {
        self.0.me().await
    }

    pub async fn create(&self, new: &NewTask, key: String) -> Result<Task, Error> {
        self.0.tasks().create_as(new, Some(key)).await
    }

    pub async fn submit(
        &self,
        id: TaskId,
        version: u64,
        key: Option<String>,
    ) -> Result<Task, Error> {
        self.0.tasks().submit_as(id, version, key).await
    }

    pub async fn get(&self, id: TaskId) -> Result<Task, Error> {
        self.0.tasks().get(id).await
    }

    pub async fn until(
        &self,
        id: TaskId,
        wait: Duration,
        is_it: impl FnMut(&Task) -> bool,
    ) -> Result<Waited, Error> {
        self.0.tasks().until(id, Some(Instant::now() + wait), is_it).await
    }

    pub async fn amend(&self, id: TaskId, version: u64, to: &Amendment) -> Result<Task, Error> {
        self.0.tasks().amend(id, version, to).await
    }

    pub async fn cancel(
        &self,
        id: TaskId,
        version: u64,
        cancellation: &Cancellation,
    ) -> Result<TaskSummary, Error> {
        self.0.tasks().cancel(id, version, cancellation).await
    }

    pub async fn explain(&self, id: TaskId) -> Result<Explanation, Error> {
        self.0.tasks().explain(id).await
    }

    pub async fn acquire(&self, new: NewLease, wait: Duration) -> Result<Lease, Error> {
        self.0.locks().acquire(new, wait).await
    }

    pub async fn keep(&self, heartbeat: &Heartbeat) -> Result<Beats, Error> {
        self.0.locks().heartbeat(heartbeat, CLIENT_CALL_TIMEOUT).await
    }

    pub async fn keep_attempt(&self, id: ExecutionId, lease: LeaseId) -> Result<Alive, Error> {
        self.0.executions().heartbeat(id, &Pulse { lease }, CLIENT_CALL_TIMEOUT).await
    }

    pub async fn release(&self, lease: LeaseId) -> Result<Beat, Error> {
        self.0.locks().release(lease).await
    }

    pub async fn claim(
        &self,
        agent: AgentId,
        claim: &Claim,
        wait: Duration,
    ) -> Result<Claimed, Error> {
        self.0.agents().claim(agent, claim, wait).await
    }

    pub async fn begin(&self, id: ExecutionId, lease: LeaseId) -> Result<Execution, Error> {
        self.0.executions().begin(id, &Beginning { lease, plan: None }).await
    }

    pub async fn finish(&self, id: ExecutionId, finish: &Finish) -> Result<Execution, Error> {
        self.0.executions().finish(id, finish).await
    }

    pub async fn fail(&self, id: ExecutionId, fail: &Fail) -> Result<Execution, Error> {
        self.0.executions().fail(id, fail).await
    }
}
