//! Keeps alive what a model holds, so that a model sends no heartbeats. A process that serves one
//! host sends them in the background and stops at a time limit; otherwise each call that names a
//! lease extends it. What happened to a lease meanwhile becomes an alert in the next response.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ade_api::cause::Cause;
use ade_api::claims::Permit;
use ade_api::code::Code;
use ade_api::locks::{Lease, LeaseState};
use ade_client::{Error, KeepAliveStatus, LeaseKeepAlive};
use ade_core::ids::{ExecutionId, LeaseId, ProcessId};
use ade_core::limits::APPLY_ABORT_GRACE;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::agent_api::AgentApi;
use crate::answer::then;
use crate::output::{AlertCode, LeaseAlert, NextStep};
use crate::tool::Tool;

/// What the extension of an attempt found.
#[derive(Debug)]
pub struct Extended {
    /// The lifetime from now on; `None` if the attempt was not extended.
    pub ttl_seconds: Option<u64>,
    pub alert: Option<LeaseAlert>,
}

/// Extends a running attempt of the caller.
pub async fn extend_attempt(
    api: &AgentApi,
    execution: ExecutionId,
    lease: LeaseId,
) -> Result<Extended, Error> {
    match api.extend_attempt(execution, lease).await {
        Ok(alive) => {
            let asked = || stop(Some(execution), lease, alive.abort.as_ref());
            let alert = alive.abort_requested.then(asked);
            Ok(Extended { ttl_seconds: Some(alive.ttl_seconds), alert })
        }
        Err(error) if error.is(Code::LeaseLost) => {
            let alert = Some(lost(Some(execution), lease, &error));
            Ok(Extended { ttl_seconds: None, alert })
        }
        Err(error) => Err(error),
    }
}

/// Extends locks of the caller, and returns what is wrong with them.
pub async fn extend_locks(
    api: &AgentApi,
    lease: LeaseId,
    process: Option<ProcessId>,
) -> Result<Option<LeaseAlert>, Error> {
    let beats = api.extend_lease(lease, process).await?;
    let error = match beats.leases.into_iter().next() {
        None => Some(Error::LeaseOver { state: LeaseState::Unknown, broken: None }),
        Some(beat) => match (beat.state, beat.refused) {
            (LeaseState::Granted, Some(_)) => Some(Error::LeaseSpent),
            (LeaseState::Granted | LeaseState::Uncertain, _) => None,
            (state, _) => Some(Error::LeaseOver { state, broken: beat.broken }),
        },
    };
    Ok(error.map(|error| lost(None, lease, &error)))
}

fn stop(execution: Option<ExecutionId>, lease: LeaseId, cause: Option<&Cause>) -> LeaseAlert {
    let mut reason = "you are asked to stop".to_owned();
    if let Some(Cause { by, reason: why, .. }) = cause {
        let why = why.as_deref().unwrap_or("no reason was given");
        reason = format!("{reason} by {by}: {why}");
    }
    let facts = cause.map(|cause| ("abort".to_owned(), json!(cause))).into_iter().collect();
    let (code, next_action) = (AlertCode::AbortRequested, after(AlertCode::AbortRequested, true));
    LeaseAlert { code, execution_id: execution, lease_id: lease, reason, facts, next_action }
}

fn lost(execution: Option<ExecutionId>, lease: LeaseId, error: &Error) -> LeaseAlert {
    let mut facts = error.facts();
    facts.retain(|name, _| ["state", "broken"].contains(&name.as_str()));
    ended(execution, lease, error.to_string(), facts)
}

fn ended(
    execution_id: Option<ExecutionId>,
    lease_id: LeaseId,
    reason: String,
    facts: BTreeMap<String, Value>,
) -> LeaseAlert {
    let code = AlertCode::LeaseLost;
    let next_action = after(code, execution_id.is_some());
    LeaseAlert { code, execution_id, lease_id, reason, facts, next_action }
}

fn after(code: AlertCode, is_attempt: bool) -> NextStep {
    match (code, is_attempt) {
        (AlertCode::AbortRequested, _) => {
            let message = "stop now, undo what you began, and report it with the outcome cancelled";
            then(Tool::FinishChange, message)
        }
        (AlertCode::LeaseLost, true) => {
            let message = "stop now and change nothing more; report what you did, because a \
                           person has to find out what happened";
            then(Tool::FinishChange, message)
        }
        (AlertCode::LeaseLost, false) => {
            let message = "stop the work under these locks; acquire them again if you need them";
            then(Tool::AcquireLocks, message)
        }
    }
}

/// The leases that this process keeps alive. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct KeptLeases(Arc<Mutex<HashMap<LeaseId, Kept>>>);

#[derive(Debug)]
struct Kept {
    execution: Option<ExecutionId>,
    /// `None` once the time limit has passed.
    keep_alive: Option<LeaseKeepAlive>,
    until: Instant,
}

impl KeptLeases {
    /// Keeps an attempt alive until its timeout, and while it may roll back after that.
    pub fn keep_attempt(&self, api: &AgentApi, permit: &Permit) {
        let time = Duration::from_secs(u64::from(permit.timeout_seconds)) + APPLY_ABORT_GRACE;
        self.keep(permit.lease_id, Some(permit.execution_id), api.keep_attempt(permit), time);
    }

    /// Keeps locks alive for this long.
    pub fn keep_locks(&self, api: &AgentApi, lease: &Lease, time: Duration) {
        self.keep(lease.lease_id, None, api.keep_lease(lease), time);
    }

    fn keep(
        &self,
        lease: LeaseId,
        execution: Option<ExecutionId>,
        keep_alive: LeaseKeepAlive,
        time: Duration,
    ) {
        let until = Instant::now() + time;
        let kept = Kept { execution, keep_alive: Some(keep_alive), until };
        self.all().insert(lease, kept);
        let leases = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            sleep_until(until).await;
            if let Some(leases) = leases.upgrade() {
                Self(leases).stop_if_due(lease);
            }
        });
    }

    /// Ends the heartbeats of a lease, unless it was extended since.
    fn stop_if_due(&self, lease: LeaseId) {
        let mut all = self.all();
        if let Some(kept) = all.get_mut(&lease).filter(|kept| kept.until <= Instant::now()) {
            kept.keep_alive = None;
        }
    }

    /// Stops keeping a lease, because the work under it has ended.
    pub fn drop_lease(&self, lease: LeaseId) {
        self.all().remove(&lease);
    }

    /// Returns what the model must know about its leases. A lost lease is reported once, a request
    /// to stop until the attempt is finished.
    pub fn alerts(&self) -> Vec<LeaseAlert> {
        let mut all = self.all();
        let alerts: Vec<LeaseAlert> =
            all.iter().filter_map(|(lease, kept)| kept.alert(*lease)).collect();
        for alert in &alerts {
            match alert.code {
                AlertCode::LeaseLost => drop(all.remove(&alert.lease_id)),
                AlertCode::AbortRequested => {}
            }
        }
        alerts
    }

    fn all(&self) -> MutexGuard<'_, HashMap<LeaseId, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn alert(&self, lease: LeaseId) -> Option<LeaseAlert> {
        let Some(keep_alive) = &self.keep_alive else {
            let why = "the time limit has passed, and the lease is no longer kept alive";
            return Some(ended(self.execution, lease, why.to_owned(), BTreeMap::new()));
        };
        match keep_alive.status() {
            KeepAliveStatus::Uncertain | KeepAliveStatus::Held => None,
            KeepAliveStatus::AbortRequested => {
                Some(stop(self.execution, lease, keep_alive.abort().as_ref()))
            }
            KeepAliveStatus::Lost(error) => Some(lost(self.execution, lease, &error)),
        }
    }
}

#[cfg(test)]
#[path = "keep_alive_tests.rs"]
mod tests;
