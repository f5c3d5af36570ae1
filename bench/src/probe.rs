//! The queries that people run all day, sent through the functions of the store, so that the
//! statements that are timed and explained are those of the server. Each must find something.

use std::time::{Duration, Instant};

use ade_core::actor::Actor;
use ade_core::ids::TaskId;
use ade_core::limits::EXPLAIN_HOLDERS_MAX;
use ade_core::task::State;
use ade_store::audit::FoundBy;
use ade_store::tasks::TaskFilter;
use ade_store::{Pool, TenantLock, Tx, approvals, audit, locks, resources, tasks};
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

/// A database that was filled, and its location.
#[derive(Debug)]
pub struct FilledDatabase {
    pub pool: Pool,
    pub shape: Shape,
    /// Some tasks of the first tenant.
    pub tasks: Vec<TaskId>,
}

impl FilledDatabase {
    /// Runs a query as the `nth` of many, and returns its latency.
    pub async fn ask(&self, probe: Probe, nth: u64) -> Result<Duration> {
        let tenant = Shape::tenant(0);
        let person = self.shape.person(mixed(nth));
        let actor = Actor::user(person);
        let mut tx = Tx::begin(&self.pool, tenant, actor, TenantLock::None).await?;
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
        let filter = TaskFilter::default();
        let entries = audit::AuditFilter::default();
        let filter = match probe {
            Probe::ListOpen => TaskFilter { states: vec![State::Reviewing], ..filter },
            Probe::ListClosed => {
                TaskFilter { states: vec![State::Completed, State::Rejected], ..filter }
            }
            Probe::ListAuthor => TaskFilter { author: Some(person), ..filter },
            Probe::ListType => TaskFilter { task_type: Some(Shape::task_type(nth)), ..filter },
            Probe::ListResource => {
                // A resource of the first tenant, whose tasks are the even ones.
                let name = self.shape.resource(mixed(nth) % (self.shape.tasks / 2) * 2);
                TaskFilter { resource: Some(name.parse()?), ..filter }
            }
            Probe::Inbox => {
                let (found, _) = approvals::inbox(tx, person, None, PAGE).await?;
                // A queue is rarely empty, but it may be.
                return Ok(found.len().max(1));
            }
            Probe::Explain => return explain(tx, task).await,
            Probe::AuditObject => {
                let entries = audit::AuditFilter { object: Some(task.to_string()), ..entries };
                return Ok(audit::list(tx, &entries, None, PAGE).await?.len());
            }
            Probe::AuditActor => {
                let entries = audit::AuditFilter { actor: Some(FoundBy::User(person)), ..entries };
                return Ok(audit::list(tx, &entries, None, PAGE).await?.len());
            }
            Probe::AuditNewest => return Ok(audit::list(tx, &entries, None, PAGE).await?.len()),
        };
        Ok(tasks::list(tx, &filter, None, PAGE).await?.tasks.len())
    }

    fn task(&self, nth: u64) -> TaskId {
        let place = usize::try_from(mixed(nth)).unwrap_or_default() % self.tasks.len().max(1);
        self.tasks.get(place).copied().unwrap_or(TaskId::from_u128(0))
    }
}

/// Runs the reads of an explanation: the task as people see it, the task as policies see it, its
/// resources and their holders.
async fn explain(tx: &mut Tx, id: TaskId) -> Result<usize> {
    let view = tasks::view(tx, id).await?;
    let task = tasks::peek(tx, id).await?;
    let touched: Vec<_> =
        task.iter().flat_map(|task| task.content.subject.resources.iter().cloned()).collect();
    resources::facts(tx, &touched).await?;
    locks::beside(tx, &touched, id, EXPLAIN_HOLDERS_MAX).await?;
    Ok(usize::from(view.is_some() && task.is_some()))
}
