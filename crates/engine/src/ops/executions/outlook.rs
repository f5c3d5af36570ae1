//! What a permit would find if it were asked for now: who holds what the task wants, and whether
//! anybody is there to run it. Judged by the record, the modes and the slots that the permit goes
//! by; a place in line and leases that only the queue knows are no part of it.

use ade_core::agent::Status;
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::{EXPLAIN_AGENTS_PAGE, EXPLAIN_HOLDERS_MAX};
use ade_core::lock::principal_of;
use ade_core::resource::ResourceRef;
use ade_core::task::{ApplyFacts, Blocked, Holder};
use ade_store::rulebook::Rulebook;
use ade_store::{Tx, agents, locks};

use super::matching::free_of;
use super::mode_of;
use crate::app::App;
use crate::book::covers;
use crate::error::Error;

/// What a task would ask for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub task: TaskId,
    pub task_type: &'a str,
    /// Each with the mode it is to be locked in, if the task says one.
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
        book: &Rulebook,
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
    let told = in_the_way.map(|hold| {
        let by = Holder::of(hold.owner, principal_of(&hold.node));
        Blocked { resource: hold.resource, by }
    });
    Ok(told.collect())
}

/// What the server has an executor for no agent may have. The server is there, since it answers;
/// how many hands it has free each process knows of itself alone.
async fn has_capacity(
    app: &App,
    tx: &mut Tx,
    book: &Rulebook,
    wanted: Wanted<'_>,
) -> Result<bool, Error> {
    if app.executors.runs(wanted.task_type) {
        return Ok(app.receipts.is_some());
    }
    let taking_work = book.agents.iter().filter(|(_, entry)| entry.is_taking_work());
    let able = taking_work.map(|(id, _)| *id).filter(|id| covers(book, *id, wanted.task_type));
    let able: Vec<AgentId> = able.collect();
    let waiting = app.claims.waiting(tx.tenant());
    for page in able.chunks(EXPLAIN_AGENTS_PAGE) {
        let heard = agents::presence(tx, page).await?.into_iter();
        let mut there: Vec<AgentId> =
            heard.filter(|agent| is_there(agent.status)).map(|agent| agent.id).collect();
        // Whoever waits for work here is there, also without a heartbeat.
        let wishes = waiting.iter().map(|(_, wish)| wish);
        let fits = wishes.filter(|wish| wish.task.is_none_or(|task| task == wanted.task));
        there.extend(fits.map(|wish| wish.agent).filter(|agent| page.contains(agent)));
        if !free_of(tx, book, &there).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Somebody who is late was heard of a moment ago.
const fn is_there(status: Status) -> bool {
    match status {
        Status::Active | Status::Late => true,
        Status::Offline | Status::Draining | Status::Paused => false,
    }
}
