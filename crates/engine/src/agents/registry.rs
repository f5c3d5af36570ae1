//! Registered agents. Admins register an agent for a person, who is responsible for it.

use std::collections::BTreeSet;

use ade_api::agents::{Agent, AgentChange, NewAgent};
use ade_core::access::Action;
use ade_core::ids::AgentId;
use ade_core::limits::{AGENT_CAPABILITIES_MAX, AGENT_TASKS_MAX};
use ade_core::policy::Pattern;
use ade_store::agents::{self, AgentProfile};
use ade_store::users as people;
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::check_name;
use crate::command::permission::look;
use crate::command::presence::settle;
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewAgent,
) -> Result<Reply, Error> {
    check_name("name", &new.name)?;
    let capabilities = capabilities_of(&new.capabilities)?;
    let max_tasks = room_of(new.max_tasks)?;
    let mut act = begin(app, caller, attempt).await?;
    require_free(&act, &new.name)?;
    let owner = people::get(&mut act.tx, new.owner_id).await?;
    if owner.is_none_or(|owner| !owner.profile.is_active) {
        return Err(Error::invalid("owner_id", "no such active user"));
    }
    let id = AgentId::from_uuid(Uuid::now_v7());
    let profile = AgentProfile { name: new.name, capabilities, max_tasks };
    agents::insert(&mut act.tx, id, new.owner_id, &profile).await?;
    finish(act, id, "agent.create", 201).await
}

pub(crate) async fn change(
    act: &mut AdminCommand<'_>,
    id: AgentId,
    change: AgentChange,
) -> Result<Applied, Error> {
    if change == AgentChange::default() {
        return Err(Error::invalid("body", "give at least one field to change"));
    }
    let mut profile = live(act, id).await?.profile;
    if let Some(name) = change.name.filter(|name| *name != profile.name) {
        check_name("name", &name)?;
        require_free(act, &name)?;
        profile.name = name;
    }
    if let Some(capabilities) = &change.capabilities {
        profile.capabilities = capabilities_of(capabilities)?;
    }
    if let Some(max_tasks) = change.max_tasks {
        profile.max_tasks = room_of(max_tasks)?;
    }
    agents::update(&mut act.tx, id, &profile).await?;
    let agent = shown_in(act, id).await?;
    Applied::new(AuditAction { object: id.to_string(), action: "agent.change" }, 200, &agent)
}

/// Revokes an agent permanently: its tokens are no longer valid.
pub async fn revoke(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: AgentId,
) -> Result<Reply, Error> {
    let mut act = begin(app, caller, attempt).await?;
    get_in(&mut act, id).await?;
    agents::revoke(&mut act.tx, id).await?;
    settle(&mut act.tx, &[id]).await?;
    finish(act, id, "agent.revoke", 200).await
}

pub async fn get(app: &App, caller: &Caller, id: AgentId) -> Result<Agent, Error> {
    let mut tx = look(app, caller).await?;
    let agent = agents::get(&mut tx, id).await?.ok_or(Error::NotFound { what: "agent" })?;
    Ok(shown(agent))
}

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<AgentId>,
) -> Result<Paged<Agent, AgentId>, Error> {
    let mut tx = look(app, caller).await?;
    let agents = agents::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    Ok(paged(agents.into_iter().map(shown).collect(), span.limit, |agent: &Agent| agent.id))
}

async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a IdempotentRequest,
) -> Result<AdminCommand<'a>, Error> {
    AdminCommand::begin(app, caller, attempt, Some(Action::AdministerAgent)).await
}

async fn get_in(act: &mut AdminCommand<'_>, id: AgentId) -> Result<agents::Agent, Error> {
    agents::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "agent" })
}

pub(super) async fn live(act: &mut AdminCommand<'_>, id: AgentId) -> Result<agents::Agent, Error> {
    let agent = get_in(act, id).await?;
    if agent.revoked_at.is_some() {
        return Err(Error::Closed { what: "agent", why: "it is revoked" });
    }
    Ok(agent)
}

/// Refuses a name that is in use. The tenant lock keeps names unique; the table would refuse a
/// duplicate as well.
fn require_free(act: &AdminCommand<'_>, name: &str) -> Result<(), Error> {
    if act.book.agents.values().any(|agent| agent.name == name) {
        return Err(Error::Taken { what: "agent", name: name.to_owned() });
    }
    Ok(())
}

async fn finish(
    mut act: AdminCommand<'_>,
    id: AgentId,
    action: &'static str,
    status: u16,
) -> Result<Reply, Error> {
    let agent = shown_in(&mut act, id).await?;
    let action = AuditAction { object: id.to_string(), action };
    act.finish(action, status, &agent).await
}

pub(super) async fn shown_in(act: &mut AdminCommand<'_>, id: AgentId) -> Result<Agent, Error> {
    Ok(shown(get_in(act, id).await?))
}

fn capabilities_of(given: &BTreeSet<String>) -> Result<Vec<String>, Error> {
    if given.len() > AGENT_CAPABILITIES_MAX {
        return Err(Error::invalid(
            "capabilities",
            format!("must be at most {AGENT_CAPABILITIES_MAX} entries"),
        ));
    }
    for text in given {
        Pattern::new(text).map_err(|error| Error::invalid("capabilities", error))?;
    }
    Ok(given.iter().cloned().collect())
}

fn room_of(max_tasks: u32) -> Result<u32, Error> {
    if !(1..=AGENT_TASKS_MAX).contains(&max_tasks) {
        return Err(Error::invalid("max_tasks", format!("must be 1 to {AGENT_TASKS_MAX}")));
    }
    Ok(max_tasks)
}

fn shown(agent: agents::Agent) -> Agent {
    Agent {
        id: agent.id,
        name: agent.profile.name,
        owner_id: agent.owner,
        status: agent.status,
        seen_at: agent.seen_at,
        load: agent.load,
        config_version: agent.config_version,
        capabilities: agent.profile.capabilities.into_iter().collect(),
        max_tasks: agent.profile.max_tasks,
        registered_at: agent.registered_at,
        revoked_at: agent.revoked_at,
    }
}
