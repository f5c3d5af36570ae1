//! Who may ask, and as which life: permission by the rules of the moment, and the session that
//! all leases of one process share.

use std::sync::Arc;

use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, What, Why};
use ade_core::ids::{AgentId, AgentSessionId};
use ade_core::limits::{AGENT_LATE_AFTER, AGENT_SESSION_TTL};
use ade_core::lock::Class;
use ade_core::time::Timestamp;
use ade_store::locks::{epochs, sessions};
use ade_store::rulebook::Rulebook;
use ade_store::{Tx, audit};

use super::show;
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::locks::{Admission, Keeper};
use crate::ops::act::{self, leaf_of};
use crate::ops::agents::settle;

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
pub async fn enter(app: &App, caller: &Caller) -> Result<(Tx, Arc<Rulebook>), Error> {
    let own = Object::Own { is_own: true };
    act::enter(app, caller, Action::AcquireLock, own).await
}

/// What holds for somebody who may have locks of this class. One that nothing protects needs no
/// record, so whoever was asked less than a second ago is not asked again.
pub async fn now(
    app: &App,
    caller: &Caller,
    keeper: &Keeper,
    class: Class,
) -> Result<Admission, Error> {
    if let (Actor::Agent { id, .. }, Class::Advisory) = (&caller.actor, class)
        && let Some(admission) = keeper.admitted.now(caller.tenant, *id)
    {
        return Ok(admission);
    }
    let (tx, book) = enter(app, caller).await?;
    let admission = Admission { now: tx.now(), times: book.times.lock };
    tx.roll_back().await;
    if let Actor::Agent { id, .. } = caller.actor {
        keeper.admitted.note(caller.tenant, id, admission);
    }
    Ok(admission)
}

/// Keeps it alive, or begins it. One of somebody else is none, and one that has ended stays so.
pub async fn live(
    tx: &mut Tx,
    caller: &Caller,
    session: AgentSessionId,
    service: &str,
) -> Result<Life, Error> {
    beat(tx, caller, session, service, None).await
}

/// The same, with what the process says of its load. Whoever was silent for long is heard again.
pub async fn beat(
    tx: &mut Tx,
    caller: &Caller,
    session: AgentSessionId,
    service: &str,
    load: Option<u32>,
) -> Result<Life, Error> {
    let agent = agent(caller)?;
    match sessions::find(tx, session).await? {
        Some(known) if known.agent != Some(agent) => Err(Error::NotFound { what: "session" }),
        Some(known) => {
            if !sessions::beat(tx, session, AGENT_SESSION_TTL, load).await? {
                return Err(Error::SessionOver);
            }
            if known.silence.is_none_or(|silence| silence >= AGENT_LATE_AFTER) {
                settle(tx, &[agent]).await?;
            }
            Ok(Life { began: known.opened_at, until: tx.now().plus(AGENT_SESSION_TTL) })
        }
        None => {
            // Where there is an epoch, workers look for what has ended.
            epochs::current(tx).await?;
            let node = show::node(&agent.to_string(), service);
            sessions::open(tx, session, Some(agent), &node, AGENT_SESSION_TTL).await?;
            sessions::beat(tx, session, AGENT_SESSION_TTL, load).await?;
            settle(tx, &[agent]).await?;
            let what = What::new(agent.to_string(), "agent.session");
            let leaf = leaf_of(tx, caller, Kind::Change, what, Why::default());
            audit::append(tx, &[leaf]).await?;
            Ok(Life { began: tx.now(), until: tx.now().plus(AGENT_SESSION_TTL) })
        }
    }
}
