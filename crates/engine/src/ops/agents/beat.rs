//! The heartbeat of an agent's process: one call for its session and everything it holds, answered
//! with what it has been told meanwhile.

use ade_api::agents::{AgentBeats, AgentHeartbeat, Orders};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::agent::Order;
use ade_core::ids::AgentId;
use ade_core::limits::AGENT_TASKS_MAX;

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act;
use crate::ops::locks::{self, admit};

pub async fn heartbeat(
    app: &App,
    caller: &Caller,
    id: AgentId,
    beat: AgentHeartbeat,
) -> Result<AgentBeats, Error> {
    let AgentHeartbeat { session, leases, load } = beat;
    locks::check_leases(&leases)?;
    if load.is_some_and(|load| load > AGENT_TASKS_MAX) {
        return Err(Error::invalid("load", format!("at most {AGENT_TASKS_MAX}")));
    }
    let is_own = matches!(caller.actor, Actor::Agent { id: own, .. } if own == id);
    let object = Object::Own { is_own };
    let (mut tx, book) = act::enter(app, caller, Action::Heartbeat, object).await?;
    let life = admit::beat(&mut tx, caller, session, &app.service, load).await?;
    let registered = locks::extend(&mut tx, &leases).await?;
    tx.commit().await?;
    let leases = locks::stand(app, caller, leases, &registered).await?;
    let entry = book.agents.get(&id);
    let order = entry.and_then(|entry| entry.order);
    Ok(AgentBeats {
        session_until: life.until,
        leases,
        orders: Orders {
            is_draining: order == Some(Order::Drain),
            is_paused: order == Some(Order::Pause),
        },
        config_version: entry.map_or(0, |entry| entry.config_version),
        heartbeat_every_ms: u64::from(book.times.lock.heartbeat_interval) * 1_000,
    })
}
