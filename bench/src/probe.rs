//! The questions that people ask of the record all day, put by the store's own functions, so that
//! what is timed and explained is what the server runs. Each must find something.

use std::time::{Duration, Instant};

use ade_core::actor::Actor;
use ade_core::ids::TaskId;
use ade_core::limits::EXPLAIN_HOLDERS_MAX;
use ade_core::task::State;
use ade_store::audit::FoundBy;
use ade_store::tasks::Filter;
use ade_store::{Gate, Pool, Tx, approvals, audit, locks, resources, tasks};
use anyhow::{Result, ensure};

use crate::generate::{Shape, mixed};

const PAGE: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probe {
    Inbox,
    ListOpen,
    ListClosed,
    ListAuthor,
    ListType,
    ListResource,
    Explain,
    AuditObject,
    AuditActor,
    AuditNewest,
}

impl Probe {
    pub const ALL: [Self; 10] = [
        Self::Inbox,
        Self::ListOpen,
        Self::ListClosed,
        Self::ListAuthor,
        Self::ListType,
        Self::ListResource,
        Self::Explain,
        Self::AuditObject,
        Self::AuditActor,
        Self::AuditNewest,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::ListOpen => "list_open",
            Self::ListClosed => "list_closed",
            Self::ListAuthor => "list_author",
            Self::ListType => "list_type",
            Self::ListResource => "list_resource",
            Self::Explain => "explain",
            Self::AuditObject => "audit_object",
            Self::AuditActor => "audit_actor",
            Self::AuditNewest => "audit_newest",
        }
    }
}

/// A database that was filled, and where it is.
#[derive(Debug)]
pub struct Place {
    pub pool: Pool,
    pub shape: Shape,
    /// Tasks of the first tenant, some of them.
    pub tasks: Vec<TaskId>,
}

impl Place {
    /// Asks once, as the `nth` of many, and tells how long the answer took.
    pub async fn ask(&self, probe: Probe, nth: u64) -> Result<Duration> {
        let tenant = Shape::tenant(0);
        let person = self.shape.person(mixed(nth));
        let actor = Actor::user(person);
        let mut tx = Tx::begin(&self.pool, tenant, actor, Gate::Unasked).await?;
        let began = Instant::now();
        let found = self.put(probe, nth, &mut tx).await?;
        let took = began.elapsed();
        tx.roll_back().await;
        ensure!(found > 0, "{} found nothing", probe.name());
        Ok(took)
    }

    async fn put(&self, probe: Probe, nth: u64, tx: &mut Tx) -> Result<usize> {
        let person = self.shape.person(mixed(nth));
        let task = self.task(nth);
        let filter = Filter::default();
        let leaves = audit::Filter::default();
        let filter = match probe {
            Probe::ListOpen => Filter { states: vec![State::Reviewing], ..filter },
            Probe::ListClosed => {
                Filter { states: vec![State::Completed, State::Rejected], ..filter }
            }
            Probe::ListAuthor => Filter { author: Some(person), ..filter },
            Probe::ListType => Filter { task_type: Some(Shape::task_type(nth)), ..filter },
            Probe::ListResource => {
                // One that the first tenant uses: its tasks are the even ones.
                let name = self.shape.resource(mixed(nth) % (self.shape.tasks / 2) * 2);
                Filter { resource: Some(name.parse()?), ..filter }
            }
            Probe::Inbox => {
                let (found, _) = approvals::inbox(tx, person, None, PAGE).await?;
                // Nobody's queue is empty for long, but it may be.
                return Ok(found.len().max(1));
            }
            Probe::Explain => return explain(tx, task).await,
            Probe::AuditObject => {
                let leaves = audit::Filter { object: Some(task.to_string()), ..leaves };
                return Ok(audit::list(tx, &leaves, None, PAGE).await?.len());
            }
            Probe::AuditActor => {
                let leaves = audit::Filter { actor: Some(FoundBy::User(person)), ..leaves };
                return Ok(audit::list(tx, &leaves, None, PAGE).await?.len());
            }
            Probe::AuditNewest => return Ok(audit::list(tx, &leaves, None, PAGE).await?.len()),
        };
        Ok(tasks::list(tx, &filter, None, PAGE).await?.tasks.len())
    }

    fn task(&self, nth: u64) -> TaskId {
        let place = usize::try_from(mixed(nth)).unwrap_or_default() % self.tasks.len().max(1);
        self.tasks.get(place).copied().unwrap_or(TaskId::from_u128(0))
    }
}

/// What an explanation reads: the task as people see it, as rules see it, what it touches and who
/// holds that.
async fn explain(tx: &mut Tx, id: TaskId) -> Result<usize> {
    let view = tasks::view(tx, id).await?;
    let task = tasks::peek(tx, id).await?;
    let touched: Vec<_> =
        task.iter().flat_map(|task| task.content.subject.resources.iter().cloned()).collect();
    resources::facts(tx, &touched).await?;
    locks::beside(tx, &touched, id, EXPLAIN_HOLDERS_MAX).await?;
    Ok(usize::from(view.is_some() && task.is_some()))
}
