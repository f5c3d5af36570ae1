//! The facts that the server has when it rates a task. Two of them come from the author: the list
//! of resources, which an observed effect must stay within, and a declared effect, which measures
//! nothing. The caller loads the facts and matches pattern defaults.

use std::collections::BTreeSet;

use super::Score;
use crate::change::{Counts, Effect};
use crate::ids::{TaskId, UserId};
use crate::resource::ResourceRef;
use crate::time::Timestamp;

#[derive(Debug, Clone, Copy)]
pub struct RiskFacts<'a> {
    pub task: TaskId,
    /// The human who is responsible for the task (`Directory::human`), so that a second account or
    /// an agent does not start a new window.
    pub author: UserId,
    /// The resources the task names.
    pub resources: &'a [ResourceFacts],
    pub effect: Option<&'a Effect>,
    pub history: Option<History>,
    /// Other tasks that were applied or may still be. Which of them count together with this one is
    /// decided here.
    pub recent: &'a [RecentTask],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceFacts {
    pub resource: ResourceRef,
    /// The criticality in its registry entry.
    pub criticality: Option<Score>,
    /// The highest default of the patterns of the tenant that match it.
    pub pattern_default: Option<Score>,
    /// The resources that depend on it; `None` if unknown, empty if there are none.
    pub dependents: Option<BTreeSet<ResourceRef>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentTask {
    pub task: TaskId,
    pub author: UserId,
    /// When the task was submitted.
    pub at: Timestamp,
    pub resources: Vec<ResourceFacts>,
    /// The counts of [`Effect::measured`]; absent if no preview observed the whole effect.
    pub counts: Option<Counts>,
}

/// The outcomes of earlier tasks: of this kind (type and resource pattern) and of the whole tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    pub like: Outcomes,
    pub tenant: Outcomes,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    pub failed: u32,
    pub total: u32,
}
