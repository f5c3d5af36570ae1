//! Who may ask, and as which life: permission by the rules of the moment, and the session that
//! all leases of one process share.

use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, What, Why};
use ade_core::ids::{AgentId, AgentSessionId};
use ade_core::limits::AGENT_SESSION_TTL;
use ade_core::time::Timestamp;
use ade_store::locks::{epochs, sessions};
use ade_store::{Gate, Tx, audit};

use super::show;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ops::act::{begin, leaf_of, permit, refuse};

/// A life that may hold locks.
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

/// A transaction for somebody who may have locks of their own; who may not is noted.
pub async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    let mut tx = begin(&app.pools.api, caller, Gate::Unasked).await?;
    let book = app.books.current(&mut tx).await?;
    let own = Object::Own { is_own: true };
    match permit(app, &book, &caller.actor, Action::AcquireLock, own) {
        Ok(()) => Ok(tx),
        Err(denied) => {
            let object = caller.tenant.to_string();
            refuse(tx, caller, Action::AcquireLock.as_str(), object, &denied).await?;
            Err(denied.into())
        }
    }
}

/// Keeps it alive, or begins it. One of somebody else is none, and one that has ended stays so.
pub async fn live(
    tx: &mut Tx,
    caller: &Caller,
    session: AgentSessionId,
    service: &str,
) -> Result<Life, Error> {
    let agent = agent(caller)?;
    match sessions::find(tx, session).await? {
        Some(known) if known.agent != Some(agent) => Err(Error::NotFound { what: "session" }),
        Some(known) => {
            if !sessions::keep(tx, session, AGENT_SESSION_TTL).await? {
                return Err(Error::SessionOver);
            }
            Ok(Life { began: known.opened_at, until: tx.now().plus(AGENT_SESSION_TTL) })
        }
        None => {
            // Where there is an epoch, workers look for what has ended.
            epochs::current(tx).await?;
            let node = show::node(&agent.to_string(), service);
            sessions::open(tx, session, Some(agent), &node, AGENT_SESSION_TTL).await?;
            let what = What {
                object: agent.to_string(),
                action: "agent.session".to_owned(),
                from: None,
                to: None,
                revision: None,
                digest: None,
            };
            let leaf = leaf_of(tx, caller, Kind::Change, what, Why::default());
            audit::append(tx, &[leaf]).await?;
            Ok(Life { began: tx.now(), until: tx.now().plus(AGENT_SESSION_TTL) })
        }
    }
}
