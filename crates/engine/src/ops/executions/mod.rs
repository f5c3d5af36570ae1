//! Applying, as agents do it: claim, begin, heartbeat, log, finish or fail. A claim ends in the
//! permit, one transaction that asks everything again and registers the holds; every later step
//! is first asked of those holds.

mod archive;
mod begin;
mod claim;
mod log;
mod look;
mod matching;
mod outlook;
mod permit;
mod reconcile;
mod report;
mod rescue;
mod run;
mod runner_log;
mod settle;
mod speak;

use std::time::Duration;

use ade_core::ids::{AgentId, LeaseId};
use ade_core::limits::LOCK_DELAY_DEFAULT;
use ade_core::lock::{Class, LockSet, Mode, Owner, Request, RequestDraft};
use ade_core::resource::ResourceRef;
use ade_store::claimable::Candidate;

use super::locks::node;
use crate::app::App;
use crate::error::Error;

pub(crate) use archive::{ARCHIVE, archive};
pub use begin::begin;
pub use claim::claim;
pub use log::log;
pub use look::{get, lines, list};
pub(crate) use matching::round;
pub(crate) use outlook::{Outlook, Wanted};
pub use reconcile::reconcile;
pub use report::{fail, finish};
pub(crate) use rescue::{rescue, time_out};
pub(crate) use run::{pick, run};
pub use speak::heartbeat;

/// What stands for one agent's capacity: as many hold it as the agent may have tasks. Nobody else
/// can name it, see [`ResourceRef::is_reserved`].
pub(crate) fn slot(agent: AgentId) -> Result<ResourceRef, Error> {
    let slot = ResourceRef::new("_agent", &agent.to_string());
    slot.map_err(|error| Error::invalid("agent", error))
}

pub(crate) fn lock_delay(app: &App) -> Duration {
    app.locks.as_ref().map_or(LOCK_DELAY_DEFAULT, |keeper| keeper.settings.lock_delay)
}

/// Who takes a task up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taker {
    Agent(AgentId),
    /// By an executor of its own.
    Server,
}

impl Taker {
    /// As a worker, and as targets and whoever looks at locks are told.
    pub const SERVER: &str = "apply_runner";

    fn name(self) -> String {
        match self {
            Self::Agent(agent) => agent.to_string(),
            Self::Server => Self::SERVER.to_owned(),
        }
    }
}

/// Unsaid, a task wants a resource for itself.
fn is_shared((_, mode): &(ResourceRef, Option<String>)) -> bool {
    mode.as_deref() == Some("shared")
}

fn mode_of(wanted: &(ResourceRef, Option<String>)) -> Mode {
    if is_shared(wanted) { Mode::Shared } else { Mode::Exclusive }
}

/// What the task asks of the queue, or of the record: its resources, all or none, and of the
/// record also one of an agent's slots.
fn request(
    app: &App,
    offered: (&Candidate, LeaseId),
    (taker, ttl): (Taker, Duration),
    wait: Duration,
    slot: Option<(ResourceRef, Mode)>,
) -> Result<Request, Error> {
    let (candidate, lease) = offered;
    let wanted = candidate.resources.iter().map(|wanted| (wanted.0.clone(), mode_of(wanted)));
    let invalid = |error| Error::invalid("resources", error);
    let draft = RequestDraft {
        lease,
        owner: Owner::Task(candidate.task),
        node: node(&taker.name(), &app.service),
        birth: candidate.since,
        class: Class::Fenced { lock_delay: lock_delay(app) },
        set: LockSet::new(wanted.chain(slot)).map_err(invalid)?,
        ttl,
        wait,
        boost: u32::from(candidate.priority),
    };
    Request::new(draft).map_err(invalid)
}
