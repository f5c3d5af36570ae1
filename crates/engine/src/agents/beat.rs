//! The heartbeat of an agent's process: one call for its session and everything it holds, answered
//! with the current directives.

use ade_api::agents::{AgentBeats, AgentDirectives, AgentHeartbeat};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::agent::OrderKind;
use ade_core::ids::AgentId;
use ade_core::limits::AGENT_TASKS_MAX;

use crate::app::App;
use crate::caller::Caller;
use crate::command::cause::reason_of_order;
use crate::command::permission;
use crate::error::Error;
use crate::locks;

pub async fn heartbeat(
    app: &App,
    caller: &Caller,
    id: AgentId,
    beat: AgentHeartbeat,
) -> Result<AgentBeats, Error> {
    let AgentHeartbeat { process_id, lease_ids: leases, load } = beat;
    locks::check_leases(&leases)?;
    if load.is_some_and(|load| load > AGENT_TASKS_MAX) {
        return Err(Error::invalid("load", format!("must be at most {AGENT_TASKS_MAX}")));
    }
    let is_own = matches!(caller.actor, Actor::Agent { id: own, .. } if own == id);
    let object = Object::Own { is_own };
    let (mut tx, book) = permission::enter(app, caller, Action::Heartbeat, object).await?;
    let life = locks::beat(&mut tx, caller, process_id, &app.service, load).await?;
    let registered = locks::extend(&mut tx, &leases).await?;
    let entry = book.agents.get(&id);
    let order = entry.and_then(|entry| entry.order);
    let reason = reason_of_order(&mut tx, id, order).await?;
    tx.commit().await?;
    let leases = locks::stand(app, caller, leases, &registered).await?;
    Ok(AgentBeats {
        process_expires_at: life.until,
        leases,
        directives: AgentDirectives {
            is_draining: order == Some(OrderKind::Drain),
            is_paused: order == Some(OrderKind::Pause),
            reason,
        },
        config_version: entry.map_or(0, |entry| entry.config_version),
        heartbeat_every_seconds: u64::from(book.timeouts.lock.heartbeat_interval_seconds),
    })
}
