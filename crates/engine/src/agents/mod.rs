//! Agents: registered by admins for an owner, ordered by people, configured in versions, and kept
//! alive by heartbeats.

mod agent_watcher;
mod beat;
mod configs;
mod directives;
mod registry;
mod workers;

use ade_core::access::Object;
use ade_core::actor::Actor;
use ade_store::agents::Agent;
use ade_store::tenant_config::TenantConfig;

use crate::caller::Caller;

pub use beat::heartbeat;
pub use configs::{config, config_difference, config_versions, configure, roll_back_config};
pub use directives::order;
pub(crate) use registry::change;
pub use registry::{create, get, list, revoke};
pub(crate) use workers::WORKERS;

/// Returns the relation between the agent and the caller, who may be the agent itself or its owner.
fn object_of(book: &TenantConfig, caller: &Caller, agent: &Agent) -> Object {
    let is_own = match caller.actor {
        Actor::User { id, .. } => book.directory.same_human(agent.owner, id),
        Actor::Agent { id, .. } => agent.id == id,
        Actor::System { .. } => false,
    };
    Object::Own { is_own }
}
