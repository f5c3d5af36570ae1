//! Applying tasks: claim, begin, heartbeat, log, finish or fail. A claim ends in the permit, one
//! transaction that checks everything again and registers the holds; every later step checks these
//! holds first.

mod apply_rescuer;
mod apply_runner;
mod apply_timer;
mod archive;
mod availability;
mod begin;
mod blocked;
mod claim;
mod claim_matcher;
mod claim_task;
mod explain;
mod heartbeat;
mod log;
mod matching;
mod output_archiver;
mod permit;
mod queries;
mod reconcile;
mod report;
mod rescue;
mod run;
mod runner_log;
mod settle;
mod workers;

use std::time::Duration;

use ade_core::ids::{AgentId, LeaseId};
use ade_core::limits::LOCK_DELAY_DEFAULT;
use ade_core::lock::{LeaseClass, LockSet, Mode, Owner, Request, RequestDraft};
use ade_core::resource::ResourceRef;
use ade_store::claimable::Candidate;

use crate::app::App;
use crate::error::Error;
use crate::locks::node;

pub(crate) use archive::{ARCHIVE, archive};
pub(crate) use availability::{Outlook, Wanted};
pub use begin::begin;
pub use claim::claim;
pub use claim_task::claim_task;
pub use explain::explain;
pub(crate) use explain::explained;
pub use heartbeat::heartbeat;
pub use log::log;
pub(crate) use matching::round;
pub use queries::{get, lines, list};
pub use reconcile::reconcile;
pub use report::finish;
pub(crate) use rescue::{rescue, time_out};
pub(crate) use run::{pick, run};
pub(crate) use workers::{LOOPS, WORKERS};

/// Returns the resource for an agent's capacity: as many tasks hold it as the agent may run.
/// Callers cannot name it, see [`ResourceRef::is_reserved`].
pub(crate) fn slot(agent: AgentId) -> Result<ResourceRef, Error> {
    let slot = ResourceRef::new("_agent", &agent.to_string());
    slot.map_err(|error| Error::invalid("agent", error))
}

pub(crate) fn lock_delay(app: &App) -> Duration {
    app.locks.as_ref().map_or(LOCK_DELAY_DEFAULT, |keeper| keeper.settings.lock_delay)
}

/// Who applies a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taker {
    Agent(AgentId),
    /// The server, with one of its executors.
    Server,
}

impl Taker {
    /// The name of the worker, also shown to targets and in lock lists.
    pub const SERVER: &str = "apply_runner";

    fn name(self) -> String {
        match self {
            Self::Agent(agent) => agent.to_string(),
            Self::Server => Self::SERVER.to_owned(),
        }
    }
}

/// Returns whether the task shares the resource. Without a mode, a task wants it exclusively.
fn is_shared((_, mode): &(ResourceRef, Option<String>)) -> bool {
    mode.as_deref() == Some("shared")
}

fn mode_of(wanted: &(ResourceRef, Option<String>)) -> Mode {
    if is_shared(wanted) { Mode::Shared } else { Mode::Exclusive }
}

/// Returns the task's lock request for the queue or PostgreSQL: its resources, all or none, and for
/// PostgreSQL also one of an agent's slots.
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
        class: LeaseClass::Fenced { lock_delay: lock_delay(app) },
        set: LockSet::new(wanted.chain(slot)).map_err(invalid)?,
        ttl,
        wait,
        boost: u32::from(candidate.priority),
    };
    Request::new(draft).map_err(invalid)
}
