//! Locks over the API: acquired by agents, kept alive and given back by whoever knows the lease
//! id, looked at by everybody, broken and set aside by operators. Who is next is the queue's
//! business; what a fenced lease may commit is the record's.

mod acquire;
pub(super) mod admit;
mod beat;
mod line;
mod look;
mod operate;
mod register;
mod release;
mod rows;
mod show;

use ade_core::event::EventKind;
use ade_core::ids::LeaseId;
use ade_core::lock::Request;
use ade_store::outbox;
use serde_json::json;

use crate::app::App;
use crate::error::Error;
use crate::locks::Keeper;

pub use acquire::acquire;
pub(super) use acquire::{checked_ttl, length, require_free};
pub(super) use admit::live;
pub use beat::heartbeat;
pub(super) use beat::{check_leases, extend, stand};
pub use look::{deadlocks, graph, leases, list, lock};
pub use operate::{break_lock, incident};
pub(crate) use register::told;
pub use release::release;
pub(super) use show::{hash, node};

/// When a silent hold is ended.
pub(crate) const REAP: &str = "reap_hold";

/// No queue is configured, or it cannot be reached: nothing is granted then.
pub(crate) fn keeper(app: &App) -> Result<&Keeper, Error> {
    app.locks.as_ref().ok_or(Error::LocksOff)
}

/// What happened to a fenced lease, without its secret.
pub(crate) fn event(kind: EventKind, lease: LeaseId, request: Option<&Request>) -> outbox::Event {
    let resources: Vec<String> = request
        .map(|request| request.set().resources().map(ToString::to_string).collect())
        .unwrap_or_default();
    let payload = json!({ "lease_hash": hash(&lease), "resources": resources });
    outbox::Event { kind, object: hash(&lease).to_string(), version: None, payload }
}
