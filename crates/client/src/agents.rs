//! Calls for agents: registration, directives, configuration and claims.

use std::time::Duration;

use ade_api::agent_configs::{
    AgentConfig, AgentConfigDifference, AgentConfigRollback, AgentConfigVersions, NewAgentConfig,
};
use ade_api::agents::{Agent, AgentBeats, AgentChange, AgentDirective, AgentHeartbeat, NewAgent};
use ade_api::claims::{Claim, Claimed};
use ade_api::page::{Page, PageQuery};
use ade_core::ids::AgentId;

use crate::Client;
use crate::error::Error;
use crate::send::Call;
use crate::submitted::Submitted;

#[derive(Debug, Clone, Copy)]
pub struct Agents<'a>(pub(crate) &'a Client);

impl Agents<'_> {
    pub async fn list(self, page: &PageQuery) -> Result<Page<Agent>, Error> {
        self.0.read_page("/v1/agents", page).await
    }

    pub async fn get(self, id: AgentId) -> Result<Agent, Error> {
        self.0.read(path(id)).await
    }

    pub async fn create(self, new: &NewAgent) -> Result<Agent, Error> {
        self.0.send(Call::post("/v1/agents").body(new)).await
    }

    pub async fn change(
        self,
        id: AgentId,
        change: &AgentChange,
    ) -> Result<Submitted<Agent>, Error> {
        self.0.submit(Call::patch(path(id)).body(change)).await
    }

    pub async fn revoke(self, id: AgentId) -> Result<Agent, Error> {
        self.0.send(Call::delete(path(id))).await
    }

    /// Sends a heartbeat once, within the given time, like the heartbeat of an execution.
    pub async fn heartbeat(
        self,
        id: AgentId,
        heartbeat: &AgentHeartbeat,
        within: Duration,
    ) -> Result<AgentBeats, Error> {
        let call = Call::post(format!("{}/heartbeat", path(id))).body(heartbeat).once(within);
        self.0.send(call).await
    }

    pub async fn drain(self, id: AgentId, order: &AgentDirective) -> Result<Agent, Error> {
        self.0.send(Call::post(format!("{}/drain", path(id))).body(order)).await
    }

    pub async fn pause(self, id: AgentId, order: &AgentDirective) -> Result<Agent, Error> {
        self.0.send(Call::post(format!("{}/pause", path(id))).body(order)).await
    }

    pub async fn resume(self, id: AgentId, order: &AgentDirective) -> Result<Agent, Error> {
        self.0.send(Call::post(format!("{}/resume", path(id))).body(order)).await
    }

    pub async fn config(self, id: AgentId) -> Result<AgentConfig, Error> {
        self.0.read(format!("{}/config", path(id))).await
    }

    pub async fn configure(
        self,
        id: AgentId,
        version: u32,
        new: &NewAgentConfig,
    ) -> Result<AgentConfig, Error> {
        let call = Call::put(format!("{}/config", path(id))).matching(version.into()).body(new);
        self.0.send(call).await
    }

    pub async fn config_versions(self, id: AgentId) -> Result<AgentConfigVersions, Error> {
        self.0.read(format!("{}/config/versions", path(id))).await
    }

    /// Compares a version with `against`, which defaults to the previous version.
    pub async fn config_difference(
        self,
        id: AgentId,
        version: u32,
        against: Option<u32>,
    ) -> Result<AgentConfigDifference, Error> {
        let call = Call::get(format!("{}/config/versions/{version}/diff", path(id)))
            .query("against", against.map(|version| version.to_string()));
        self.0.send(call).await
    }

    pub async fn roll_back_config(
        self,
        id: AgentId,
        rollback: &AgentConfigRollback,
    ) -> Result<AgentConfig, Error> {
        self.0.send(Call::post(format!("{}/config/rollback", path(id))).body(rollback)).await
    }

    /// Claims a task. Returns a permit as soon as there is one, or none after `wait`.
    pub async fn claim(
        self,
        agent: AgentId,
        claim: &Claim,
        wait: Duration,
    ) -> Result<Claimed, Error> {
        self.0.send(Call::post(format!("{}/claim", path(agent))).waiting(wait).body(claim)).await
    }
}

fn path(id: AgentId) -> String {
    format!("/v1/agents/{id}")
}
