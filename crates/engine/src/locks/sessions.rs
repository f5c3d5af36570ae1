//! Admits callers to locks: by the current permissions, and with the session that all leases of one
//! process share.

use std::sync::Arc;

use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::audit::{EntryKind, What, Why};
use ade_core::ids::{AgentId, ProcessId};
use ade_core::limits::{AGENT_LATE_AFTER, AGENT_SESSION_TTL};
use ade_core::lock::LeaseClass;
use ade_core::time::Timestamp;
use ade_store::locks::{epochs, sessions};
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, audit};

use super::views;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{self, audit_entry};
use crate::command::presence::settle;
use crate::error::Error;
use crate::services::locks::{Admission, LockService};

/// A session that may hold locks.
#[derive(Debug, Clone, Copy)]
pub struct Life {
    pub began: Timestamp,
    pub until: Timestamp,
}

pub fn agent(caller: &Caller) -> Result<AgentId, Error> {
    match caller.actor {
        Actor::Agent { id, .. } => Ok(id),
        Actor::User { .. } | Actor::System { .. } => Err(Error::NotFound { what: "agent" }),
    }
}

/// Begins a transaction for a caller that may use locks; a refused attempt is recorded.
pub async fn enter(app: &App, caller: &Caller) -> Result<(Tx, Arc<TenantConfig>), Error> {
    let own = Object::Own { is_own: true };
    permission::enter(app, caller, Action::AcquireLock, own).await
}

/// Checks a caller that wants locks of this class. An advisory lease needs no database access, so a
/// caller checked less than a second ago is not checked again.
pub async fn now(
    app: &App,
    caller: &Caller,
    keeper: &LockService,
    class: LeaseClass,
) -> Result<Admission, Error> {
    if let (Actor::Agent { id, .. }, LeaseClass::Advisory) = (&caller.actor, class)
        && let Some(admission) = keeper.admitted.now(caller.tenant, *id)
    {
        return Ok(admission);
    }
    let (tx, book) = enter(app, caller).await?;
    let admission = Admission { now: tx.now(), timeouts: book.timeouts.lock };
    tx.roll_back().await;
    if let Actor::Agent { id, .. } = caller.actor {
        keeper.admitted.note(caller.tenant, id, admission);
    }
    Ok(admission)
}

/// Keeps a session alive, or starts it. Another caller's session counts as missing, and an ended
/// one stays ended.
pub async fn live(
    tx: &mut Tx,
    caller: &Caller,
    session: ProcessId,
    service: &str,
) -> Result<Life, Error> {
    beat(tx, caller, session, service, None).await
}

/// Keeps a session alive and stores the reported load. An agent that was silent for long is marked
/// online again.
pub async fn beat(
    tx: &mut Tx,
    caller: &Caller,
    session: ProcessId,
    service: &str,
    load: Option<u32>,
) -> Result<Life, Error> {
    let agent = agent(caller)?;
    match sessions::find(tx, session).await? {
        Some(known) if known.agent != Some(agent) => Err(Error::NotFound { what: "session" }),
        Some(known) => {
            if !sessions::beat(tx, session, AGENT_SESSION_TTL, load).await? {
                return Err(Error::ProcessExpired);
            }
            if known.silence.is_none_or(|silence| silence >= AGENT_LATE_AFTER) {
                settle(tx, &[agent]).await?;
            }
            Ok(Life { began: known.opened_at, until: tx.now().plus(AGENT_SESSION_TTL) })
        }
        None => {
            // Workers check only tenants with an epoch.
            epochs::current(tx).await?;
            let node = views::node(&agent.to_string(), service);
            sessions::open(tx, session, Some(agent), &node, AGENT_SESSION_TTL).await?;
            sessions::beat(tx, session, AGENT_SESSION_TTL, load).await?;
            settle(tx, &[agent]).await?;
            let what = What::new(agent.to_string(), "agent.session");
            let entry = audit_entry(tx, caller, EntryKind::Change, what, Why::default());
            audit::append(tx, &[entry]).await?;
            Ok(Life { began: tx.now(), until: tx.now().plus(AGENT_SESSION_TTL) })
        }
    }
}
