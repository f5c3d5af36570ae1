//! The configuration of an agent, in versions. Its owner and admins write it, each change based on
//! the version they have read, and the agent reads it. Rolling back creates a new version from an
//! old one.

use ade_api::agent_configs::{
    AgentConfig, AgentConfigDifference, AgentConfigRollback, AgentConfigVersion,
    AgentConfigVersions, NewAgentConfig,
};
use ade_api::policies::FieldChange;
use ade_core::access::Action;
use ade_core::change::field_changes;
use ade_core::ids::AgentId;
use ade_core::limits::{AGENT_CONFIG_MAX_BYTES, AGENT_CONFIG_VERSIONS_SHOWN};
use ade_store::agents::Agent;
use ade_store::{Tx, agent_configs, agents};
use serde_json::{Map, Value};

use super::object_of;
use super::registry::live;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{look, permit, person, refuse};
use crate::command::{Reply, check_reason};
use crate::error::Error;

pub async fn config(app: &App, caller: &Caller, id: AgentId) -> Result<AgentConfig, Error> {
    let (mut tx, agent) = enter(app, caller, id).await?;
    shown(&mut tx, &agent, agent.config_version).await
}

pub async fn config_versions(
    app: &App,
    caller: &Caller,
    id: AgentId,
) -> Result<AgentConfigVersions, Error> {
    let (mut tx, _) = enter(app, caller, id).await?;
    let found = agent_configs::list(&mut tx, id, AGENT_CONFIG_VERSIONS_SHOWN).await?;
    let items = found.into_iter().map(|entry| AgentConfigVersion {
        version: entry.version,
        set_by: entry.set_by,
        reason: entry.reason,
        set_at: entry.set_at,
    });
    Ok(AgentConfigVersions { items: items.collect() })
}

/// Compares a version with another one, by default the one before it.
pub async fn config_difference(
    app: &App,
    caller: &Caller,
    id: AgentId,
    version: u32,
    against: Option<u32>,
) -> Result<AgentConfigDifference, Error> {
    let (mut tx, agent) = enter(app, caller, id).await?;
    let against = against.unwrap_or(version.saturating_sub(1));
    let before = shown(&mut tx, &agent, against).await?.config;
    let after = shown(&mut tx, &agent, version).await?.config;
    let changes = field_changes(Some(&before), Some(&after)).into_iter().map(|change| {
        let ade_core::change::FieldChange { path, before, after } = change;
        FieldChange { path, before, after }
    });
    Ok(AgentConfigDifference { version, against, changes: changes.collect() })
}

/// Writes the next version; it is a conflict if the current version is not the one that was read.
pub async fn configure(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: AgentId,
    expected: u64,
    new: NewAgentConfig,
) -> Result<Reply, Error> {
    check_reason("reason", new.reason.as_deref())?;
    let config = Value::Object(new.config);
    if config.to_string().len() > AGENT_CONFIG_MAX_BYTES {
        return Err(Error::invalid(
            "config",
            format!("must be at most {AGENT_CONFIG_MAX_BYTES} bytes"),
        ));
    }
    let (act, agent) = begin(app, caller, attempt, id).await?;
    let found = u64::from(agent.config_version);
    if found != expected {
        return Err(Error::VersionMoved { expected, found });
    }
    put(act, caller, &agent, &config, new.reason, "agent.configure").await
}

/// Writes the content of an old version as the next version.
pub async fn roll_back_config(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: AgentId,
    rollback: AgentConfigRollback,
) -> Result<Reply, Error> {
    check_reason("reason", Some(&rollback.reason))?;
    let (mut act, agent) = begin(app, caller, attempt, id).await?;
    if rollback.to == agent.config_version {
        return Err(Error::Closed { what: "configuration", why: "it is the active version" });
    }
    let old = agent_configs::get(&mut act.tx, id, rollback.to).await?;
    let old = old.ok_or(Error::NotFound { what: "configuration version" })?;
    let reason = Some(rollback.reason);
    put(act, caller, &agent, &old.config, reason, "agent.roll_back_config").await
}

async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a IdempotentRequest,
    id: AgentId,
) -> Result<(AdminCommand<'a>, Box<Agent>), Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let agent = live(&mut act, id).await?;
    let object = object_of(&act.book, caller, &agent);
    let act = act.require(Action::ConfigureAgent, object, &id).await?;
    Ok((act, Box::new(agent)))
}

async fn put(
    mut act: AdminCommand<'_>,
    caller: &Caller,
    agent: &Agent,
    config: &Value,
    reason: Option<String>,
    action: &'static str,
) -> Result<Reply, Error> {
    let version = agent.config_version.saturating_add(1);
    let by = person(caller)?;
    agent_configs::insert(&mut act.tx, agent.id, version, config, by, reason.as_deref()).await?;
    let shown = shown(&mut act.tx, agent, version).await?;
    act.finish_because(AuditAction { object: agent.id.to_string(), action }, reason, 200, &shown)
        .await
}

/// Begins reading for a caller with permission; a refused attempt is recorded.
async fn enter(app: &App, caller: &Caller, id: AgentId) -> Result<(Tx, Agent), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let agent = agents::get(&mut tx, id).await?.ok_or(Error::NotFound { what: "agent" })?;
    let object = object_of(&book, caller, &agent);
    match permit(app, &book, &caller.actor, Action::ReadAgentConfig, object) {
        Ok(()) => Ok((tx, agent)),
        Err(denied) => {
            let action = Action::ReadAgentConfig.as_str();
            refuse(tx, caller, action, id.to_string(), &denied).await?;
            Err(denied.into())
        }
    }
}

/// Returns one version for display. Version 0 is the empty one that every agent begins with.
async fn shown(tx: &mut Tx, agent: &Agent, version: u32) -> Result<AgentConfig, Error> {
    let nothing = AgentConfig {
        agent_id: agent.id,
        version,
        config: Value::Object(Map::new()),
        set_by: None,
        reason: None,
        set_at: None,
    };
    if version == 0 {
        return Ok(nothing);
    }
    let found = agent_configs::get(tx, agent.id, version).await?;
    let found = found.ok_or(Error::NotFound { what: "configuration version" })?;
    Ok(AgentConfig {
        config: found.config,
        set_by: Some(found.set_by),
        reason: found.reason,
        set_at: Some(found.set_at),
        ..nothing
    })
}
