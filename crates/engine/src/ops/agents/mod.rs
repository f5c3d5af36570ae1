//! Registered programs: entered by admins for a person who answers for them, told by people what
//! to do, set up in versions, and heard of by their heartbeats.

mod beat;
mod configs;
mod orders;
mod presence;
mod registry;

use ade_core::access::Object;
use ade_core::actor::Actor;
use ade_store::agents::Agent;
use ade_store::rulebook::Rulebook;

use crate::caller::Caller;

pub use beat::heartbeat;
pub use configs::{config, config_difference, config_versions, configure, roll_back_config};
pub use orders::order;
pub(crate) use presence::{WATCH, settle};
pub use registry::{change, create, get, list, revoke};

/// What the agent is to the caller: its own self, or a program that answers to them.
fn object_of(book: &Rulebook, caller: &Caller, agent: &Agent) -> Object {
    let is_own = match caller.actor {
        Actor::User { id, .. } => book.directory.same_human(agent.owner, id),
        Actor::Agent { id, .. } => agent.id == id,
        Actor::System { .. } => false,
    };
    Object::Own { is_own }
}
