//! What a permit would find now: who holds the task's resources, and whether an agent can run it.
//! This is computed from PostgreSQL, the lock modes and the slots, like the permit; queue places
//! and leases known only to the queue are not considered.

use ade_core::agent::AgentStatus;
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::EXPLAIN_HOLDERS_MAX;
use ade_core::lock::principal_of;
use ade_core::resource::ResourceRef;
use ade_core::task::{ApplyFacts, Blocked, Holder};
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, agents, locks};

use super::matching::free_of;
use super::mode_of;
use crate::app::App;
use crate::error::Error;
use crate::services::rulebook_cache::covers;

/// Agents that an explanation checks at once; usually one of the first is online.
const EXPLAIN_AGENTS_PAGE: usize = 100;

/// The locks that a task would request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub task: TaskId,
    pub task_type: &'a str,
    /// The resources, each with its lock mode if the task names one.
    pub resources: &'a [(ResourceRef, Option<String>)],
}

#[derive(Debug, Default)]
pub(crate) struct Outlook {
    blocked: Vec<Blocked>,
    has_capacity: bool,
}

impl Outlook {
    pub async fn of(
        app: &App,
        tx: &mut Tx,
        book: &TenantConfig,
        wanted: Wanted<'_>,
    ) -> Result<Self, Error> {
        let blocked = blocked(tx, wanted).await?;
        let has_capacity = has_capacity(app, tx, book, wanted).await?;
        Ok(Self { blocked, has_capacity })
    }

    pub fn facts(&self) -> ApplyFacts<'_> {
        let has_capacity = self.has_capacity;
        ApplyFacts { blocked: &self.blocked, has_capacity, ..ApplyFacts::default() }
    }
}

async fn blocked(tx: &mut Tx, wanted: Wanted<'_>) -> Result<Vec<Blocked>, Error> {
    let names: Vec<ResourceRef> = wanted.resources.iter().map(|(name, _)| name.clone()).collect();
    let held = locks::beside(tx, &names, wanted.task, EXPLAIN_HOLDERS_MAX).await?;
    let in_the_way = held.into_iter().filter(|hold| {
        let own = wanted.resources.iter().find(|(name, _)| *name == hold.resource);
        own.is_some_and(|own| mode_of(own).conflicts_with(hold.mode))
    });
    let blockers = in_the_way.map(|hold| {
        let by = Holder::of(hold.owner, principal_of(&hold.node));
        Blocked { resource: hold.resource, by }
    });
    Ok(blockers.collect())
}

/// Returns whether an agent or the server could run the task. Agents cannot run tasks for which the
/// server has an executor. The server counts as available; each process knows only its own free
/// capacity.
async fn has_capacity(
    app: &App,
    tx: &mut Tx,
    book: &TenantConfig,
    wanted: Wanted<'_>,
) -> Result<bool, Error> {
    if app.executors.of(&book.tenant).runs(wanted.task_type) {
        return Ok(app.receipts.is_some());
    }
    let taking_work = book.agents.iter().filter(|(_, entry)| entry.is_taking_work());
    let able = taking_work.map(|(id, _)| *id).filter(|id| covers(book, *id, wanted.task_type));
    let able: Vec<AgentId> = able.collect();
    let waiting = app.claims.waiting(tx.tenant());
    for page in able.chunks(EXPLAIN_AGENTS_PAGE) {
        let presence = agents::presence(tx, page).await?.into_iter();
        let mut there: Vec<AgentId> =
            presence.filter(|agent| is_there(agent.status)).map(|agent| agent.id).collect();
        // A waiting claimer is online, even without a heartbeat.
        let wishes = waiting.iter().map(|(_, wish)| wish);
        let fits = wishes.filter(|wish| wish.task.is_none_or(|task| task == wanted.task));
        there.extend(fits.map(|wish| wish.agent).filter(|agent| page.contains(agent)));
        if !free_of(tx, book, &there).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether an agent counts as online. A late agent was online a moment ago.
const fn is_there(status: AgentStatus) -> bool {
    match status {
        AgentStatus::Active | AgentStatus::Late => true,
        AgentStatus::Offline | AgentStatus::Draining | AgentStatus::Paused => false,
    }
}
