//! The API calls that tools can make, with the scopes read, propose and execute. The client is
//! private to this module, so that no tool can use a call that decides.

use std::time::Duration;

use ade_api::claims::{ClaimTask, Claimed, Permit};
use ade_api::executions::{Alive, Execution, Finish, Pulse};
use ade_api::explain::Explanation;
use ade_api::locks::{Beat, Beats, Heartbeat, Lease, NewLease};
use ade_api::tasks::{Amendment, Cancellation, NewTask, Task, TaskSummary};
use ade_client::{Client, Error, LeaseKeepAlive, Waited};
use ade_core::ids::{ExecutionId, LeaseId, ProcessId};
use ade_core::limits::CLIENT_CALL_TIMEOUT;
use ade_core::task_ref::TaskRef;
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub struct AgentApi(Client);

impl AgentApi {
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    pub async fn create(&self, new: &NewTask, key: String) -> Result<Task, Error> {
        self.0.tasks().create_as(new, Some(key)).await
    }

    pub async fn submit(&self, id: TaskRef, version: u64) -> Result<Task, Error> {
        self.0.tasks().submit(id, version).await
    }

    pub async fn get(&self, id: TaskRef) -> Result<Task, Error> {
        self.0.tasks().get(id).await
    }

    pub async fn until(
        &self,
        id: TaskRef,
        wait: Duration,
        is_it: impl FnMut(&Task) -> bool,
    ) -> Result<Waited, Error> {
        self.0.tasks().until(id, Some(Instant::now() + wait), is_it).await
    }

    pub async fn amend(&self, id: TaskRef, version: u64, to: &Amendment) -> Result<Task, Error> {
        self.0.tasks().amend(id, version, to).await
    }

    pub async fn withdraw(
        &self,
        id: TaskRef,
        reason: Option<String>,
    ) -> Result<TaskSummary, Error> {
        self.0.tasks().cancel_any_version(id, &Cancellation { reason }).await
    }

    pub async fn explain(&self, id: TaskRef) -> Result<Explanation, Error> {
        self.0.tasks().explain(id).await
    }

    /// Returns the longest lifetime of a lease that can be requested, in seconds.
    pub async fn longest_ttl(&self) -> Result<u32, Error> {
        Ok(self.0.settings().timeouts().await?.lock.max_ttl_seconds)
    }

    pub async fn acquire(&self, new: NewLease, wait: Duration) -> Result<Lease, Error> {
        self.0.locks().acquire(new, wait).await
    }

    pub async fn extend_lease(
        &self,
        lease: LeaseId,
        process: Option<ProcessId>,
    ) -> Result<Beats, Error> {
        let heartbeat = Heartbeat { process_id: process, lease_ids: vec![lease] };
        self.0.locks().heartbeat(&heartbeat, CLIENT_CALL_TIMEOUT).await
    }

    pub async fn extend_attempt(&self, id: ExecutionId, lease: LeaseId) -> Result<Alive, Error> {
        self.0.executions().heartbeat(id, &Pulse { lease_id: lease }, CLIENT_CALL_TIMEOUT).await
    }

    pub fn keep_lease(&self, lease: &Lease) -> LeaseKeepAlive {
        self.0.locks().keep(lease)
    }

    pub fn keep_attempt(&self, permit: &Permit) -> LeaseKeepAlive {
        self.0.executions().keep(permit)
    }

    pub async fn release(&self, lease: LeaseId) -> Result<Beat, Error> {
        self.0.locks().release(lease).await
    }

    pub async fn claim(
        &self,
        id: TaskRef,
        claim: &ClaimTask,
        wait: Duration,
    ) -> Result<Claimed, Error> {
        self.0.tasks().claim(id, claim, wait).await
    }

    pub async fn finish(&self, id: ExecutionId, finish: &Finish) -> Result<Execution, Error> {
        self.0.executions().finish(id, finish).await
    }
}
