//! Locks over the API: acquired by agents, kept alive and released with the lease id, listed by
//! everyone, broken and set by operators. The queue decides who is next; PostgreSQL decides what a
//! fenced lease may commit.

mod acquire;
mod backend;
mod deadlock;
mod epoch_keeper;
mod heartbeat;
mod hold_reaper;
mod lock_sweeper;
mod lock_watcher;
mod lost;
mod operator;
mod postgres_acquire;
mod queries;
mod register;
mod release;
mod sessions;
mod views;
mod workers;

use ade_core::event::EventKind;
use ade_core::ids::LeaseId;
use ade_core::lock::Request;
use ade_store::outbox;
use serde_json::json;

use crate::app::App;
use crate::error::Error;
use crate::services::locks::LockService;

pub use acquire::acquire;
pub(crate) use acquire::{checked_ttl, require_free};
pub use heartbeat::heartbeat;
pub(crate) use heartbeat::{check_leases, extend, stand};
pub(crate) use lost::loss;
pub use operator::{break_lock, incident};
pub use queries::{deadlocks, graph, leases, list, lock};
pub(crate) use register::record_change;
pub use release::release;
pub(crate) use sessions::{beat, live};
pub(crate) use views::{hash, node};
pub(crate) use workers::{LOOPS, WORKERS};

/// The job kind for ending a silent hold.
pub(crate) const REAP: &str = "reap_hold";

/// Returns the lock service. If no backend is configured, locks are refused.
pub(crate) fn keeper(app: &App) -> Result<&LockService, Error> {
    app.locks.as_ref().ok_or(Error::LocksOff)
}

/// Returns the event of a change to a fenced lease, without its secret.
pub(crate) fn event(
    kind: EventKind,
    lease: LeaseId,
    request: Option<&Request>,
) -> outbox::OutboxEvent {
    let resources: Vec<String> = request
        .map(|request| request.set().resources().map(ToString::to_string).collect())
        .unwrap_or_default();
    let payload = json!({ "lease_hash": hash(&lease), "resources": resources });
    outbox::OutboxEvent { kind, object: hash(&lease).to_string(), version: None, payload }
}
